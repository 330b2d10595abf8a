// What is said of repeated measurements.
#pragma once

#include <cstdint>
#include <vector>

namespace espalier::bench {

double median(std::vector<double> values);

struct Estimate {
  double value = 0;          // the median
  double low = 0, high = 0;  // of the 90% interval
};

/// The median with its bootstrap interval (percentiles of the medians of 2,000 samples with
/// replacement). The same values give the same estimate.
Estimate estimate_median(const std::vector<double>& values);

/// The geometric mean of the medians, row by row, and its interval: each sample draws the values of
/// every row anew.
Estimate estimate_geomean(const std::vector<std::vector<double>>& rows);

}  // namespace espalier::bench
