#include "espalier/search/register_tile.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

Target avx2() { return parse_target("x86_64 features=+avx2,+fma bits=256 regs=16").value(); }
Target avx512() { return parse_target("x86_64 features=+avx512f bits=512 regs=32").value(); }

TEST(RegisterTile, FitsTheRegisterFile) {
  for (const Target& t : {avx2(), avx512()}) {
    const int lanes = t.lanes(4);
    for (int64_t rows : {1, 2, 7, 14, 49, 56, 127, 512}) {
      for (int64_t cols : {16, 61, 64, 100, 512}) {
        const RegisterTile tile = choose_register_tile(rows, cols, lanes, t);
        const int64_t vectors = tile.cols / lanes;
        EXPECT_LE(tile.rows * vectors + (tile.rows > 1 ? vectors : 1) + 1, t.vector_registers)
            << rows << "x" << cols;
        EXPECT_LE(tile.rows, rows);
        EXPECT_EQ(tile.cols % lanes, 0);
      }
    }
  }
}

TEST(RegisterTile, HasNoMoreRowsThanAllowed) {
  EXPECT_LE(choose_register_tile(2048, 16, 16, avx512(), false, 7).rows, 7);
  EXPECT_GT(choose_register_tile(2048, 16, 16, avx512()).rows, 7);
}

TEST(RegisterTile, BigMatricesGetBigTiles) {
  const RegisterTile narrow = choose_register_tile(512, 512, 8, avx2());
  EXPECT_GE(narrow.rows * narrow.cols / 8, 8);
  const RegisterTile wide = choose_register_tile(512, 512, 16, avx512());
  EXPECT_GE(wide.rows * wide.cols / 16, 16);
}

TEST(RegisterTile, OneRowHidesTheLatencyWithColumns) {
  EXPECT_GE(choose_register_tile(1, 1024, 16, avx512()).cols, 64);
}

TEST(RegisterTile, NarrowAxesAreTakenWhole) {
  const RegisterTile tile = choose_register_tile(100, 5, 16, avx512());
  EXPECT_EQ(tile.cols, 5);
  EXPECT_GE(tile.rows, 4);
}

TEST(RegisterTile, ShortRowsAreCoveredEvenly) {
  // 7 rows in one go rather than 6 and 1.
  EXPECT_EQ(choose_register_tile(7, 512, 16, avx512()).rows, 7);
}

}  // namespace
}  // namespace espalier
