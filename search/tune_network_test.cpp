#include "espalier/search/tune_network.h"

#include "espalier/search/database.h"
#include "espalier/search/test_support.h"

namespace espalier {
namespace {

using testing::FakeMeasurer;
using testing::smooth_time;
using testing::TempFolder;
using testing::wide_target;

Network three_kernels() {
  return parse_network(
             "{\"network\": \"x\", \"kernels\": [{\"workload\": \"matmul:m=48,n=64,k=32\", "
             "\"count\": 2}, {\"workload\": \"softmax:rows=32,cols=100\", \"count\": 3}, "
             "{\"workload\": \"elementwise:op=relu,shape=7\"}]}",
             wide_target(), 1)
      .value();
}

MeasurerFactory smooth() {
  return [](const Task&) -> Result<std::unique_ptr<Measurer>> {
    return std::unique_ptr<Measurer>(std::make_unique<FakeMeasurer>(
        [](const Candidate& c) { return FakeMeasurer::ok(smooth_time(c)); }));
  };
}

NetworkOptions options_for(int trials) {
  NetworkOptions o;
  o.each.measure_naive = false;
  o.each.seed = 3;
  o.trials = trials;
  return o;
}

TEST(TuneNetwork, TheBudgetIsSharedAndTotalsAreWeighted) {
  const Network network = three_kernels();
  const NetworkReport report = tune_network(network, options_for(120), smooth()).value();
  ASSERT_EQ(report.tasks.size(), 3u);
  EXPECT_LE(report.trials, 120);
  int trials = 0;
  double best = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GE(report.tasks[i].trials, 1);
    trials += report.tasks[i].trials;
    best += static_cast<double>(network.tasks[i].count) * report.tasks[i].best_us;
  }
  EXPECT_EQ(report.trials, trials);
  EXPECT_DOUBLE_EQ(report.best_us, best);
  EXPECT_LE(report.best_us, report.default_us);
}

TEST(TuneNetwork, ATaskMeasuresWhatItWouldAlone) {
  TempFolder folder;
  NetworkOptions o = options_for(100);
  o.each.records = folder.file_path("a");
  const Network network = three_kernels();
  const NetworkReport report = tune_network(network, o, smooth()).value();
  FakeMeasurer alone([](const Candidate& c) { return FakeMeasurer::ok(smooth_time(c)); });
  TuneOptions single = o.each;
  single.records = folder.file_path("b");
  single.trials = report.tasks[0].trials;
  tune(network.tasks[0].task, single, alone).value();
  std::vector<std::string> together, by_itself;
  const Database of_all = Database::open(folder.file_path("a")).value();
  const Database of_one = Database::open(folder.file_path("b")).value();
  for (const TuningRecord& r : of_all.records()) {
    const bool first = r.run.workload == network.tasks[0].task.workload;
    if (first && !r.final) together.push_back(r.trace);
  }
  for (const TuningRecord& r : of_one.records()) {
    if (!r.final) by_itself.push_back(r.trace);
  }
  EXPECT_EQ(together, by_itself);
}

TEST(TuneNetwork, OnlySoManyMeasurersLiveAtOnce) {
  static int alive, most;
  alive = most = 0;
  class Counted final : public Measurer {
   public:
    Counted() { most = std::max(most, ++alive); }
    ~Counted() override { --alive; }
    std::vector<MeasureResult> measure(std::span<const Candidate> batch, double) override {
      std::vector<MeasureResult> all;
      for (const Candidate& c : batch) all.push_back(FakeMeasurer::ok(smooth_time(c)));
      return all;
    }
    Result<std::vector<std::vector<double>>> interleave(std::span<const Candidate> candidates,
                                                        int rounds) override {
      return std::vector<std::vector<double>>(
          candidates.size(), std::vector<double>(static_cast<size_t>(rounds), 10.0));
    }
  };
  NetworkOptions o = options_for(60);
  o.alive = 2;
  const auto make = [](const Task&) -> Result<std::unique_ptr<Measurer>> {
    return std::unique_ptr<Measurer>(std::make_unique<Counted>());
  };
  tune_network(three_kernels(), o, make).value();
  EXPECT_EQ(most, 2);
  EXPECT_EQ(alive, 0);
}

TEST(TuneNetwork, AMeasurerThatCannotBeMadeIsAnErrorWithTheTask) {
  const auto make = [](const Task&) -> Result<std::unique_ptr<Measurer>> {
    return make_error(ErrorCode::Io, "no such worker");
  };
  const auto report = tune_network(three_kernels(), options_for(10), make);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(to_string(report.error()).find("no such worker"), std::string::npos);
  EXPECT_NE(to_string(report.error()).find("task 1 of 3"), std::string::npos);
}

TEST(TuneNetwork, SecondsEndItWithAllTasksFinished) {
  double now = 0;
  NetworkOptions o = options_for(100000);
  o.seconds = 60;
  o.each.clock = [&] { return now; };
  const auto make = [&](const Task&) -> Result<std::unique_ptr<Measurer>> {
    auto m = std::make_unique<FakeMeasurer>(
        [](const Candidate& c) { return FakeMeasurer::ok(smooth_time(c)); });
    m->after_each = [&] { now += 0.5; };
    return std::unique_ptr<Measurer>(std::move(m));
  };
  const NetworkReport report = tune_network(three_kernels(), o, make).value();
  EXPECT_EQ(report.stopped, StopReason::Seconds);
  EXPECT_LE(report.seconds, 60);
  for (const TuneReport& task : report.tasks) EXPECT_TRUE(task.verified);
}

}  // namespace
}  // namespace espalier
