#include "espalier/search/rules/tile_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "espalier/support/number.h"

namespace espalier {
namespace {

// A copy must be read several times to pay for itself.
constexpr int64_t kWorthPacking = 8;

// Vectors of elements that lie so far apart are put together from whole ones.
constexpr int64_t kShuffledStride = 4;

// A plan is an alternative if its score comes this near to the best.
constexpr double kNear = 0.8;

// Exactly one dimension of the source moves with the axis, by single elements: panels along it can
// be cut out of that dimension.
bool moves_one_dimension(const ReadAccess& read, int axis) {
  int moved = 0;
  for (const ReadDimension& dim : read.dims) {
    if (!dim.uses(axis)) continue;
    if (dim.irregular[static_cast<size_t>(axis)] || dim.step[static_cast<size_t>(axis)] != 1) {
      return false;
    }
    ++moved;
  }
  return moved == 1;
}

class Planner {
 public:
  Planner(const State& state, StageId s, StageAccess access)
      : state_(state), info_(state.dag().stage(state.stage(s).op)), access_(std::move(access)) {}

  std::vector<TilePlan> plans() {
    std::vector<TilePlan> found;
    if (info_.reduce() == nullptr) return found;
    for (int a = 0; a < access_.spatial; ++a) {
      TilePlan plan;
      plan.vector_axis = a;
      plan.score = score_vector(a);
      if (plan.score > 0) found.push_back(std::move(plan));
    }
    // Of equally good axes the last.
    std::sort(found.begin(), found.end(), [](const TilePlan& a, const TilePlan& b) {
      return a.score != b.score ? a.score > b.score : a.vector_axis > b.vector_axis;
    });
    std::erase_if(found, [&](const TilePlan& plan) { return plan.score < kNear * found[0].score; });
    for (TilePlan& plan : found) {
      find_rows(&plan);
      for (const ReadAccess& r : access_.reads) plan.reads.push_back(plan_read(r, plan));
    }
    return found;
  }

 private:
  bool packable(const ReadAccess& r, int axis) const {
    const bool worth =
        r.constant || (r.elements > 0 && access_.points() / r.elements >= kWorthPacking);
    // Weights are packed whole; of others, a copy holds what is read below some loop, which only
    // plain steps tell.
    return worth && (r.constant || r.all_linear()) && moves_one_dimension(r, axis);
  }

  // How well lanes along the axis suit; 0 not at all. Reads happen at each term, the write once for
  // all of them.
  double score_vector(int axis) const {
    const size_t a = static_cast<size_t>(axis);
    const int64_t extent = access_.extent[a];
    if (extent < 2) return 0;
    const double terms = static_cast<double>(std::max<int64_t>(access_.reduce_points(), 1));
    double score = access_.write_stride[a] == 1 ? 4 : 4 - 3.75 * std::min(1.0, 32 / terms);
    for (const ReadAccess& r : access_.reads) {
      if (!r.uses[a]) {
        score += 0.5;
      } else if (r.contiguous(axis) || (r.constant && packable(r, axis))) {
        score += 2;
      } else if (r.linear[a] && r.stride[a] > 1 && r.stride[a] <= kShuffledStride) {
        score += 0.5;
      } else if (!packable(r, axis)) {
        return 0;
      }
    }
    // Lanes that a guard tells apart are masked; those past the end are idle.
    if (access_.guarded[a]) score *= 0.8;
    const int64_t lanes = round_up(extent, access_.lanes);
    return score * std::sqrt(static_cast<double>(extent) / static_cast<double>(lanes));
  }

  // Reads whose vectors stay the same along the axis.
  int reuse(int axis, int vector_axis) const {
    int count = 0;
    for (const ReadAccess& r : access_.reads) {
      count += r.uses[static_cast<size_t>(vector_axis)] && !r.uses[static_cast<size_t>(axis)];
    }
    return count;
  }

  void find_rows(TilePlan* plan) const {
    // Most reuse first, then the innermost.
    std::vector<int> axes;
    for (int a = access_.spatial - 1; a >= 0; --a) {
      if (a != plan->vector_axis && access_.extent[static_cast<size_t>(a)] > 1) axes.push_back(a);
    }
    for (size_t i = 1; i < axes.size(); ++i) {  // few: insertion keeps ties in order
      for (size_t j = i;
           j > 0 && reuse(axes[j], plan->vector_axis) > reuse(axes[j - 1], plan->vector_axis);
           --j) {
        std::swap(axes[j], axes[j - 1]);
      }
    }
    if (axes.empty()) {
      plan->rows.push_back(option({}, *plan));
      return;
    }
    plan->rows.push_back(option({axes[0]}, *plan));
    if (axes[0] - 1 != plan->vector_axis && is_linear_pair(access_, axes[0] - 1)) {
      RowOption fused = option({axes[0] - 1, axes[0]}, *plan);
      // Per point: the fused one covers more of them.
      const double points = static_cast<double>(access_.extent[static_cast<size_t>(axes[0] - 1)]);
      const bool better = fused.tile.cycles < plan->rows[0].tile.cycles * points * 0.97;
      plan->rows.insert(better ? plan->rows.begin() : plan->rows.end(), std::move(fused));
    }
    if (axes.size() > 1 && reuse(axes[1], plan->vector_axis) == reuse(axes[0], plan->vector_axis)) {
      plan->rows.push_back(option({axes[1]}, *plan));
    }
  }

  // Rows whose elements are read one after another while their cache lines stay: rows that lie a
  // large power of two apart compete for few places in the first cache.
  int64_t most_rows(const std::vector<int>& axes, int vector_axis) const {
    const Target& target = state_.task().target;
    const int64_t span = 4096;  // lines this far apart have the same place
    int64_t most = 1 << 20;
    if (axes.empty()) return most;
    for (const ReadAccess& r : access_.reads) {
      const size_t row = static_cast<size_t>(axes.back());
      if (r.uses[static_cast<size_t>(vector_axis)] || !r.linear[row]) continue;
      const int64_t stride = r.stride[row] * bytes_of(state_.dag().stage(r.producer).tensor->dtype);
      if (stride == 0 || stride % target.line_bytes != 0) continue;
      const int64_t places = span / std::gcd(span, stride);
      most = std::min(most, std::max<int64_t>(4, places * (target.l1_bytes / span) - 1));
    }
    return most;
  }

  RowOption option(std::vector<int> axes, const TilePlan& plan) const {
    int64_t extent = 1;
    for (int a : axes) extent *= access_.extent[static_cast<size_t>(a)];
    // Without a broadcast every accumulator loads an operand of its own.
    bool alike = false;
    for (const ReadAccess& r : access_.reads) {
      const bool moves = std::any_of(axes.begin(), axes.end(),
                                     [&](int a) { return r.uses[static_cast<size_t>(a)]; });
      alike = alike || (moves && r.uses[static_cast<size_t>(plan.vector_axis)]);
    }
    const int64_t columns = access_.extent[static_cast<size_t>(plan.vector_axis)];
    RegisterTile tile = choose_register_tile(extent, columns, access_.lanes, state_.task().target,
                                             alike, most_rows(axes, plan.vector_axis));
    return {std::move(axes), tile};
  }

  ReadPlan plan_read(const ReadAccess& r, const TilePlan& plan) const {
    ReadPlan read;
    read.number = r.number;
    read.constant = r.constant;
    read.vector = r.uses[static_cast<size_t>(plan.vector_axis)];
    for (int a : plan.rows[0].axes) read.rows = read.rows || r.uses[static_cast<size_t>(a)];
    read.packable = packable(r, plan.vector_axis);
    read.must_pack = read.packable && read.vector && !r.contiguous(plan.vector_axis);
    const int bytes = bytes_of(state_.dag().stage(r.producer).tensor->dtype);
    for (int a = access_.spatial; a < access_.axes(); ++a) {
      const int64_t step = std::abs(r.stride[static_cast<size_t>(a)]) * bytes;
      read.stride_bytes = std::max(read.stride_bytes, step);
    }
    return read;
  }

  const State& state_;
  const StageInfo& info_;
  const StageAccess access_;
};

}  // namespace

TilePlans plan_tiles(const State& state, StageId s) {
  TilePlans all;
  all.cuts = find_cuts(state, s);
  all.access = analyze_stage(state, s, all.cuts);
  all.plans = Planner(state, s, all.access).plans();
  return all;
}

int64_t panel_bytes(const StageAccess& access, const RegisterTile& tile, int element_bytes) {
  return access.reduce_points() * tile.cols * element_bytes;
}

}  // namespace espalier
