// How the base model that ships with the program is trained.
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "espalier/cost_model/learned_model.h"
#include "models/pool/pool.h"

namespace espalier::bench {

// A base is trained once, so it may take more trees than what is fitted during a search, each from
// more of the columns. What is linear differs from task to task: the base leaves it to the
// calibration of each.
inline LearnedModelOptions base_training() {
  LearnedModelOptions options;
  options.adaptation = Adaptation::Scratch;
  options.scratch.trees = 60;
  options.scratch.column_share = 0.5;
  options.ridge = 0;
  return options;
}

inline std::vector<MeasuredRow> rows_of(const Pool& pool, std::span<const size_t> chosen) {
  std::vector<MeasuredRow> rows;
  for (size_t i : chosen) {
    const double time = pool.times[i];
    rows.push_back({&pool.task, pool.candidates[i], std::isfinite(time) ? time : 0});
  }
  return rows;
}

inline std::vector<MeasuredRow> rows_of(const Pool& pool) {
  std::vector<size_t> all(pool.candidates.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return rows_of(pool, all);
}

}  // namespace espalier::bench
