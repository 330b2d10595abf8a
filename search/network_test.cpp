#include "espalier/search/network.h"

#include "espalier/search/test_support.h"

namespace espalier {
namespace {

using testing::wide_target;

Result<Network> parse(const std::string& kernels) {
  return parse_network("{\"network\": \"x\", \"kernels\": " + kernels + "}", wide_target(), 2);
}

TEST(Network, EqualProgramsAreOneTask) {
  const Network n = parse(
                        "[{\"workload\": \"matmul:m=8,n=8,k=8\", \"count\": 2}, {\"workload\": "
                        "\"elementwise:op=relu,shape=9\"}, {\"workload\": \"matmul:k=8,n=8,m=8\"}]")
                        .value();
  ASSERT_EQ(n.tasks.size(), 2u);
  EXPECT_EQ(n.name, "x");
  EXPECT_EQ(n.tasks[0].count, 3);
  EXPECT_EQ(n.tasks[0].spec, "matmul:m=8,n=8,k=8");
  EXPECT_EQ(n.tasks[1].count, 1);
  EXPECT_EQ(n.tasks[0].task.threads, 2);
}

TEST(Network, ErrorsNameTheKernel) {
  const auto unknown =
      parse("[{\"workload\": \"matmul:m=8,n=8,k=8\"}, {\"workload\": \"nope:a=1\"}]");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(to_string(unknown.error()).find("'nope'"), std::string::npos);
  EXPECT_NE(to_string(unknown.error()).find("kernel 2 of 2"), std::string::npos);
}

TEST(Network, WhatIsNoTableIsRefused) {
  for (const char* text : {"", "[]", "{}", "{\"kernels\": []}", "{\"kernels\": 3}",
                           "{\"kernels\": [1]}", "{\"kernels\": [{\"workload\": 1}]}"}) {
    EXPECT_FALSE(parse_network(text, wide_target(), 1).ok()) << text;
  }
  EXPECT_FALSE(parse("[{\"workload\": \"matmul:m=8,n=8,k=8\", \"count\": 0}]").ok());
}

}  // namespace
}  // namespace espalier
