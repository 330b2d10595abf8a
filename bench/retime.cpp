// retime: what given schedules of a workload are worth, in one interleaved run.
//
//   retime --workload SPEC [--threads N] [--rounds R] traces.json
//
// The file is a JSON array of traces, each an array of steps. Prints {"default_us": ..., "speeds":
// [...]}: for each trace the median over rounds of the default schedule's time over its own. Times
// of searches are single and taken at different moments; these compare.
#include <cstring>
#include <filesystem>

#include "command_line/console.h"
#include "command_line/exit_code.h"
#include "command_line/options.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/runtime/worker_client.h"
#include "espalier/runtime/worker_server.h"
#include "espalier/schedule/text.h"
#include "espalier/search/default_schedule.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"

namespace espalier::bench {
namespace {

struct Settings {
  std::string workload;
  std::vector<std::string> files;
  int64_t threads = 1, rounds = 7;
};

// Timed together: each keeps its packed weights in memory.
constexpr size_t kTogether = 24;

Result<std::vector<Candidate>> read_traces(const std::string& path, const Task& task) {
  ESP_TRY(const std::string text, read_file(path));
  ESP_TRY(const Json json, parse_json(text));
  std::vector<Candidate> candidates;
  for (const Json& lines : json.items()) {
    ESP_TRY(const std::vector<std::string> steps, lines.as_strings());
    std::string trace;
    for (const std::string& step : steps) trace += step + "\n";
    ESP_TRY(Trace parsed, parse_trace(trace, task));
    candidates.push_back(make_candidate(std::move(parsed)));
  }
  return candidates;
}

Result<void> run(const Settings& settings, cli::Console& console) {
  Task task;
  ESP_TRY(task.dag, load_workload(settings.workload));
  task.target = host_target();
  task.threads = static_cast<int>(settings.threads);
  ESP_TRY(const std::vector<Candidate> candidates, read_traces(settings.files[0], task));
  MeasureOptions measuring;
  measuring.worker = std::filesystem::read_symlink("/proc/self/exe").string();
  ESP_TRY(const auto measurer, WorkerMeasurer::make(task, measuring, default_candidate));

  Json speeds = Json::array();
  std::vector<double> default_times;
  for (size_t begin = 0; begin < candidates.size(); begin += kTogether) {
    const size_t count = std::min(kTogether, candidates.size() - begin);
    std::vector<Candidate> group = {default_candidate(task)};
    for (size_t i = 0; i < count; ++i) group.push_back(candidates[begin + i]);
    ESP_TRY(const auto times, measurer->interleave(group, static_cast<int>(settings.rounds)));
    for (size_t i = 1; i < group.size(); ++i) {
      std::vector<double> ratios;
      for (size_t r = 0; r < times[i].size(); ++r) ratios.push_back(times[0][r] / times[i][r]);
      speeds.push(robust_centre(std::move(ratios)));
    }
    default_times.insert(default_times.end(), times[0].begin(), times[0].end());
  }
  console.print(Json::object({{"default_us", robust_centre(std::move(default_times))},
                              {"speeds", std::move(speeds)}})
                    .dump() +
                "\n");
  return {};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  // The measurer starts this program again.
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return run_worker(0, 1);
  cli::prepare_standard_streams();
  cli::Console console;
  bench::Settings settings;
  cli::Options options("retime", "what given schedules are worth, in one interleaved run");
  options.text("--workload", settings.workload, "SPEC", "whose schedules they are");
  options.integer("--threads", settings.threads, 1, 4096, "of the kernels (1)");
  options.integer("--rounds", settings.rounds, 1, 1000, "that each is timed (7)");
  options.positionals("traces.json", settings.files, "an array of traces, each an array of steps");
  const auto parsed = options.parse({argv + 1, static_cast<size_t>(argc - 1)});
  if (parsed.ok() && !*parsed) {
    console.print(options.help());
    return cli::kGood;
  }
  Result<void> done = parsed.ok() ? Result<void>() : Result<void>(parsed.error());
  if (parsed.ok()) {
    done = settings.workload.empty() || settings.files.size() != 1
               ? cli::usage_error("expected --workload SPEC and one file of traces")
               : bench::run(settings, console);
  }
  if (done.ok()) return cli::kGood;
  console.error(done.error());
  return cli::exit_code(done.error());
}
