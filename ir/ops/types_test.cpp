// The types that operators compute in and give.
#include "espalier/ir/ops/types.h"

#include <gmock/gmock.h>

#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

DType result_type(std::string_view spec) {
  Result<ComputeDag> dag = load_workload(spec);
  EXPECT_TRUE(dag.ok()) << spec << ": " << (dag.ok() ? "" : to_string(dag.error()));
  return dag.ok() ? dag->stage(dag->outputs()[0]).tensor->dtype : DType::Bool;
}

TEST(OpTypes, IntegerProductsHaveTheAccumulatorsType) {
  EXPECT_EQ(result_type("matmul:m=2,n=2,k=2,dtype=i8"), DType::I32);
  EXPECT_EQ(result_type("matmul:m=2,n=2,k=2,dtype=u8,acc=i64"), DType::I64);
  EXPECT_EQ(result_type("batch_matmul:b=2,m=2,n=2,k=2,dtype=i16"), DType::I32);
  EXPECT_EQ(result_type("conv2d:n=1,h=3,w=3,ci=1,co=1,k=3,dtype=u8"), DType::I32);
  EXPECT_EQ(result_type("depthwise_conv2d:n=1,h=3,w=3,c=1,k=3,dtype=i8"), DType::I32);
  EXPECT_EQ(result_type("conv2d_transpose:n=1,h=3,w=3,ci=1,co=1,k=3,dtype=i8"), DType::I32);
  EXPECT_EQ(result_type("capsule_conv2d:n=1,h=3,w=3,ci=1,co=1,k=3,dtype=i8"), DType::I32);
  EXPECT_EQ(result_type("matmul:m=2,n=2,k=2,dtype=u64"), DType::U64);
}

TEST(OpTypes, OthersKeepTheDatasType) {
  for (const char* type : {"f64", "f32", "f16", "bf16"}) {
    const std::string suffix = std::string(",dtype=") + type;
    const DType dtype = *dtype_from_name(type);
    for (const char* op :
         {"matmul:m=2,n=2,k=2", "conv1d:n=1,l=3,ci=1,co=1,k=3", "norm2:b=1,m=2,n=2",
          "softmax:rows=2,cols=2", "layer_norm:rows=2,cols=2", "rms_norm:rows=2,cols=2",
          "attention_scores:seq=2,heads=2,dim=2", "avg_pool2d:n=1,h=2,w=2,c=1,k=2",
          "matmul:m=2,n=2,k=2,epilogue=bias+gelu", "elementwise:op=exp+cscale,shape=2"}) {
      EXPECT_EQ(result_type(op + suffix), dtype) << op << suffix;
    }
  }
  for (const char* op : {"reduce:op=sum,shape=2,axes=0", "reduce:op=mean,shape=2,axes=0",
                         "max_pool2d:n=1,h=2,w=2,c=1,k=2", "global_avg_pool2d:n=1,h=2,w=2,c=1",
                         "elementwise:op=add,shape=2", "transpose:shape=2x3,perm=1x0"}) {
    EXPECT_EQ(result_type(std::string(op) + ",dtype=i8"), DType::I8) << op;
  }
  EXPECT_EQ(result_type("reduce:op=argmin,shape=2x3,axes=1,dtype=u8"), DType::I64);
  EXPECT_EQ(result_type("elementwise:op=cast,to=bf16,shape=3,dtype=i32"), DType::BF16);
}

TEST(OpTypes, IntegerProductsAreWide) {
  EXPECT_THAT(run_spec("matmul:m=1,n=1,k=2,dtype=i8", {{-128, 127}, {-128, 127}}),
              ElementsAre(128 * 128 + 127 * 127));
  EXPECT_THAT(run_spec("matmul:m=1,n=1,k=2,dtype=u8", {{255, 255}, {255, 255}}),
              ElementsAre(2 * 255 * 255));
  EXPECT_THAT(run_spec("matmul:m=1,n=1,k=2,dtype=i32", {{1 << 30, 1 << 30}, {2, 2}}),
              ElementsAre(0));
  EXPECT_THAT(run_spec("matmul:m=1,n=1,k=2,dtype=i32,acc=i64", {{1 << 30, 1 << 30}, {2, 2}}),
              ElementsAre(4294967296.0));
}

TEST(OpTypes, SumsOfNarrowIntegersAreWideInside) {  // F5
  EXPECT_THAT(
      run_spec("global_avg_pool2d:n=1,h=32,w=32,c=1,dtype=i8", {std::vector<double>(1024, 127)}),
      ElementsAre(127));
  EXPECT_THAT(
      run_spec("reduce:op=mean,shape=4,axes=0,dtype=i32", {std::vector<double>(4, 2147483647)}),
      ElementsAre(2147483647));
  EXPECT_THAT(run_spec("reduce:op=sum,shape=3,axes=0,dtype=u8", {{200, 50, 10}}), ElementsAre(4));
}

TEST(OpTypes, HalvesAreRoundedOnceAtTheEnd) {
  // 2048 + 1 is no f16, 2050 is one.
  EXPECT_THAT(run_spec("reduce:op=sum,shape=3,axes=0,dtype=f16", {{2048, 1, 1}}),
              ElementsAre(2050));
  EXPECT_THAT(run_spec("elementwise:op=add+add,shape=1,dtype=f16", {{2048}, {1}, {1}}),
              ElementsAre(2050));
  EXPECT_THAT(run_spec("matmul:m=1,n=1,k=1,dtype=f16,epilogue=bias+add", {{2048}, {1}, {1}, {1}}),
              ElementsAre(2050));
  EXPECT_THAT(run_spec("reduce:op=sum,shape=3,axes=0,dtype=bf16", {{256, 1, 1}}), ElementsAre(258));
}

TEST(OpTypes, CastRoundsWhereItStands) {
  EXPECT_THAT(run_spec("elementwise:op=cast+cscale,to=f16,shape=1", {{2049}, {2}}),
              ElementsAre(4096));
  EXPECT_THAT(
      run_spec("elementwise:op=cast,to=i8,shape=5", {{300, NAN, INFINITY, -INFINITY, -50.7}}),
      ElementsAre(127, 0, 127, -128, -50));
  EXPECT_THAT(run_spec("elementwise:op=cast,to=bool,shape=2", {{0.5, 0}}), ElementsAre(1, 0));
}

TEST(OpTypes, IntegerArithmetic) {
  EXPECT_THAT(run_spec("elementwise:op=div,shape=3,dtype=i8", {{-5, 5, -128}, {2, 0, -1}}),
              ElementsAre(-2, 0, -128));
  EXPECT_THAT(run_spec("elementwise:op=mod,shape=2,dtype=i16", {{-5, 5}, {3, -3}}),
              ElementsAre(-2, 2));
  EXPECT_THAT(run_spec("elementwise:op=sub,shape=1,dtype=u32", {{0}, {2}}),
              ElementsAre(4294967294.0));
  EXPECT_THAT(run_spec("elementwise:op=relu6+neg,shape=3,dtype=i32", {{-3, 4, 9}}),
              ElementsAre(0, -4, -6));
}

TEST(OpTypeErrors, SayWhatWorks) {
  EXPECT_THAT(workload_error("matmul:m=1,n=1,k=1,dtype=i32,acc=i8"),
              AllOf(HasSubstr("acc=i8"), HasSubstr("at least 32 bits")));
  EXPECT_THAT(workload_error("matmul:m=1,n=1,k=1,dtype=f16,acc=i32"),
              AllOf(HasSubstr("acc=i32"), HasSubstr("floating-point")));
  EXPECT_THAT(workload_error("matmul:m=1,n=1,k=1,dtype=bool"), HasSubstr("dtype=bool"));
  EXPECT_THAT(workload_error("softmax:rows=1,cols=1,dtype=i32"),
              AllOf(HasSubstr("dtype=i32"), HasSubstr("f32")));
  EXPECT_THAT(workload_error("elementwise:op=gelu,shape=3,dtype=i32"),
              AllOf(HasSubstr("'gelu'"), HasSubstr("i32")));
  EXPECT_THAT(workload_error("elementwise:op=pow,shape=3,dtype=i32"),
              AllOf(HasSubstr("'pow'"), HasSubstr("i32")));
  EXPECT_THAT(workload_error("matmul:m=1,n=1,k=1,dtype=i8,epilogue=scale"),
              AllOf(HasSubstr("'scale'"), HasSubstr("i32")));
  EXPECT_THAT(workload_error("reduce:op=max,shape=3,axes=0,acc=f64"), HasSubstr("'acc'"));
  EXPECT_THAT(workload_error("transpose:shape=3,perm=0,acc=f64"), HasSubstr("no key 'acc'"));
}

}  // namespace
}  // namespace espalier
