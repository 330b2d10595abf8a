#include "espalier/cost_model/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "espalier/support/json.h"

namespace espalier {
namespace {

// Missing values are as good as the mean.
float standardised(float value, float mean, float scale) {
  const float z = (value - mean) * scale;
  return std::isnan(z) ? 0 : std::clamp(z, -Calibration::kFurthest, Calibration::kFurthest);
}

// Solves A x = b for a symmetric positive definite A (row by row, overwritten) by Cholesky's
// decomposition; b becomes x.
void solve(std::vector<double>& a, std::vector<double>& b) {
  const size_t n = b.size();
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = j; i < n; ++i) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

// Takes each group's weighted mean out of a number a row.
void center(const gbdt::TrainingSet& set, std::vector<double>& values) {
  std::map<uint32_t, std::pair<double, double>> sums;
  for (size_t i = 0; i < values.size(); ++i) {
    auto& [sum, weights] = sums[set.group(i)];
    sum += static_cast<double>(set.weight(i)) * values[i];
    weights += static_cast<double>(set.weight(i));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [sum, weights] = sums[set.group(i)];
    values[i] -= weights > 0 ? sum / weights : 0;
  }
}

}  // namespace

Calibration Calibration::fit(const gbdt::TrainingSet& set, double ridge) {
  Calibration result;
  const size_t rows = set.table.rows;
  std::vector<double> left(rows);
  for (size_t i = 0; i < rows; ++i) {
    left[i] = static_cast<double>(set.labels[i]) - static_cast<double>(set.margin(i));
  }
  center(set, left);

  std::vector<std::vector<double>> columns;  // standardised, groups centred
  for (size_t j = 0; j < set.table.columns; ++j) {
    double sum = 0, squares = 0, known = 0;
    for (size_t i = 0; i < rows; ++i) {
      const double value = static_cast<double>(set.table.row(i)[j]);
      if (!std::isfinite(value)) continue;
      sum += value;
      squares += value * value;
      known += 1;
    }
    const double mean = sum / std::max(known, 1.0);
    const double variance = squares / std::max(known, 1.0) - mean * mean;
    if (!(variance > 1e-9 * (1 + mean * mean))) continue;
    Column column{static_cast<uint32_t>(j), static_cast<float>(mean),
                  static_cast<float>(1 / std::sqrt(variance)), 0};
    std::vector<double>& values = columns.emplace_back(rows);
    for (size_t i = 0; i < rows; ++i) {
      values[i] = static_cast<double>(standardised(set.table.row(i)[j], column.mean, column.scale));
    }
    center(set, values);
    result.columns_.push_back(column);
  }

  const size_t n = columns.size();
  std::vector<double> normal(n * n), right(n);
  std::vector<double> weighted(rows);
  for (size_t a = 0; a < n; ++a) {
    for (size_t i = 0; i < rows; ++i) {
      weighted[i] = static_cast<double>(set.weight(i)) * columns[a][i];
    }
    for (size_t i = 0; i < rows; ++i) right[a] += weighted[i] * left[i];
    for (size_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (size_t i = 0; i < rows; ++i) sum += weighted[i] * columns[b][i];
      normal[a * n + b] = normal[b * n + a] = sum;
    }
    normal[a * n + a] += ridge * static_cast<double>(n);
  }
  solve(normal, right);
  for (size_t a = 0; a < n; ++a) result.columns_[a].weight = static_cast<float>(right[a]);
  return result;
}

void Calibration::add_to(const gbdt::Table& table, std::span<float> margins) const {
  for (size_t i = 0; i < table.rows; ++i) {
    const float* row = table.row(i);
    double sum = 0;
    for (const Column& c : columns_) {
      sum += static_cast<double>(c.weight * standardised(row[c.column], c.mean, c.scale));
    }
    margins[i] += static_cast<float>(sum);
  }
}

void Calibration::append(const Calibration& more) {
  columns_.insert(columns_.end(), more.columns_.begin(), more.columns_.end());
}

Json Calibration::to_json() const {
  Json column = Json::array(), mean = Json::array(), scale = Json::array(), weight = Json::array();
  for (const Column& c : columns_) {
    column.push(c.column);
    mean.push(c.mean);
    scale.push(c.scale);
    weight.push(c.weight);
  }
  return Json::object({{"column", std::move(column)},
                       {"mean", std::move(mean)},
                       {"scale", std::move(scale)},
                       {"weight", std::move(weight)}});
}

Result<Calibration> Calibration::parse(const Json& json, size_t columns) {
  ESP_TRY(const std::vector<int64_t> column, json.get_ints("column"));
  ESP_TRY(const std::vector<double> mean, json.get_doubles("mean"));
  ESP_TRY(const std::vector<double> scale, json.get_doubles("scale"));
  ESP_TRY(const std::vector<double> weight, json.get_doubles("weight"));
  Calibration result;
  for (size_t i = 0; i < column.size(); ++i) {
    if (column[i] < 0 || column[i] >= static_cast<int64_t>(columns) || i >= mean.size() ||
        i >= scale.size() || i >= weight.size()) {
      return make_error(ErrorCode::Parse, "calibration: entry ", i,
                        " is not complete or names none of the ", columns, " columns");
    }
    result.columns_.push_back({static_cast<uint32_t>(column[i]), static_cast<float>(mean[i]),
                               static_cast<float>(scale[i]), static_cast<float>(weight[i])});
  }
  return result;
}

}  // namespace espalier
