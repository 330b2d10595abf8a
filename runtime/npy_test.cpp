#include "espalier/runtime/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "espalier/support/fd.h"
#include "espalier/support/rng.h"

namespace espalier {
namespace {

using ::testing::HasSubstr;

constexpr DType kAll[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I8,
                          DType::I16, DType::I32, DType::I64, DType::U8,   DType::U16,
                          DType::U32, DType::U64, DType::Bool};

std::string temporary_path() {
  return testing::TempDir() + "npy_test." + std::to_string(getpid()) + ".npy";
}

// A file of format 1 around a literal, without the usual padding.
std::string file(const std::string& literal, const std::string& data) {
  std::string text = "\x93NUMPY";
  text += '\x01';
  text += '\0';
  text += static_cast<char>(literal.size() & 0xff);
  text += static_cast<char>(literal.size() >> 8);
  return text + literal + data;
}

Result<Array> parse(const std::string& text, std::optional<DType> wanted = {}) {
  return parse_npy(std::as_bytes(std::span(text.data(), text.size())), "x.npy", wanted);
}

Array random_array(DType dtype, std::vector<int64_t> shape) {
  Array array(dtype, std::move(shape));
  Rng rng(3);
  for (int64_t i = 0; i < array.elements(); ++i) {
    array.set_int(i, static_cast<int64_t>(rng.below(dtype == DType::Bool ? 2 : 100)));
  }
  return array;
}

TEST(Npy, EveryTypeComesBackFromAFile) {
  const std::string path = temporary_path();
  for (const DType dtype : kAll) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {7}, {0}, {2, 3}, {2, 0, 3}, {2, 3, 5}}) {
      const Array array = random_array(dtype, shape);
      ASSERT_TRUE(write_npy(path, array).ok());
      const Array back = read_npy(path, dtype).value();
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_EQ(back.shape(), shape);
      EXPECT_EQ(memcmp(back.data(), array.data(), static_cast<size_t>(array.bytes())), 0)
          << name_of(dtype);
    }
  }
  unlink(path.c_str());
}

TEST(Npy, HeaderIsWhatNumPyWrites) {
  const std::string header = npy_header(DType::F32, {3});
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\0\x76\0", 10));
  EXPECT_EQ(header.substr(10, 57), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
  EXPECT_EQ(header.size(), 128u);
  EXPECT_EQ(header.back(), '\n');
}

TEST(Npy, ALongHeaderIsFormat2) {
  const std::string header = npy_header(DType::I8, std::vector<int64_t>(40000, 1));
  EXPECT_EQ(header[6], 2);
  EXPECT_EQ(header.size() % 64, 0u);
}

TEST(Npy, Format2And3AreRead) {
  for (const char version : {'\x02', '\x03'}) {
    std::string text = "\x93NUMPY";
    const std::string literal = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}";
    text += version;
    text += '\0';
    text += static_cast<char>(literal.size());
    text += std::string(3, '\0') + literal + "ab";
    EXPECT_EQ(parse(text).value().get_int(1), 'b');
  }
}

TEST(Npy, FortranOrderIsTransposed) {
  const std::string literal = "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }";
  const Array array = parse(file(literal, std::string("\x00\x01\x02\x03\x04\x05", 6))).value();
  // Columns lie one after the other: [[0, 2, 4], [1, 3, 5]].
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 6; ++i) values.push_back(array.get_int(i));
  EXPECT_EQ(values, (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
}

TEST(Npy, BigEndianIsSwapped) {
  const std::string literal = "{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }";
  EXPECT_EQ(parse(file(literal, std::string("\x01\x02\x03\x04", 4))).value().get_int(0),
            0x01020304);
}

TEST(Npy, Bf16IsReadFromTwoByteIntegersAndRecords) {
  const std::string one("\x80\x3f", 2);
  const std::string u2 = "{'descr': '<u2', 'fortran_order': False, 'shape': ()}";
  const std::string v2 = "{'descr': '|V2', 'fortran_order': False, 'shape': ()}";
  EXPECT_EQ(parse(file(u2, one), DType::BF16).value().get(0), 1.0);
  EXPECT_EQ(parse(file(v2, one), DType::BF16).value().get(0), 1.0);
  EXPECT_EQ(parse(file(v2, one)).value().dtype(), DType::BF16);
  EXPECT_EQ(parse(file(u2, one)).value().dtype(), DType::U16);
}

TEST(Npy, AnyTrueByteBecomesOne) {
  const std::string literal = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}";
  EXPECT_EQ(static_cast<char*>(parse(file(literal, std::string("\x05\x00", 2))).value().data())[0],
            1);
}

TEST(Npy, OtherTypeThanWantedIsNamed) {
  const std::string literal = "{'descr': '<f8', 'fortran_order': False, 'shape': ()}";
  const Error error = parse(file(literal, std::string(8, '\0')), DType::F32).error();
  EXPECT_EQ(error.message,
            "cannot read 'x.npy' as an array: it holds f64 ('<f8') where f32 is expected");
}

TEST(Npy, MalformedFilesSayWhatIsWrong) {
  const std::string data(4, '\0');
  const struct {
    std::string text, message;
  } cases[] = {
      {"", "magic number"},
      {"\x93NUMPY", "before its version"},
      {std::string("\x93NUMPY\x01\x00\x50", 9), "before the length"},
      {std::string("\x93NUMPY\x01\x00\x50\x00{", 11), "within its header"},
      {std::string("\x93NUMPY\x07\x00\x00\x00", 10), "version 7"},
      {file("", data), "no '{'"},
      {file("{'descr': '<f4'}", data), "lacks 'fortran_order'"},
      {file("{'fortran_order': False, 'shape': ()}", data), "lacks 'descr'"},
      {file("{'descr': '<f4', 'fortran_order': False}", data), "lacks 'shape'"},
      {file("{'descr': '<f4', 'descr': '<f4'}", data), "twice"},
      {file("{'colour': 'red'}", data), "unknown key 'colour'"},
      {file("{'descr': '<c8', 'fortran_order': False, 'shape': ()}", data), "'<c8'"},
      {file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", data),
       "named fields"},
      {file("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}", data), "neither True nor False"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", data), "extent -1"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", data), "8 bytes"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", data + "x"), "5 are there"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", data),
       "more than 2^63"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", data),
       "99999999999999999999"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", data), "extent is expected"},
      {file("{'descr': '<f4", data), "without an end"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", data), "goes on"},
  };
  for (const auto& c : cases) {
    const Result<Array> array = parse(c.text);
    ASSERT_FALSE(array.ok()) << c.message;
    EXPECT_THAT(array.error().message, HasSubstr(c.message));
    EXPECT_THAT(array.error().message, HasSubstr("x.npy"));
  }
}

TEST(Npy, AMissingFileIsNamed) {
  const Error error = read_npy("/nowhere/x.npy").error();
  EXPECT_EQ(error.code, ErrorCode::NotFound);
  EXPECT_THAT(error.message, HasSubstr("/nowhere/x.npy"));
}

TEST(Npy, EveryTruncationIsAnError) {
  const Array array = random_array(DType::F32, {2, 3});
  std::string text = npy_header(DType::F32, {2, 3});
  text.append(static_cast<const char*>(array.data()), static_cast<size_t>(array.bytes()));
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse(text.substr(0, length)).ok()) << length;
  }
}

TEST(Npy, DamagedBytesAreAnErrorOrAnArrayOfTheSameSize) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  const std::string good = npy_header(DType::I16, {4, 5}) + std::string(40, 'x');
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    const int64_t damages = rng.range(1, 4);
    for (int64_t k = 0; k < damages; ++k) {
      text[rng.below(80)] = static_cast<char>(rng.below(256));
    }
    const Result<Array> array = parse(text);
    if (array.ok()) {
      EXPECT_LE(array->bytes(), 168 - 64) << round;
    }
  }
}

}  // namespace
}  // namespace espalier
