// Ansor's mutation of tile sizes: a divisor of one level of a split moves to another level.
#include <algorithm>

#include "espalier/schedule/state.h"
#include "espalier/search/mutation.h"
#include "espalier/search/slots.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

constexpr int64_t kMaxInnermost = 64;

std::vector<int64_t> divisors_above_one(int64_t n) {
  std::vector<int64_t> all;
  for (int64_t d = 2; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  return all;
}

class TileExchangeMutation final : public Mutation {
 public:
  std::string_view name() const override { return "tile exchange"; }

  std::optional<Candidate> apply(const SketchSpace& space, const Parent& parent,
                                 Rng& rng) const override {
    const Task& task = space.task();
    std::vector<const SplitStep*> splits;
    for (const Step& step : parent.candidate.sketch->steps) {
      const auto* split = std::get_if<SplitStep>(&step);
      const auto open = [](const Num& n) { return n.slot >= 0; };
      if (split != nullptr && std::any_of(split->factors.begin(), split->factors.end(), open)) {
        splits.push_back(split);
      }
    }
    if (splits.empty()) return std::nullopt;
    const SplitStep& split = *rng.pick(splits);
    const Replayed replayed = replay(task, parent.candidate);
    if (!replayed.ok()) return std::nullopt;

    // Level 0 is the outermost, whose length follows from the others.
    const int64_t extent =
        replayed.state().stage(split.stage).loops[static_cast<size_t>(split.loop)].extent;
    std::vector<int64_t> lengths = {0};
    int64_t inner = 1;
    for (const Num& n : split.factors) {
      lengths.push_back(n.slot < 0 ? n.value
                                   : parent.candidate.decisions[static_cast<size_t>(n.slot)]);
      inner *= lengths.back();
    }
    if (inner <= 0) return std::nullopt;
    lengths[0] = ceil_div(extent, inner);
    auto movable = [&](size_t level) { return level == 0 || split.factors[level - 1].slot >= 0; };

    std::vector<size_t> order(lengths.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    rng.shuffle(order);
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t from = order[i], to = order[(i + 1) % order.size()];
      if (from == to || lengths[from] <= 1 || !movable(from) || !movable(to)) continue;
      const std::vector<int64_t> divisors = divisors_above_one(std::min(lengths[from], kLimit));
      if (divisors.empty()) continue;
      const int64_t d = divisors[rng.below(divisors.size())];
      if (lengths[from] % d != 0) continue;
      if (to + 1 == lengths.size() && lengths[to] * d > kMaxInnermost) continue;
      Candidate child = parent.candidate;
      if (from > 0) set(split, from, lengths[from] / d, &child);
      if (to > 0) set(split, to, lengths[to] * d, &child);
      if (child.decisions == parent.candidate.decisions || !is_legal(task, child)) continue;
      return child;
    }
    return std::nullopt;
  }

 private:
  static constexpr int64_t kLimit = 4096;  // of the divisors looked at

  static void set(const SplitStep& split, size_t level, int64_t value, Candidate* child) {
    child->decisions[static_cast<size_t>(split.factors[level - 1].slot)] =
        static_cast<int32_t>(value);
  }
};

}  // namespace

std::shared_ptr<const Mutation> make_tile_exchange_mutation() {
  return std::make_shared<TileExchangeMutation>();
}

}  // namespace espalier
