// Columns of numbers as columns of bytes: trees are grown on the bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/cost_model/gbdt/training_set.h"

namespace espalier::gbdt {

// Codes of a column: 0 is missing, 1 ... bins are intervals of values in ascending order.
inline constexpr int kMaxBins = 255;

struct ColumnBins {
  // cuts[k], ascending: values up to it have codes up to k + 1, larger ones more. One less than
  // there are bins, finite.
  std::vector<float> cuts;
  bool missing = false;  // whether a value was missing

  int bins() const { return static_cast<int>(cuts.size()) + 1; }
  uint8_t code(float value) const;
};

struct BinnedTable {
  size_t rows = 0;
  std::vector<ColumnBins> columns;
  std::vector<uint8_t> codes;  // column by column

  const uint8_t* column(size_t j) const { return codes.data() + j * rows; }
};

// Cuts each column at quantiles into at most max_bins (2 ... kMaxBins) bins; a column with no more
// distinct values than that has one bin a value, and a value with more than its share of the rows
// ends its bin and shares it with few others at most. Cuts lie midway between neighbouring values;
// -inf counts as the lowest float and inf as the highest, which no cut can tell apart from them.
// The same for any number of threads.
BinnedTable bin_table(const Table& table, int max_bins, int threads);

}  // namespace espalier::gbdt
