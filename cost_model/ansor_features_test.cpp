#include "espalier/cost_model/ansor_features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "espalier/cost_model/test_tasks.h"
#include "espalier/schedule/text.h"

namespace espalier {
namespace {

float column(const AnsorRow& row, const std::string& name) {
  for (size_t i = 0; i < kAnsorColumns; ++i) {
    if (ansor_columns()[i].name == name) return row[i];
  }
  ADD_FAILURE() << "no column " << name;
  return NAN;
}

TEST(AnsorFeatures, NamesAreDistinct) {
  std::set<std::string> names;
  for (const AnsorColumn& c : ansor_columns()) names.insert(c.name);
  EXPECT_EQ(names.size(), 164u);
}

// The example of the original's tests: i0 j0 k | j1: 8 vectorized | i1: 16.
class AnsorExample : public ::testing::Test {
 protected:
  void SetUp() override {
    const Task task = test_task(512);
    const char* trace =
        "Y: split i -> i.0 i.1 by 16\nY: split j -> j.0 j.1 by 8\nY: reorder i.0 j.0 k j.1 i.1\n"
        "Y: vectorize j.1\n";
    rows_ = ansor_rows(replay(task, parse_trace(trace, task).value()).state());
    ASSERT_EQ(rows_.size(), 1u);
    // The buffers stand in the order of their lines: the product is the one that is written.
    for (int b = 0; b < 3; ++b) {
      const std::string of = "b" + std::to_string(b) + "_";
      if (column(rows_[0], of + "read_write") == 1) product_ = of;
      if (column(rows_[0], of + "reuse_dis_iter") == std::log2(1 + 16 * 8 * 512.0F)) other_ = of;
    }
  }
  float at(const std::string& name) { return column(rows_[0], name); }
  std::vector<AnsorRow> rows_;
  std::string product_, other_;
};

TEST_F(AnsorExample, SizesOfTheProduct) {
  EXPECT_FLOAT_EQ(at(product_ + "bytes"), std::log2(512.0F * 512 * 512 * 4 + 1));
  EXPECT_FLOAT_EQ(at(product_ + "unique_bytes"), std::log2(512.0F * 512 * 4 + 1));
}

TEST_F(AnsorExample, ReuseOfTheProduct) {
  EXPECT_EQ(at(product_ + "reuse_loop"), 1);
  EXPECT_FLOAT_EQ(at(product_ + "reuse_dis_iter"), std::log2(129.0F));
  EXPECT_FLOAT_EQ(at(product_ + "reuse_dis_bytes"), std::log2((128.0F + 8 + 16) * 4 + 1));
  EXPECT_FLOAT_EQ(at(product_ + "reuse_ct"), std::log2(513.0F));
}

TEST_F(AnsorExample, OperationsAndLoops) {
  const float points = 512.0F * 512 * 512;
  EXPECT_FLOAT_EQ(at("float_addsub"), std::log2(points + 1));
  EXPECT_FLOAT_EQ(at("float_mul"), std::log2(points + 1));
  EXPECT_EQ(at("float_mad"), 0);
  EXPECT_FLOAT_EQ(at("vec_len"), std::log2(9.0F));
  EXPECT_EQ(at("vec_type_mixed"), 1);
  EXPECT_EQ(at("parallel_type_none"), 1);
  EXPECT_FLOAT_EQ(at("outer_prod"), std::log2(points + 1));
  EXPECT_FLOAT_EQ(at("num_loops"), std::log2(6.0F));
}

TEST(AnsorFeatures, DeadColumnsAreAlwaysZero) {
  Task task = test_task(64);
  const char* trace =
      "Y: split i -> i.0 i.1 by 4\nY: reorder i.0 j k i.1\nY: cache_write at j -> Y.acc\n"
      "Y.acc: unroll i.1\nY: parallel i.0\n";
  for (const AnsorRow& row : ansor_rows(replay(task, parse_trace(trace, task).value()).state())) {
    for (size_t i = 0; i < kAnsorColumns; ++i) {
      if (ansor_columns()[i].dead) EXPECT_EQ(row[i], 0) << ansor_columns()[i].name;
    }
  }
}

TEST(AnsorFeatures, AreFiniteForExtentsZeroAndOne) {
  for (const char* workload : {"matmul:m=0,n=16,k=16", "matmul:m=1,n=1,k=0",
                               "softmax:rows=1,cols=1", "transpose:shape=1x1,perm=1x0"}) {
    Task task = test_task(1);
    task.dag = load_workload(workload).value();
    for (const AnsorRow& row : ansor_rows(State::initial(task))) {
      for (float v : row) EXPECT_TRUE(std::isfinite(v)) << workload;
    }
  }
}

TEST(AnsorFeatures, OneRowACandidate) {
  const Task task = test_task(64);
  const std::vector<Candidate> candidates = test_candidates(3);
  const auto source = make_ansor_features();
  const size_t columns = source->names().size();
  std::vector<float> values(3 * columns), margins(3);
  source->extract(task, candidates, 1, values, margins);
  const std::vector<AnsorRow> rows = ansor_rows(replay(task, candidates[1]).state());
  EXPECT_TRUE(
      std::equal(rows[0].begin(), rows[0].end(), values.begin() + static_cast<ptrdiff_t>(columns)));
}

}  // namespace
}  // namespace espalier
