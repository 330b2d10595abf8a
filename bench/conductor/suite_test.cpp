#include "conductor/suite.h"

#include <gtest/gtest.h>

#include "conductor/hand_traces.h"
#include "espalier/ir/ops/workload.h"

namespace espalier::bench {
namespace {

const std::string kSource = ESPALIER_SOURCE_DIR;

TEST(Suite, IsAWorkloadALineWithComments) {
  const Suite suite = parse_suite("# all\n\n a:x=1 # one\r\nb:y=2", "s").value();
  EXPECT_EQ(suite.name, "s");
  ASSERT_EQ(suite.lines.size(), 2u);
  EXPECT_EQ(suite.lines[0].workload, "a:x=1");
  EXPECT_EQ(suite.lines[1].workload, "b:y=2");
  EXPECT_EQ(suite.lines[1].count, 1);
}

TEST(Suite, IsANetworkToo) {
  const Suite suite =
      parse_suite(R"({"network": "net", "kernels": [{"workload": "a:x=1", "count": 3}]})", "f")
          .value();
  EXPECT_EQ(suite.name, "net");
  ASSERT_EQ(suite.lines.size(), 1u);
  EXPECT_EQ(suite.lines[0].workload, "a:x=1");
  EXPECT_EQ(suite.lines[0].count, 3);
}

TEST(Suite, RefusesWhatIsNone) {
  for (const std::string& text :
       {std::string(), std::string("# only\n"), std::string("{\"kernels\": 3}"),
        std::string("{\"kernels\": [{\"count\": 3}]}"), std::string("{"), std::string("a\0b", 3)}) {
    EXPECT_FALSE(parse_suite(text, "s").ok()) << text;
  }
}

TEST(Suite, OfAnUnknownNameSaysWhichThereAre) {
  const auto suite = read_suite("cores", kSource + "/bench/suites");
  ASSERT_FALSE(suite.ok());
  EXPECT_EQ(suite.error().code, ErrorCode::NotFound);
  EXPECT_NE(suite.error().message.find("ansor, core, odd, ops"), std::string::npos)
      << suite.error().message;
}

TEST(Suite, OpsHasEveryOperator) {
  const Suite suite = read_suite("ops", kSource + "/bench/suites").value();
  for (const std::string& op : workload_ops()) {
    int found = 0;
    for (const Suite::Line& line : suite.lines) found += line.workload.starts_with(op + ":");
    EXPECT_EQ(found, 1) << op;
  }
}

TEST(HandTraces, AreFoundByWorkloadAndVectors) {
  const std::string traces = kSource + "/bench/traces";
  EXPECT_NE(find_hand_trace("matmul:k=512,m=512,n=512", 512, traces), "");
  EXPECT_NE(find_hand_trace("matmul:k=512,m=512,n=512", 512, traces),
            find_hand_trace("matmul:k=512,m=512,n=512", 256, traces));
  EXPECT_EQ(find_hand_trace("matmul:m=512,n=512,k=511", 512, traces), "");
  EXPECT_EQ(find_hand_trace("no such workload", 512, traces), "");
}

}  // namespace
}  // namespace espalier::bench
