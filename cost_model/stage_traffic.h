// Traffic between caches: what each stage brings in, from what its loops touch.
#pragma once

#include "espalier/cost_model/own_loops.h"
#include "espalier/cost_model/stage_cost.h"

namespace espalier {

// A loop whose body fits in a cache brings in each line once; one whose body does not, again in
// each iteration.
class Traffic {
 public:
  // `nests` must outlive this object.
  Traffic(const State& state, const DeviceModel& device, const std::vector<StageNest>& nests);

  // Fills in all of `cost` that is about caches.
  void add(const StageNest& nest, const std::vector<OwnLoop>& loops, StageCost& cost) const;

 private:
  struct Cache {
    double lines = 0, sets = 1, cycles_per_line = 0;
    double stays = 0;  // share of a call's data that is there at the next call
    bool used = true;  // whether anything crosses the boundary
  };
  Quantity working_set(const StageNest& nest, size_t p) const;
  Quantity set_pressure(const Stream& s, size_t p, const Cache& cache) const;

  const std::vector<StageNest>& nests_;
  std::array<Cache, kCacheLevels> caches_;
};

}  // namespace espalier
