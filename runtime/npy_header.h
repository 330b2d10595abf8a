// The header of a .npy file: a Python literal with type, order and shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/support/result.h"

namespace espalier {

struct NpyHeader {
  std::string descr;  // as written: "<f4", "|b1", ...
  bool fortran_order = false;
  std::vector<int64_t> shape;  // extents of at least 0
  size_t data_offset = 0;      // bytes from the start of the file to the first element
};

/// Reads magic number, version and the literal. Errors say what was wrong, without a file's name.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes);

}  // namespace espalier
