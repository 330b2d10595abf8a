// One instruction of assembly text, and what kind of work it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/support/target.h"

namespace espalier {

// Assembly as LLVM prints it: AT&T syntax for x86, the usual one for AArch64.
enum class AsmSyntax : uint8_t { X86, AArch64 };
AsmSyntax asm_syntax(const Target& target);

struct AsmInstruction {
  std::string_view mnemonic;
  std::vector<std::string_view> operands;  // as printed, without spaces at their ends
};

// Of a line without its comment. Commas inside brackets and braces do not separate operands.
AsmInstruction parse_instruction(std::string_view line);

// What an instruction does. One may be several things: a multiply-add with a memory operand is a
// multiply-add and a load (or a broadcast, when one element is repeated over the lanes).
struct AsmKind {
  bool fma = false;
  bool load = false;
  bool broadcast = false;  // of an element from memory
  bool store = false;
  bool shuffle = false;                            // moves lanes between or within registers
  bool spill_store = false, spill_reload = false;  // the memory is of the stack frame
  int64_t loaded_bytes = 0;                        // from memory, the stack included
};

// `frame_pointer`: the function addresses its frame by rbp (x86), which else is a register like
// any other. An instruction nobody thought of is of no kind, or a load or store by its operands.
AsmKind classify(const AsmInstruction& instruction, AsmSyntax syntax, bool frame_pointer);

}  // namespace espalier
