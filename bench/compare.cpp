// compare: our kernels beside oneDNN and OpenBLAS, on one workload or several.
//
// Every contestant is a process of its own that stands still unless it is measured (idle OpenMP and
// BLAS threads spin), does the same work on arrays at the same places, and was checked. Contestants
// are timed round by round in random order; the ratio of a workload is the median over the rounds
// of (best peer / ours) within a round.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "command_line/console.h"
#include "command_line/exit_code.h"
#include "command_line/options.h"
#include "command_line/table.h"
#include "contest/contestant_process.h"
#include "contest/statistics.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/runtime/probe.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"
#include "espalier/support/rng.h"
#include "espalier/support/target.h"

namespace espalier::bench {
namespace {

struct Settings {
  std::vector<std::string> workloads;
  std::string suite, records, trace, target = "host", peers = "onednn,openblas", ours;
  int64_t threads = 1, rounds = 15, seed = 1;
  std::optional<double> batch_ms;
  bool json = false, quiet = false;
};

struct Row {
  std::string workload;
  double gflop = 0;
  std::map<std::string, std::vector<double>> times;  // by contestant, a round each
  std::map<std::string, std::string> details;
  std::vector<double> peak;    // GFLOP/s of one core, a round each
  std::vector<double> ratios;  // best peer / ours, a round each; empty without peers
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<std::vector<std::string>> read_suite(const std::string& path) {
  ESP_TRY(const std::string text, read_file(path, 1 << 20));
  std::vector<std::string> workloads;
  for (std::string line : split(text, '\n')) {
    line = line.substr(0, line.find('#'));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty()) workloads.push_back(line);
  }
  return workloads;
}

std::string program_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

// What the libraries read: as many threads as we have, the widest vectors of the target, and the
// kernels that were written for it (OpenBLAS goes by the maker, and gives AMD's AVX-512 machines
// AVX2 kernels).
Environment environment_for(const Target& target, int64_t threads) {
  const bool wide = target.vector_bits >= 512;
  Environment all;
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    all.emplace_back(name, std::to_string(threads));
  }
  all.emplace_back("OMP_DYNAMIC", "false");
  all.emplace_back("OPENBLAS_CORETYPE", wide ? "SkylakeX" : "Haswell");
  if (!wide) all.emplace_back("ONEDNN_MAX_CPU_ISA", "AVX2");
  return all;
}

class Conductor {
 public:
  Conductor(const Settings& settings, const Target& target, cli::Console& console)
      : settings_(settings), target_(target), console_(console) {}

  std::vector<std::string> ours() const {
    if (!settings_.ours.empty()) return split(settings_.ours, ',');
    if (!settings_.records.empty()) return {"best", "default"};
    return {settings_.trace.empty() ? "default" : "trace"};
  }

  Result<Row> run(const std::string& spec) {
    Row row;
    ESP_TRY(const Workload workload, parse_workload(spec));
    ESP_TRY(const ComputeDag dag, make_workload(workload));
    row.workload = to_string(workload);
    row.gflop = dag.flops() / 1e9;

    std::vector<std::pair<std::string, ContestantProcess>> contestants;
    for (const std::string& name : ours()) {
      auto process = start("peer_espalier", row.workload, {"--schedule", name});
      if (!process.ok()) return with_note(std::move(process).error(), "starting ", name);
      row.details[name] = process->detail();
      contestants.emplace_back(name, *std::move(process));
    }
    std::vector<std::string> peers;
    for (const std::string& peer : split(settings_.peers, ',')) {
      auto process = start("peer_" + peer, row.workload, {});
      if (!process.ok()) {
        if (process.error().code != ErrorCode::Unsupported) return std::move(process).error();
        console_.note("note: " + peer + " leaves out " + row.workload + ": " +
                      process.error().message);
        continue;
      }
      row.details[peer] = process->detail();
      peers.push_back(peer);
      contestants.emplace_back(peer, *std::move(process));
    }

    Rng rng(static_cast<uint64_t>(settings_.seed));
    std::vector<size_t> order(contestants.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (int64_t round = 0; round < settings_.rounds; ++round) {
      row.peak.push_back(probe_peak_gflops(target_));
      rng.shuffle(order);
      for (size_t i : order) {
        auto& [name, process] = contestants[i];
        ESP_TRY(const double us, process.batch());
        row.times[name].push_back(us);
      }
    }
    for (size_t round = 0; round < row.peak.size() && !peers.empty(); ++round) {
      double best = row.times[peers[0]][round];
      for (const std::string& peer : peers) best = std::min(best, row.times[peer][round]);
      row.ratios.push_back(best / row.times[ours()[0]][round]);
    }
    return row;
  }

 private:
  Result<ContestantProcess> start(const std::string& program, const std::string& workload,
                                  const std::vector<std::string>& extra) const {
    std::vector<std::string> arguments = {"--workload", workload,
                                          "--target",   to_string(target_),
                                          "--threads",  std::to_string(settings_.threads)};
    if (settings_.batch_ms) {
      arguments.insert(arguments.end(), {"--batch-ms", format_double(*settings_.batch_ms)});
    }
    if (!extra.empty()) {
      arguments.insert(arguments.end(), extra.begin(), extra.end());
      if (!settings_.records.empty()) {
        arguments.insert(arguments.end(), {"--records", settings_.records});
      }
      if (!settings_.trace.empty()) arguments.insert(arguments.end(), {"--trace", settings_.trace});
    }
    return ContestantProcess::start(program_folder() + "/" + program, arguments,
                                    environment_for(target_, settings_.threads));
  }

  const Settings& settings_;
  const Target& target_;
  cli::Console& console_;
};

std::string as_text(const std::vector<Row>& rows, const std::vector<std::string>& names) {
  std::vector<std::string> heading = {"workload"};
  std::vector<size_t> right;
  for (const std::string& name : names) heading.push_back(name + " us");
  heading.insert(heading.end(), {"GFLOP/s", "of peak", "ratio", "90% interval"});
  for (size_t c = 1; c < heading.size(); ++c) right.push_back(c);
  cli::Table table(heading, right);
  std::map<std::string, std::set<std::string>> details;
  std::vector<std::vector<double>> ratios;
  for (const Row& row : rows) {
    std::vector<std::string> cells = {row.workload};
    for (const std::string& name : names) {
      const auto times = row.times.find(name);
      cells.push_back(times == row.times.end() ? "-" : format_fixed(median(times->second), 1));
    }
    const double gflops = row.gflop / median(row.times.at(names[0])) * 1e6;
    cells.push_back(format_fixed(gflops, 1));
    cells.push_back(format_fixed(gflops / median(row.peak), 2));
    const Estimate ratio = estimate_median(row.ratios);
    cells.push_back(row.ratios.empty() ? "-" : format_fixed(ratio.value, 2));
    cells.push_back(row.ratios.empty()
                        ? "-"
                        : format_fixed(ratio.low, 2) + " to " + format_fixed(ratio.high, 2));
    table.add(cells);
    if (!row.ratios.empty()) ratios.push_back(row.ratios);
    for (const auto& [name, detail] : row.details) {
      if (!detail.empty() && detail != name) details[name].insert(detail);
    }
  }
  std::string text = table.text();
  if (ratios.size() > 1) {
    const Estimate mean = estimate_geomean(ratios);
    text += "geometric mean of the ratios: " + format_fixed(mean.value, 2) + " (" +
            format_fixed(mean.low, 2) + " to " + format_fixed(mean.high, 2) + ")\n";
  }
  text += "ratio: best peer / " + names[0] + ", median over the rounds; peak of one core\n";
  for (const auto& [name, all] : details) {
    text += name + ":";
    for (const std::string& detail : all) text += " " + detail;
    text += "\n";
  }
  return text;
}

Json as_json(const std::vector<Row>& rows, const Settings& settings, const Target& target,
             const std::vector<std::string>& names) {
  Json all = Json::array();
  std::vector<std::vector<double>> ratios;
  std::vector<double> peaks;
  for (const Row& row : rows) {
    const double us = median(row.times.at(names[0]));
    const double peak = median(row.peak);
    Json times = Json::object();
    for (const auto& [name, values] : row.times) times.set(name, median(values));
    Json details = Json::object();
    for (const auto& [name, detail] : row.details) details.set(name, detail);
    const Estimate ratio = estimate_median(row.ratios);
    const bool rated = !row.ratios.empty();
    all.push(Json::object({{"workload", row.workload},
                           {"us", us},
                           {"gflops", row.gflop / us * 1e6},
                           {"of_peak", row.gflop / us * 1e6 / peak},
                           {"times_us", times},
                           {"details", details},
                           {"ratio", rated ? Json(ratio.value) : Json()},
                           {"ratio_low", rated ? Json(ratio.low) : Json()},
                           {"ratio_high", rated ? Json(ratio.high) : Json()}}));
    if (rated) ratios.push_back(row.ratios);
    peaks.insert(peaks.end(), row.peak.begin(), row.peak.end());
  }
  Json json = Json::object({{"threads", settings.threads},
                            {"target", to_string(target)},
                            {"cpu", host_cpu_fingerprint()},
                            {"rounds", settings.rounds},
                            {"ours", names[0]},
                            {"peak_gflops", median(peaks)},
                            {"rows", all}});
  const Estimate mean = estimate_geomean(ratios);
  json.set("geomean_ratio", ratios.empty() ? Json() : Json(mean.value));
  json.set("geomean_ratio_low", ratios.empty() ? Json() : Json(mean.low));
  json.set("geomean_ratio_high", ratios.empty() ? Json() : Json(mean.high));
  return json;
}

Result<void> compare(Settings settings, cli::Console& console) {
  console.quiet = settings.quiet;
  if (!settings.suite.empty()) {
    ESP_TRY(const auto suite, read_suite(settings.suite));
    settings.workloads.insert(settings.workloads.end(), suite.begin(), suite.end());
  }
  if (settings.workloads.empty()) return cli::usage_error("expected --workload or --suite");
  ESP_TRY(const Target target, parse_target(settings.target));
  Conductor conductor(settings, target, console);
  std::vector<Row> rows;
  for (const std::string& workload : settings.workloads) {
    ESP_TRY(Row row, conductor.run(workload));
    rows.push_back(std::move(row));
  }
  std::vector<std::string> names = conductor.ours();
  const auto peers = split(settings.peers, ',');
  if (settings.json) {
    console.print(as_json(rows, settings, target, names).dump() + "\n");
  } else {
    names.insert(names.end(), peers.begin(), peers.end());
    console.print(as_text(rows, names));
  }
  return {};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  cli::prepare_standard_streams();
  bench::Settings settings;
  cli::Options options("compare", "Compares our kernels with oneDNN and OpenBLAS.");
  options.texts("-w,--workload", settings.workloads, "SPEC", "op:key=value,...");
  options.text("--suite", settings.suite, "FILE", "a workload a line");
  options.text("--records", settings.records, "FILE", "take the best known schedules from here");
  options.text("--trace", settings.trace, "FILE", "take this schedule");
  options.text("--ours", settings.ours, "LIST",
               "of best, default, naive, trace; the first is rated (best,default)");
  options.text("--peers", settings.peers, "LIST", "of onednn, openblas (both)");
  options.text("--target", settings.target, "TEXT", "host, or avx2 to hold everyone to AVX2");
  options.integer("--threads", settings.threads, 1, 1024, "of every contestant");
  options.integer("--rounds", settings.rounds, 1, 100000, "in random order");
  options.positive("--batch-ms", settings.batch_ms, "MS", "duration of a batch (20)");
  options.integer("--seed", settings.seed, 0, INT64_MAX, "of the order");
  options.flag("--json", settings.json, "one JSON object");
  options.flag("--quiet", settings.quiet, "no remarks");
  cli::Console console;
  const Result<bool> parsed = options.parse({argv + 1, argv + argc});
  if (parsed.ok() && !*parsed) {
    console.print(options.help());
    return cli::kGood;
  }
  const Result<void> done = parsed.ok() ? compare(settings, console) : Result<void>(parsed.error());
  if (!done.ok()) console.error(done.error());
  return done.ok() ? cli::kGood : cli::exit_code(done.error());
}
