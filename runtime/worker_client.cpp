#include "espalier/runtime/worker_client.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "espalier/runtime/inputs.h"
#include "espalier/schedule/state.h"
#include "espalier/support/hash.h"
#include "espalier/support/lexer.h"

namespace espalier {

using Outcome = WorkerSession::Outcome;

namespace {

Error interrupted() { return make_error(ErrorCode::Interrupted, "measuring was interrupted"); }

}  // namespace

Result<std::unique_ptr<WorkerMeasurer>> WorkerMeasurer::make(
    const Task& task, const MeasureOptions& options,
    const std::function<Candidate(const Task&)>& schedule) {
  const std::vector<Array> arguments = make_inputs(task.dag, options.seed);
  ESP_TRY(const Reference reference, make_reference(task, arguments, schedule));
  return make(task, options, arguments, reference);
}

Result<std::unique_ptr<WorkerMeasurer>> WorkerMeasurer::make(const Task& task,
                                                             const MeasureOptions& options,
                                                             const std::vector<Array>& arguments,
                                                             const Reference& reference) {
  if (options.worker.empty()) {
    return make_error(ErrorCode::InvalidArgument,
                      "MeasureOptions::worker is empty; it names the program to run as the worker");
  }
  const TaskLayout layout = task_layout(task.dag);
  if (arguments.size() != layout.arguments.size()) {
    return make_error(ErrorCode::InvalidArgument, arguments.size(), " arrays were given for the ",
                      layout.arguments.size(), " inputs and constants of the task");
  }
  ESP_CHECK(reference.outputs().size() == layout.values.size());
  std::unique_ptr<WorkerMeasurer> measurer(new WorkerMeasurer(task, options));
  ESP_TRY(measurer->memory_, SharedMemory::make(layout.bytes));
  const auto place = [&](const Array& array, int64_t at) {
    if (array.bytes() > 0) {
      memcpy(measurer->memory_.data() + at, array.data(), static_cast<size_t>(array.bytes()));
    }
  };
  for (size_t k = 0; k < arguments.size(); ++k) place(arguments[k], layout.arguments[k]);
  for (size_t k = 0; k < layout.values.size(); ++k) {
    place(reference.outputs()[k].value, layout.values[k]);
    place(reference.outputs()[k].bound, layout.bounds[k]);
  }
  ESP_TRY_VOID(measurer->ensure_worker());
  return measurer;
}

Result<void> WorkerMeasurer::ensure_worker() {
  if (session_) return {};
  TaskMessage message{to_string(task_.dag),        task_.dag.hash(),
                      to_string(task_.target),     task_.threads,
                      WorkerProcess::kInheritedFd, options_};
  std::vector<std::string> arguments = {"worker"};
  arguments.insert(arguments.end(), options_.worker_args.begin(), options_.worker_args.end());
  ++started_;
  worker_is_fresh_ = true;
  ESP_TRY(session_,
          WorkerSession::start(options_.worker, arguments, std::move(message), memory_.fd()));
  return {};
}

std::string WorkerMeasurer::reproducer(const std::string& trace) const {
  std::string text = "reproduce: espalier run --check --workload ";
  text += task_.workload.empty() ? "DAG_" + hash_to_hex(task_.dag.hash()) : quote(task_.workload);
  text += " --target " + quote(to_string(task_.target));
  text += " --threads " + std::to_string(task_.threads);
  text += " --seed " + std::to_string(options_.seed);
  return text + " --trace " + quote(trace);
}

void WorkerMeasurer::fail(Job& job, MeasureStatus status, const std::string& what) const {
  job.result->status = status;
  job.result->error = what + "\n" + reproducer(job.trace);
  finish(job);
}

void WorkerMeasurer::finish(Job& job) {
  job.done = true;
  (*job.sink)(job.place, *job.result);
}

Outcome WorkerMeasurer::run(const std::vector<Job*>& batch, double& best_us) {
  BatchMessage message{best_us, {}};
  for (const Job* job : batch) message.items.push_back({job->number, job->trace});
  Outcome outcome = session_->measure(message, [&](uint64_t number, MeasureResult result) {
    const auto at = std::find_if(batch.begin(), batch.end(),
                                 [&](const Job* job) { return job->number == number; });
    if (at == batch.end()) return;
    Job& job = **at;
    *job.result = std::move(result);
    if (!job.result->ok()) {
      fail(job, job.result->status, job.result->error);
      return;
    }
    if (best_us <= 0 || job.result->time_us < best_us) best_us = job.result->time_us;
    finish(job);
  });
  if (outcome.kind != Outcome::Kind::Answered) session_.reset();
  return outcome;
}

// Decides about the candidates that a worker left undone: who is to blame fails, who may be is
// tried by itself, the others go on together.
void WorkerMeasurer::sort_out(const std::vector<Job*>& undone, const Outcome& outcome,
                              bool by_itself, std::vector<Job*>& group,
                              std::vector<Job*>& alone) const {
  const auto is_suspect = [&](const Job* job) {
    return std::find(outcome.active.begin(), outcome.active.end(), job->number) !=
           outcome.active.end();
  };
  const bool any_suspect = std::any_of(undone.begin(), undone.end(), is_suspect);
  // Time and memory that a run takes are its own doing; a crash may be due to what ran before it.
  const bool own_doing =
      outcome.kind != Outcome::Kind::Died && outcome.active.size() == 1 && outcome.running;
  for (Job* job : undone) {
    if (any_suspect && !is_suspect(job)) {
      group.push_back(job);
    } else if (!by_itself && !own_doing) {
      alone.push_back(job);
    } else if (outcome.signal == SIGKILL && !std::exchange(job->killed_before, true)) {
      alone.push_back(job);  // killed from outside, perhaps for want of memory there
    } else {
      fail(*job,
           outcome.kind == Outcome::Kind::Hung ? MeasureStatus::Timeout : MeasureStatus::RunError,
           "the worker " + outcome.how);
    }
  }
}

std::vector<MeasureResult> WorkerMeasurer::measure(std::span<const Candidate> batch,
                                                   double best_us) {
  return measure_each(batch, best_us, [](size_t, const MeasureResult&) {});
}

std::vector<MeasureResult> WorkerMeasurer::measure_each(std::span<const Candidate> batch,
                                                        double best_us, const ResultSink& done) {
  std::vector<MeasureResult> results(batch.size());
  std::deque<Job> jobs;
  std::vector<Job*> group, alone;  // to be tried together, and each by itself
  for (size_t i = 0; i < batch.size(); ++i) {
    const Trace trace = batch[i].trace();
    Job& job = jobs.emplace_back();
    job.number = next_number_++;
    job.place = i;
    job.result = &results[i];
    job.sink = &done;
    job.trace = to_string(trace, task_);
    if (const Replayed replayed = replay(task_, trace); replayed.ok()) {
      group.push_back(&job);
    } else {
      fail(job, MeasureStatus::CompileError, explain(replayed.rejection(), task_, trace));
    }
  }

  while (!group.empty() || !alone.empty()) {
    const Result<void> started = options_.interrupted() ? interrupted() : ensure_worker();
    if (!started.ok()) {
      for (const std::vector<Job*>* rest : {&group, &alone}) {
        for (Job* job : *rest) fail(*job, MeasureStatus::RunError, to_string(started.error()));
      }
      break;
    }
    std::vector<Job*> now;
    if (alone.empty()) {
      now.swap(group);
    } else {
      now = {alone.front()};
      alone.erase(alone.begin());
    }
    const bool by_itself = std::exchange(worker_is_fresh_, false) && now.size() == 1;
    const Outcome outcome = run(now, best_us);
    std::erase_if(now, [](const Job* job) { return job->done; });
    if (outcome.kind == Outcome::Kind::Interrupted) {
      group.insert(group.end(), now.begin(), now.end());
    } else {
      sort_out(now, outcome, by_itself, group, alone);
    }
  }
  return results;
}

Result<std::vector<std::vector<double>>> WorkerMeasurer::interleave(
    std::span<const Candidate> candidates, int rounds) {
  InterleaveMessage message;
  message.seed = options_.seed;
  message.rounds = rounds;
  for (const Candidate& candidate : candidates) {
    message.traces.push_back(to_string(candidate.trace(), task_));
  }
  std::string how;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (options_.interrupted()) return interrupted();
    ESP_TRY_VOID(ensure_worker());
    worker_is_fresh_ = false;
    TimesMessage times;
    std::string failure;
    const Outcome outcome = session_->interleave(message, times, failure);
    if (outcome.kind == Outcome::Kind::Answered) {
      if (failure.empty()) return std::move(times.times_us);
      return make_error(ErrorCode::Internal, "cannot measure candidates again: ", failure);
    }
    session_.reset();
    how = outcome.how;
  }
  return make_error(ErrorCode::Resource, "cannot measure candidates again: the worker ", how);
}

}  // namespace espalier
