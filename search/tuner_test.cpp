#include "espalier/search/tuner.h"

#include <set>

#include "espalier/search/database.h"
#include "espalier/search/default_schedule.h"
#include "espalier/search/test_support.h"

namespace espalier {
namespace {

using testing::contents_of;
using testing::FakeMeasurer;
using testing::smooth_time;
using testing::task_of;
using testing::TempFolder;
using testing::write_text;

const Task& small_task() {
  static const Task task = task_of("matmul:m=48,n=64,k=32");
  return task;
}

FakeMeasurer smooth() {
  return FakeMeasurer([](const Candidate& c) { return FakeMeasurer::ok(smooth_time(c)); });
}

TuneOptions options_for(int trials, const std::string& records = "") {
  TuneOptions o;
  o.trials = trials;
  o.seed = 11;
  o.records = records;
  o.measure_naive = false;
  return o;
}

TEST(Tuner, MeasuresAsManyAsAskedEachOnce) {
  FakeMeasurer m = smooth();
  const TuneReport report = tune(small_task(), options_for(50), m).value();
  EXPECT_EQ(report.trials, 50);
  EXPECT_EQ(report.stopped, StopReason::Trials);
  EXPECT_EQ(m.measured.size(), 50u);
  for (const auto& [hash, times] : m.measured) EXPECT_EQ(times, 1);
  EXPECT_TRUE(report.verified);
  EXPECT_LE(report.best_us, *report.default_us);
  EXPECT_EQ(replay(small_task(), report.best).ok(), true);
}

TEST(Tuner, NoTrialsMeasureTheDefaultAlone) {
  TempFolder folder;
  FakeMeasurer m = smooth();
  const TuneReport report = tune(small_task(), options_for(0, folder.file_path("a")), m).value();
  EXPECT_EQ(report.best.hash(), default_candidate(small_task()).hash());
  EXPECT_EQ(report.record.provenance, Provenance::Default);
  // The default schedule, and that it won.
  EXPECT_EQ(Database::open(folder.file_path("a"))->records().size(), 2u);
}

TEST(Tuner, RecordsEveryCandidateInOrder) {
  TempFolder folder;
  FakeMeasurer m = smooth();
  tune(small_task(), options_for(20, folder.file_path("a")), m).value();
  const Database db = Database::open(folder.file_path("a")).value();
  ASSERT_EQ(db.records().size(), 21u);
  EXPECT_TRUE(db.records().back().final);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(db.records()[static_cast<size_t>(i)].trial, i);
  EXPECT_EQ(db.records()[0].provenance, Provenance::Default);
  EXPECT_EQ(db.records()[0].run.workload, small_task().workload);
}

TEST(Tuner, TwoRunsWriteTheSameBytes) {
  TempFolder folder;
  for (const char* name : {"a", "b"}) {
    FakeMeasurer m = smooth();
    TuneOptions o = options_for(40, folder.file_path(name));
    o.search_threads = *name == 'a' ? 1 : 2;
    tune(small_task(), o, m).value();
  }
  EXPECT_EQ(contents_of(folder.file_path("a")), contents_of(folder.file_path("b")));
}

TEST(Tuner, ResumeAnswersFromTheFileAndMeasuresTheRest) {
  TempFolder folder;
  const std::string whole = folder.file_path("a"), cut = folder.file_path("b");
  FakeMeasurer first = smooth();
  const TuneReport complete = tune(small_task(), options_for(40, whole), first).value();
  const std::string text = contents_of(whole);
  // Killed at some byte: the lines before it answer, the torn one does not.
  for (size_t keep : {text.size() / 7, text.size() / 2, text.size() - 3}) {
    write_text(cut, text.substr(0, keep));
    const size_t known = static_cast<size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(keep), '\n'));
    FakeMeasurer again = smooth();
    const TuneReport resumed = tune(small_task(), options_for(40, cut), again).value();
    EXPECT_EQ(again.measured.size(), 40 - known);
    EXPECT_EQ(resumed.best.hash(), complete.best.hash());
    EXPECT_EQ(resumed.trials, 40);
    std::set<uint64_t> distinct;
    const Database db = Database::open(cut).value();
    for (const TuningRecord& r : db.records()) {
      if (!r.final) EXPECT_TRUE(distinct.insert(r.candidate).second);
    }
    EXPECT_EQ(distinct.size(), 40u);
    EXPECT_TRUE(db.records().back().final);
  }
}

TEST(Tuner, FailuresInTheFileAreNotTriedAgain) {
  TempFolder folder;
  auto failing = [] {
    return FakeMeasurer([](const Candidate& c) {
      return c.hash() % 3 == 0 ? FakeMeasurer::failed(MeasureStatus::Timeout)
                               : FakeMeasurer::ok(smooth_time(c));
    });
  };
  FakeMeasurer first = failing();
  const TuneReport a = tune(small_task(), options_for(30, folder.file_path("a")), first).value();
  FakeMeasurer second = failing();
  const TuneReport b = tune(small_task(), options_for(30, folder.file_path("a")), second).value();
  EXPECT_TRUE(second.measured.empty());
  EXPECT_EQ(b.failed.timeout, a.failed.timeout);
  EXPECT_GT(b.failed.timeout, 0);
}

TEST(Tuner, AnswersOfOtherRunsAreNotTaken) {
  TempFolder folder;
  FakeMeasurer first = smooth();
  tune(small_task(), options_for(10, folder.file_path("a")), first).value();
  for (int what = 0; what < 5; ++what) {
    TuneOptions o = options_for(10, folder.file_path("a"));
    Task task = small_task();
    if (what == 0) o.seed = 12;
    if (what == 1) o.policy = "random";
    if (what == 2) o.llvm = "20";
    if (what == 3) task.threads = 2;
    if (what == 4) task = task_of("matmul:m=48,n=64,k=33");
    FakeMeasurer m = smooth();
    tune(task, o, m).value();
    EXPECT_EQ(m.measured.size(), 10u) << what;
  }
}

TEST(Tuner, SmallSpacesEndExhausted) {
  FakeMeasurer m = smooth();
  const TuneReport report =
      tune(task_of("elementwise:op=relu,shape=7"), options_for(1000), m).value();
  EXPECT_EQ(report.stopped, StopReason::Exhausted);
  EXPECT_LT(report.trials, 100);
}

TEST(Tuner, AWrongCandidateNeverWinsHoweverFast) {
  const uint64_t initial = default_candidate(small_task()).hash();
  FakeMeasurer m([&](const Candidate& c) {
    if (c.hash() == initial) return FakeMeasurer::ok(100);
    MeasureResult r = FakeMeasurer::failed(MeasureStatus::Wrong);
    r.max_error = 1;
    return r;
  });
  const TuneReport report = tune(small_task(), options_for(20), m).value();
  EXPECT_EQ(report.best.hash(), initial);
  EXPECT_EQ(report.failed.wrong, 19);
}

TEST(Tuner, ALuckyMeasurementDoesNotBeatTheDefaultInTheEnd) {
  const uint64_t initial = default_candidate(small_task()).hash();
  FakeMeasurer m(
      [&](const Candidate& c) { return FakeMeasurer::ok(c.hash() == initial ? 100 : 50); });
  m.final_time = [&](const Candidate& c) { return c.hash() == initial ? 100.0 : 101.0; };
  const TuneReport report = tune(small_task(), options_for(20), m).value();
  EXPECT_EQ(report.best.hash(), initial);
  EXPECT_EQ(report.best_us, 100);
  EXPECT_EQ(report.record.provenance, Provenance::Default);
}

TEST(Tuner, TheFinalComparisonDecidesAmongTheFastest) {
  FakeMeasurer m([](const Candidate&) { return FakeMeasurer::ok(100); });
  m.final_time = [](const Candidate& c) { return 1 + static_cast<double>(c.hash() % 1000); };
  const TuneReport report = tune(small_task(), options_for(30), m).value();
  const std::set<uint64_t> finalists(m.finalists.begin(), m.finalists.end());
  ASSERT_EQ(finalists.size(), 8u);
  double least = 1e9;
  for (uint64_t h : finalists) least = std::min(least, 1 + static_cast<double>(h % 1000));
  EXPECT_EQ(report.best_us, least);
}

TEST(Tuner, WhatIsFarFromTheBestIsNotComparedInTheEnd) {
  const uint64_t initial = default_candidate(small_task()).hash();
  FakeMeasurer m(
      [&](const Candidate& c) { return FakeMeasurer::ok(c.hash() == initial ? 100 : 110); });
  tune(small_task(), options_for(30), m).value();
  EXPECT_EQ(std::set<uint64_t>(m.finalists.begin(), m.finalists.end()),
            std::set<uint64_t>{initial});
}

TEST(Tuner, FailuresAreCountedByKindAndTheRunGoesOn) {
  FakeMeasurer m([](const Candidate& c) {
    switch (c.hash() % 5) {
      case 0: return FakeMeasurer::failed(MeasureStatus::CompileError);
      case 1: return FakeMeasurer::failed(MeasureStatus::RunError);
      case 2: return FakeMeasurer::failed(MeasureStatus::Timeout);
      case 3: return FakeMeasurer::failed(MeasureStatus::Wrong);
      default: return FakeMeasurer::ok(smooth_time(c));
    }
  });
  const TuneReport report = tune(small_task(), options_for(60), m).value();
  EXPECT_EQ(report.trials, 60);
  EXPECT_GT(report.failed.compile, 0);
  EXPECT_GT(report.failed.run, 0);
  EXPECT_GT(report.failed.timeout, 0);
  EXPECT_GT(report.failed.wrong, 0);
}

TEST(Tuner, NothingThatRunsIsAnErrorWithTheReason) {
  FakeMeasurer m(
      [](const Candidate&) { return FakeMeasurer::failed(MeasureStatus::RunError, "signal 11"); });
  const Result<TuneReport> report = tune(small_task(), options_for(10), m);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(to_string(report.error()).find("signal 11"), std::string::npos);
}

TEST(Tuner, TheBudgetInSecondsHolds) {
  double now = 0;
  FakeMeasurer m = smooth();
  m.after_each = [&] { now += 1; };
  TuneOptions o = options_for(1000);
  o.seconds = 60;
  o.seconds_before = 10;
  o.clock = [&] { return now; };
  const TuneReport report = tune(small_task(), o, m).value();
  EXPECT_EQ(report.stopped, StopReason::Seconds);
  EXPECT_LE(report.seconds, 60);
  EXPECT_GE(report.trials, 30);
}

TEST(Tuner, AnInterruptKeepsWhatThereIsAndBlamesNoCandidate) {
  TempFolder folder;
  std::atomic<bool> stop = false;
  int count = 0;
  FakeMeasurer m([&](const Candidate& c) {
    if (++count == 12) stop = true;
    return stop ? FakeMeasurer::failed(MeasureStatus::RunError, "killed")
                : FakeMeasurer::ok(smooth_time(c));
  });
  TuneOptions o = options_for(100, folder.file_path("a"));
  o.interrupt = &stop;
  const TuneReport report = tune(small_task(), o, m).value();
  EXPECT_EQ(report.stopped, StopReason::Interrupted);
  EXPECT_TRUE(report.verified);
  EXPECT_TRUE(m.finalists.empty());
  const Database recorded = Database::open(folder.file_path("a")).value();
  for (const TuningRecord& r : recorded.records()) EXPECT_TRUE(r.result.ok());
}

TEST(Tuner, AnInterruptAfterTheSearchIsReportedToo) {
  std::atomic<bool> stop = false;
  FakeMeasurer m([&](const Candidate& c) {
    const bool is_naive = c.hash() == naive_candidate(small_task()).hash();
    if (is_naive) stop = true;
    return is_naive ? FakeMeasurer::failed(MeasureStatus::RunError, "interrupted")
                    : FakeMeasurer::ok(smooth_time(c));
  });
  TuneOptions o = options_for(20);
  o.measure_naive = true;
  o.interrupt = &stop;
  const TuneReport report = tune(small_task(), o, m).value();
  EXPECT_TRUE(stop);
  EXPECT_EQ(report.stopped, StopReason::Interrupted);
  EXPECT_TRUE(report.verified);
  EXPECT_FALSE(report.naive_us);
}

TEST(Tuner, ProgressIsReportedForEachCandidate) {
  FakeMeasurer m = smooth();
  TuneOptions o = options_for(25);
  std::vector<int> trials;
  double best = 1e9;
  o.progress = [&](const TuneProgress& p) {
    trials.push_back(p.trial);
    EXPECT_LE(p.best_us, best);
    best = p.best_us;
    EXPECT_NE(p.last, nullptr);
  };
  const TuneReport report = tune(small_task(), o, m).value();
  ASSERT_EQ(trials.size(), 25u);
  EXPECT_EQ(trials.back(), 25);
  EXPECT_EQ(report.curve.front().trial, 1);
  EXPECT_EQ(report.curve.back().best_us, best);
}

TEST(Tuner, SeedsAreMeasuredRightAfterTheDefault) {
  TempFolder folder;
  FakeMeasurer m = smooth();
  TuneOptions o = options_for(10, folder.file_path("a"));
  o.seeds = {{make_candidate({}), "elsewhere"}};
  tune(small_task(), o, m).value();
  const Database db = Database::open(folder.file_path("a")).value();
  EXPECT_EQ(db.records()[1].provenance, Provenance::Transferred);
  EXPECT_EQ(db.records()[1].trace, "");
}

TEST(Tuner, TheNaiveNestIsTimedBesideTheTrials) {
  FakeMeasurer m = smooth();
  TuneOptions o = options_for(5);
  o.measure_naive = true;
  const TuneReport report = tune(small_task(), o, m).value();
  EXPECT_EQ(report.trials, 5);
  ASSERT_TRUE(report.naive_us.has_value());
  EXPECT_EQ(m.measured.count(naive_candidate(small_task()).hash()), 1u);
}

TEST(Tuner, SlowNaiveNestsAreNotWaitedFor) {
  FakeMeasurer m = smooth();
  TuneOptions o = options_for(1);
  o.measure_naive = true;
  EXPECT_FALSE(tune(task_of("matmul:m=4096,n=4096,k=4096"), o, m).value().naive_us.has_value());
}

TEST(Tuner, BadOptionsAreNamed) {
  FakeMeasurer m = smooth();
  TuneOptions o = options_for(-1);
  EXPECT_NE(tune(small_task(), o, m).error().message.find("trials"), std::string::npos);
  o = options_for(1);
  o.search_threads = 0;
  EXPECT_NE(tune(small_task(), o, m).error().message.find("search_threads"), std::string::npos);
  o = options_for(1);
  o.policy = "nonsense";
  EXPECT_FALSE(tune(small_task(), o, m).ok());
  EXPECT_TRUE(m.measured.empty());
}

TEST(Tuner, AFullDiskStopsTheRunBeforeMeasuring) {
  FakeMeasurer m = smooth();
  EXPECT_FALSE(tune(small_task(), options_for(10, "/dev/full"), m).ok());
  EXPECT_TRUE(m.measured.empty());
}

TEST(Tuner, CustomPoliciesArePassedIn) {
  class One final : public SearchPolicy {
   public:
    std::string_view name() const override { return "one"; }
    std::vector<Proposal> propose(const SearchContext&, int) override {
      return {{make_candidate({}), Provenance::Sampled, 0}};
    }
    void observe(const SearchContext&, std::span<const Observation> batch) override {
      observed += static_cast<int>(batch.size());
    }
    int observed = 0;
  } one;
  FakeMeasurer m = smooth();
  TuneOptions o = options_for(10);
  o.custom_policy = &one;
  const TuneReport report = tune(small_task(), o, m).value();
  EXPECT_EQ(report.trials, 2);
  EXPECT_EQ(one.observed, 2);
  EXPECT_EQ(report.stopped, StopReason::Converged);
  EXPECT_EQ(report.record.run.policy, "one");
}

TEST(Tuner, PhasesAddUpToTheWholeTime) {
  double now = 0;
  FakeMeasurer m = smooth();
  m.after_each = [&] { now += 0.5; };
  TuneOptions o = options_for(10);
  o.clock = [&] { return now; };
  const TuneReport report = tune(small_task(), o, m).value();
  const PhaseSeconds& p = report.seconds_by_phase;
  EXPECT_NEAR(p.sample + p.compile + p.measure + p.verify + p.other, report.seconds, 1e-9);
  EXPECT_NEAR(p.measure, 5, 1e-9);
}

}  // namespace
}  // namespace espalier
