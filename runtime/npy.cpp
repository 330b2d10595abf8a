#include "espalier/runtime/npy.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "espalier/runtime/npy_header.h"
#include "espalier/support/fd.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

static_assert(std::endian::native == std::endian::little, ".npy is written as memory holds it");

constexpr size_t kMaxFileBytes = size_t{1} << 36;
constexpr size_t kHeaderAlignment = 64;

struct NpyType {
  DType dtype;
  bool swapped;  // big-endian
};

std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return "<f8";
    case DType::F32: return "<f4";
    case DType::F16: return "<f2";
    case DType::BF16: return "<u2";
    case DType::I8: return "|i1";
    case DType::I16: return "<i2";
    case DType::I32: return "<i4";
    case DType::I64: return "<i8";
    case DType::U8: return "|u1";
    case DType::U16: return "<u2";
    case DType::U32: return "<u4";
    case DType::U64: return "<u8";
    case DType::Bool: return "|b1";
  }
  ESP_UNREACHABLE();
}

std::optional<DType> dtype_of_descr(std::string_view kind_and_size) {
  if (kind_and_size == "?") return DType::Bool;
  if (kind_and_size == "V2") return DType::BF16;
  for (const DType dtype :
       {DType::F64, DType::F32, DType::F16, DType::I8, DType::I16, DType::I32, DType::I64,
        DType::U8, DType::U16, DType::U32, DType::U64, DType::Bool}) {
    if (descr_of(dtype).substr(1) == kind_and_size) return dtype;
  }
  return std::nullopt;
}

Result<NpyType> type_of_descr(std::string_view descr, std::optional<DType> wanted) {
  std::string_view rest = descr;
  bool swapped = false;
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
    swapped = rest[0] == '>';
    rest.remove_prefix(1);
  }
  std::optional<DType> dtype = dtype_of_descr(rest);
  if (!dtype) {
    return make_error(ErrorCode::Unsupported, "it holds the type '", descr,
                      "'; floats of 2, 4 and 8 bytes, integers of 1 to 8 and bools are read");
  }
  if (dtype == DType::U16 && wanted == DType::BF16) dtype = DType::BF16;
  if (wanted && dtype != wanted) {
    return make_error(ErrorCode::InvalidArgument, "it holds ", name_of(*dtype), " ('", descr,
                      "') where ", name_of(*wanted), " is expected");
  }
  return NpyType{*dtype, swapped};
}

template <size_t Bytes>
void copy_elements(const std::byte* from, std::byte* to, const std::vector<int64_t>& shape,
                   int64_t elements, bool fortran_order, bool swapped) {
  // Steps through the target in row-major order, and through a Fortran-ordered source by its own
  // strides.
  std::vector<int64_t> strides(shape.size()), index(shape.size(), 0);
  int64_t stride = 1;
  for (size_t k = 0; k < shape.size(); ++k) {
    const size_t d = fortran_order ? k : shape.size() - 1 - k;
    strides[d] = stride;
    stride *= shape[d];
  }
  int64_t source = 0;
  for (int64_t i = 0; i < elements; ++i) {
    std::array<std::byte, Bytes> element;
    memcpy(element.data(), from + source * static_cast<int64_t>(Bytes), Bytes);
    if (swapped) std::reverse(element.begin(), element.end());
    memcpy(to + i * static_cast<int64_t>(Bytes), element.data(), Bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++index[d] < shape[d]) break;
      source -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

Result<Array> parse(std::span<const std::byte> bytes, std::optional<DType> wanted) {
  ESP_TRY(const NpyHeader header, parse_npy_header(bytes));
  ESP_TRY(const NpyType type, type_of_descr(header.descr, wanted));
  const int64_t width = bytes_of(type.dtype);
  std::optional<int64_t> needed = width;
  for (const int64_t extent : header.shape) {
    if (needed) needed = checked_mul(*needed, extent);
  }
  const auto held = static_cast<int64_t>(bytes.size() - header.data_offset);
  if (!needed || *needed != held) {
    return make_error(ErrorCode::Parse, "its shape needs ",
                      needed ? std::to_string(*needed) : "more than 2^63", " bytes of data and ",
                      held, " are there");
  }
  ESP_TRY(Array array, Array::make(type.dtype, header.shape));
  const std::byte* from = bytes.data() + header.data_offset;
  auto* to = static_cast<std::byte*>(array.data());
  const int64_t n = array.elements();
  if (!type.swapped && !header.fortran_order) {
    if (n > 0) memcpy(to, from, static_cast<size_t>(held));
  } else if (n > 0) {
    switch (width) {
      case 1: copy_elements<1>(from, to, header.shape, n, header.fortran_order, false); break;
      case 2:
        copy_elements<2>(from, to, header.shape, n, header.fortran_order, type.swapped);
        break;
      case 4:
        copy_elements<4>(from, to, header.shape, n, header.fortran_order, type.swapped);
        break;
      default: copy_elements<8>(from, to, header.shape, n, header.fortran_order, type.swapped);
    }
  }
  if (type.dtype == DType::Bool) {
    // Kernels rely on bools being 0 or 1; NumPy takes any byte but 0 as true.
    for (int64_t i = 0; i < n; ++i) to[i] = to[i] == std::byte{0} ? to[i] : std::byte{1};
  }
  return array;
}

}  // namespace

Result<Array> parse_npy(std::span<const std::byte> bytes, std::string_view name,
                        std::optional<DType> wanted) {
  Result<Array> array = parse(bytes, wanted);
  if (array.ok()) return array;
  Error error = std::move(array).error();
  error.message = "cannot read '" + std::string(name) + "' as an array: " + error.message;
  return error;
}

Result<Array> read_npy(const std::string& path, std::optional<DType> wanted) {
  ESP_TRY(const std::string text, read_file(path, kMaxFileBytes));
  return parse_npy(std::as_bytes(std::span(text.data(), text.size())), path, wanted);
}

std::string npy_header(DType dtype, const std::vector<int64_t>& shape) {
  std::string literal =
      "{'descr': '" + std::string(descr_of(dtype)) + "', 'fortran_order': False, 'shape': (";
  for (size_t d = 0; d < shape.size(); ++d) {
    literal += std::to_string(shape[d]);
    if (d + 1 < shape.size()) literal += ", ";
  }
  literal += shape.size() == 1 ? ",), }" : "), }";
  // Format 1 has two bytes for the length of the literal, format 2 four.
  for (const size_t length_bytes : {size_t{2}, size_t{4}}) {
    const size_t start = 8 + length_bytes;
    const size_t total =
        (start + literal.size() + 1 + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment;
    size_t length = total - start;
    if (length_bytes == 2 && length > 0xffff) continue;
    std::string header = "\x93NUMPY";
    header += static_cast<char>(length_bytes / 2);
    header += '\0';
    for (size_t i = 0; i < length_bytes; ++i, length >>= 8) {
      header += static_cast<char>(length & 0xff);
    }
    header += literal;
    header.append(total - header.size() - 1, ' ');
    return header + '\n';
  }
  ESP_UNREACHABLE("a header of 4 GiB");
}

Result<void> write_npy(const std::string& path, const Array& array) {
  std::string contents = npy_header(array.dtype(), array.shape());
  contents.append(static_cast<const char*>(array.data()), static_cast<size_t>(array.bytes()));
  return write_file(path, contents);
}

}  // namespace espalier
