#include "espalier/search/tune_network.h"

#include <algorithm>
#include <chrono>

#include "espalier/search/task_scheduler.h"
#include "espalier/search/tuning_run.h"
#include "espalier/support/device_model.h"

namespace espalier {
namespace {

constexpr int kTrialsPerTask = 64;
// Of a budget in seconds, what the final comparisons need: for each task, and at most in all.
constexpr double kFinalSeconds = 1, kFinalShare = 0.4;

double system_clock_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// The time below which no schedule can be: arithmetic at the peak, or inputs and outputs once
// through the first cache.
double bound_us(const Task& task) {
  const DeviceModel device = data_sheet(task.target);
  double bytes = 0;
  for (int s = 0; s < task.dag.size(); ++s) {
    const StageInfo& stage = task.dag.stage(s);
    if (stage.is_compute() && !stage.is_output) continue;
    double elements = 1;
    for (int64_t extent : stage.tensor->shape) elements *= static_cast<double>(extent);
    bytes += elements * static_cast<double>(bytes_of(stage.tensor->dtype));
  }
  const double threads = task.threads;
  return 1e6 / threads *
         std::max(task.dag.flops() / device.peak_flops, bytes / device.l1_bandwidth);
}

class NetworkTuner {
 public:
  NetworkTuner(const Network& network, const NetworkOptions& options,
               const MeasurerFactory& make_measurer)
      : network_(network),
        options_(options),
        clock_(options.each.clock ? options.each.clock : system_clock_seconds),
        started_(clock_() - options.each.seconds_before),
        pool_(make_measurer, options.alive),
        trials_(options.trials.value_or(kTrialsPerTask * static_cast<int>(network.tasks.size()))) {}

  Result<NetworkReport> run();

 private:
  Result<void> make_runs();
  Result<StopReason> search();
  Result<bool> round(size_t task);

  double elapsed() const { return clock_() - started_; }
  double seconds_left() const {
    const double tasks = static_cast<double>(network_.tasks.size());
    const double reserve = std::min(kFinalShare * options_.seconds, kFinalSeconds * tasks);
    return options_.seconds - reserve - elapsed();
  }
  int measured() const {
    int all = 0;
    for (const auto& run : runs_) all += run->trials();
    return all;
  }
  template <class Value>
  Result<Value> with_task(Result<Value> result, size_t task) const {
    if (result.ok()) return result;
    return with_note(std::move(result).error(), "in task ", task + 1, " of ", network_.tasks.size(),
                     ", '", network_.tasks[task].spec, "'");
  }

  const Network& network_;
  const NetworkOptions& options_;
  std::function<double()> clock_;
  double started_;
  MeasurerPool pool_;
  int trials_;
  std::vector<TuneOptions> each_;  // by task; they outlive the runs
  std::vector<std::unique_ptr<TuningRun>> runs_;
};

Result<void> NetworkTuner::make_runs() {
  const size_t tasks = network_.tasks.size();
  each_.assign(tasks, options_.each);
  for (size_t i = 0; i < tasks; ++i) {
    TuneOptions& o = each_[i];
    // Its own budget is what the scheduler gives it.
    o.trials = trials_;
    o.seconds = 0;
    o.seconds_before = 0;
    o.clock = clock_;
    if (options_.progress) {
      o.progress = [this, i](const TuneProgress& p) {
        TuneProgress all = p;
        all.trial = p.trial;
        for (size_t j = 0; j < runs_.size(); ++j) {
          if (j != i) all.trial += runs_[j]->trials();
        }
        all.trials = trials_;
        all.seconds = elapsed();
        options_.progress(i, all);
      };
    }
    const Task& task = network_.tasks[i].task;
    o.seeds.clear();
    if (options_.seeds) {
      // No more than its share of the budget.
      o.seeds = options_.seeds(task);
      const size_t share = static_cast<size_t>(trials_) / tasks;
      if (o.seeds.size() + 1 > share) o.seeds.resize(share > 0 ? share - 1 : 0);
    }
    if (options_.parts) {
      ESP_TRY(o.parts, with_task(options_.parts(task), i));
    }
    ESP_TRY(auto run, with_task(TuningRun::make(task, o, pool_.add(task)), i));
    runs_.push_back(std::move(run));
  }
  return {};
}

// False: the task has nothing more to propose.
Result<bool> NetworkTuner::round(size_t task) {
  TuningRun& run = *runs_[task];
  const int end = run.trials() + std::min(options_.round, trials_ - measured());
  while (run.trials() < end && !run.interrupted()) {
    const int batch = std::min(options_.each.batch, end - run.trials());
    ESP_TRY(const bool more, run.advance(batch));
    if (!more) return false;
    if (options_.seconds > 0 && seconds_left() <= 0) break;
  }
  return true;
}

Result<StopReason> NetworkTuner::search() {
  std::vector<ScheduledTask> tasks;
  for (const NetworkTask& t : network_.tasks) {
    tasks.push_back({static_cast<double>(t.count), bound_us(t.task)});
  }
  TaskScheduler scheduler(std::move(tasks));
  // What a task needs whatever the budget: its default schedule, and what others say about it.
  for (size_t i = 0; i < runs_.size(); ++i) {
    const double before = elapsed();
    ESP_TRY_VOID(with_task(runs_[i]->start(1 + static_cast<int>(each_[i].seeds.size())), i));
    scheduler.observe(static_cast<int>(i), runs_[i]->best_us(), elapsed() - before);
    if (runs_[i]->interrupted()) return StopReason::Interrupted;
  }
  while (true) {
    if (runs_[0]->interrupted()) return StopReason::Interrupted;
    if (measured() >= trials_) return StopReason::Trials;
    if (options_.seconds > 0 && seconds_left() <= 0) return StopReason::Seconds;
    const int task = scheduler.next();
    if (task < 0) return StopReason::Converged;
    const auto i = static_cast<size_t>(task);
    const double before = elapsed();
    ESP_TRY(const bool more, with_task(round(i), i));
    scheduler.observe(task, runs_[i]->best_us(), elapsed() - before);
    if (!more) scheduler.finish(task);
  }
}

Result<NetworkReport> NetworkTuner::run() {
  if (trials_ < 0) {
    return make_error(ErrorCode::InvalidArgument, "'trials' must be at least 0, got ", trials_);
  }
  ESP_TRY_VOID(make_runs());
  NetworkReport report;
  ESP_TRY(report.stopped, search());
  for (size_t i = 0; i < runs_.size(); ++i) {
    const double count = static_cast<double>(network_.tasks[i].count);
    // Not exhausted or converged by itself: it shares the reason of the whole.
    ESP_TRY(TuneReport one, with_task(runs_[i]->finish(report.stopped), i));
    report.trials += one.trials;
    report.best_us += count * one.best_us;
    report.default_us += count * one.default_us.value_or(one.best_us);
    report.tasks.push_back(std::move(one));
  }
  if (runs_[0]->interrupted()) report.stopped = StopReason::Interrupted;
  report.seconds = elapsed();
  return report;
}

}  // namespace

Result<NetworkReport> tune_network(const Network& network, const NetworkOptions& options,
                                   const MeasurerFactory& make_measurer) {
  ESP_CHECK(!network.tasks.empty(), "a network without tasks");
  return NetworkTuner(network, options, make_measurer).run();
}

}  // namespace espalier
