// The schedules written by hand in bench/traces: they replay, print the nest that is kept beside
// them, and compute what their definitions say, in machine code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

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

// Its first line is `# workload SPEC`, the second `# bits N`; the rest are steps.
class HandTrace : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    text_ = read_file(kSource + "/bench/traces/" + GetParam() + ".trace").value();
    const std::string start = "# workload ";
    ASSERT_TRUE(text_.starts_with(start));
    const std::string workload = text_.substr(start.size(), text_.find('\n') - start.size());
    const bool wide = text_.find("\n# bits 512\n") != std::string::npos;
    ASSERT_NE(wide, text_.find("\n# bits 256\n") != std::string::npos);
    const Target host = host_target();
    if (host.vector_bits < (wide ? 512 : 256)) GTEST_SKIP() << "no such vectors here";
    const Target target = wide ? host : parse_target("avx2").value();
    task_ = {load_workload(workload).value(), target, 1, workload};
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

class KeptNest : public HandTrace {};

// With ESPALIER_UPDATE_GOLDENS set the goldens are written anew.
TEST_P(KeptNest, IsPrinted) {
  const size_t slash = GetParam().find('/') + 1;
  const std::string name = GetParam().substr(slash, GetParam().find('.') - slash);
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

std::vector<std::string> all_traces() {
  std::vector<std::string> names;
  const std::filesystem::path folder = kSource + "/bench/traces";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".trace") continue;
    names.push_back(std::filesystem::relative(entry.path(), folder).replace_extension().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Traces, HandTrace, ::testing::ValuesIn(all_traces()), test_name);
INSTANTIATE_TEST_SUITE_P(Traces, KeptNest,
                         ::testing::Values("matmul/packed_blocks.512", "conv2d/window_3x3.512",
                                           "softmax/one_pass.512"),
                         test_name);

}  // namespace
}  // namespace espalier
