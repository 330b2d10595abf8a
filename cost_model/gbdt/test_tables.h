// Tables for the tests of boosted trees.
#pragma once

#include <cmath>
#include <vector>

#include "espalier/cost_model/gbdt/training_set.h"
#include "espalier/support/rng.h"

namespace espalier::gbdt {

// Owns what a TrainingSet views.
struct TestTable {
  size_t columns = 0;
  std::vector<float> values, labels, weights, margins;
  std::vector<uint32_t> groups;

  TrainingSet set() const {
    return {{values, labels.size(), columns}, labels, weights, margins, groups};
  }
};

// Few distinct values, continuous ones, flags and missing ones in turn; labels are a smooth
// function of the first columns, shifted along one of them by `shift`, with noise.
inline TestTable random_table(size_t rows, size_t columns, uint64_t seed, double shift = 0,
                              double noise = 0.05) {
  Rng rng(seed);
  TestTable table;
  table.columns = columns;
  for (size_t i = 0; i < rows; ++i) {
    std::vector<float> row;
    for (size_t j = 0; j < columns; ++j) {
      switch (j % 4) {
        case 0: row.push_back(static_cast<float>(rng.below(8))); break;
        case 1: row.push_back(static_cast<float>(rng.normal())); break;
        case 2: row.push_back(rng.chance(0.3) ? 1.0F : 0.0F); break;
        default: row.push_back(rng.chance(0.2) ? NAN : static_cast<float>(rng.uniform())); break;
      }
    }
    const double tile = static_cast<double>(row[0]) - 3 - shift;
    double label = -0.2 * tile * tile + std::tanh(static_cast<double>(row[1]));
    if (columns > 2) label -= 0.5 * static_cast<double>(row[2]);
    if (columns > 3 && std::isnan(row[3])) label += 0.7;
    table.labels.push_back(static_cast<float>(label + noise * rng.normal()));
    table.groups.push_back(static_cast<uint32_t>(i % 3));
    table.values.insert(table.values.end(), row.begin(), row.end());
  }
  return table;
}

}  // namespace espalier::gbdt
