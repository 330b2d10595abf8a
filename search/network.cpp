#include "espalier/search/network.h"

#include <algorithm>

#include "espalier/ir/ops/workload.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"

namespace espalier {
namespace {

constexpr size_t kMaxFile = size_t{64} << 20;

Result<NetworkTask> parse_kernel(const Json& kernel, const Target& target, int threads) {
  ESP_TRY(const std::string spec, kernel.get_string("workload"));
  NetworkTask parsed;
  if (kernel.contains("count")) {
    ESP_TRY(parsed.count, kernel.get_int("count"));
  }
  if (parsed.count < 1) {
    return make_error(ErrorCode::Parse, "'count' must be at least 1, got ", parsed.count);
  }
  ESP_TRY(const Workload workload, parse_workload(spec));
  ESP_TRY(parsed.task.dag, make_workload(workload));
  parsed.task.target = target;
  parsed.task.threads = threads;
  parsed.task.workload = to_string(workload);
  parsed.spec = spec;
  return parsed;
}

}  // namespace

Result<Network> parse_network(std::string_view text, const Target& target, int threads) {
  ESP_TRY(const Json json, parse_json(text));
  const Json* kernels = json.find("kernels");
  if (kernels == nullptr || !kernels->is_array() || kernels->size() == 0) {
    return make_error(ErrorCode::Parse, "a network is {\"network\": NAME, \"kernels\": ",
                      "[{\"workload\": SPEC, \"count\": N}, ...]}; 'kernels' is missing or empty");
  }
  Network network;
  network.name = json.string_or("network", "");
  for (size_t i = 0; i < kernels->size(); ++i) {
    Result<NetworkTask> kernel = parse_kernel((*kernels)[i], target, threads);
    if (!kernel.ok()) {
      return with_note(std::move(kernel).error(), "in kernel ", i + 1, " of ", kernels->size(),
                       (*kernels)[i].contains("workload")
                           ? ", '" + (*kernels)[i].string_or("workload", "") + "'"
                           : std::string());
    }
    const auto same = std::find_if(
        network.tasks.begin(), network.tasks.end(),
        [&](const NetworkTask& t) { return t.task.dag.hash() == kernel->task.dag.hash(); });
    if (same != network.tasks.end()) {
      same->count += kernel->count;
    } else {
      network.tasks.push_back(std::move(*kernel));
    }
  }
  return network;
}

Result<Network> load_network(const std::string& path, const Target& target, int threads) {
  ESP_TRY(const std::string text, read_file(path, kMaxFile));
  Result<Network> network = parse_network(text, target, threads);
  if (!network.ok()) return with_note(std::move(network).error(), "in ", path);
  return network;
}

}  // namespace espalier
