// The features that Ansor's cost model is published with (Zheng et al., OSDI 2020, appendix B; TVM
// 0.9, src/auto_scheduler/feature.cc): the baseline that ours are compared with.
//
// 164 columns for each stored buffer. They are computed from the schedule rather than from a
// lowered program, so index arithmetic counts as written in the definition. Departures, where the
// original is plainly wrong: the loops that `lines` skips count with their own extents, unique
// lines are those of the buffer itself, and the intensity curve is log2(1 + operations / bytes) as
// later versions have it. Columns that are always 0 on a CPU (or there altogether) are marked
// `dead`.
#pragma once

#include <array>
#include <memory>

#include "espalier/cost_model/feature_source.h"
#include "espalier/schedule/state.h"

namespace espalier {

inline constexpr size_t kAnsorColumns = 164;
using AnsorRow = std::array<float, kAnsorColumns>;

struct AnsorColumn {
  std::string name;
  bool dead = false;
};
const std::vector<AnsorColumn>& ansor_columns();

// A row a stored buffer, in execution order.
std::vector<AnsorRow> ansor_rows(const State& state);

// One row a schedule: the columns of the statement with the most operations ("hot_..."), then the
// sums of those of all others ("rest_..."). Ansor itself adds up the predictions for all rows. No
// margin.
std::unique_ptr<FeatureSource> make_ansor_features();

}  // namespace espalier
