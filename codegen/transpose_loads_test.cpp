#include "espalier/codegen/transpose_loads.h"

#include <gtest/gtest.h>

#include "espalier/codegen/emit.h"
#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

// P[k, j] = X[j, k] * 2 for tiles of `tile` k's in straight code and vectors along j.
LoweredKernel pack(DType type, int64_t rows, int64_t columns, int64_t tile) {
  const Buffer x = make_buffer("X", type, {rows, columns}, BufferScope::Param);
  const Buffer p = make_buffer("P", type, {columns, rows}, BufferScope::Param);
  const Var j("j"), block("block"), k("k");
  const Expr column = block * tile + k;
  const Stmt copy = make_store(p, {column, j}, make_load(x, {j, column}) * make_number(type, 2));
  return test::kernel_of({x, p},
                         make_for(block, 0, columns / tile, ForKind::Serial,
                                  make_for(k, 0, tile, ForKind::Unrolled,
                                           make_for(j, 0, rows, ForKind::Vectorized, copy))));
}

bool gathers(const LoweredKernel& kernel, const Target& target) {
  const std::string text = emit_assembly(kernel, target).value();
  // Elements that are read one by one are put into their lanes one by one.
  return text.find("gather") != std::string::npos || text.find("vinsertps") != std::string::npos;
}

TEST(TransposeLoads, ColumnsAreTheSame) {
  for (const DType type : {DType::F32, DType::F64, DType::I32, DType::F16}) {
    for (const int64_t rows : {4, 8, 16, 19}) {
      test::expect_same_everywhere(pack(type, rows, 32, 16));
    }
  }
}

TEST(TransposeLoads, WholeTilesAreReadByRows) {
  EXPECT_FALSE(gathers(pack(DType::F32, 16, 64, 16), test::avx512()));
  EXPECT_FALSE(gathers(pack(DType::F32, 8, 64, 8), test::avx2()));
}

TEST(TransposeLoads, PartsOfTilesStayAsTheyAre) {
  // The elements beside the columns need not exist.
  EXPECT_TRUE(gathers(pack(DType::F32, 16, 7, 7), test::avx512()));
}

}  // namespace
}  // namespace espalier
