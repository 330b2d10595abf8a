#include "espalier/runtime/worker_client.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>

#include "espalier/runtime/inputs.h"
#include "espalier/schedule/state.h"
#include "espalier/support/fd.h"

extern char** environ;

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ESP_SANITIZED 1
#endif
#endif
#if defined(ESP_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// The program of tests/fault_worker.cpp, beside the tool.
std::string fault_worker() {
  const std::string tool = ESPALIER_TOOL_PATH;
  return tool.substr(0, tool.rfind('/') + 1) + "fault_worker";
}

Task matmul_task(int threads = 1) {
  const Tensor a = placeholder("A", {10, 12}), b = constant("B", {12, 11});
  const Axis k = reduce_axis("k", 12);
  const Tensor c = compute("C", {10, 11}, [&](Var i, Var j) { return sum(a(i, k) * b(k, j), k); });
  return {ComputeDag::make({c}).value(), host_target(), threads, "matmul:m=10,n=11,k=12"};
}

Candidate candidate(const Task& task, const std::string& trace) {
  return make_candidate(parse_trace(trace, task).value());
}

// Different schedules of the product, all right.
std::vector<Candidate> candidates(const Task& task, int n, int first = 0) {
  std::vector<Candidate> all;
  for (int i = first; i < first + n; ++i) {
    const std::string factor = std::to_string(1 + i % 12), inner = std::to_string(1 + i / 12);
    all.push_back(candidate(
        task, "C: split j -> j.0 j.1 by " + factor + "\nC: split i -> i.0 i.1 by " + inner + "\n"));
  }
  return all;
}

// What the naive evaluation says, with a bound that is wide enough for any order of summation.
Reference naive_reference(const Task& task, const std::vector<Array>& arguments) {
  std::vector<Reference::Output> outputs;
  const std::vector<Array> values = evaluate(task.dag, arguments).value();
  for (size_t k = 0; k < values.size(); ++k) {
    const StageInfo& stage = task.dag.stage(task.dag.outputs()[k]);
    Reference::Output output{stage.name, stage.tensor->dtype, Array(DType::F64, values[k].shape()),
                             Array(DType::F64, values[k].shape())};
    for (int64_t i = 0; i < values[k].elements(); ++i) {
      output.value.set(i, values[k].get(i));
      output.bound.set(i, 1e-4);
    }
    outputs.push_back(std::move(output));
  }
  return Reference(std::move(outputs));
}

MeasureOptions quick_options(std::vector<std::string> faults = {}) {
  MeasureOptions options;
  options.repeats = 2;
  options.leader_repeats = 2;
  options.min_batch_ms = 0.02;
  options.timeout_s = 60;
  options.worker = fault_worker();
  for (std::string& fault : faults) {
    options.worker_args.emplace_back("--plant-fault");
    options.worker_args.push_back(std::move(fault));
  }
  return options;
}

std::unique_ptr<WorkerMeasurer> make_measurer(const Task& task, const MeasureOptions& options) {
  const std::vector<Array> arguments = make_inputs(task.dag, options.seed);
  return WorkerMeasurer::make(task, options, arguments, naive_reference(task, arguments)).value();
}

std::vector<MeasureResult> measure(const MeasureOptions& options, int n) {
  const Task task = matmul_task();
  return make_measurer(task, options)->measure(candidates(task, n), 0);
}

void expect_only_failure(const std::vector<MeasureResult>& results, size_t failed,
                         MeasureStatus status, const std::string& error) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (i == failed) {
      EXPECT_EQ(name_of(results[i].status), name_of(status));
      EXPECT_THAT(results[i].error, HasSubstr(error));
      EXPECT_THAT(results[i].error,
                  HasSubstr("\nreproduce: espalier run --check --workload \"matmul:m=10"));
    } else {
      EXPECT_TRUE(results[i].ok()) << i << ": " << results[i].error;
    }
  }
}

// Children of this process that are workers, dead or alive. (A sanitizer may have a child, too.)
std::vector<pid_t> running_workers() {
  const std::string self = std::to_string(getpid());
  std::istringstream children(read_file("/proc/self/task/" + self + "/children").value());
  std::vector<pid_t> workers;
  for (pid_t pid = 0; children >> pid;) {
    const auto name = read_file("/proc/" + std::to_string(pid) + "/comm");
    if (name.ok() && *name == "fault_worker\n") workers.push_back(pid);
  }
  return workers;
}

TEST(WorkerMeasurer, MeasuresAndChecks) {
  const std::vector<MeasureResult> results = measure(quick_options(), 3);
  ASSERT_EQ(results.size(), 3u);
  for (const MeasureResult& result : results) {
    EXPECT_TRUE(result.ok()) << result.error;
    EXPECT_EQ(result.times_us.size(), 2u);
    EXPECT_GT(result.time_us, 0);
    EXPECT_GT(result.compile_ms, 0);
    EXPECT_GT(result.max_error, 0);
    EXPECT_LT(result.max_error, 1e-5);
    EXPECT_EQ(result.error, "");
  }
}

TEST(WorkerMeasurer, MeasuresOnSeveralThreads) {
  const Task task = matmul_task(2);
  const auto measurer = make_measurer(task, quick_options());
  const std::vector<Candidate> parallel = {candidate(task, "C: parallel i\n")};
  const std::vector<MeasureResult> results = measurer->measure(parallel, 0);
  EXPECT_TRUE(results[0].ok()) << results[0].error;
}

TEST(WorkerMeasurer, AnEmptyBatchGivesNothing) { EXPECT_TRUE(measure(quick_options(), 0).empty()); }

TEST(WorkerMeasurer, OneWorkerServesManyBatches) {
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options());
  for (int i = 0; i < 3; ++i) measurer->measure(candidates(task, 2), 0);
  EXPECT_EQ(measurer->workers_started(), 1);
}

TEST(WorkerMeasurer, ACandidateThatDoesNotApplyIsNotSent) {
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options());
  Trace trace;
  trace.push_back(ComputeRootStep{77});
  const std::vector<Candidate> batch = {make_candidate(trace), candidates(task, 1)[0]};
  const std::vector<MeasureResult> results = measurer->measure(batch, 0);
  EXPECT_EQ(results[0].status, MeasureStatus::CompileError);
  EXPECT_NE(results[0].error, "");
  EXPECT_TRUE(results[1].ok()) << results[1].error;
}

TEST(WorkerMeasurer, EachResultIsHeardOfOnce) {
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options({"crash@1", "wrong@2"}));
  std::vector<std::string> heard(4);
  measurer->measure_each(candidates(task, 4), 0, [&](size_t i, const MeasureResult& result) {
    heard[i] += name_of(result.status);
  });
  EXPECT_THAT(heard, testing::ElementsAre("ok", "run", "wrong", "ok"));
}

TEST(WorkerMeasurer, SlowCandidatesAreAbandoned) {
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options());
  const std::vector<MeasureResult> results = measurer->measure(candidates(task, 1), 1e-3);
  EXPECT_TRUE(results[0].ok());
  EXPECT_TRUE(results[0].abandoned);
  EXPECT_EQ(results[0].times_us.size(), 1u);
}

TEST(WorkerMeasurer, WhatWouldBeTheBestIsTimedMoreOften) {
  const Task task = matmul_task();
  MeasureOptions options = quick_options();
  options.leader_repeats = 6;
  const auto measurer = make_measurer(task, options);
  EXPECT_EQ(measurer->measure(candidates(task, 1), 1e9)[0].times_us.size(), 6u);
  EXPECT_EQ(measurer->measure(candidates(task, 1), 0)[0].times_us.size(), 6u);
  // Not faster, nor so slow that it is abandoned.
  options.abandon_ratio = 1e9;
  EXPECT_EQ(make_measurer(task, options)->measure(candidates(task, 1), 1e-3)[0].times_us.size(),
            2u);
}

TEST(WorkerMeasurer, CachesCanBeFlushed) {
  MeasureOptions options = quick_options();
  options.flush_cache = true;
  EXPECT_TRUE(measure(options, 1)[0].ok());
}

TEST(WorkerMeasurer, ACrashFailsTheCulpritAlone) {
  expect_only_failure(measure(quick_options({"crash@1"}), 4), 1, MeasureStatus::RunError,
                      "the worker ");
}

TEST(WorkerMeasurer, ACrashIsReportedWithItsSignal) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer reports the signal itself and exits";
  EXPECT_THAT(measure(quick_options({"crash@0"}), 1)[0].error, HasSubstr("SIGSEGV"));
  EXPECT_THAT(measure(quick_options({"trap@0"}), 1)[0].error, HasSubstr("SIG"));
}

TEST(WorkerMeasurer, ACrashWhileCompilingFailsTheCulpritAlone) {
  expect_only_failure(measure(quick_options({"crash-compile@2"}), 4), 2, MeasureStatus::RunError,
                      "the worker ");
}

TEST(WorkerMeasurer, SeveralCrashesFailTheirCulprits) {
  const auto results = measure(quick_options({"crash@0", "crash@1", "crash@3"}), 5);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(results[i].ok(), i == 2 || i == 4) << i;
}

TEST(WorkerMeasurer, OneThatRunsWellByItselfIsNotBlamedForACrash) {
  for (const MeasureResult& result : measure(quick_options({"crash-once@1"}), 3)) {
    EXPECT_TRUE(result.ok()) << result.error;
  }
}

TEST(WorkerMeasurer, AnExitOfTheWorkerIsReported) {
  expect_only_failure(measure(quick_options({"exit@1"}), 2), 1, MeasureStatus::RunError,
                      "exited with status 3");
}

TEST(WorkerMeasurer, AHangIsATimeout) {
  MeasureOptions options = quick_options({"hang@1"});
  options.timeout_s = 3;
  expect_only_failure(measure(options, 3), 1, MeasureStatus::Timeout,
                      "did not finish within 3.0 s");
}

TEST(WorkerMeasurer, AHangWhileCompilingIsATimeout) {
  MeasureOptions options = quick_options({"hang-compile@0"});
  options.timeout_s = 3;
  expect_only_failure(measure(options, 2), 0, MeasureStatus::Timeout, "did not finish");
}

TEST(WorkerMeasurer, AGreedyCandidateIsStopped) {
  MeasureOptions options = quick_options({"memory@1"});
  options.memory_limit = int64_t{300} << 20;
  expect_only_failure(measure(options, 3), 1, MeasureStatus::RunError,
                      "more than the limit of 300 MiB");
}

TEST(WorkerMeasurer, AWrongResultIsNamed) {
  expect_only_failure(measure(quick_options({"wrong@1"}), 3), 1, MeasureStatus::Wrong,
                      "element [0, 0] of output 'C' is");
}

TEST(WorkerMeasurer, AWriteJustOutsideABufferIsFound) {
  // 10 × 11 floats end in the middle of a line, so nothing faults.
  expect_only_failure(measure(quick_options({"outside@1"}), 3), 1, MeasureStatus::RunError,
                      "wrote outside output 'C': 0 bytes past its end");
}

TEST(WorkerMeasurer, AWriteFarOutsideABufferFaults) {
  expect_only_failure(measure(quick_options({"far-outside@1"}), 3), 1, MeasureStatus::RunError,
                      "the worker ");
}

TEST(WorkerMeasurer, AWrongScheduleOfOursWouldBeFound) {
  const Task task = matmul_task();
  const MeasureOptions options = quick_options();
  const std::vector<Array> arguments = make_inputs(task.dag, options.seed);
  Reference reference = naive_reference(task, arguments);
  Array value = reference.outputs()[0].value;
  value.set(17, value.get(17) + 1);
  const auto measurer = WorkerMeasurer::make(task, options, arguments, reference).value();
  const std::vector<MeasureResult> results = measurer->measure(candidates(task, 1), 0);
  EXPECT_EQ(results[0].status, MeasureStatus::Wrong);
  EXPECT_THAT(results[0].error, HasSubstr("element [1, 6] of output 'C'"));
}

TEST(WorkerMeasurer, AWorkerKilledBetweenBatchesIsReplaced) {
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options());
  ASSERT_EQ(kill(measurer->worker_pid(), SIGKILL), 0);
  for (const MeasureResult& result : measurer->measure(candidates(task, 3), 0)) {
    EXPECT_TRUE(result.ok()) << result.error;
  }
}

TEST(WorkerMeasurer, AWorkerThatIsKilledAgainAndAgainFailsItsCandidate) {
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options({"hang@1"}));
  std::atomic<bool> done = false;
  std::thread killer([&] {
    // Whoever is the worker at the moment, if it has worked for a while.
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      for (const pid_t worker : running_workers()) {
        if (!done) kill(worker, SIGKILL);
      }
    }
  });
  const std::vector<MeasureResult> results = measurer->measure(candidates(task, 2), 0);
  done = true;
  killer.join();
  EXPECT_EQ(results[1].status, MeasureStatus::RunError);
  EXPECT_THAT(results[1].error, HasSubstr("SIGKILL"));
}

TEST(WorkerMeasurer, AfterARestAnotherWorkerServes) {
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options());
  measurer->rest();
  EXPECT_EQ(measurer->worker_pid(), -1);
  EXPECT_TRUE(measurer->measure(candidates(task, 1), 0)[0].ok());
}

TEST(WorkerMeasurer, TimeInWhichAWorkerIsStoppedDoesNotCount) {
  const Task task = matmul_task();
  MeasureOptions options = quick_options();
  options.timeout_s = 0.5;
  const auto measurer = make_measurer(task, options);
  const pid_t worker = measurer->worker_pid();
  kill(worker, SIGSTOP);
  std::thread releaser([worker] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    kill(worker, SIGCONT);
  });
  const std::vector<MeasureResult> results = measurer->measure(candidates(task, 2), 0);
  releaser.join();
  for (const MeasureResult& result : results) EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(measurer->workers_started(), 1);
}

TEST(WorkerMeasurer, AnInterruptEndsWhatIsMeasuredAndStartsNothing) {
  const Task task = matmul_task();
  MeasureOptions options = quick_options({"hang@0"});
  options.timeout_s = 1000;
  std::atomic<bool> stop = false;
  options.interrupt = &stop;
  const auto measurer = make_measurer(task, options);
  std::thread interrupter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop = true;
  });
  const std::vector<MeasureResult> results = measurer->measure(candidates(task, 3), 0);
  interrupter.join();
  for (const MeasureResult& result : results) {
    EXPECT_EQ(result.status, MeasureStatus::RunError);
    EXPECT_THAT(result.error, HasSubstr("interrupted"));
  }
  EXPECT_EQ(measurer->interleave(candidates(task, 2), 2).error().code, ErrorCode::Interrupted);
  EXPECT_EQ(measurer->workers_started(), 1);
  EXPECT_TRUE(running_workers().empty());
}

TEST(WorkerMeasurer, AProgramThatIsNoWorkerIsAnError) {
  const Task task = matmul_task();
  MeasureOptions options = quick_options();
  const std::vector<Array> arguments = make_inputs(task.dag, 0);
  const Reference reference = naive_reference(task, arguments);
  const auto error_with = [&](const std::string& program) {
    options.worker = program;
    return WorkerMeasurer::make(task, options, arguments, reference).error().message;
  };
  EXPECT_THAT(error_with("/bin/false"), AllOf(HasSubstr("/bin/false"), HasSubstr("status 1")));
  EXPECT_THAT(error_with("/nowhere"), HasSubstr("/nowhere"));
  EXPECT_THAT(error_with(""), HasSubstr("MeasureOptions::worker"));
}

TEST(WorkerMeasurer, InterleavedTimesAreOnePerCandidateAndRound) {
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options());
  const auto times = measurer->interleave(candidates(task, 3), 4).value();
  ASSERT_EQ(times.size(), 3u);
  for (const std::vector<double>& rounds : times) {
    ASSERT_EQ(rounds.size(), 4u);
    for (const double time : rounds) EXPECT_GT(time, 0);
  }
}

TEST(WorkerMeasurer, InterleavingSurvivesAKilledWorker) {
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options());
  kill(measurer->worker_pid(), SIGKILL);
  EXPECT_TRUE(measurer->interleave(candidates(task, 2), 2).ok());
}

int open_descriptors() {
  int n = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++n;
  closedir(folder);
  return n;
}

TEST(WorkerMeasurer, LeavesNoDescriptorsAndNoProcesses) {
  const int before = open_descriptors();
  {
    const Task task = matmul_task();
    const auto measurer = make_measurer(task, quick_options({"crash@0", "exit@1"}));
    measurer->measure(candidates(task, 3), 0);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(running_workers().empty());
}

int64_t private_bytes(pid_t pid) {
  long long total = 0, resident = 0, shared = 0;
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/statm").value();
  EXPECT_EQ(sscanf(text.c_str(), "%lld %lld %lld", &total, &resident, &shared), 3);
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

TEST(WorkerMeasurer, MemoryOfTheWorkerStaysFlat) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps freed memory for some time";
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options());
  int64_t settled = 0;
  for (int round = 0; round < 10; ++round) {
    for (const MeasureResult& result : measurer->measure(candidates(task, 24, round), 0)) {
      ASSERT_TRUE(result.ok()) << result.error;
    }
    if (round == 4) settled = private_bytes(measurer->worker_pid());
  }
  EXPECT_EQ(measurer->workers_started(), 1);
  // 120 kernels later: far less than 100 KiB each.
  EXPECT_LT(private_bytes(measurer->worker_pid()) - settled, int64_t{6} << 20);
}

// Not a test: what OrphansDieWithTheirParent runs in a process of its own and kills.
TEST(WorkerMeasurer, DISABLED_HangsWithAWorker) {
  const Task task = matmul_task();
  const auto measurer = make_measurer(task, quick_options({"hang@0"}));
  printf("worker %d\n", static_cast<int>(measurer->worker_pid()));
  fflush(stdout);
  measurer->measure(candidates(task, 1), 0);
}

bool is_running(pid_t pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  // Nobody may have collected it yet, which is not our business.
  return stat.ok() && stat->find(") Z") == std::string::npos;
}

TEST(WorkerMeasurer, OrphansDieWithTheirParent) {
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const UniqueFd in(fds[0]);
  UniqueFd out(fds[1]);
  std::string self(4096, '\0');
  self.resize(static_cast<size_t>(readlink("/proc/self/exe", self.data(), self.size())));
  std::vector<std::string> words = {self, "--gtest_also_run_disabled_tests",
                                    "--gtest_filter=WorkerMeasurer.DISABLED_HangsWithAWorker"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  pid_t parent = 0;
  ASSERT_EQ(posix_spawn(&parent, self.c_str(), &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  out.reset();

  std::string text;
  char bytes[256];
  ssize_t n = 0;
  size_t at = std::string::npos;
  while ((at == std::string::npos || text.find('\n', at) == std::string::npos) &&
         (n = read(in.get(), bytes, sizeof bytes)) > 0) {
    text.append(bytes, static_cast<size_t>(n));
    at = text.find("worker ");
  }
  ASSERT_NE(at, std::string::npos) << text;
  const auto worker = static_cast<pid_t>(strtol(text.c_str() + at + 7, nullptr, 10));
  ASSERT_TRUE(is_running(worker));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it hangs in the candidate by now
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (int i = 0; i < 100 && is_running(worker); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_FALSE(is_running(worker));
}

}  // namespace
}  // namespace espalier
