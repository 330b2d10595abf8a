// The schedules written by hand in bench/traces: they replay, print the nest that is kept beside
// them, and compute what their definitions say, in machine code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "espalier/ir/ops/workload.h"
#include "espalier/runtime/inputs.h"
#include "espalier/runtime/kernel.h"
#include "espalier/runtime/reference.h"
#include "espalier/schedule/state.h"
#include "espalier/search/default_schedule.h"
#include "espalier/support/fd.h"

namespace espalier {
namespace {

const std::string kSource = ESPALIER_SOURCE_DIR;

// Its first line is `# workload SPEC`; the rest are steps.
class HandTrace : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    text_ = read_file(kSource + "/bench/traces/" + GetParam() + ".trace").value();
    const std::string start = "# workload ";
    ASSERT_TRUE(text_.starts_with(start));
    const std::string workload = text_.substr(start.size(), text_.find('\n') - start.size());
    task_ = {load_workload(workload).value(), host_target(), 1, workload};
    // The tiles were chosen for 32 registers; where there are 16, say so of the same nest.
    if (task_.target.vector_registers < 32) GTEST_SKIP() << "written for AVX-512";
  }
  State state() const {
    const Trace trace = parse_trace(text_, task_).value();
    Replayed replayed = replay(task_, trace);
    EXPECT_TRUE(replayed.ok()) << explain(replayed.rejection(), task_, trace);
    return replayed.take();
  }

  std::string text_;
  Task task_;
};

// With ESPALIER_UPDATE_GOLDENS set the goldens are written anew.
TEST_P(HandTrace, PrintsTheNestThatIsKept) {
  const std::string name = GetParam().substr(GetParam().find('/') + 1);
  const std::string path = kSource + "/tests/goldens/" + name + ".nest";
  const std::string nest = print_nest(state());
  if (std::getenv("ESPALIER_UPDATE_GOLDENS") != nullptr) ASSERT_TRUE(write_file(path, nest).ok());
  EXPECT_EQ(nest, read_file(path).value());
  EXPECT_LE(std::count(nest.begin(), nest.end(), '\n'), 60);
}

TEST_P(HandTrace, ComputesItsDefinition) {
  const std::vector<Array> arguments = make_inputs(task_.dag, 1);
  const size_t inputs = task_.dag.inputs().size();
  const std::vector<ArrayView> constants(arguments.begin() + static_cast<std::ptrdiff_t>(inputs),
                                         arguments.end());
  const Kernel kernel = compile(state()).value().bind(constants).value();
  const std::vector<Array> outputs = kernel.make_outputs();
  const Result<void> ran =
      kernel.run(std::vector<Array>(arguments.begin(),
                                    arguments.begin() + static_cast<std::ptrdiff_t>(inputs)),
                 outputs);
  ASSERT_TRUE(ran.ok()) << to_string(ran.error());
  const Reference reference = make_reference(task_, arguments, default_candidate).value();
  const std::vector<ArrayView> views(outputs.begin(), outputs.end());
  const CheckResult result = check(reference, views);
  EXPECT_TRUE(result.ok) << result.message;
}

INSTANTIATE_TEST_SUITE_P(Traces, HandTrace,
                         ::testing::Values("matmul/gemm", "conv2d/conv3x3", "softmax/softmax"),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('/') + 1);
                         });

}  // namespace
}  // namespace espalier
