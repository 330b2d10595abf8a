#include "random_dag.h"

#include <utility>

#include "random_stage.h"

namespace espalier {
namespace {

Value first_stage(StageWriter& w, Rng& rng) {
  switch (rng.below(12)) {
    case 0:
    case 1:
    case 2: return w.matmul();
    case 3:
    case 4: return w.convolution();
    case 5: return w.depthwise();
    case 6: return w.transposed_convolution();
    case 7: return w.gather();
    case 8: return w.pool(w.fresh());
    case 9: return w.reduction(w.fresh());
    case 10: return w.softmax(w.fresh());
    default: return w.elementwise(w.fresh());
  }
}

// One that mostly leaves out terms.
Value padded_stage(StageWriter& w, Rng& rng) {
  switch (rng.below(7)) {
    case 0:
    case 1: return w.convolution();
    case 2: return w.depthwise();
    case 3: return w.transposed_convolution();
    default: return w.pool(w.elementwise(w.fresh()));
  }
}

Value next_stage(StageWriter& w, Rng& rng, const Value& a) {
  switch (rng.below(16)) {
    case 0:
    case 1: return w.stencil(a);
    case 2: return w.pool(a);
    case 3:
    case 4: return w.reduction(a);
    case 5: return w.transpose(a);
    case 6: return w.reshape(a);
    case 7:
    case 8: return w.contraction(a);
    case 9: return w.softmax(a);
    default: return w.elementwise(a);
  }
}

}  // namespace

RandomDag random_dag(Rng& rng, int64_t work, const DagHints& hints) {
  StageWriter w(rng, work);
  Value last = hints.absent_terms ? padded_stage(w, rng) : first_stage(w, rng);
  const int64_t more = rng.chance(0.2) ? 0 : rng.range(1, 3);
  for (int64_t i = 0; i < more; ++i) {
    // Sometimes a sibling of what came last: a shared producer with several consumers.
    const bool sibling = w.stages().size() > 1 && rng.chance(0.15);
    last = next_stage(w, rng, sibling ? rng.pick(w.stages()) : last);
  }
  if (hints.follower) last = w.elementwise(last);
  std::vector<Tensor> outputs = {last.tensor};
  for (const Value& v : w.stages()) {
    const bool twice = v.tensor.get() == last.tensor.get();
    if (!twice && outputs.size() < 3 && rng.chance(0.1)) outputs.push_back(v.tensor);
  }
  rng.shuffle(outputs);
  return {ComputeDag::make(std::move(outputs)).value(), w.exact(), w.has_absent_terms()};
}

}  // namespace espalier
