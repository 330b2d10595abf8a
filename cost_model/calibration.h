// Calibration: a linear correction of an estimate, from a few measurements.
#pragma once

#include <span>
#include <vector>

#include "espalier/cost_model/gbdt/training_set.h"
#include "espalier/support/result.h"

namespace espalier {

class Json;

// What is added to the estimate of a row: the sum of weight * standardised value over the columns.
// Made of a handful of rows, it must not believe them: each weight is drawn to 0, and values beyond
// those that were seen count as if they lay at kFurthest standard deviations.
class Calibration {
 public:
  static constexpr float kFurthest = 3;

  // Adds nothing.
  Calibration() = default;

  // Ridge regression of what the set's margins leave of its labels, less each group's weighted
  // mean, on the columns. The penalty is `ridge` (> 0) times the number of columns that vary, so
  // that it means the same for few columns as for many. Weights of rows grow with throughput
  // (labels.h): errors among the fast matter most, which is what keeps the top in order.
  static Calibration fit(const gbdt::TrainingSet& set, double ridge);

  // Adds the correction of each row. The table has the columns that were fitted, unless nothing
  // was.
  void add_to(const gbdt::Table& table, std::span<float> margins) const;

  // Another one's correction on top of this one.
  void append(const Calibration& more);

  Json to_json() const;
  // Errors: Parse where something is missing or columns are not in range.
  static Result<Calibration> parse(const Json& json, size_t columns);

  friend bool operator==(const Calibration&, const Calibration&) = default;

 private:
  struct Column {
    uint32_t column = 0;
    float mean = 0, scale = 1;  // (value - mean) * scale is standardised
    float weight = 0;
    friend bool operator==(const Column&, const Column&) = default;
  };
  std::vector<Column> columns_;  // those that vary; one may stand more than once
};

}  // namespace espalier
