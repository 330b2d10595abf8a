// Tasks and candidates for the tests of this layer.
#pragma once

#include <string>
#include <vector>

#include "espalier/cost_model/cost_model.h"
#include "espalier/ir/ops/workload.h"

namespace espalier {

// A square matmul of extent n for a fixed target.
inline Task test_task(int n) {
  const std::string e = std::to_string(n);
  const std::string spec = "matmul:m=" + e + ",n=" + e + ",k=" + e;
  return {load_workload(spec).value(), parse_target("x86_64 features=+avx2").value(), 1, spec};
}

// Splits of the rows of the product by 1, 2, 3, ...
inline std::vector<Candidate> test_candidates(int count) {
  auto sketch = std::make_shared<Sketch>();
  sketch->steps = {SplitStep{2, 0, {Num::of_slot(0)}}};
  sketch->slots = {{SlotKind::Tile}};
  std::vector<Candidate> candidates;
  for (int i = 1; i <= count; ++i) candidates.push_back({sketch, {i}});
  return candidates;
}

}  // namespace espalier
