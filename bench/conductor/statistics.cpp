#include "conductor/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "espalier/support/rng.h"

namespace espalier::bench {
namespace {

constexpr int kSamples = 2000;
constexpr double kTail = 0.05;

std::vector<double> resample(const std::vector<double>& values, Rng& rng) {
  std::vector<double> sample(values.size());
  for (double& v : sample) v = values[rng.below(values.size())];
  return sample;
}

Estimate with_interval(double value, const std::function<double()>& draw) {
  std::vector<double> drawn(kSamples);
  for (double& d : drawn) d = draw();
  std::sort(drawn.begin(), drawn.end());
  const size_t low = static_cast<size_t>(kTail * kSamples);
  return {value, drawn[low], drawn[kSamples - 1 - low]};
}

double geomean(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Estimate estimate_median(const std::vector<double>& values) {
  if (values.empty()) return {};
  Rng rng(1);
  return with_interval(median(values), [&] { return median(resample(values, rng)); });
}

Estimate estimate_geomean(const std::vector<std::vector<double>>& rows) {
  if (rows.empty()) return {};
  Rng rng(1);
  std::vector<double> medians;
  for (const auto& row : rows) medians.push_back(median(row));
  return with_interval(geomean(medians), [&] {
    std::vector<double> drawn;
    for (const auto& row : rows) drawn.push_back(median(resample(row, rng)));
    return geomean(drawn);
  });
}

}  // namespace espalier::bench
