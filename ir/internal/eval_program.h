// A definition compiled for the naive evaluator: straight-line code over lanes inside a loop nest.
#pragma once

#include <array>
#include <map>

#include "espalier/ir/dag.h"
#include "espalier/ir/scalar_ops.h"

namespace espalier {

// The type that values of type `t` have while they are evaluated: f64 for all floats.
inline DType evaluation_type(DType t) { return is_float(t) ? DType::F64 : t; }

// Rounds values held in their evaluation type to what type `t` can hold.
void round_lanes(DType t, ScalarBits* values, int lanes);

// Evaluates one stage of a DAG. Elements are held in 64 bits each, in their evaluation type,
// already rounded to the tensor's type.
//
// One axis is cut into lanes; an instruction runs when the innermost loop that it depends on
// advances, over all lanes if it depends on that axis, else once. Both sides of a select are
// computed: nothing traps, and a read that may be out of range happens under its condition only.
class EvalProgram {
 public:
  EvalProgram(const ComputeDag& dag, int stage);

  // `values` holds one pointer a stage of the DAG, set for all that this one reads; `out` has room
  // for the stage's elements. An Error when an index is out of range.
  Result<void> run(const std::vector<const ScalarBits*>& values, ScalarBits* out);

 private:
  static constexpr int kLanes = 128;

  enum class Op : uint8_t { Unary, Binary, Fma, Select, Reinterpret, ReadLinear, ReadChecked };
  struct Instruction {
    Op op = Op::Unary;
    std::array<int, 3> in = {-1, -1, -1};
    int out = -1;
    UnaryLanes unary = nullptr;
    BinaryLanes binary = nullptr;
    FmaLanes fma = nullptr;
    DType from = DType::F64, to = DType::F64;  // Reinterpret
    int read = -1;
  };
  struct Read {
    int producer = -1;
    int64_t offset = 0;            // linear: of the element read at the origin
    std::vector<int64_t> coef;     // linear: one a loop
    std::vector<int> index_slots;  // checked
    int guard = -1;                // checked: slot of the condition for it to happen; -1: always
  };
  // Where a value lives, the loop at which it changes (-1: never) and whether lanes differ. One
  // that is the same for all lanes is copied to them if `fill`.
  struct Slot {
    int level = -1;
    bool lanes = false;
    bool fill = false;
  };

  void order_loops();
  int compile(const Expr& e, int guard);
  int compile_node(const Expr& e, int guard);
  int compile_unary(const UnaryNode& e, int guard);
  int compile_select(const SelectNode& e, int guard);
  int compile_cast(DType from, DType to, int value);
  int compile_read(const ReadNode& e, int guard);
  void compile_reduction(const ReduceNode& reduce);
  int emit(Instruction instruction, int level = -1, bool lanes = false);
  int emit_unary(UnaryLanes f, int a);
  int emit_binary(BinaryLanes f, int a, int b);
  int new_slot(int level, bool lanes);
  int constant(ScalarBits bits);
  bool needs_guard(const Expr& e);
  const Read* linear_read(const ReadNode& e);
  ScalarBits* lanes_of(int slot) { return &storage_[static_cast<size_t>(slot) * kLanes]; }
  bool lane_is_spatial() const { return lane_loop_ >= 0 && lane_loop_ < spatial_loops_; }

  void run_loop(int level);
  void iterate(int level);
  void execute(int level);
  void execute_read(const Instruction& in, int lanes);
  void combine();
  void store();

  const ComputeDag& dag_;
  const StageInfo& stage_;
  std::vector<Axis> axes_;     // spatial, then reduced
  std::vector<size_t> loops_;  // axes in the order of the nest
  int spatial_loops_ = 0, lane_loop_ = -1;

  std::vector<Slot> slots_;
  std::vector<ScalarBits> storage_;
  std::vector<std::vector<Instruction>> code_;  // by level + 1; the last one is a custom combiner's
  std::vector<Read> reads_;
  std::vector<int> var_slots_;           // one a loop
  std::map<const ExprNode*, int> vars_;  // axes, and a custom combiner's operands
  std::map<std::pair<const ExprNode*, int>, int> known_;
  std::map<const ExprNode*, std::optional<Read>> linear_reads_;
  std::map<const ExprNode*, bool> needs_guard_;
  int value_ = -1, where_ = -1, total_ = -1, lhs_ = -1, rhs_ = -1, combined_ = -1;
  BinaryLanes combiner_ = nullptr;
  ScalarBits identity_ = 0;
  bool sums_floats_ = false;

  std::vector<int64_t> position_;     // one a loop; where the lanes begin for theirs
  std::vector<int64_t> out_strides_;  // one a loop
  int lane_count_ = 1;
  const std::vector<const ScalarBits*>* values_ = nullptr;
  ScalarBits* out_ = nullptr;
  std::optional<Error> error_;
};

}  // namespace espalier
