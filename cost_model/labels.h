// Measured times as what a model learns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier {

struct LabelOptions {
  double slowest = 64;        // a time of more than so many times the best counts as that
  double least_weight = 0.2;  // of a row; the best has 1
};

struct Labels {
  std::vector<float> labels, weights;  // one a row
};

// label = log(best time of the group / time), at least -log(slowest), which is also what a failure
// gets: failures are rows too, or nothing would keep a search away from them. weight = best / time,
// but at least least_weight: errors among the fast matter most, and failures still count (with the
// weights of Ansor, its section 5.2, they vanish). A group without a time that is above 0 and
// finite has labels of -log(slowest).
Labels make_labels(std::span<const uint32_t> groups, std::span<const double> times_us,
                   const LabelOptions& options);

}  // namespace espalier
