#include <gmock/gmock.h>

#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

TEST(ReduceOp, OverEachAxis) {
  EXPECT_THAT(run_spec("reduce:op=sum,shape=2x3,axes=1", {counting(6)}), ElementsAre(6, 15));
  EXPECT_THAT(run_spec("reduce:op=sum,shape=2x3,axes=0", {counting(6)}), ElementsAre(5, 7, 9));
  EXPECT_THAT(run_spec("reduce:op=max,shape=2x2x2,axes=0x2", {counting(8)}), ElementsAre(6, 8));
}

TEST(ReduceOp, EveryCombiner) {
  EXPECT_THAT(run_spec("reduce:op=mean,shape=4,axes=0", {counting(4)}), ElementsAre(2.5));
  EXPECT_THAT(run_spec("reduce:op=prod,shape=4,axes=0", {counting(4)}), ElementsAre(24));
  EXPECT_THAT(run_spec("reduce:op=min,shape=4,axes=0", {counting(4)}), ElementsAre(1));
}

TEST(ReduceOp, ToAScalar) {  // J3
  const ComputeDag dag = load_workload("reduce:op=sum,shape=2x3,axes=0x1").value();
  EXPECT_TRUE(dag.stage(dag.find("Y")).tensor->shape.empty());
  EXPECT_THAT(run_spec("reduce:op=sum,shape=2x3,axes=0x1", {counting(6)}), ElementsAre(21));
}

TEST(ReduceOp, NothingToReduce) {  // C9, C11
  EXPECT_THAT(run_spec("reduce:op=sum,shape=0,axes=0", {{}}), ElementsAre(0));
  EXPECT_TRUE(run_spec("reduce:op=sum,shape=0x10,axes=1", {{}}).empty());
  EXPECT_THAT(run_spec("reduce:op=max,shape=0,axes=0", {{}}), ElementsAre(-INFINITY));
  EXPECT_THAT(run_spec("reduce:op=mean,shape=0,axes=0", {{}}), ElementsAre(IsNan()));
  EXPECT_THAT(run_spec("reduce:op=sum,shape=3,axes=", {counting(3)}), ElementsAre(1, 2, 3));
}

TEST(ReduceOp, SumOfManyEqualTerms) {  // C15
  const double x = static_cast<double>(1.01f);
  EXPECT_THAT(
      run_spec("reduce:op=sum,shape=1000x1000,axes=0x1", {std::vector<double>(1000000, 1.01)}),
      ElementsAre(static_cast<double>(static_cast<float>(1e6 * x))));
}

TEST(ReduceOp, NaNInMaxAndMin) {  // D1
  for (const char* op : {"max", "min"}) {
    const std::string spec = std::string("reduce:op=") + op + ",shape=2,axes=0";
    EXPECT_THAT(run_spec(spec, {{NAN, 1}}), ElementsAre(IsNan()));
    EXPECT_THAT(run_spec(spec, {{1, NAN}}), ElementsAre(IsNan()));
  }
}

TEST(ReduceOp, ArgOfTheFirstExtremum) {  // C13, D3
  EXPECT_THAT(run_spec("reduce:op=argmax,shape=3,axes=0", {{3, 7, 7}}), ElementsAre(1));
  EXPECT_THAT(run_spec("reduce:op=argmin,shape=4,axes=0", {{3, -7, 7, -7}}), ElementsAre(1));
  EXPECT_THAT(run_spec("reduce:op=argmax,shape=2x1,axes=1", {{0, 0}}), ElementsAre(0, 0));
  EXPECT_THAT(run_spec("reduce:op=argmax,shape=2,axes=0", {{-0.0, 0.0}}), ElementsAre(0));
  EXPECT_THAT(run_spec("reduce:op=argmax,shape=2,axes=0", {{-INFINITY, -INFINITY}}),
              ElementsAre(0));
  EXPECT_THAT(run_spec("reduce:op=argmin,shape=3,axes=0,dtype=u8", {{200, 9, 10}}), ElementsAre(1));
}

TEST(ReduceOp, ArgOfTheFirstNaN) {  // D3
  EXPECT_THAT(run_spec("reduce:op=argmax,shape=5,axes=0", {{2, NAN, 7, 4, 1}}), ElementsAre(1));
  EXPECT_THAT(run_spec("reduce:op=argmin,shape=5,axes=0", {{NAN, 2, NAN, 4, 1}}), ElementsAre(0));
  EXPECT_THAT(run_spec("reduce:op=argmax,shape=5,axes=0", {{2, 4, 7, 1, NAN}}), ElementsAre(4));
}

TEST(ReduceOp, ArgCountsReducedAxesInOrder) {
  // Axes 0 and 2 of 2x2x3: the place is r0 * 3 + r2.
  EXPECT_THAT(
      run_spec("reduce:op=argmax,shape=2x2x3,axes=2x0", {{1, 2, 3, 9, 0, 0, 4, 8, 1, 2, 3, 4}}),
      ElementsAre(4, 0));
}

TEST(ReduceErrors, Axes) {
  EXPECT_THAT(workload_error("reduce:op=sum,shape=2x3,axes=2"), HasSubstr("axis 2 does not exist"));
  EXPECT_THAT(workload_error("reduce:op=sum,shape=2x3,axes=1x1"), HasSubstr("twice"));
  EXPECT_THAT(workload_error("reduce:op=argmax,shape=2x0,axes=1"),
              HasSubstr("no argmax of no elements"));
  EXPECT_THAT(workload_error("reduce:op=median,shape=2x3,axes=1"), HasSubstr("one of sum mean"));
  EXPECT_THAT(workload_error("reduce:shape=2x3,axes=1"), HasSubstr("'op' is missing"));
  EXPECT_THAT(workload_error("reduce:op=sum,shape=2x-3,axes=1"), HasSubstr("'-3'"));
}

}  // namespace
}  // namespace espalier
