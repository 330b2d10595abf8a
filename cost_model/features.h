// Features: schedules as rows of numbers for learned models, computed in closed form from their
// structure and decisions, without lowering.
#pragma once

#include <memory>

#include "espalier/cost_model/feature_source.h"
#include "espalier/schedule/state.h"
#include "espalier/support/device_model.h"

namespace espalier {

// One row a schedule, of fixed length whatever the DAG: the two stages that take the longest by the
// analyzer's estimate, then sums and extremes over all stages. Almost all columns are ratios to
// what the device can do (cycles of ports, registers, lanes, sizes and bandwidths of caches), so
// that they mean the same on another CPU. All are finite. The margin is the analyzer's score.
std::unique_ptr<FeatureSource> make_features(const DeviceModel& device);

// The row of one schedule, in the order of make_features().names().
std::vector<float> features_of(const State& state, const DeviceModel& device);

}  // namespace espalier
