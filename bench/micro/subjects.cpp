#include "micro/subjects.h"

#include "espalier/ir/ops/workload.h"
#include "espalier/schedule/lower.h"
#include "espalier/search/default_schedule.h"
#include "espalier/search/slots.h"

namespace espalier::bench {

const Task& convolution() {
  static const std::string spec = "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,epilogue=bias+relu";
  static const Task task{load_workload(spec).value(), host_target(), 1, spec};
  return task;
}

const Trace& long_trace() {
  static const Trace longest = [] {
    const SketchSpace space(convolution());
    Trace best;
    Rng rng(1);
    for (int i = 0; i < 256; ++i) {
      const StructurePtr structure = space.draw(rng);
      if (structure == nullptr) continue;
      const auto candidate = draw_numbers(convolution(), *structure, rng, /*keep=*/0.5);
      if (!candidate) continue;
      Trace trace = candidate->trace();
      if (trace.size() > best.size()) best = std::move(trace);
    }
    return best;
  }();
  return longest;
}

const State& convolution_state() {
  static const State state = replay(convolution(), default_candidate(convolution())).take();
  return state;
}

const LoweredKernel& convolution_lowered() {
  static const LoweredKernel lowered = lower(convolution_state()).value();
  return lowered;
}

}  // namespace espalier::bench
