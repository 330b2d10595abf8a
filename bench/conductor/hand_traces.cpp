#include "conductor/hand_traces.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "espalier/ir/ops/workload.h"
#include "espalier/support/fd.h"

namespace espalier::bench {

std::string workload_of_trace(std::string_view text) {
  constexpr std::string_view kStart = "# workload ";
  if (!text.starts_with(kStart)) return {};
  text = text.substr(kStart.size(), text.find('\n') - kStart.size());
  const Result<Workload> workload = parse_workload(text);
  return workload.ok() ? to_string(*workload) : "";
}

std::string find_hand_trace(const std::string& workload, int vector_bits,
                            const std::string& folder) {
  const Result<Workload> wanted = parse_workload(workload);
  if (!wanted.ok()) return {};
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/" + wanted->op, error)) {
    if (entry.path().extension() == ".trace") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  const std::string bits = "\n# bits " + std::to_string(vector_bits) + "\n";
  for (const std::string& path : paths) {
    const Result<std::string> text = read_file(path, 1 << 20);
    if (!text.ok() || text->find(bits) == std::string::npos) continue;
    if (workload_of_trace(*text) == to_string(*wanted)) return path;
  }
  return {};
}

}  // namespace espalier::bench
