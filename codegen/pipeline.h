// From what a schedule lowers to, to what interpreter and LLVM both take.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "espalier/ir/stmt.h"
#include "espalier/support/target.h"

namespace espalier {

// What each pass took, and, if asked for, what it left.
struct PassLog {
  struct Entry {
    std::string_view pass;
    double microseconds = 0;
    std::string text;  // of the function after the pass, when `keep_text`
  };
  bool keep_text = false;
  std::vector<Entry> entries;
};

// The function in its final form: serial and parallel loops only, vectors explicit, accesses
// flat, math functions expanded, multiply-adds fused. The same function for all targets with the
// same vectors; results are bit-equal in the interpreter and in machine code.
LoweredFunc run_passes(const LoweredFunc& func, const Target& target, PassLog* log = nullptr);

}  // namespace espalier
