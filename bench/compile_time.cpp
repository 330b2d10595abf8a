// compile_time: what compiling the candidates of a search takes, beside LLVM's own pipeline.
//
// Each candidate of a task (those of a record file, or the first that a search proposes) is lowered
// and compiled by us, then by `default<O3>` from the same LLVM module. Ours is everything from the
// schedule to linked code, theirs LLVM's passes and code generation alone.
#include <algorithm>
#include <chrono>
#include <set>

#include "command_line/console.h"
#include "command_line/exit_code.h"
#include "command_line/options.h"
#include "command_line/table.h"
#include "espalier/codegen/jit.h"
#include "espalier/codegen/textbook.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/schedule/lower.h"
#include "espalier/search/database.h"
#include "espalier/search/tuner.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"

namespace espalier::bench {
namespace {

struct Settings {
  std::vector<std::string> workloads;
  std::string records, target = "host", policy = "auto";
  int64_t threads = 1, propose = 200, seed = 1, slowest = 0;
  bool json = false, ours_only = false;
};

struct Measured {
  std::string trace;
  double ours_ms = 0, textbook_ms = 0, lower_ms = 0;
  double code_size = 0;  // as the sampler estimates it
  CompileStats stats;
};

std::vector<std::string> recorded_traces(const Database& database, const ComputeDag& dag) {
  std::vector<std::string> traces;
  std::set<std::string> seen;
  for (size_t i : database.of_dag(dag.hash())) {
    const TuningRecord& record = database.records()[i];
    if (seen.insert(record.trace).second) traces.push_back(record.trace);
  }
  return traces;
}

Result<std::vector<std::string>> proposed_traces(const Settings& settings, const Task& task) {
  TuneOptions options;
  options.seed = static_cast<uint64_t>(settings.seed);
  options.policy = settings.policy;
  ESP_TRY(const std::vector<Proposal> proposals,
          propose(task, static_cast<int>(settings.propose), options));
  std::vector<std::string> traces;
  for (const Proposal& p : proposals) traces.push_back(to_string(p.candidate.trace(), task));
  return traces;
}

Result<Measured> measure(const Settings& settings, const Task& task, const std::string& text) {
  using Clock = std::chrono::steady_clock;
  const auto ms_since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  Measured measured;
  measured.trace = text;
  ESP_TRY(const Trace trace, parse_trace(text, task));
  const auto start = Clock::now();
  const Replayed replayed = replay(task, trace);
  if (!replayed.ok()) {
    return make_error(ErrorCode::InvalidArgument,
                      "a trace does not apply: ", explain(replayed.rejection(), task, trace));
  }
  ESP_TRY(const LoweredKernel lowered, lower(replayed.state()));
  measured.lower_ms = ms_since(start);
  ESP_TRY(const JitCode code, JitCode::compile(lowered, task.target, &measured.stats));
  measured.ours_ms = ms_since(start);
  measured.code_size = code_size(replayed.state());
  if (!settings.ours_only) {
    ESP_TRY(const double us, textbook_compile_us(lowered, task.target));
    measured.textbook_ms = us / 1e3;
  }
  return measured;
}

template <class F>
std::vector<double> column(const std::vector<Measured>& all, F f) {
  std::vector<double> values;
  for (const Measured& m : all) values.push_back(f(m));
  std::sort(values.begin(), values.end());
  return values;
}

// Of sorted values; the nearest rank.
double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<size_t>(q * static_cast<double>(sorted.size()));
  return sorted[std::min(at, sorted.size() - 1)];
}

template <class F>
double median_of(const std::vector<Measured>& all, F f) {
  return quantile(column(all, f), 0.5);
}

void print_slowest(std::vector<Measured> all, int64_t count, cli::Console& console) {
  std::sort(all.begin(), all.end(),
            [](const Measured& a, const Measured& b) { return a.ours_ms > b.ours_ms; });
  all.resize(std::min(all.size(), static_cast<size_t>(count)));
  for (const Measured& m : all) {
    console.print(
        "\n# " + format_fixed(m.ours_ms, 1) + " ms (lower " + format_fixed(m.lower_ms, 1) +
        ", passes " + format_fixed(m.stats.passes_us / 1e3, 1) + ", emit " +
        format_fixed(m.stats.emit_us / 1e3, 1) + ", optimize " +
        format_fixed(m.stats.optimize_us / 1e3, 1) + ", machine code " +
        format_fixed(m.stats.codegen_us / 1e3, 1) + "), estimate " + format_fixed(m.code_size, 0) +
        ", " + std::to_string(m.stats.instructions) + " instructions, default<O3> " +
        format_fixed(m.textbook_ms, 1) + " ms\n" + m.trace);
  }
}

Result<void> run(const Settings& settings, cli::Console& console) {
  ESP_TRY(const Target target, settings.target == "host" ? Result<Target>(host_target())
                                                         : parse_target(settings.target));
  Database database;
  if (!settings.records.empty()) {
    ESP_TRY(database, Database::open(settings.records));
  }
  cli::Table table({"workload", "candidates", "median ms", "p99 ms", "max ms", "default<O3> ms",
                    "ratio", "LLVM alone"},
                   {1, 2, 3, 4, 5, 6, 7});
  cli::Table phases({"median ms of", "lower", "passes", "emit", "optimize", "machine code", "link"},
                    {1, 2, 3, 4, 5, 6});
  Json rows = Json::array();
  std::vector<Measured> slowest;
  for (const std::string& workload : settings.workloads) {
    ESP_TRY(const ComputeDag dag, load_workload(workload));
    const Task task{dag, target, static_cast<int>(settings.threads), workload};
    std::vector<std::string> traces;
    if (settings.records.empty()) {
      ESP_TRY(traces, proposed_traces(settings, task));
    } else {
      traces = recorded_traces(database, dag);
    }
    if (traces.empty()) {
      return make_error(ErrorCode::InvalidArgument, settings.records, " has no records of ",
                        workload);
    }
    // The first compilation of a process also sets LLVM up.
    ESP_TRY_VOID(measure(settings, task, traces[0]));
    std::vector<Measured> all;
    for (const std::string& trace : traces) {
      ESP_TRY(Measured one, measure(settings, task, trace));
      all.push_back(std::move(one));
    }
    const auto ours = column(all, [](const Measured& m) { return m.ours_ms; });
    const auto textbook = column(all, [](const Measured& m) { return m.textbook_ms; });
    const auto ratio = column(all, [](const Measured& m) { return m.ours_ms / m.textbook_ms; });
    const auto llvm = column(all, [](const Measured& m) {
      return (m.stats.optimize_us + m.stats.codegen_us) / 1e3 / m.textbook_ms;
    });
    const auto cell = [&](double v, int digits) { return format_fixed(v, digits); };
    const auto beside = [&](const std::vector<double>& v, int digits) {
      return settings.ours_only ? "-" : cell(quantile(v, 0.5), digits);
    };
    table.add({workload, std::to_string(all.size()), cell(quantile(ours, 0.5), 1),
               cell(quantile(ours, 0.99), 1), cell(ours.back(), 1), beside(textbook, 1),
               beside(ratio, 3), beside(llvm, 3)});
    const std::vector<std::pair<const char*, double>> parts = {
        {"lower", median_of(all, [](const Measured& m) { return m.lower_ms; })},
        {"passes", median_of(all, [](const Measured& m) { return m.stats.passes_us / 1e3; })},
        {"emit", median_of(all, [](const Measured& m) { return m.stats.emit_us / 1e3; })},
        {"optimize", median_of(all, [](const Measured& m) { return m.stats.optimize_us / 1e3; })},
        {"machine_code",
         median_of(all, [](const Measured& m) { return m.stats.codegen_us / 1e3; })},
        {"link", median_of(all, [](const Measured& m) { return m.stats.link_us / 1e3; })}};
    Json by_phase = Json::object();
    std::vector<std::string> line = {workload};
    for (const auto& [name, ms] : parts) {
      by_phase.set(name, ms);
      line.push_back(cell(ms, 2));
    }
    phases.add(std::move(line));
    Json row = Json::object({{"workload", workload},
                             {"candidates", static_cast<int64_t>(all.size())},
                             {"median_ms", quantile(ours, 0.5)},
                             {"p99_ms", quantile(ours, 0.99)},
                             {"max_ms", ours.back()},
                             {"median_ms_by_phase", std::move(by_phase)}});
    if (!settings.ours_only) {
      row.set("textbook_median_ms", quantile(textbook, 0.5));
      row.set("ratio", quantile(ratio, 0.5));
      row.set("llvm_ratio", quantile(llvm, 0.5));
    }
    rows.push(std::move(row));
    slowest.insert(slowest.end(), all.begin(), all.end());
  }
  if (settings.json) {
    console.print(Json::object({{"target", to_string(target)}, {"rows", std::move(rows)}}).dump() +
                  "\n");
    return {};
  }
  console.print(table.text() + "\n" + phases.text());
  print_slowest(std::move(slowest), settings.slowest, console);
  return {};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  cli::prepare_standard_streams();
  cli::Console console;
  bench::Settings settings;
  cli::Options options("compile_time", "compile time over the candidates of a search");
  options.texts("--workload", settings.workloads, "SPEC", "may be given several times");
  options.text("--records", settings.records, "FILE", "the candidates of these records");
  options.integer("--propose", settings.propose, 1, 100000,
                  "without records: so many of what the policy proposes first (200)");
  options.text("--policy", settings.policy, "NAME", "whose proposals (auto)");
  options.integer("--seed", settings.seed, 0, INT32_MAX, "of the policy (1)");
  options.text("--target", settings.target, "TEXT", "what to compile for (host)");
  options.integer("--threads", settings.threads, 1, 4096, "that kernels are made for (1)");
  options.integer("--slowest", settings.slowest, 0, 1000, "print so many of the slowest (0)");
  options.flag("--ours-only", settings.ours_only, "do not run default<O3>");
  options.flag("--json", settings.json, "one JSON object on standard output");
  const auto parsed = options.parse({argv + 1, static_cast<size_t>(argc - 1)});
  if (parsed.ok() && !*parsed) {
    console.print(options.help());
    return cli::kGood;
  }
  Result<void> done = parsed.ok() ? Result<void>() : Result<void>(parsed.error());
  if (parsed.ok()) {
    done = settings.workloads.empty() ? cli::usage_error("--workload is missing")
                                      : bench::run(settings, console);
  }
  if (done.ok()) return cli::kGood;
  console.error(done.error());
  return cli::exit_code(done.error());
}
