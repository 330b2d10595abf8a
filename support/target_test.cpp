#include "espalier/support/target.h"

#include "gtest/gtest.h"

namespace espalier {
namespace {

constexpr const char* kText =
    "x86_64 cpu=znver4 features=+fma,+avx2,+avx512f,+avx512vl bits=512 regs=32 l1=32768 l2=1048576 "
    "l3=33554432 line=64 cores=2";

TEST(Target, TextRoundTrips) { EXPECT_EQ(to_string(parse_target(kText).value()), kText); }

TEST(Target, HostRoundTrips) {
  const Target host = host_target();
  EXPECT_EQ(parse_target(to_string(host)).value(), host);
  EXPECT_EQ(parse_target("host").value(), host);
}

TEST(Target, HostIsPlausible) {
  const Target host = host_target();
  EXPECT_GE(host.cores, 1);
  EXPECT_GE(host.l1_bytes, 8 << 10);
  EXPECT_GE(host.l2_bytes, host.l1_bytes);
  EXPECT_GE(host.vector_bits, 128);
  EXPECT_TRUE(host.runs_on(host));
}

TEST(Target, HostAgreesWithTheCompilersDetection) {
#if defined(__x86_64__)
  const Target host = host_target();
  EXPECT_EQ(host.has("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(host.has("fma"), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(host.has("avx512vl"), __builtin_cpu_supports("avx512vl") != 0);
#endif
}

TEST(Target, VectorsFollowFromFeatures) {
  const Target avx2 = parse_target("x86_64 features=+avx2,+fma").value();
  EXPECT_EQ(avx2.vector_bits, 256);
  EXPECT_EQ(avx2.vector_registers, 16);
  EXPECT_EQ(avx2.lanes(4), 8);
  const Target avx512 = parse_target("x86_64 features=+avx2,+fma,+avx512f,+avx512vl").value();
  EXPECT_EQ(avx512.vector_bits, 512);
  EXPECT_EQ(avx512.vector_registers, 32);
  const Target arm = parse_target("aarch64").value();
  EXPECT_TRUE(arm.has("neon"));
  EXPECT_EQ(arm.lanes(8), 2);
  EXPECT_EQ(arm.vector_registers, 32);
}

TEST(Target, GivenWidthWinsWhereverItStands) {
  EXPECT_EQ(parse_target("x86_64 bits=128 features=+avx2")->vector_bits, 128);
}

TEST(Target, AliasAvx2HoldsTheHostToAvx2) {
  if (!host_target().has("avx2")) GTEST_SKIP() << "no AVX2 here";
  const Target target = parse_target("avx2 cores=1").value();
  EXPECT_EQ(target.vector_bits, 256);
  EXPECT_EQ(target.vector_registers, 16);
  EXPECT_FALSE(target.has("avx512f"));
  EXPECT_EQ(target.cores, 1);
  EXPECT_EQ(target.l2_bytes, host_target().l2_bytes);
  EXPECT_EQ(parse_target(to_string(target)).value(), target);
}

TEST(Target, RestrictingPicksACpuWithoutAvx512) {
  EXPECT_EQ(restrict_to_avx2(parse_target(kText).value()).cpu, "znver3");
  EXPECT_EQ(restrict_to_avx2(parse_target("x86_64 cpu=haswell").value()).cpu, "haswell");
}

TEST(Target, LlvmFeaturesSayWhatIsAbsent) {
  const std::string features = parse_target("x86_64 features=+avx2,+fma")->llvm_features();
  EXPECT_NE(features.find("+avx2"), std::string::npos);
  EXPECT_NE(features.find("-avx512f"), std::string::npos);
}

TEST(Target, NarrowCodeRunsOnWideMachinesOnly) {
  const Target wide = parse_target(kText).value(), narrow = restrict_to_avx2(wide);
  EXPECT_TRUE(narrow.runs_on(wide));
  EXPECT_FALSE(wide.runs_on(narrow));
  EXPECT_FALSE(parse_target("aarch64")->runs_on(wide));
}

TEST(Target, ErrorsNameWhatIsWrong) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", "empty"},
      {"riscv64", "expected x86_64, aarch64, host or avx2 first, got 'riscv64'"},
      {"x86_64 features=+neon", "unknown feature 'neon' of x86_64"},
      {"x86_64 features=-avx2", "unknown feature '-avx2'"},
      {"x86_64 color=red", "unknown key 'color'"},
      {"x86_64 cores", "expected key=value, got 'cores'"},
      {"x86_64 cores=0", "cores must be an integer from 1 to 65536, got '0'"},
      {"x86_64 l1=32K", "l1 must be an integer"},
      {"x86_64 bits=200", "bits must be a power of two"},
      {"x86_64 bits=99999999999999999999", "bits must be an integer"},
      {"x86_64 cores=1 cores=2", "cores is given twice"},
  };
  for (const auto& c : cases) {
    Result<Target> target = parse_target(c.text);
    ASSERT_FALSE(target.ok()) << c.text;
    EXPECT_NE(target.error().message.find(c.message), std::string::npos) << target.error().message;
  }
}

TEST(Target, FingerprintIsStable) {
  EXPECT_FALSE(host_cpu_fingerprint().empty());
  EXPECT_EQ(host_cpu_fingerprint(), host_cpu_fingerprint());
}

}  // namespace
}  // namespace espalier
