#include "espalier/cost_model/stage_cost.h"

#include <algorithm>

#include "espalier/cost_model/own_loops.h"
#include "espalier/cost_model/stage_body.h"
#include "espalier/cost_model/stage_traffic.h"

namespace espalier {
namespace {

// Of the shorter of two times that can overlap, the share that does not.
constexpr double kSerial = 0.25;

class Coster {
 public:
  Coster(const State& state, const Shape& shape, const DeviceModel& device)
      : state_(state),
        shape_(shape),
        device_(device),
        target_(state.task().target),
        nests_(find_streams(state, shape)),
        traffic_(state, device, nests_) {}

  ScheduleCost run() {
    ScheduleCost cost;
    for (const StageNest& nest : nests_) {
      cost.stages.push_back(stage(nest));
      cost.cycles += cost.stages.back().time;
    }
    const double cores = std::max(1, std::min(state_.task().threads, target_.cores));
    cost.ideal_cycles =
        std::max(1.0, state_.dag().flops() / device_.peak_flops * device_.frequency_hz / cores);
    cost.code = code_;
    return cost;
  }

 private:
  StageCost stage(const StageNest& nest) {
    StageCost c;
    c.stage = nest.stage;
    const std::vector<OwnLoop> loops = own_loops(state_, shape_, nest.stage);
    cost_of_core(state_, shape_, device_, nest, loops, c, code_);
    traffic_.add(nest, loops, c);
    whole(nest, c);
    return c;
  }

  void whole(const StageNest& nest, StageCost& c) {
    Quantity longest = c.core, sum = c.core;
    for (const Quantity& q : c.cycles) {
      longest = max(longest, q);
      sum += q;
    }
    c.time = longest + (sum - longest) * kSerial;
    const double threads = std::max(1, state_.task().threads);
    Quantity times = 1;
    for (size_t p = 0; p < nest.path.size(); ++p) {
      const PathLoop& l = nest.path[p];
      if (l.parallel) {
        c.tasks = max(1, l.extent);
        const Quantity rounds = ceil_div(c.tasks, threads);
        c.balance = c.tasks / (rounds * threads);
        if (threads > 1) {
          c.time = c.time / (c.balance * threads);
          if (p >= nest.own_from) {
            c.launch = times * (device_.launch_us * 1e-6 * device_.frequency_hz);
            c.time += c.launch;
          }
        }
        break;
      }
      times *= l.effective;
    }
  }

  const State& state_;
  const Shape& shape_;
  const DeviceModel& device_;
  const Target& target_;
  const std::vector<StageNest> nests_;
  const Traffic traffic_;
  Quantity code_;
};

}  // namespace

ScheduleCost cost_of(const State& state, const Shape& shape, const DeviceModel& device) {
  return Coster(state, shape, device).run();
}

}  // namespace espalier
