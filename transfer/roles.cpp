#include "espalier/transfer/roles.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "espalier/ir/buffer.h"
#include "espalier/ir/children.h"

namespace espalier {
namespace {

constexpr size_t kMaxReads = 32;
constexpr size_t kMaxPermuted = 4;  // reads that are paired in every way

bool mentions(const Expr& e, const Var& v) {
  if (e.same_as(v)) return true;
  bool found = false;
  for_each_child(*e.get(), [&](const Expr& child) { found = found || mentions(child, v); });
  return found;
}

// Whether the axis occurs in the index. One that data decide has all coefficients set.
bool occurs(const Access& access, size_t dim, const StageInfo& info, int axis) {
  const LinearIndex& index = access.linear[dim];
  if (index.coef[static_cast<size_t>(axis)] == 0) return false;
  return index.affine || mentions(access.indices[dim], axis_of(info, axis).var);
}

// The reads of two stages in pairs.
using Pairing = std::vector<std::pair<int, int>>;

struct Side {
  const ComputeDag& dag;
  int stage;
  std::vector<AxisRole> roles;
  const StageInfo& info() const { return dag.stage(stage); }
};

// The role with its reads renumbered by pairs: bits of pairs, two flags below (see explain()).
int64_t key_of(const AxisRole& role, const Pairing& pairing, bool donor, bool with_window) {
  int64_t reads = 0;
  for (size_t p = 0; p < pairing.size(); ++p) {
    const int r = donor ? pairing[p].first : pairing[p].second;
    if ((role.reads >> r & 1) != 0) reads |= int64_t{1} << p;
  }
  return reads << 2 | (with_window && role.reduce && role.window ? 2 : 0) | (role.reduce ? 1 : 0);
}

struct Class {
  std::vector<int> donor, target;  // axes, outermost first
};

class RoleMatcher {
 public:
  RoleMatcher(const ComputeDag& donor, int donor_stage, const ComputeDag& target, int target_stage)
      : donor_{donor, donor_stage, roles_of(donor, donor_stage)},
        target_{target, target_stage, roles_of(target, target_stage)} {}

  std::optional<StageMap> run(Mismatch* reason) {
    reason_ = reason;
    const size_t n = donor_.info().accesses.size(), m = target_.info().accesses.size();
    if (n > kMaxReads || m > kMaxReads) {
      *reason = {MismatchCode::TooManyReads, donor_.stage, target_.stage, 0, 0};
      return std::nullopt;
    }
    Pairing pairing;
    if (std::max(n, m) > kMaxPermuted) {
      for (size_t i = 0; i < std::min(n, m); ++i) {
        pairing.push_back({static_cast<int>(i), static_cast<int>(i)});
      }
      try_pairing(pairing);
    } else {
      std::vector<int> longer;
      for (size_t i = 0; i < std::max(n, m); ++i) longer.push_back(static_cast<int>(i));
      do {
        pairing.clear();
        for (size_t i = 0; i < std::min(n, m); ++i) {
          const int k = static_cast<int>(i);
          pairing.push_back(n <= m ? std::pair(k, longer[i]) : std::pair(longer[i], k));
        }
        try_pairing(pairing);
      } while (std::next_permutation(longer.begin(), longer.end()));
    }
    if (best_) return best_;
    if (m == 0 || n == 0) try_pairing({});
    return best_;
  }

 private:
  void fail(MismatchCode code, int64_t a = 0, int64_t b = 0) {
    if (!best_) *reason_ = {code, donor_.stage, target_.stage, a, b};
  }

  void try_pairing(const Pairing& pairing) {
    std::map<int64_t, Class> classes;
    auto collect = [&](const Side& side, bool donor) {
      for (size_t a = 0; a < side.roles.size(); ++a) {
        Class& c = classes[key_of(side.roles[a], pairing, donor, true)];
        (donor ? c.donor : c.target).push_back(static_cast<int>(a));
      }
    };
    collect(donor_, true);
    collect(target_, false);
    const int64_t all = (int64_t{1} << pairing.size()) - 1;
    for (const auto& [key, c] : classes) {
      if (c.donor.empty() == c.target.empty()) continue;
      const bool reduce = (key & 1) != 0, window = (key & 2) != 0;
      // A batch may be missing where there are several operands that it could have moved.
      if (!reduce && key >> 2 == all && pairing.size() > 1) continue;
      if (window) {
        const auto plain = classes.find(key & ~int64_t{2});
        if (plain != classes.end() && !plain->second.donor.empty() &&
            !plain->second.target.empty()) {
          continue;
        }
      }
      // Iterators of one element move nothing: whoever has no others lacks nothing.
      const Side& side = c.donor.empty() ? target_ : donor_;
      const std::vector<int>& axes = c.donor.empty() ? c.target : c.donor;
      const bool only_units = std::all_of(axes.begin(), axes.end(), [&](int a) {
        return side.roles[static_cast<size_t>(a)].extent == 1;
      });
      if (only_units) continue;
      return fail(MismatchCode::RoleMissing, key, c.donor.empty() ? 1 : 0);
    }

    StageMap map{donor_.stage, target_.stage, {}, pairing};
    std::sort(map.reads.begin(), map.reads.end());
    std::map<int, bool> seen_donor, seen_target;
    double score = 0;
    for (const auto& [key, c] : classes) align(c, &map.axes, &score);
    std::sort(map.axes.begin(), map.axes.end(), [](const AxisGroup& a, const AxisGroup& b) {
      const bool has_a = !a.donor.empty(), has_b = !b.donor.empty();
      if (has_a != has_b) return has_a;
      return has_a ? a.donor < b.donor : a.target < b.target;
    });
    if (!score_layout(map, pairing, &score)) return fail(MismatchCode::Layout);
    if (!best_ || score > best_score_) {
      best_ = std::move(map);
      best_score_ = score;
    }
  }

  // Pairs the axes of one role. The innermost go together; where one side has more, those act as
  // one loop or have no counterpart.
  void align(const Class& c, std::vector<AxisGroup>* groups, double* score) const {
    auto longer_than_one = [](const Side& side, const std::vector<int>& axes) {
      std::vector<int> kept;
      for (int a : axes) {
        if (side.roles[static_cast<size_t>(a)].extent != 1) kept.push_back(a);
      }
      return kept;
    };
    std::vector<int> d = longer_than_one(donor_, c.donor), t = longer_than_one(target_, c.target);
    if (c.donor.size() == c.target.size()) {
      // The same axes in number: one for one, whatever their extents.
      d = c.donor;
      t = c.target;
    } else {
      if (d.empty() && !c.donor.empty()) d.push_back(c.donor.back());
      if (t.empty() && !c.target.empty()) t.push_back(c.target.back());
    }
    std::vector<AxisGroup> pairs;
    while (!d.empty() && !t.empty()) {
      const bool last_pair = d.size() == 1 || t.size() == 1;
      AxisGroup g{{d.back()}, {t.back()}};
      d.pop_back();
      t.pop_back();
      if (last_pair) {
        absorb(donor_, &d, &g.donor);
        absorb(target_, &t, &g.target);
      }
      for (const auto& [x, y] : {std::pair(g.donor.back(), g.target.back())}) {
        const AxisRole& a = donor_.roles[static_cast<size_t>(x)];
        const AxisRole& b = target_.roles[static_cast<size_t>(y)];
        *score +=
            1 - 0.02 * std::abs(std::log2(static_cast<double>(std::max<int64_t>(a.extent, 1))) -
                                std::log2(static_cast<double>(std::max<int64_t>(b.extent, 1))));
      }
      pairs.push_back(std::move(g));
      if (last_pair) break;
    }
    groups->insert(groups->end(), pairs.rbegin(), pairs.rend());
    auto alone = [&](const std::vector<int>& axes, bool donor) {
      for (int a : axes) {
        const bool placed = std::any_of(pairs.begin(), pairs.end(), [&](const AxisGroup& g) {
          const std::vector<int>& list = donor ? g.donor : g.target;
          return std::find(list.begin(), list.end(), a) != list.end();
        });
        if (!placed) groups->push_back(donor ? AxisGroup{{a}, {}} : AxisGroup{{}, {a}});
      }
    };
    alone(c.donor, true);
    alone(c.target, false);
  }

  // Moves axes that act as one with the outermost of the group from the end of `axes` into it.
  static void absorb(const Side& side, std::vector<int>* axes, std::vector<int>* group) {
    while (!axes->empty() && acts_as_one(side.dag, side.stage, axes->back(), group->front())) {
      group->insert(group->begin(), axes->back());
      axes->pop_back();
    }
  }

  // Adds what the orders in memory have in common; false where they must agree and do not.
  bool score_layout(const StageMap& map, const Pairing& pairing, double* score) const {
    const bool strict = donor_.info().reduce() == nullptr;
    bool agree = true;
    for (const AxisGroup& g : map.axes) {
      if (g.donor.empty() || g.target.empty()) continue;
      const AxisRole& a = donor_.roles[static_cast<size_t>(g.donor.back())];
      const AxisRole& b = target_.roles[static_cast<size_t>(g.target.back())];
      if (a.extent == 1 || b.extent == 1) continue;
      a.contiguous == b.contiguous ? * score += 0.5 : agree = false;
      if (a.contiguous && b.contiguous) *score += 3;
      for (const auto& [x, y] : pairing) {
        const bool next_a = (a.adjacent >> x & 1) != 0, next_b = (b.adjacent >> y & 1) != 0;
        next_a == next_b ? * score += 0.5 : agree = false;
      }
    }
    for (const auto& [x, y] : pairing) {
      const StageInfo& from =
          donor_.dag.stage(donor_.info().accesses[static_cast<size_t>(x)].producer);
      const StageInfo& to =
          target_.dag.stage(target_.info().accesses[static_cast<size_t>(y)].producer);
      if (from.tensor->kind == to.tensor->kind) *score += 0.5;
      if (from.tensor->shape.size() == to.tensor->shape.size()) *score += 0.1;
      // Of equals the order in which they are written.
      *score -= 0.01 * std::abs(x - y);
    }
    return agree || !strict;
  }

  const Side donor_, target_;
  std::optional<StageMap> best_;
  double best_score_ = 0;
  Mismatch* reason_ = nullptr;
};

}  // namespace

std::vector<AxisRole> roles_of(const ComputeDag& dag, int stage) {
  const StageInfo& info = dag.stage(stage);
  const int spatial = static_cast<int>(info.axes.size());
  std::vector<AxisRole> roles(static_cast<size_t>(axis_count(info)));
  const std::vector<int64_t> write = dense_strides(info.tensor->shape);
  for (int a = 0; a < axis_count(info); ++a) {
    AxisRole& role = roles[static_cast<size_t>(a)];
    role.extent = axis_of(info, a).extent;
    role.reduce = a >= spatial;
    role.contiguous = a < spatial && write[static_cast<size_t>(a)] == 1;
  }
  for (size_t r = 0; r < info.accesses.size() && r < kMaxReads; ++r) {
    const Access& access = info.accesses[r];
    const std::vector<int64_t> strides = dense_strides(dag.stage(access.producer).tensor->shape);
    std::vector<int64_t> step(roles.size(), 0);
    std::vector<bool> linear(roles.size(), true);
    for (size_t d = 0; d < access.linear.size(); ++d) {
      bool spatial_here = false, reduce_here = false;
      for (int a = 0; a < axis_count(info); ++a) {
        if (!occurs(access, d, info, a)) continue;
        const size_t i = static_cast<size_t>(a);
        roles[i].reads |= 1u << r;
        (a < spatial ? spatial_here : reduce_here) = true;
        if (!access.linear[d].affine) linear[i] = false;
        step[i] += access.linear[d].coef[i] * strides[d];
      }
      if (!spatial_here || !reduce_here || !access.linear[d].affine) continue;
      for (int a = 0; a < axis_count(info); ++a) {
        if (occurs(access, d, info, a)) roles[static_cast<size_t>(a)].window = true;
      }
    }
    for (size_t a = 0; a < roles.size(); ++a) {
      if (linear[a] && step[a] == 1) roles[a].adjacent |= 1u << r;
    }
  }
  return roles;
}

bool acts_as_one(const ComputeDag& dag, int stage, int a, int b) {
  const StageInfo& info = dag.stage(stage);
  const int spatial = static_cast<int>(info.axes.size());
  if (a >= b || (a < spatial) != (b < spatial)) return false;
  for (int between = a + 1; between < b; ++between) {
    if (axis_of(info, between).extent != 1) return false;
  }
  const size_t i = static_cast<size_t>(a), j = static_cast<size_t>(b);
  const int64_t inner = axis_of(info, b).extent;
  if (const ReduceNode* reduce = info.reduce(); reduce != nullptr && reduce->where) {
    if (mentions(reduce->where, axis_of(info, a).var) ||
        mentions(reduce->where, axis_of(info, b).var)) {
      return false;
    }
  }
  if (b < spatial) {
    const std::vector<int64_t> write = dense_strides(info.tensor->shape);
    if (write[i] != write[j] * inner) return false;
  }
  for (const Access& access : info.accesses) {
    const std::vector<int64_t> strides = dense_strides(dag.stage(access.producer).tensor->shape);
    int64_t outer_step = 0, inner_step = 0;
    for (size_t d = 0; d < access.linear.size(); ++d) {
      const bool uses = occurs(access, d, info, a) || occurs(access, d, info, b);
      if (uses && !access.linear[d].affine) return false;
      outer_step += access.linear[d].affine ? access.linear[d].coef[i] * strides[d] : 0;
      inner_step += access.linear[d].affine ? access.linear[d].coef[j] * strides[d] : 0;
    }
    if (outer_step != inner_step * inner) return false;
  }
  return true;
}

std::optional<StageMap> match_roles(const ComputeDag& donor, int donor_stage,
                                    const ComputeDag& target, int target_stage, Mismatch* reason) {
  return RoleMatcher(donor, donor_stage, target, target_stage).run(reason);
}

}  // namespace espalier
