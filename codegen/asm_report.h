// What stands in the hot loops of generated assembly: where they are and how many instructions of
// each kind they hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/codegen/asm_instruction.h"

namespace espalier {

// Instructions of one pass through a loop, without those of loops inside it. An instruction may
// count as several kinds (AsmKind), but once in `total`.
struct InstructionCounts {
  int total = 0;
  int fma = 0;
  int loads = 0, broadcasts = 0, stores = 0;
  int shuffles = 0;
  int spill_stores = 0, spill_reloads = 0;
  int other = 0;  // of no kind above: counting, addresses, jumps, other arithmetic
  int64_t loaded_bytes = 0;

  double fma_share() const { return total > 0 ? static_cast<double>(fma) / total : 0; }
  double bytes_per_fma() const { return fma > 0 ? static_cast<double>(loaded_bytes) / fma : 0; }
};

struct MachineLoop {
  std::string function;
  std::string label;  // of the loop's first block, as in the text
  std::string name;   // of the loop in the lowered nest; empty: not known
  int depth = 1;      // 1: outermost
  // How often its body runs in a call of the kernel: the product of the extents of this loop and
  // of those around it. A clipped loop counts with its largest extent, both sides of a branch as
  // taken, and a parallel loop's body with all its iterations.
  double trips = 1;
  InstructionCounts counts;
  std::vector<int> lines;  // of the text, from 0, ascending
};

struct AsmReport {
  std::vector<MachineLoop> loops;  // all, in the order of the text
  std::vector<size_t> hot;         // numbers of the hot ones, hottest first
};

// Reads the text that emit_assembly made. A loop's work is the number of its own instructions times
// its trips; the hot loops are those with at least half of the work of the one with most. Loops
// and their nesting are LLVM's own (its comments), their extents are in the names that emission
// gave to the blocks that begin them (loop_block_name).
AsmReport analyze_assembly(std::string_view text, AsmSyntax syntax);

// The name of the block that begins a loop, or of the entry of a parallel loop's body. `extent`:
// at most so many iterations; less than 0 when nothing is known.
std::string loop_block_name(std::string_view loop, int64_t extent);

// The text with the lines of hot loops marked in the margin, and a table of their instructions.
std::string annotate_assembly(std::string_view text, const AsmReport& report);

}  // namespace espalier
