// Formulas made for a sketch give what direct computation from each candidate's state gives, on
// the sketches that the rules make.
#include <gtest/gtest.h>

#include "espalier/cost_model/sketch_formulas.h"
#include "espalier/cost_model/stage_cost.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/search/sketch_space.h"
#include "espalier/search/slots.h"

namespace espalier {
namespace {

constexpr uint64_t kSeed = 20;

SketchFormulas all_terms() {
  const DeviceModel device;
  // Of as many stages as there may be, in one sum each, so that every term matters.
  return SketchFormulas(
      3, [device](const State& state, const Shape& shape, std::vector<Quantity>& out) {
        const ScheduleCost cost = cost_of(state, shape, device);
        Quantity terms = 0, traffic = 0;
        for (const StageCost& c : cost.stages) {
          terms += c.core + c.registers + c.spilled + c.tail + c.entries + c.balance;
          for (size_t level = 0; level < kCacheLevels; ++level) {
            traffic += c.lines[level] + c.needed[level];
          }
        }
        out.insert(out.end(), {cost.cycles, terms, traffic});
      });
}

class CostFormulas : public ::testing::TestWithParam<const char*> {};

TEST_P(CostFormulas, EqualDirectComputation) {
  const SketchFormulas formulas = all_terms();
  for (const char* target : {"x86_64 features=+avx2,+fma,+avx512f l1=32768 l2=1048576 l3=33554432",
                             "x86_64 features=+avx2,+fma cores=2 l1=32768 l2=262144 l3=0"}) {
    Task task;
    task.workload = GetParam();
    task.dag = load_workload(task.workload).value();
    task.target = parse_target(target).value();
    task.threads = task.target.cores;
    const SketchSpace space(task);
    Rng rng(kSeed);
    int compared = 0;
    for (int i = 0; i < 40; ++i) {
      const StructurePtr structure = space.draw(rng, 0.3);
      if (!structure || structure->sketch->slots.empty()) continue;
      const std::optional<Formula> formula = formulas.compile(task, structure->candidate());
      ASSERT_TRUE(formula.has_value()) << to_string(*structure->sketch, task);
      for (int k = 0; k < 4; ++k) {
        const std::optional<Candidate> c = draw_numbers(task, *structure, rng, 0.2);
        if (!c) continue;
        std::vector<double> made(formulas.results());
        formula->evaluate(c->decisions, c->decisions.size(), 1, made);
        const State state = replay(task, *c).take();
        EXPECT_EQ(made, formulas.evaluate(state)) << "seed " << kSeed << "\n" << state;
        if (HasFailure()) return;
        ++compared;
      }
    }
    EXPECT_GT(compared, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Workloads, CostFormulas,
    ::testing::Values("matmul:m=512,n=512,k=512", "matmul:m=127,n=1021,k=63,tb=1",
                      "matmul:m=1,n=1000,k=512,weights=constant,epilogue=bias+gelu",
                      "batch_matmul:b=12,m=128,n=128,k=64,tb=1",
                      "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,epilogue=bias+relu",
                      "conv2d:n=1,h=14,w=14,ci=256,co=512,k=1,s=2,epilogue=bias",
                      "conv2d:n=1,h=23,w=31,ci=3,co=24,k=7,s=2,p=3",
                      "depthwise_conv2d:n=1,h=56,w=56,c=144,k=3,s=2,p=1,epilogue=bias+relu6",
                      "max_pool2d:n=1,h=28,w=28,c=64,k=3,s=2,p=1", "softmax:rows=1536,cols=128",
                      "layer_norm:rows=128,cols=768", "reduce:op=sum,shape=1024x1024,axes=1",
                      "reduce:op=max,shape=17x31x5,axes=0x2",
                      "transpose:shape=33x64x129,perm=2x0x1", "elementwise:op=gelu,shape=1000x77",
                      "embedding:rows=64,cols=300,vocab=1000", "matmul:m=512,n=512,k=512,dtype=f64",
                      "conv1d:n=2,l=100,ci=16,co=33,k=5,p=2,d=2,dtype=f64"));

}  // namespace
}  // namespace espalier
