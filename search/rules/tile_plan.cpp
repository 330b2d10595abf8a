#include "espalier/search/rules/tile_plan.h"

#include <algorithm>
#include <numeric>

#include "espalier/ir/children.h"

namespace espalier {
namespace {

// A copy must be read several times to pay for itself.
constexpr int64_t kWorthPacking = 8;

// The divisor if the axis occurs as floordiv(axis, divisor) in the expression; the least if there
// are several, 0 if there is none.
int64_t find_group(const Expr& e, const Expr& axis) {
  int64_t found = 0;
  if (const auto* binary = e.as<BinaryNode>(); binary && binary->op == BinaryOp::FloorDiv) {
    int64_t divisor = 0;
    if (binary->a.same_as(axis) && is_const_int(binary->b, &divisor) && divisor > 1)
      found = divisor;
  }
  for_each_child(*e.get(), [&](const Expr& child) {
    const int64_t inner = find_group(child, axis);
    if (inner > 0 && (found == 0 || inner < found)) found = inner;
  });
  return found;
}

int64_t group_of(const StageInfo& info, int axis) {
  const Expr var = info.axes[static_cast<size_t>(axis)].var;
  int64_t group = 0;
  for (const Access& access : info.accesses) {
    for (const Expr& index : access.indices) {
      const int64_t found = find_group(index, var);
      if (found > 0 && (group == 0 || found < group)) group = found;
    }
  }
  return group;
}

// Exactly one dimension of the source moves with the axis, by single elements: panels along it can
// be cut out of that dimension.
bool moves_one_dimension(const StageRead& read, int axis) {
  int moved = 0;
  for (const LinearIndex& index : read.linear) {
    const size_t a = static_cast<size_t>(axis);
    const int64_t coef = a < index.coef.size() ? index.coef[a] : 0;
    if (coef == 0) continue;
    if (!index.affine || coef != 1) return false;
    ++moved;
  }
  return moved == 1;
}

class Planner {
 public:
  Planner(const State& state, StageId s)
      : state_(state),
        stage_(state.stage(s)),
        info_(state.dag().stage(stage_.op)),
        access_(analyze_stage(state, s)) {}

  TilePlan plan() {
    TilePlan plan;
    if (info_.reduce() == nullptr) return plan;
    double best = 0;
    for (int a = 0; a < access_.spatial; ++a) {
      const double score = score_vector(a);
      if (score > 0 && score >= best) {
        best = score;
        plan.vector_axis = a;
      }
    }
    if (!plan.good()) return plan;
    const size_t v = static_cast<size_t>(plan.vector_axis);
    plan.vector_extent = access_.extent[v];
    const bool irregular =
        std::any_of(access_.reads.begin(), access_.reads.end(),
                    [&](const ReadAccess& r) { return r.uses[v] && !r.linear[v]; });
    if (irregular) {
      plan.vector_group = group_of(info_, plan.vector_axis);
      if (plan.vector_group > 0) plan.vector_extent = plan.vector_group;
    }
    find_rows(&plan);
    for (const ReadAccess& r : access_.reads) plan.reads.push_back(plan_read(r, plan));
    return plan;
  }

 private:
  bool packable(const ReadAccess& r, int axis) const {
    const bool worth =
        r.constant || (r.elements > 0 && access_.points() / r.elements >= kWorthPacking);
    return worth && r.all_linear() &&
           moves_one_dimension(stage_.reads[static_cast<size_t>(r.number)], axis);
  }

  // How well lanes along the axis suit; 0 not at all.
  double score_vector(int axis) const {
    const size_t a = static_cast<size_t>(axis);
    const int64_t extent = access_.extent[a];
    if (extent < 2) return 0;
    double score = access_.write_stride[a] == 1 ? 4 : 0.25;
    for (const ReadAccess& r : access_.reads) {
      if (!r.uses[a]) {
        score += 0.5;
      } else if (r.contiguous(axis)) {
        score += 2;
      } else if (packable(r, axis)) {
        score += r.constant ? 1.5 : 0.75;
      } else if (!r.linear[a] && group_of(info_, axis) > 1) {
        score += 0.5;
      } else {
        return 0;
      }
    }
    return extent < access_.lanes
               ? score * static_cast<double>(extent) / static_cast<double>(access_.lanes)
               : score;
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
    const int64_t most = most_rows(axes, plan.vector_axis);
    RegisterTile tile = choose_register_tile(extent, plan.vector_extent, access_.lanes,
                                             state_.task().target, alike, most);
    return {std::move(axes), tile};
  }

  ReadPlan plan_read(const ReadAccess& r, const TilePlan& plan) const {
    ReadPlan read;
    read.number = r.number;
    read.constant = r.constant;
    read.vector = r.uses[static_cast<size_t>(plan.vector_axis)];
    for (int a : plan.rows[0].axes) read.rows = read.rows || r.uses[static_cast<size_t>(a)];
    read.must_pack = read.vector && !r.contiguous(plan.vector_axis) &&
                     r.linear[static_cast<size_t>(plan.vector_axis)];
    read.packable = packable(r, plan.vector_axis);
    const int bytes = bytes_of(state_.dag().stage(r.producer).tensor->dtype);
    for (int a = access_.spatial; a < access_.axes(); ++a) {
      const int64_t step = std::abs(r.stride[static_cast<size_t>(a)]) * bytes;
      read.stride_bytes = std::max(read.stride_bytes, step);
    }
    return read;
  }

  const State& state_;
  const Stage& stage_;
  const StageInfo& info_;
  const StageAccess access_;
};

}  // namespace

TilePlan plan_tile(const State& state, StageId s) { return Planner(state, s).plan(); }

int64_t panel_bytes(const StageAccess& access, const RegisterTile& tile, int element_bytes) {
  return access.reduce_points() * tile.cols * element_bytes;
}

}  // namespace espalier
