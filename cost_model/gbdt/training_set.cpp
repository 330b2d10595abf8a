#include "espalier/cost_model/gbdt/training_set.h"

#include <cmath>
#include <limits>
#include <string_view>

namespace espalier::gbdt {
namespace {

Result<void> check_span(std::string_view what, std::span<const float> values, size_t rows,
                        bool optional) {
  if (optional && values.empty()) return {};
  if (values.size() != rows) {
    return make_error(ErrorCode::InvalidArgument, "training set of ", rows, " rows has ",
                      values.size(), " ", what, ", expected one a row");
  }
  for (size_t i = 0; i < rows; ++i) {
    if (!std::isfinite(values[i])) {
      return make_error(ErrorCode::InvalidArgument, "training set: ", what, "[", i, "] is ",
                        values[i], ", expected a finite number");
    }
  }
  return {};
}

}  // namespace

Result<void> check(const TrainingSet& set) {
  const size_t rows = set.table.rows;
  if (rows >= std::numeric_limits<uint32_t>::max() ||
      set.table.values.size() != rows * set.table.columns) {
    return make_error(ErrorCode::InvalidArgument, "training set of ", rows, " rows and ",
                      set.table.columns, " columns has ", set.table.values.size(), " values");
  }
  ESP_TRY_VOID(check_span("labels", set.labels, rows, false));
  ESP_TRY_VOID(check_span("weights", set.weights, rows, true));
  ESP_TRY_VOID(check_span("margins", set.margins, rows, true));
  for (size_t i = 0; i < set.weights.size(); ++i) {
    if (set.weights[i] < 0) {
      return make_error(ErrorCode::InvalidArgument, "training set: weights[", i, "] is ",
                        set.weights[i], ", expected at least 0");
    }
  }
  if (!set.groups.empty() && set.groups.size() != rows) {
    return make_error(ErrorCode::InvalidArgument, "training set of ", rows, " rows has ",
                      set.groups.size(), " groups, expected one a row");
  }
  return {};
}

}  // namespace espalier::gbdt
