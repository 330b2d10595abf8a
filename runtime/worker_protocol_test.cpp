#include "espalier/runtime/worker_protocol.h"

#include <gtest/gtest.h>

#include <cmath>

#include "espalier/support/rng.h"

namespace espalier {
namespace {

TEST(WorkerProtocol, TasksComeBack) {
  TaskMessage message{"A = ...", 17, "x86_64", 4, 3, {}};
  message.options.repeats = 7;
  message.options.leader_repeats = 11;
  message.options.abandon_ratio = 1.5;
  message.options.flush_cache = true;
  message.options.seed = 99;
  const auto back = decode<TaskMessage>(encode(message)).value();
  EXPECT_EQ(back.dag, message.dag);
  EXPECT_EQ(back.dag_hash, 17u);
  EXPECT_EQ(back.target, "x86_64");
  EXPECT_EQ(back.threads, 4);
  EXPECT_EQ(back.memory_fd, 3);
  EXPECT_EQ(back.options.repeats, 7);
  EXPECT_EQ(back.options.leader_repeats, 11);
  EXPECT_EQ(back.options.abandon_ratio, 1.5);
  EXPECT_TRUE(back.options.flush_cache);
  EXPECT_EQ(back.options.seed, 99u);
}

TEST(WorkerProtocol, BatchesComeBack) {
  const BatchMessage message{12.5, {{3, "C: split"}, {4, ""}}};
  const auto back = decode<BatchMessage>(encode(message)).value();
  EXPECT_EQ(back.best_us, 12.5);
  ASSERT_EQ(back.items.size(), 2u);
  EXPECT_EQ(back.items[0].number, 3u);
  EXPECT_EQ(back.items[0].trace, "C: split");
  EXPECT_EQ(back.items[1].number, 4u);
}

TEST(WorkerProtocol, ResultsComeBack) {
  ResultMessage message;
  message.number = 5;
  message.result.status = MeasureStatus::Wrong;
  message.result.times_us = {1, 2.5};
  message.result.time_us = 1.75;
  message.result.abandoned = true;
  message.result.compile_ms = 20;
  message.result.check_ms = 3;
  message.result.max_error = INFINITY;
  message.result.error = "why";
  const MeasureResult back = decode<ResultMessage>(encode(message)).value().result;
  EXPECT_EQ(back.status, MeasureStatus::Wrong);
  EXPECT_EQ(back.times_us, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(back.time_us, 1.75);
  EXPECT_TRUE(back.abandoned);
  EXPECT_EQ(back.compile_ms, 20);
  EXPECT_EQ(back.check_ms, 3);
  EXPECT_EQ(back.max_error, INFINITY);
  EXPECT_EQ(back.error, "why");
}

TEST(WorkerProtocol, TheRestComesBack) {
  EXPECT_EQ(decode<FailureMessage>(encode(FailureMessage{"no"})).value().message, "no");
  const auto progress =
      decode<ProgressMessage>(encode(ProgressMessage{9, WorkerPhase::Run})).value();
  EXPECT_EQ(progress.number, 9u);
  EXPECT_EQ(progress.phase, WorkerPhase::Run);
  const auto interleave =
      decode<InterleaveMessage>(encode(InterleaveMessage{1, 15, {"a", "b"}})).value();
  EXPECT_EQ(interleave.rounds, 15);
  EXPECT_EQ(interleave.traces, (std::vector<std::string>{"a", "b"}));
  const auto times = decode<TimesMessage>(encode(TimesMessage{{{1, 2}, {}}})).value();
  EXPECT_EQ(times.times_us, (std::vector<std::vector<double>>{{1, 2}, {}}));
}

TEST(WorkerProtocol, AnotherVersionsHelloCanBeRead) {
  const std::string payload = Encoder().u64(99).string("9.9.9").u64(5).u64(6).take();
  const auto hello = decode<HelloMessage>(payload).value();
  EXPECT_EQ(hello.version, 99u);
  EXPECT_EQ(hello.program, "9.9.9");
}

TEST(WorkerProtocol, MalformedMessagesAreErrors) {
  constexpr uint64_t kSeed = 3;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(rng.below(100), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.chance(0.5) ? 0 : rng.below(256));
    // Almost no such message is well-formed; none may do harm.
    static_cast<void>(decode<TaskMessage>(bytes).ok());
    static_cast<void>(decode<BatchMessage>(bytes).ok());
    static_cast<void>(decode<InterleaveMessage>(bytes).ok());
    static_cast<void>(decode<TimesMessage>(bytes).ok());
    static_cast<void>(decode<ResultMessage>(bytes).ok());
  }
  EXPECT_FALSE(decode<BatchMessage>(encode(BatchMessage{1, {{1, "x"}}}) + "y").ok());
  EXPECT_FALSE(decode<ProgressMessage>(Encoder().u64(1).u64(77).take()).ok());
}

TEST(WorkerProtocol, LayoutPlacesArraysApart) {
  const Tensor a = placeholder("A", {5}), w = constant("W", {5}, DType::F64);
  const Tensor i = compute("I", {5}, [&](Var x) { return cast(DType::I32, a(x)); });
  const Tensor f = compute("F", {5}, [&](Var x) { return a(x) + cast(DType::F32, w(x)); });
  const TaskLayout layout = task_layout(ComputeDag::make({i, f}).value());
  EXPECT_EQ(layout.arguments, (std::vector<int64_t>{0, 64}));
  // An i32 output's value, a float one's in f64; the bounds in f64.
  EXPECT_EQ(layout.values, (std::vector<int64_t>{128, 256}));
  EXPECT_EQ(layout.bounds, (std::vector<int64_t>{192, 320}));
  EXPECT_EQ(layout.bytes, 384);
}

}  // namespace
}  // namespace espalier
