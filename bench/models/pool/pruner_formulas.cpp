#include "models/pool/pruner_formulas.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/cost_model/own_loops.h"
#include "espalier/cost_model/streams.h"

namespace espalier::bench {
namespace {

// Seconds of one statement.
double latency(const State& state, const Shape& shape, const StageNest& nest,
               const DeviceModel& device) {
  const Target& target = state.task().target;
  const std::vector<OwnLoop> loops = own_loops(state, shape, nest.stage);
  const double bytes = bytes_of(buffer_type(state, nest.stage));
  const double lanes = std::max(1, target.lanes(static_cast<int>(bytes)));

  size_t body = nest.path.size();  // where the register tile begins
  for (size_t i = loops.size(); i-- > 0 && loops[i].straight.number() == 1;) {
    body = nest.own_from + i;
  }
  const size_t tile = nest.own_from > 0 ? nest.own_from : std::min<size_t>(1, nest.path.size());
  auto touched = [&](size_t p) {
    double elements = 0;
    for (const Stream& s : nest.streams) elements += s.elements[p].number();
    return std::max(1.0, elements);
  };
  double computed = 1, outer = 1, tasks = 1, points = 1;
  for (size_t p = 0; p < nest.path.size(); ++p) {
    const double extent = std::max(1.0, nest.path[p].extent.number());
    points *= extent;
    if (p >= body) computed *= extent;
    if (p < tile) outer *= extent;
    if (nest.path[p].parallel) tasks *= extent;
  }
  const double run = nest.path.empty() ? 1 : std::max(1.0, nest.path.back().extent.number());

  const double s1 = touched(body), s2 = computed, s3 = touched(tile) * bytes;
  const double s5 = touched(tile) * outer * bytes;
  const double threads = std::max(1, state.task().threads);
  const double p_l0m = std::min(target.vector_registers * lanes / s1, 1.0);
  const double p_l0c = 1 + s2 / s1;
  const double p_l1m = std::min(static_cast<double>(target.l1_bytes) / s3, 1.0);
  const double p_l2c = tasks / (std::ceil(tasks / threads) * threads);
  const double p_l2m = run / (std::ceil(run / lanes) * lanes);
  const double compute = device.peak_flops * threads * p_l0c * p_l2c;
  const double memory = device.dram_bandwidth * p_l0m * p_l1m * p_l2m;
  return 2 * points / compute + s5 / memory;
}

class PrunerFormulas final : public CostModel {
 public:
  explicit PrunerFormulas(const DeviceModel& device) : device_(device) {}
  std::string_view name() const override { return "pruner_formulas"; }

  void score(const Task& task, std::span<const Candidate> candidates,
             std::span<float> scores) override {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Replayed replayed = replay(task, candidates[i]);
      if (!replayed.ok()) {
        scores[i] = -std::numeric_limits<float>::infinity();
        continue;
      }
      const Shape shape = shape_of(replayed.state());
      double seconds = 1e-12;
      for (const StageNest& nest : find_streams(replayed.state(), shape)) {
        seconds += latency(replayed.state(), shape, nest, device_);
      }
      scores[i] = static_cast<float>(-std::log(seconds));
    }
  }

  void update(std::span<const MeasuredRow>) override {}
  std::string save() const override { return "{}"; }
  Result<void> load(std::string_view) override { return {}; }

 private:
  const DeviceModel device_;
};

}  // namespace

std::unique_ptr<CostModel> make_pruner_formulas(const DeviceModel& device) {
  return std::make_unique<PrunerFormulas>(device);
}

}  // namespace espalier::bench
