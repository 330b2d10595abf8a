// Rows of a tile to its columns, in registers.
#pragma once

#include <span>
#include <vector>

#include "espalier/codegen/internal/types.h"

namespace espalier::internal {

// N vectors of N lanes each, N a power of two: column c holds lane c of every row. Null rows hold
// anything. The network is the usual one for x86: elements are interleaved within 128 bits, then
// groups of 128 bits change places, so that each shuffle is one instruction.
std::vector<llvm::Value*> transpose_rows(Builder& b, std::span<llvm::Value* const> rows);

}  // namespace espalier::internal
