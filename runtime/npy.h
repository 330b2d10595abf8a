// NumPy's .npy files: one array with its type and shape.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/ir/evaluate.h"
#include "espalier/support/result.h"

namespace espalier {

/// Reads a .npy file (format 1, 2 or 3) of any type of ir/type.h, little- or big-endian, in C or
/// Fortran order; the result is native and row-major. NumPy has no bf16: such files hold the bits
/// as '<u2' or 'V2'. With `wanted`, another type is an error, and '<u2' is taken as bf16 if that is
/// wanted; without it 'V2' is bf16 and '<u2' is u16. Errors name the file and what was wrong with
/// it; nothing in a file makes this crash or allocate more than the file holds.
Result<Array> read_npy(const std::string& path, std::optional<DType> wanted = {});

/// The same on the bytes of a file; `name` stands for it in errors.
Result<Array> parse_npy(std::span<const std::byte> bytes, std::string_view name,
                        std::optional<DType> wanted = {});

/// Writes the array as format 1 (2 if the header is too long for it), little-endian, in C order;
/// bf16 as '<u2'.
Result<void> write_npy(const std::string& path, const Array& array);

/// What write_npy writes in front of the data; its length is a multiple of 64.
std::string npy_header(DType dtype, const std::vector<int64_t>& shape);

}  // namespace espalier
