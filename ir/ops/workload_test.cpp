#include "espalier/ir/ops/workload.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>

#include "espalier/ir/ops/op_def.h"
#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string canonical(std::string_view spec) { return to_string(parse_workload(spec).value()); }

// One or more of every operator.
const char* const kSpecs[] = {
    "matmul:m=5,n=6,k=7",
    "matmul:m=5,n=6,k=7,ta=1,tb=1,dtype=f64,epilogue=bias+gelu",
    "matmul:m=3,n=2,k=3,tb=1,weights=constant,epilogue=bias+add+cscale+bias",
    "batch_matmul:b=2,m=3,n=4,k=5,tb=1,epilogue=scale+add",
    "conv1d:n=1,l=8,ci=2,co=3,k=3,s=2,p=1",
    "conv2d:n=2,h=6,w=5,ci=2,co=3,k=3,s=2,p=1,epilogue=bias+add+relu",
    "conv2d:n=1,h=6,w=5,ci=4,co=6,kh=3,kw=1,pt=1,pb=0,pl=0,pr=0,g=2,d=2,weights=variable",
    "conv3d:n=1,depth=3,h=4,w=4,ci=2,co=2,k=3,p=1,epilogue=silu",
    "depthwise_conv2d:n=1,h=6,w=6,c=3,k=3,p=1,mult=2,epilogue=bias+hardswish",
    "max_pool2d:n=1,h=6,w=6,c=3,k=3,s=2,p=1",
    "avg_pool2d:n=1,h=6,w=6,c=3,k=3,s=2,p=1,ceil=1",
    "avg_pool2d:n=1,h=6,w=6,c=3,k=3,s=2,p=1,ceil=1,count_pad=1",
    "global_avg_pool2d:n=2,h=3,w=3,c=4",
    "reduce:op=sum,shape=3x4x5,axes=0x2",
    "reduce:op=mean,shape=3x4,axes=1",
    "reduce:op=prod,shape=3x4,axes=0",
    "reduce:op=max,shape=3x4,axes=0x1",
    "softmax:rows=3,cols=5",
    "softmax:shape=2x3x4,axis=1",
    "layer_norm:rows=3,cols=5,epilogue=gelu_tanh",
    "elementwise:op=cscale+bias+relu,shape=3x4",
    "elementwise:op=pow,shape=3x4,b=4",
    "elementwise:op=sigmoid+hardsigmoid+relu6+tanh+erf+exp+log+sqrt+rsqrt+abs+neg,shape=3",
    "elementwise:op=cast,shape=3,to=f64",
    "elementwise:op=mod,shape=0x3",
    "transpose:shape=2x3x4,perm=0x2x1",
    "embedding:rows=3,cols=4,vocab=7",
    "conv2d:n=1,h=6,w=5,ci=2,co=3,k=3,p=1,layout=nchw,dtype=bf16,epilogue=bias+relu",
    "conv2d_transpose:n=1,h=4,w=3,ci=2,co=3,k=3,s=2,p=1,op=1,epilogue=bias",
    "conv2d_transpose:n=1,h=4,w=3,ci=2,co=3,k=3,s=4,d=2,dtype=i8",
    "capsule_conv2d:n=1,h=4,w=3,ci=2,co=3,k=3,s=2,p=1,caps=2",
    "norm2:b=2,m=3,n=4",
    "rms_norm:rows=3,cols=5,dtype=f16",
    "attention_scores:seq=3,heads=2,dim=4",
    "reduce:op=argmax,shape=3x4x5,axes=0x2",
    "matmul:m=5,n=6,k=7,dtype=i8,acc=i64",
};

TEST(Workload, CanonicalTextParsesBack) {
  for (const char* spec : kSpecs) {
    const Workload workload = parse_workload(spec).value();
    EXPECT_EQ(parse_workload(to_string(workload)).value(), workload) << spec;
    EXPECT_EQ(make_workload(workload).value().hash(), load_workload(spec).value().hash()) << spec;
  }
}

TEST(Workload, TextOfEveryDagParsesBack) {
  for (const char* spec : kSpecs) {
    const ComputeDag dag = load_workload(spec).value();
    const std::string text = to_string(dag);
    Result<ComputeDag> again = parse_dag(text);
    ASSERT_TRUE(again.ok()) << to_string(again.error()) << "\n" << text;
    EXPECT_EQ(again->hash(), dag.hash()) << text;
    EXPECT_EQ(to_string(*again), text);
  }
}

TEST(Workload, EveryOperatorIsSampled) {
  for (const std::string& op : workload_ops()) {
    bool found = false;
    for (const char* spec : kSpecs) found = found || std::string_view(spec).starts_with(op + ":");
    EXPECT_TRUE(found) << op;
  }
}

TEST(Workload, DefaultsAndShorthands) {
  EXPECT_EQ(canonical("conv2d:co=4,h=8,w=8,n=1,ci=2,kh=3,kw=3,sh=1,sw=1,pt=1,pb=1,pl=1,pr=1,"
                      "layout=nhwc,weights=constant,dtype=f32,epilogue="),
            "conv2d:n=1,h=8,w=8,ci=2,co=4,k=3,p=1");
  EXPECT_EQ(canonical("conv2d:n=1,h=8,w=8,ci=2,co=4,kh=3,kw=1,ph=1,pw=0"),
            "conv2d:n=1,h=8,w=8,ci=2,co=4,kh=3,kw=1,ph=1");
  EXPECT_EQ(canonical("conv2d:n=1,h=8,w=8,ci=2,co=4,k=3,pl=1,pr=0"),
            "conv2d:n=1,h=8,w=8,ci=2,co=4,k=3,pl=1");
  EXPECT_EQ(canonical(" matmul: m=1, n=02 ,k=3,scale=0.125"), "matmul:m=1,n=2,k=3");
}

TEST(Workload, TextOfOneMadeByHandIsCanonical) {
  EXPECT_EQ(to_string(Workload{"matmul", {{"k", "3"}, {"m", "1"}, {"n", "2"}, {"ta", "0"}}}),
            "matmul:m=1,n=2,k=3");
  EXPECT_EQ(to_string(Workload{"nothing", {{"k", "3"}}}), "nothing:k=3");
}

TEST(Workload, Inputs) {
  const ComputeDag dag =
      load_workload("conv2d:n=1,h=8,w=8,ci=2,co=4,k=3,epilogue=bias+add+mul+add").value();
  std::vector<std::string> names;
  for (const InputInfo& input : list_inputs(dag)) names.push_back(input.name);
  EXPECT_THAT(names, ElementsAre("X", "W", "bias", "add0", "mul0", "add1"));
  const InputInfo w = list_inputs(dag)[1];
  EXPECT_TRUE(w.constant);
  EXPECT_EQ(w.shape, (std::vector<int64_t>{3, 3, 2, 4}));
  EXPECT_EQ(dag.stage(dag.outputs()[0]).name, "Y");
}

TEST(Workload, EmbeddingIndicesHaveARange) {
  const ComputeDag dag = load_workload("embedding:rows=2,cols=1,vocab=3").value();
  const StageInfo& x = dag.stage(dag.find("X"));
  EXPECT_EQ(x.tensor->dtype, DType::I64);
  EXPECT_EQ(x.tensor->value_range, (std::pair<int64_t, int64_t>{0, 3}));
}

TEST(Workload, EmbeddingGathers) {
  EXPECT_THAT(run_spec("embedding:rows=2,cols=2,vocab=3", {{2, 0}, counting(6)}),
              ElementsAre(5, 6, 1, 2));
}

TEST(Workload, EmbeddingRefusesWildIndices) {  // I3
  const ComputeDag dag = load_workload("embedding:rows=1,cols=1,vocab=3").value();
  Result<std::vector<Array>> out = evaluate_values(dag, {{-2147483648.0}, {1, 2, 3}});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code, ErrorCode::OutOfRange);
  EXPECT_THAT(out.error().message, AllOf(HasSubstr("'X'"), HasSubstr("-2147483648")));
}

TEST(Workload, TransposeMovesData) {
  EXPECT_THAT(run_spec("transpose:shape=2x3,perm=1x0", {counting(6)}),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(run_spec("transpose:shape=1x2x2,perm=2x0x1", {counting(4)}), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(workload_error("transpose:shape=2x3,perm=1x1"), HasSubstr("perm=1x1"));
}

TEST(WorkloadErrors, NameWhatIsWrong) {
  EXPECT_THAT(workload_error("matmull:m=1"),
              AllOf(HasSubstr("'matmull'"), HasSubstr("matmul"), HasSubstr("softmax")));
  EXPECT_THAT(workload_error("matmul:m=1,n=1,k=1,q=1"),
              AllOf(HasSubstr("no key 'q'"), HasSubstr("ta")));
  EXPECT_THAT(workload_error("matmul:m=1,k=1"), HasSubstr("'n' is missing"));
  EXPECT_THAT(workload_error("matmul:m=1,n=1,k=x"), AllOf(HasSubstr("k=x"), HasSubstr("integer")));
  EXPECT_THAT(workload_error("matmul:m=1,n=1,k=-4"), AllOf(HasSubstr("k=-4"), HasSubstr("from 0")));
  EXPECT_THAT(workload_error("matmul:m=1,n=1,k=99999999999999999999"), HasSubstr("from 0"));
  EXPECT_THAT(workload_error("matmul:m=1,m=1,n=1,k=1"), HasSubstr("given twice"));
  EXPECT_THAT(workload_error("matmul:m"), HasSubstr("key=value"));
  EXPECT_THAT(workload_error("matmul:m=1,"), HasSubstr("after the last ','"));
  EXPECT_THAT(workload_error(""), HasSubstr("operators are"));
  EXPECT_THAT(workload_error("conv2d:n=1,h=8,w=8,ci=1,co=1,k=3,kh=3"), HasSubstr("both given"));
  EXPECT_THAT(workload_error("matmul:m=1,n=1,k=1,dtype=f8"), HasSubstr("dtype=f8"));
  EXPECT_THAT(workload_error("matmul:m=1,n=1,k=1,epilogue=bias+relu7"), HasSubstr("'relu7'"));
  EXPECT_THAT(workload_error("reduce:op=sum,shape=2,axes=0,epilogue=bias"), HasSubstr("last axis"));
}

TEST(WorkloadErrors, HugeShapesAllocateNothing) {
  EXPECT_THAT(workload_error("matmul:m=2147483647,n=2147483647,k=2147483647"),
              HasSubstr("too large"));
  EXPECT_THAT(workload_error("matmul:m=1048576,n=1048576,k=1"), HasSubstr("2^40"));
  EXPECT_THAT(workload_error("reduce:op=sum,shape=1099511627776x1099511627776,axes=0"),
              HasSubstr("too large"));
  EXPECT_THAT(workload_error("elementwise:op=relu,shape=0x1099511627776x1099511627776"),
              HasSubstr("too large"));
}

TEST(LoadWorkload, ReadsTheTextOfADag) {
  const std::string path = testing::TempDir() + "espalier_load_workload.txt";
  const ComputeDag dag = load_workload("softmax:rows=2,cols=3").value();
  std::ofstream(path) << to_string(dag);
  EXPECT_EQ(load_workload(path).value().hash(), dag.hash());
  std::ofstream(path) << "X = placeholder f32[\n";
  Result<ComputeDag> broken = load_workload(path);
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(to_string(broken.error()), AllOf(HasSubstr("line 2"), HasSubstr(path)));
  std::remove(path.c_str());
}

TEST(LoadWorkload, NeitherFileNorOperator) {
  EXPECT_THAT(load_workload("no/such/file").error().message,
              AllOf(HasSubstr("no/such/file"), HasSubstr("neither"), HasSubstr("matmul")));
  EXPECT_THAT(load_workload("matmull:m=1").error().message, HasSubstr("'matmull'"));
  EXPECT_FALSE(load_workload(testing::TempDir()).ok());
}

// docs/workloads.md has a line for each operator, with its keys, and each part of a key somewhere;
// every step of an epilogue; and a definition that can be read.
TEST(Workload, ThePageOfWorkloadsIsComplete) {
  std::ifstream file(std::string(ESPALIER_SOURCE_DIR) + "/docs/workloads.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  auto quoted = [](const std::string& name) { return "`" + name + "`"; };
  const std::function<void(const ops::KeyDef&)> expect_parts = [&](const ops::KeyDef& key) {
    EXPECT_THAT(page, HasSubstr(quoted(key.name)));
    for (const ops::KeyDef& part : key.parts) expect_parts(part);
  };
  for (const ops::OpDef& op : ops::all_ops()) {
    const size_t at = page.find("\n| " + quoted(op.name) + " |");
    ASSERT_NE(at, std::string::npos) << op.name;
    const std::string row = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
    for (const ops::KeyDef& key : op.keys) {
      expect_parts(key);
      const bool everybodys = key.name == "dtype" || key.name == "epilogue" || key.name == "scale";
      if (!everybodys) EXPECT_THAT(row, HasSubstr(quoted(key.name)));
    }
  }
  const std::string known = workload_error("matmul:m=1,n=1,k=1,epilogue=?");
  std::istringstream steps(known.substr(known.find("steps are ") + 10));
  for (std::string step; steps >> step;) EXPECT_THAT(page, HasSubstr(quoted(step)));
  const size_t dag = page.find("```dag\n") + 7;
  const auto read = parse_dag(page.substr(dag, page.find("```", dag) - dag));
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : to_string(read.error()));
}

}  // namespace
}  // namespace espalier
