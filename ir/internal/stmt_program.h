// A lowered function compiled for the interpreter: statements and operations as flat arrays, every
// variable and intermediate value at a fixed place of one frame.
#pragma once

#include <memory>

#include "espalier/ir/scalar_ops.h"
#include "espalier/ir/stmt.h"
#include "espalier/support/result.h"

namespace espalier {

// An operation writes its lanes to the frame from `out` on. Those that are done (constants,
// variables) only have a place.
struct StmtOp {
  enum class Code : uint8_t {
    Done,
    Unary,
    Binary,
    Fma,
    Reinterpret,
    Select,
    Load,
    Ramp,
    Broadcast,
    LaneReduce
  };
  Code code = Code::Done;
  bool shared = false;  // several operations use it: computed once for each evaluation of a root
  int lanes = 1;
  int out = 0;
  int a = -1, b = -1, c = -1;  // operands; of a Select: condition and sides; of a Load: predicate
  union {
    UnaryLanes unary = nullptr;
    BinaryLanes binary;
    FmaLanes fma;
  };
  DType dtype = DType::F32, from = DType::F32;
  int64_t stride = 0;    // Ramp
  int access = -1;       // Load: in StmtProgram::accesses
  uint64_t done_at = 0;  // Shared: the evaluation it was last computed in
};

// A reference to an element, or lanes of them.
struct StmtAccess {
  int memory = 0;
  std::vector<int> indices;  // operations
  bool flat = false;
  int lanes = 1;
};

// A buffer: a parameter or the content of an allocation.
struct StmtMemory {
  Buffer buffer;
  std::byte* first = nullptr;          // of the element at index 0
  int64_t lowest = 0, highest = -1;    // element offsets that exist
  std::unique_ptr<std::byte[]> owned;  // allocations only
  std::unique_ptr<uint8_t[]> written;  // allocations only, by element offset
};

struct StmtInstr {
  StmtKind kind = StmtKind::Block;
  Stmt source;
  int a = -1, b = -1;  // operations: min and extent, condition, value of a Let or Store
  int predicate = -1;  // Store
  int access = -1;     // Store
  int var = -1;        // frame place of a loop's or Let's variable
  int lanes = 1;
  int memory = -1;                     // Allocate
  int then_case = -1, else_case = -1;  // bodies: instructions
  std::vector<int> stmts;              // Block
};

struct StmtProgram {
  std::vector<StmtOp> ops;
  std::vector<StmtAccess> accesses;
  std::vector<StmtMemory> memories;  // parameters first
  std::vector<StmtInstr> instrs;
  std::vector<ScalarBits> frame;
  int root = -1;
};

Result<StmtProgram> compile_stmt(const LoweredFunc& func);

}  // namespace espalier
