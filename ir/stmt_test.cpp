#include "espalier/ir/stmt.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

struct StmtTest : testing::Test {
  Buffer b = make_buffer("B", DType::F32, {8}, BufferScope::Param);
  Var i{"i"};
  Stmt store = make_store(b, {i}, 1.0f);
};

TEST_F(StmtTest, BlocksAreFlat) {
  const Stmt s = make_block({store, make_block({store, store}), Stmt(), make_block({})});
  ASSERT_NE(s.as<BlockNode>(), nullptr);
  EXPECT_EQ(s.as<BlockNode>()->stmts.size(), 3u);
}

TEST_F(StmtTest, BlockOfOneIsThatOne) { EXPECT_TRUE(make_block({Stmt(), store}).same_as(store)); }

TEST_F(StmtTest, StoreChecksTheValuesType) {
  EXPECT_DEATH(make_store(b, {i}, 1.0), "store of f64 as f32 into B");
  EXPECT_DEATH(make_store(b, {make_ramp(i, 1, 4)}, 1.0f), "store of f32 as f32x4");
}

}  // namespace
}  // namespace espalier
