#include "espalier/ir/type.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Type, NamesReadBack) {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    const DType t = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(t)), t);
  }
  EXPECT_EQ(dtype_from_name("f8"), std::nullopt);
}

TEST(Type, EndsOfIntegerTypes) {
  EXPECT_EQ(int_min(DType::I8), -128);
  EXPECT_EQ(int_max(DType::I8), 127);
  EXPECT_EQ(int_min(DType::I64), INT64_MIN);
  EXPECT_EQ(int_max(DType::I64), INT64_MAX);
  EXPECT_EQ(int_min(DType::U32), 0);
  EXPECT_EQ(int_max(DType::U32), 4294967295);
  EXPECT_EQ(static_cast<uint64_t>(int_max(DType::U64)), UINT64_MAX);
  EXPECT_EQ(int_max(DType::Bool), 1);
}

TEST(Type, VectorsPrintTheirLanes) {
  EXPECT_EQ(to_string(Type(DType::F32)), "f32");
  EXPECT_EQ(to_string(Type(DType::BF16, 16)), "bf16x16");
}

TEST(Type, BoolTakesOneByteAndOneBit) {
  EXPECT_EQ(bytes_of(DType::Bool), 1);
  EXPECT_EQ(bits_of(DType::Bool), 1);
}

}  // namespace
}  // namespace espalier
