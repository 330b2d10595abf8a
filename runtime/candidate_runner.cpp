#include "espalier/runtime/candidate_runner.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "espalier/support/rng.h"

namespace espalier {
namespace {

constexpr double kLongCallUs = 5e4;

// What outputs and scratch memory hold before the run that is checked: NaN for floats, and for
// other types a byte that makes an unlikely number (and no bool).
std::byte prefill(DType dtype) { return is_float(dtype) ? std::byte{0xff} : std::byte{0xcb}; }

void fail(MeasureResult& result, MeasureStatus status, std::string error) {
  result.status = status;
  result.error = std::move(error);
}

double since_ms(double start_us) { return (now_us() - start_us) / 1e3; }

}  // namespace

struct CandidateRunner::Prepared {
  Kernel kernel;
  std::vector<void*> arguments;
  ArrayArena scratch;
  espalier_context context = {};
  bool parallel = false;

  int32_t call() {
    return kernel.call(arguments.data(), scratch[0], parallel ? &context : nullptr);
  }
};

Result<CandidateRunner> CandidateRunner::make(Task task, std::span<const ArrayView> arguments,
                                              std::vector<ExpectedOutput> expected,
                                              const MeasureOptions& options) {
  CandidateRunner runner;
  runner.task_ = std::make_shared<const Task>(std::move(task));
  runner.options_ = options;
  runner.expected_ = std::move(expected);
  const ComputeDag& dag = runner.task_->dag;
  ESP_CHECK(arguments.size() == dag.inputs().size() + dag.constants().size());

  std::vector<ArrayView> all(arguments.begin(), arguments.end());
  for (const int stage : dag.outputs()) {
    const Tensor& tensor = dag.stage(stage).tensor;
    all.emplace_back(nullptr, tensor->dtype, tensor->shape);
  }
  std::vector<int64_t> bytes;
  bytes.reserve(all.size());
  for (const ArrayView& array : all) bytes.push_back(array.elements() * bytes_of(array.dtype));
  ESP_TRY(runner.arena_, ArrayArena::make(bytes));

  for (size_t k = 0; k < all.size(); ++k) {
    ESP_TRY(GuardedBuffer guarded, GuardedBuffer::make(bytes[k]));
    ArrayView in_arena = all[k], in_guarded = all[k];
    in_arena.data = runner.arena_[static_cast<int>(k)];
    in_guarded.data = guarded.data();
    const bool is_output = k >= arguments.size();
    if (!is_output) {
      if (bytes[k] > 0) {
        memcpy(in_arena.data, all[k].data, static_cast<size_t>(bytes[k]));
        memcpy(in_guarded.data, all[k].data, static_cast<size_t>(bytes[k]));
      }
      ESP_TRY_VOID(guarded.make_read_only());
    }
    const bool is_input = k < dag.inputs().size();
    (is_output  ? runner.outputs_
     : is_input ? runner.inputs_
                : runner.constants_)
        .push_back(std::move(in_arena));
    (is_output  ? runner.guarded_outputs_
     : is_input ? runner.guarded_inputs_
                : runner.guarded_constants_)
        .push_back(std::move(in_guarded));
    runner.guarded_.push_back(std::move(guarded));
  }
  if (runner.task_->threads > 1) {
    ESP_TRY(runner.pool_, Pool::make(runner.task_->threads));
  }
  if (options.flush_cache) {
    const Target& target = runner.task_->target;
    ESP_TRY(runner.flusher_,
            CacheFlusher::make(std::max(target.l2_bytes * target.cores, target.l3_bytes)));
  }
  return runner;
}

std::optional<Kernel> CandidateRunner::compile(const std::string& trace,
                                               MeasureResult& result) const {
  const double start = now_us();
  auto parsed = parse_trace(trace, *task_);
  if (!parsed.ok()) {
    fail(result, MeasureStatus::CompileError, to_string(parsed.error()));
    return std::nullopt;
  }
  const Replayed replayed = replay(*task_, *parsed);
  if (!replayed.ok()) {
    fail(result, MeasureStatus::CompileError, explain(replayed.rejection(), *task_, *parsed));
    return std::nullopt;
  }
  auto kernel = espalier::compile(replayed.state());
  result.compile_ms = since_ms(start);
  if (!kernel.ok()) {
    fail(result, MeasureStatus::CompileError, to_string(kernel.error()));
    return std::nullopt;
  }
  if (kernel->workspace_bytes() > options_.memory_limit) {
    fail(result, MeasureStatus::RunError,
         "needs " + std::to_string(kernel->workspace_bytes()) +
             " bytes of scratch memory, more than the limit of " +
             std::to_string(options_.memory_limit));
    return std::nullopt;
  }
  return *std::move(kernel);
}

std::string CandidateRunner::stray_write(const GuardedBuffer& workspace) const {
  auto describe = [](std::string_view what, const GuardedBuffer& buffer) -> std::string {
    const auto at = buffer.stray_write();
    if (!at) return {};
    const int64_t off = *at < 0 ? -*at : *at - buffer.bytes();
    return "wrote outside " + std::string(what) + ": " + std::to_string(off) +
           (*at < 0 ? " bytes in front of its start" : " bytes past its end");
  };
  for (size_t k = 0; k < expected_.size(); ++k) {
    const size_t first = guarded_.size() - expected_.size();
    std::string text = describe("output '" + expected_[k].name + "'", guarded_[first + k]);
    if (!text.empty()) return text;
  }
  return describe("its scratch memory", workspace);
}

bool CandidateRunner::check(const Kernel& unbound, WorkerHooks* hooks, uint64_t number,
                            MeasureResult& result, double* call_us) const {
  const auto refuse = [&](const Error& error) {
    fail(result, MeasureStatus::RunError, to_string(error));
    return false;
  };
  const auto kernel = unbound.bind(guarded_constants_);
  if (!kernel.ok()) return refuse(kernel.error());
  const auto workspace = GuardedBuffer::make(kernel->workspace_bytes());
  if (!workspace.ok()) return refuse(workspace.error());
  workspace->fill(std::byte{0xff});
  for (size_t k = 0; k < expected_.size(); ++k) {
    guarded_[guarded_.size() - expected_.size() + k].fill(prefill(expected_[k].dtype));
  }
  const auto arguments = kernel->arguments(guarded_inputs_, guarded_outputs_);
  if (!arguments.ok()) return refuse(arguments.error());

  espalier_context context = pool_ ? pool_->context(kernel->threads()) : espalier_context{};
  const double start = now_us();
  const int32_t status =
      kernel->call(arguments->data(), workspace->data(), pool_ ? &context : nullptr);
  *call_us = now_us() - start;
  if (hooks != nullptr) hooks->after_run(number, guarded_outputs_);
  if (status != ESPALIER_OK) {
    fail(result, MeasureStatus::RunError, "returned status " + std::to_string(status));
    return false;
  }
  const std::string stray = stray_write(*workspace);
  if (!stray.empty()) {
    fail(result, MeasureStatus::RunError, stray);
    return false;
  }
  const CheckResult checked = check_outputs(expected_, guarded_outputs_);
  result.max_error = checked.max_error;
  if (!checked.ok) fail(result, MeasureStatus::Wrong, checked.message);
  return checked.ok;
}

Result<CandidateRunner::Prepared> CandidateRunner::prepare(const Kernel& unbound) const {
  ESP_TRY(Kernel kernel, unbound.bind(constants_));
  ESP_TRY(std::vector<void*> arguments, kernel.arguments(inputs_, outputs_));
  const int64_t bytes = kernel.workspace_bytes();
  ESP_TRY(ArrayArena scratch, ArrayArena::make({&bytes, 1}, arena_.size()));
  const espalier_context context = pool_ ? pool_->context(kernel.threads()) : espalier_context{};
  return Prepared{std::move(kernel), std::move(arguments), std::move(scratch), context,
                  pool_.has_value()};
}

void CandidateRunner::time(const Kernel& kernel, double best_us, double deadline_us,
                           MeasureResult& result) const {
  auto prepared = prepare(kernel);
  if (!prepared.ok()) {
    fail(result, MeasureStatus::RunError, to_string(prepared.error()));
    return;
  }
  const std::function<void()> call = [&] { prepared->call(); };
  CallTimer timer(call, options_.min_batch_ms, flusher_ ? &*flusher_ : nullptr);
  timer.warm_up();
  // The same schedule gives the same bits every time.
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const auto bytes = static_cast<size_t>(outputs_[k].elements() * bytes_of(outputs_[k].dtype));
    if (bytes > 0 && memcmp(outputs_[k].data, guarded_outputs_[k].data, bytes) != 0) {
      fail(result, MeasureStatus::Wrong,
           "gives another result for output '" + expected_[k].name + "' when it runs again");
      return;
    }
  }
  const int repeats = std::max(options_.repeats, 1);
  for (int i = 0; i < std::max(repeats, options_.leader_repeats); ++i) {
    if (i > 0 && now_us() > deadline_us) break;
    if (i >= repeats && best_us > 0 && robust_centre(result.times_us) >= best_us) break;
    result.times_us.push_back(timer.batch());
    if (i == 0 && best_us > 0 && options_.repeats > 1 &&
        result.times_us[0] > options_.abandon_ratio * best_us) {
      result.abandoned = true;
      break;
    }
  }
  result.time_us = robust_centre(result.times_us);
  result.status = MeasureStatus::Ok;
}

void CandidateRunner::run(const Kernel& kernel, double best_us, WorkerHooks* hooks, uint64_t number,
                          MeasureResult& result) const {
  const double start = now_us();
  // Slow kernels get fewer repeats rather than a timeout.
  const double deadline = start + options_.timeout_s * 0.5e6;
  if (hooks != nullptr) hooks->before_run(number);
  double call_us = 0;
  const bool right = check(kernel, hooks, number, result, &call_us);
  result.check_ms = since_ms(start);
  if (!right) return;
  // A call as long as that needs no second one to tell: cold caches and page faults are a small
  // part of it.
  const bool hopeless = best_us > 0 && options_.repeats > 1 && call_us > kLongCallUs &&
                        call_us > 4 * options_.abandon_ratio * best_us;
  if (!hopeless) return time(kernel, best_us, deadline, result);
  result.times_us = {call_us};
  result.time_us = call_us;
  result.abandoned = true;
  result.status = MeasureStatus::Ok;
}

Result<std::vector<std::vector<double>>> CandidateRunner::interleave(
    std::span<const Kernel> kernels, int rounds, uint64_t seed,
    const std::function<void()>& progress) const {
  std::vector<Prepared> prepared;
  for (const Kernel& kernel : kernels) {
    ESP_TRY(Prepared one, prepare(kernel));
    prepared.push_back(std::move(one));
  }
  std::vector<std::function<void()>> calls;
  calls.reserve(prepared.size());
  for (Prepared& one : prepared) calls.emplace_back([&one] { one.call(); });
  std::vector<CallTimer> timers;
  for (const std::function<void()>& call : calls) {
    timers.emplace_back(call, options_.min_batch_ms, flusher_ ? &*flusher_ : nullptr);
    progress();
    timers.back().warm_up();
  }
  std::vector<std::vector<double>> times(kernels.size());
  std::vector<size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Rng rng(seed);
  for (int round = 0; round < rounds; ++round) {
    rng.shuffle(order);
    for (const size_t k : order) {
      progress();
      times[k].push_back(timers[k].batch());
    }
  }
  return times;
}

}  // namespace espalier
