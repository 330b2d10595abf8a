#include "espalier/search/record.h"

#include <gtest/gtest.h>

#include <limits>

namespace espalier {
namespace {

TuningRecord sample() {
  TuningRecord r;
  r.run = {.workload = "matmul:m=4,n=4,k=4",
           .dag_hash = 0x0123456789abcdef,
           .target = "x86_64 avx2",
           .threads = 2,
           .policy = "random",
           .seed = 7,
           .compiler = "0.1.0",
           .llvm = "19.1.7"};
  r.device = "cpu model 1";
  r.trial = 12;
  r.provenance = Provenance::Descended;
  r.parent = 5;
  r.candidate = 0xfedcba9876543210;
  r.trace = "C: split i -> i.0 i.1 by 4\nC: annotate vectorize i.1\n";
  r.decisions = {4, -1};
  r.result.status = MeasureStatus::Ok;
  r.result.time_us = 0.1;
  r.result.times_us = {0.1, 0.2, 1e-7};
  r.result.max_error = 3e-6;
  r.verified = true;
  return r;
}

TEST(Record, LineReadsBackTheSame) {
  const std::string line = to_json_line(sample());
  const Result<TuningRecord> back = parse_record(line);
  ASSERT_TRUE(back.ok()) << to_string(back.error());
  EXPECT_EQ(to_json_line(*back), line);
  EXPECT_EQ(back->trace, sample().trace);
  EXPECT_EQ(back->result.times_us, sample().result.times_us);
  EXPECT_EQ(back->candidate, sample().candidate);
}

TEST(Record, IsOneLineWhateverTheError) {
  TuningRecord r = sample();
  r.result.status = MeasureStatus::RunError;
  r.result.error = "killed by\nsignal 11 \"\x01\xff";
  const std::string line = to_json_line(r);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(parse_record(line)->result.status, MeasureStatus::RunError);
}

TEST(Record, SeedKeepsAllItsBits) {
  TuningRecord r = sample();
  r.run.seed = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(parse_record(to_json_line(r))->run.seed, r.run.seed);
}

TEST(Record, InfiniteErrorSurvives) {
  TuningRecord r = sample();
  r.result.status = MeasureStatus::Wrong;
  r.result.max_error = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parse_record(to_json_line(r))->result.max_error, r.result.max_error);
}

TEST(Record, EmptyTraceIsNoLines) {
  TuningRecord r = sample();
  r.trace.clear();
  EXPECT_EQ(parse_record(to_json_line(r))->trace, "");
}

TEST(Record, OtherVersionSaysWhatToDo) {
  std::string line = to_json_line(sample());
  line.replace(
      line.find("\"v\": 1") == std::string::npos ? line.find("\"v\":1") : line.find("\"v\": 1"),
      line.find(',') - 1, "\"v\": 9");
  const Result<TuningRecord> r = parse_record(line);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, ErrorCode::Unsupported);
  EXPECT_NE(r.error().message.find("version 9"), std::string::npos) << r.error().message;
}

TEST(Record, AnsorsLogIsNamed) {
  const Result<TuningRecord> r =
      parse_record(R"({"i":[["k","llvm"],[[],[]]],"r":[[2.1e-05],0,1.4,1700000000],"v":"v0.6"})");
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().message.find("TVM"), std::string::npos) << r.error().message;
}

TEST(Record, EveryMissingMemberIsNamedOrOptional) {
  const std::string line = to_json_line(sample());
  for (const char* key : {"workload", "hash", "target", "threads", "policy", "seed", "trial",
                          "provenance", "candidate", "trace", "decisions", "status", "time_us"}) {
    std::string broken = line;
    broken.insert(broken.find("\"" + std::string(key) + "\"") + 1, "x");
    const Result<TuningRecord> r = parse_record(broken);
    ASSERT_FALSE(r.ok()) << key;
    EXPECT_NE(r.error().message.find(key), std::string::npos) << r.error().message;
  }
}

TEST(Record, OkWithoutATimeIsRefused) {
  TuningRecord r = sample();
  r.result.time_us = 0;
  EXPECT_FALSE(parse_record(to_json_line(r)).ok());
}

TEST(Record, JunkIsRefused) {
  for (const char* junk : {"", "hello", "{", "[]", "3", "{\"v\": null}", "{\"v\": 1}"}) {
    EXPECT_FALSE(parse_record(junk).ok()) << junk;
  }
}

}  // namespace
}  // namespace espalier
