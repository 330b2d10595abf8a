// What boosted trees are trained on and asked about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "espalier/support/result.h"

namespace espalier::gbdt {

// Rows of numbers, row by row; NaN is a missing value, infinities are values.
struct Table {
  std::span<const float> values;
  size_t rows = 0;
  size_t columns = 0;

  const float* row(size_t i) const { return values.data() + i * columns; }
};

// A view: whoever makes it keeps the numbers alive. Spans are of one element a row.
struct TrainingSet {
  Table table;
  std::span<const float> labels;     // finite; higher is better: log(best time / time)
  std::span<const float> weights;    // of squared errors, >= 0; empty: 1 each
  std::span<const float> margins;    // scores that boosting starts from, finite; empty: 0 each
  std::span<const uint32_t> groups;  // rows are ranked within their group; empty: one group

  float weight(size_t i) const { return weights.empty() ? 1.0F : weights[i]; }
  float margin(size_t i) const { return margins.empty() ? 0.0F : margins[i]; }
  uint32_t group(size_t i) const { return groups.empty() ? 0U : groups[i]; }
};

// Errors: InvalidArgument for spans of the wrong length and for labels, weights or margins that are
// not finite.
Result<void> check(const TrainingSet& set);

}  // namespace espalier::gbdt
