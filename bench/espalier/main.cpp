// Our own kernels as contestants: the best of the records, the default schedule, or a trace.
#include <cstdlib>
#include <memory>

#include "contest/contestant.h"
#include "espalier/runtime/kernel.h"
#include "espalier/runtime/pool.h"
#include "espalier/search/default_schedule.h"
#include "espalier/search/lookup.h"
#include "espalier/support/fd.h"

namespace espalier::bench {
namespace {

struct Schedule {
  std::string kind = "default", records, trace;
};

struct Chosen {
  State state;
  std::string detail;
};

Result<Chosen> replayed(const Task& task, const Trace& trace, const std::string& detail) {
  Replayed result = replay(task, trace);
  if (!result.ok()) {
    return make_error(ErrorCode::InvalidArgument,
                      "the schedule does not apply: ", explain(result.rejection(), task, trace));
  }
  return Chosen{result.take(), detail};
}

Result<Chosen> choose(const Schedule& schedule, const Task& task) {
  if (schedule.kind == "default") {
    return replayed(task, default_candidate(task).trace(), "default");
  }
  if (schedule.kind == "trace") {
    ESP_TRY(const std::string text, read_file(schedule.trace, 1 << 20));
    ESP_TRY(const Trace trace, parse_trace(text, task));
    return replayed(task, trace, "trace");
  }
  ESP_TRY(const Database database, Database::open(schedule.records));
  ESP_TRY(Lookup found, look_up(database, task, default_candidate));
  return Chosen{std::move(found.state), std::string(name_of(found.level))};
}

// A kernel with all that a call needs, so that a call is one jump.
struct Ready {
  Kernel kernel;
  std::optional<Pool> pool;
  std::unique_ptr<void, decltype(&free)> workspace{nullptr, &free};
  std::vector<void*> arguments;
  espalier_context context{};

  explicit Ready(Kernel k) : kernel(std::move(k)) {}
  void run() { kernel.call(arguments.data(), workspace.get(), pool ? &context : nullptr); }
};

Result<Entry> enter(const Schedule& schedule, const Contest& contest) {
  ESP_TRY(const Chosen chosen, choose(schedule, contest.task()));
  ESP_TRY(const Kernel unbound, compile(chosen.state));
  ESP_TRY(Kernel kernel, unbound.bind(contest.constants()));
  const auto ready = std::make_shared<Ready>(std::move(kernel));
  ESP_TRY(ready->arguments, ready->kernel.arguments(contest.inputs(), contest.outputs()));
  const size_t bytes = static_cast<size_t>(ready->kernel.workspace_bytes());
  if (bytes > 0) ready->workspace.reset(aligned_alloc(64, (bytes + 63) / 64 * 64));
  if (contest.task().threads > 1) {
    ESP_TRY(ready->pool, Pool::make(contest.task().threads));
    ready->context = ready->pool->context();
  }
  return Entry{[ready] { ready->run(); }, chosen.detail};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  bench::Schedule schedule;
  return bench::run_contestant(
      argc, argv,
      {.name = "espalier",
       .enter = [&](const bench::Contest& contest) { return enter(schedule, contest); },
       .declare =
           [&](cli::Options& options) {
             options.choice("--schedule", schedule.kind, {"best", "default", "trace"},
                            "which schedule");
             options.text("--records", schedule.records, "FILE", "best: where the records are");
             options.text("--trace", schedule.trace, "FILE", "trace: where the steps are");
           }});
}
