#include "conductor/race.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "conductor/hand_traces.h"
#include "conductor/machine_probe.h"
#include "contest/traffic.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/support/number.h"

namespace espalier::bench {
namespace {

constexpr double kProbeMs = 5;  // of each probe in each round

// Ends the race as a whole, not a contestant's part in it.
bool is_fatal(const Error& error) { return error.code == ErrorCode::Interrupted; }

}  // namespace

const std::vector<std::string>& known_peers() {
  static const std::vector<std::string> peers = {"onednn", "openblas", "eigen"};
  return peers;
}

Environment environment_for(const Target& target, int threads) {
  const bool wide = target.vector_bits >= 512;
  Environment all;
  all.without = {"OMP_",    "GOMP_", "KMP_",    "OPENBLAS_", "GOTO_",
                 "ONEDNN_", "DNNL_", "MKLDNN_", "BENCHMARK_"};
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    all.with.emplace_back(name, std::to_string(threads));
  }
  all.with.emplace_back("OMP_DYNAMIC", "false");
  // Left to itself OpenBLAS goes by the maker, and gives AMD's AVX-512 machines AVX2 kernels.
  const bool amd = host_cpu_fingerprint().find("AMD") != std::string::npos;
  all.with.emplace_back("OPENBLAS_CORETYPE", wide ? "SkylakeX" : amd ? "Zen" : "Haswell");
  if (!wide) all.with.emplace_back("ONEDNN_MAX_CPU_ISA", "AVX2");
  return all;
}

std::string Race::program(const std::string& name, bool by_width) const {
  const char* width = options_.target.vector_bits >= 512 ? "-avx512" : "-avx2";
  return options_.folders.programs + "/bench-" + name + (by_width ? width : "");
}

// Adds a runner, or says in the row why there is none.
Result<void> Race::start(const std::string& name, const std::string& program, Row& row,
                         std::vector<Runner>& runners, std::vector<std::string> further) {
  std::vector<std::string> arguments = {"--workload",  row.workload,
                                        "--target",    to_string(options_.target),
                                        "--threads",   std::to_string(options_.threads),
                                        "--name",      name,
                                        "--batch-ms",  format_double(options_.batch_ms),
                                        "--conductor", std::to_string(getpid())};
  arguments.insert(arguments.end(), further.begin(), further.end());
  auto process = ContestantProcess::start(
      program, arguments, environment_for(options_.target, options_.threads), interrupt_);
  if (process.ok()) {
    row.details[name] = process->detail();
    runners.push_back({name, *std::move(process)});
    return {};
  }
  if (is_fatal(process.error())) return std::move(process).error();
  row.absent[name] = process.error().code == ErrorCode::NotFound
                         ? "this build has no contestant for it (" + program + ")"
                         : process.error().message;
  return {};
}

Result<void> Race::start_all(Row& row, std::vector<Runner>& runners) {
  const std::string ours = program(kOurs, false);
  const bool recorded = !options_.records.empty();
  std::vector<std::string> best = {"--schedule", recorded ? "best" : "default"};
  if (recorded) best.insert(best.end(), {"--records", options_.records});
  ESP_TRY_VOID(start(kOurs, ours, row, runners, best));
  if (runners.empty()) {
    if (access(ours.c_str(), X_OK) != 0) {
      return make_error(ErrorCode::NotFound, "there is no program ", ours,
                        "; it is built and installed beside espalier where Google Benchmark is ",
                        "found (libbenchmark-dev)");
    }
    row.failure = row.absent[kOurs];
    return {};
  }
  row.lookup = row.details[kOurs];
  if (row.lookup != "default") {
    ESP_TRY_VOID(start(kDefault, ours, row, runners, {"--schedule", "default"}));
  }
  const std::string trace =
      find_hand_trace(row.workload, options_.target.vector_bits, options_.folders.traces);
  if (!trace.empty()) {
    ESP_TRY_VOID(start(kTrace, ours, row, runners, {"--schedule", "trace", "--trace", trace}));
  }
  if (options_.naive) ESP_TRY_VOID(start(kNaive, program(kNaive, false), row, runners));
  for (const std::string& peer : options_.peers) {
    ESP_TRY_VOID(start(peer, program(peer, peer != "onednn"), row, runners));
  }
  return {};
}

Result<void> Race::run_rounds(Row& row, std::vector<Runner>& runners) {
  ESP_TRY(const CopyProbe copy, CopyProbe::make(std::max(row.bytes, 1.0), options_.threads));
  ESP_TRY(const CopyProbe stream,
          CopyProbe::make(CopyProbe::beyond_caches(options_.target), options_.threads));
  std::vector<size_t> order(runners.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (int64_t round = 0; round < options_.rounds; ++round) {
    row.peak_gflops.push_back(peak_gflops(options_.target, options_.threads));
    row.copy_us.push_back(copy.copy_us(kProbeMs));
    row.stream_gbps.push_back(stream.bytes() / stream.copy_us(kProbeMs) / 1e3);
    rng_.shuffle(order);
    for (size_t i : order) {
      Runner& runner = runners[i];
      if (row.absent.contains(runner.name)) continue;
      auto json = runner.process.round();
      if (!json.ok() && is_fatal(json.error())) return std::move(json).error();
      const Json* all = json.ok() ? json->find("benchmarks") : nullptr;
      const double us =
          all != nullptr && all->size() == 1 ? (*all)[0].double_or("real_time", 0) : 0;
      if (us <= 0) {
        row.absent[runner.name] = json.ok() ? "it reported no time" : json.error().message;
        continue;
      }
      row.us[runner.name].push_back(us);
      Json entry = (*all)[0];
      entry.set("repetitions", options_.rounds).set("repetition_index", round);
      row.entries.push_back(std::move(entry));
      if (runner.name == kOurs && row.context.is_null()) {
        row.context = json->get("context").value();
      }
    }
    if (row.absent.contains(kOurs)) break;
  }
  return {};
}

Result<Row> Race::run(const std::string& workload) {
  Row row;
  row.workload = workload;
  if (const auto spec = parse_workload(workload); spec.ok()) row.workload = to_string(*spec);
  const auto dag = load_workload(workload);
  if (!dag.ok()) {
    row.failure = dag.error().message;
    return row;
  }
  row.flops = dag->flops();
  row.bytes = traffic_bytes(*dag);

  std::vector<Runner> runners;
  ESP_TRY_VOID(start_all(row, runners));
  if (!row.failure.empty()) return row;
  ESP_TRY_VOID(run_rounds(row, runners));
  if (row.absent.contains(kOurs)) row.failure = row.absent[kOurs];
  // Who dropped out on the way has no times, rather than fewer.
  for (const auto& [name, why] : row.absent) row.us.erase(name);
  if (!row.failure.empty()) return row;
  if (row.lookup == "default") row.us[kDefault] = row.us[kOurs];

  for (size_t round = 0; round < row.us[kOurs].size(); ++round) {
    double best = INFINITY;
    for (const std::string& peer : options_.peers) {
      const auto times = row.us.find(peer);
      if (times != row.us.end()) best = std::min(best, times->second[round]);
    }
    if (best < INFINITY) row.ratios.push_back(best / row.us[kOurs][round]);
  }
  return row;
}

}  // namespace espalier::bench
