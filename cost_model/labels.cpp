#include "espalier/cost_model/labels.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace espalier {

Labels make_labels(std::span<const uint32_t> groups, std::span<const double> times_us,
                   const LabelOptions& options) {
  const auto works = [](double time) { return std::isfinite(time) && time > 0; };
  std::map<uint32_t, double> best;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!works(times_us[i])) continue;
    const auto [entry, fresh] = best.emplace(groups[i], times_us[i]);
    if (!fresh) entry->second = std::min(entry->second, times_us[i]);
  }
  Labels result;
  for (size_t i = 0; i < groups.size(); ++i) {
    const double speed = works(times_us[i]) ? best[groups[i]] / times_us[i] : 0;
    result.labels.push_back(static_cast<float>(std::log(std::max(speed, 1 / options.slowest))));
    result.weights.push_back(static_cast<float>(std::max(speed, options.least_weight)));
  }
  return result;
}

}  // namespace espalier
