#include "espalier/transfer/unify.h"

#include <algorithm>
#include <bit>

#include "espalier/ir/children.h"

namespace espalier {
namespace {

constexpr int kMaxSteps = 4000;
constexpr int kMaxChoices = 300;  // open at a time
constexpr int kGlance = 6;        // levels of two expressions that are compared before a choice

bool is_commutative(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Mul:
    case BinaryOp::Min:
    case BinaryOp::Max:
    case BinaryOp::And:
    case BinaryOp::Or:
    case BinaryOp::Xor:
    case BinaryOp::Eq:
    case BinaryOp::Ne: return true;
    default: return false;
  }
}

// What one pair of stages knows so far.
struct StageBinding {
  std::vector<int> reads;  // target access by donor access, -1: not met
  std::vector<int> axis;   // target axis by donor axis, -1: open
};

struct Goal {
  enum class Kind : uint8_t { Stages, Exprs, Finish } kind = Kind::Stages;
  int donor = -1, target = -1;  // stages
  Expr a, b;
  bool condition = false;  // inside a condition: numbers are parameters
};

// A depth-first search over the ways to pair operands that commute. The state is copied at each
// such choice: it is a few dozen integers.
class Unifier {
 public:
  Unifier(const ComputeDag& donor, const ComputeDag& target, const UnifyOptions& options)
      : donor_(donor), target_(target), options_(options) {}

  std::optional<DagMap> run(Mismatch* reason) {
    State start;
    start.to.assign(static_cast<size_t>(donor_.size()), -1);
    start.from.assign(static_cast<size_t>(target_.size()), -1);
    start.bindings.resize(static_cast<size_t>(donor_.size()));
    if (options_.donor_stage >= 0) {
      start.goals.push_back(
          {Goal::Kind::Stages, options_.donor_stage, options_.target_stage, {}, {}});
    } else {
      const size_t n = donor_.outputs().size();
      if (donor_.size() != target_.size()) {
        *reason = {MismatchCode::StageCount, -1, -1, donor_.size(), target_.size()};
        return std::nullopt;
      }
      if (n != target_.outputs().size()) {
        *reason = {MismatchCode::OutputCount, -1, -1, static_cast<int64_t>(n),
                   static_cast<int64_t>(target_.outputs().size())};
        return std::nullopt;
      }
      for (size_t i = n; i-- > 0;) {
        start.goals.push_back(
            {Goal::Kind::Stages, donor_.outputs()[i], target_.outputs()[i], {}, {}});
      }
    }
    std::optional<State> end = solve(std::move(start));
    if (!end) {
      *reason = reason_;
      return std::nullopt;
    }
    return as_map(*end);
  }

 private:
  struct State {
    std::vector<Goal> goals;
    std::vector<int> to, from;  // stages
    std::vector<StageBinding> bindings;
    int progress = 0;
  };

  bool exact() const { return options_.level == MatchLevel::Exact; }
  bool units() const { return options_.level == MatchLevel::Units; }
  bool whole() const { return options_.donor_stage < 0; }

  bool fail(const State& s, Mismatch why) {
    if (s.progress >= furthest_) {
      furthest_ = s.progress;
      reason_ = why;
    }
    return false;
  }

  std::optional<State> solve(State s) {
    while (!s.goals.empty()) {
      if (++steps_ > kMaxSteps || choices_ > kMaxChoices) {
        reason_ = {MismatchCode::TooSymmetric, -1, -1, 0, 0};
        furthest_ = INT32_MAX;
        return std::nullopt;
      }
      const Goal goal = s.goals.back();
      s.goals.pop_back();
      ++s.progress;
      switch (goal.kind) {
        case Goal::Kind::Stages:
          if (!pair_stages(s, goal.donor, goal.target)) return std::nullopt;
          break;
        case Goal::Kind::Finish:
          if (!finish(s, goal.donor, goal.target)) return std::nullopt;
          break;
        case Goal::Kind::Exprs: {
          const auto* a = goal.a.as<BinaryNode>();
          const auto* b = goal.b.as<BinaryNode>();
          if (a != nullptr && b != nullptr && a->op == b->op && is_commutative(a->op) &&
              a->type == b->type) {
            const bool swapped =
                may_pair(s, goal, a->a, b->b, 0) && may_pair(s, goal, a->b, b->a, 0);
            if (!swapped) {
              push(s, goal, a->b, b->b);
              push(s, goal, a->a, b->a);
              break;
            }
            if (may_pair(s, goal, a->a, b->a, 0) && may_pair(s, goal, a->b, b->b, 0)) {
              State other = s;
              push(s, goal, a->b, b->b);
              push(s, goal, a->a, b->a);
              ++choices_;
              std::optional<State> found = solve(std::move(s));
              --choices_;
              if (found) return found;
              s = std::move(other);
            }
            push(s, goal, a->b, b->a);
            push(s, goal, a->a, b->b);
            break;
          }
          if (!pair_exprs(s, goal)) return std::nullopt;
          break;
        }
      }
    }
    return s;
  }

  static void push(State& s, const Goal& from, const Expr& a, const Expr& b) {
    s.goals.push_back({Goal::Kind::Exprs, from.donor, from.target, a, b, from.condition});
  }

  // False if the expressions cannot be paired, as far as a glance tells: keeps the ways to order
  // long conditions few.
  bool may_pair(const State& s, const Goal& g, const Expr& a, const Expr& b, int depth) const {
    if (a.kind() != b.kind() || a.type() != b.type()) return false;
    if (depth == kGlance) return true;
    if (a.kind() == ExprKind::Const) {
      return !exact() || (a.as<ConstNode>()->i == b.as<ConstNode>()->i);
    }
    if (a.kind() == ExprKind::Var) {
      const StageInfo &from = donor_.stage(g.donor), &to = target_.stage(g.target);
      const int x = axis_number(from, a), y = axis_number(to, b);
      if (x < 0 || y < 0) return false;
      if (options_.drop_units && is_unit(axis_of(from, x).extent) &&
          is_unit(axis_of(to, y).extent)) {
        return true;
      }
      const std::vector<int>& bound = s.bindings[static_cast<size_t>(g.donor)].axis;
      if (bound[static_cast<size_t>(x)] >= 0) return bound[static_cast<size_t>(x)] == y;
      return std::find(bound.begin(), bound.end(), y) == bound.end() &&
             (!exact() || axis_of(from, x).extent == axis_of(to, y).extent);
    }
    const auto *x = a.as<BinaryNode>(), *y = b.as<BinaryNode>();
    if (x == nullptr || y == nullptr) return true;
    if (x->op != y->op) return false;
    auto both = [&](const Expr& first, const Expr& second) {
      return may_pair(s, g, x->a, first, depth + 1) && may_pair(s, g, x->b, second, depth + 1);
    };
    return both(y->a, y->b) || (is_commutative(x->op) && both(y->b, y->a));
  }

  static bool is_unit(int64_t extent) { return extent == 1; }

  // Axes that count, spatial or reduction ones.
  std::vector<int> axes_of(const StageInfo& info, bool reduce) const {
    std::vector<int> axes;
    const int spatial = static_cast<int>(info.axes.size());
    for (int a = reduce ? spatial : 0; a < (reduce ? axis_count(info) : spatial); ++a) {
      if (!options_.drop_units || !is_unit(axis_of(info, a).extent)) axes.push_back(a);
    }
    return axes;
  }

  // Dimensions that count.
  std::vector<int> dims_of(const Tensor& tensor) const {
    std::vector<int> dims;
    for (size_t d = 0; d < tensor->shape.size(); ++d) {
      if (!options_.drop_units || !is_unit(tensor->shape[d])) dims.push_back(static_cast<int>(d));
    }
    return dims;
  }

  bool pair_stages(State& s, int d, int t) {
    int& to = s.to[static_cast<size_t>(d)];
    int& from = s.from[static_cast<size_t>(t)];
    if (to == t && from == d) return true;
    if (to >= 0 || from >= 0) return fail(s, {MismatchCode::Conflict, d, t, 0, 0});
    const StageInfo& a = donor_.stage(d);
    const StageInfo& b = target_.stage(t);
    if (a.tensor->kind != b.tensor->kind) return fail(s, {MismatchCode::StageKind, d, t, 0, 0});
    if (a.tensor->dtype != b.tensor->dtype) return fail(s, {MismatchCode::DataType, d, t, 0, 0});
    const std::vector<int> rank_a = dims_of(a.tensor), rank_b = dims_of(b.tensor);
    if (rank_a.size() != rank_b.size()) {
      return fail(s, {MismatchCode::Rank, d, t, static_cast<int64_t>(rank_a.size()),
                      static_cast<int64_t>(rank_b.size())});
    }
    if (exact() && a.tensor->shape != b.tensor->shape) {
      for (size_t i = 0; i < rank_a.size(); ++i) {
        const int64_t x = a.tensor->shape[i], y = b.tensor->shape[i];
        if (x != y) return fail(s, {MismatchCode::Extent, d, t, x, y});
      }
    }
    // Single stages do not say whether they are results.
    if (whole() && a.is_output != b.is_output) {
      return fail(s, {MismatchCode::StageKind, d, t, 0, 0});
    }
    if (a.tensor->value_range.has_value() != b.tensor->value_range.has_value()) {
      return fail(s, {MismatchCode::DataType, d, t, 0, 0});
    }
    to = t;
    from = d;
    if (!a.is_compute()) return true;
    if ((a.reduce() == nullptr) != (b.reduce() == nullptr)) {
      return fail(s, {MismatchCode::Reduction, d, t, 0, 0});
    }
    StageBinding& binding = s.bindings[static_cast<size_t>(d)];
    binding.reads.assign(a.accesses.size(), -1);
    binding.axis.assign(static_cast<size_t>(axis_count(a)), -1);
    const std::vector<int> spatial_a = axes_of(a, false), spatial_b = axes_of(b, false);
    for (size_t i = 0; i < spatial_a.size(); ++i) {
      binding.axis[static_cast<size_t>(spatial_a[i])] = spatial_b[i];
    }
    s.goals.push_back({Goal::Kind::Finish, d, t, {}, {}});
    if (a.reduce() == nullptr) {
      s.goals.push_back({Goal::Kind::Exprs, d, t, a.tensor->body, b.tensor->body});
      return true;
    }
    const ReduceNode& ra = *a.reduce();
    const ReduceNode& rb = *b.reduce();
    if (ra.combiner.kind != rb.combiner.kind) return fail(s, {MismatchCode::Combiner, d, t, 0, 0});
    if (ra.combiner.reorderable != rb.combiner.reorderable) {
      return fail(s, {MismatchCode::FixedOrder, d, t, 0, 0});
    }
    if (ra.combiner.kind == Combiner::Kind::Custom && ra.combiner.name != rb.combiner.name) {
      return fail(s, {MismatchCode::Combiner, d, t, 0, 0});
    }
    const std::vector<int> reduce_a = axes_of(a, true), reduce_b = axes_of(b, true);
    if (reduce_a.size() != reduce_b.size()) {
      return fail(s, {MismatchCode::ReductionCount, d, t, static_cast<int64_t>(reduce_a.size()),
                      static_cast<int64_t>(reduce_b.size())});
    }
    s.goals.push_back({Goal::Kind::Exprs, d, t, ra.value, rb.value});
    // Padding is a parameter.
    if (units()) return true;
    if (!ra.where != !rb.where) return fail(s, {MismatchCode::Condition, d, t, 0, 0});
    if (ra.where) s.goals.push_back({Goal::Kind::Exprs, d, t, ra.where, rb.where, true});
    return true;
  }

  static int axis_number(const StageInfo& info, const Expr& var) {
    for (int a = 0; a < axis_count(info); ++a) {
      if (axis_of(info, a).var.same_as(var)) return a;
    }
    return -1;
  }

  static int access_number(const StageInfo& info, const ReadNode& read, const ComputeDag& dag) {
    for (size_t i = 0; i < info.accesses.size(); ++i) {
      const Access& access = info.accesses[i];
      if (dag.stage(access.producer).tensor.get() != read.tensor.get()) continue;
      bool same = true;
      for (size_t k = 0; same && k < access.indices.size(); ++k) {
        same = equal(access.indices[k], read.indices[k]);
      }
      if (same) return static_cast<int>(i);
    }
    return -1;
  }

  bool bind_axis(State& s, int d, int t, int a, int b) {
    StageBinding& binding = s.bindings[static_cast<size_t>(d)];
    int& bound = binding.axis[static_cast<size_t>(a)];
    if (bound == b) return true;
    const bool taken = std::find(binding.axis.begin(), binding.axis.end(), b) != binding.axis.end();
    if (bound >= 0 || taken) return fail(s, {MismatchCode::AccessPattern, d, t, 0, 0});
    bound = b;
    return true;
  }

  bool pair_exprs(State& s, const Goal& g) {
    const Expr &a = g.a, &b = g.b;
    auto differ = [&] {
      return fail(s, {g.condition ? MismatchCode::Condition : MismatchCode::Operation, g.donor,
                      g.target, 0, 0});
    };
    if (a.kind() != b.kind() || a.type() != b.type()) return differ();
    switch (a.kind()) {
      case ExprKind::Const: {
        const auto *x = a.as<ConstNode>(), *y = b.as<ConstNode>();
        const bool same =
            x->i == y->i && std::bit_cast<uint64_t>(x->f) == std::bit_cast<uint64_t>(y->f);
        return same || !exact() ? true : differ();
      }
      case ExprKind::Var: {
        const StageInfo &from = donor_.stage(g.donor), &to = target_.stage(g.target);
        const int x = axis_number(from, a), y = axis_number(to, b);
        if (x < 0 || y < 0) return differ();
        const bool unit_x = is_unit(axis_of(from, x).extent),
                   unit_y = is_unit(axis_of(to, y).extent);
        if (options_.drop_units && unit_x && unit_y) return true;
        return bind_axis(s, g.donor, g.target, x, y);
      }
      case ExprKind::Cast:
      case ExprKind::Reinterpret: break;
      case ExprKind::Unary:
        if (a.as<UnaryNode>()->op != b.as<UnaryNode>()->op) return differ();
        break;
      case ExprKind::Binary:
        if (a.as<BinaryNode>()->op != b.as<BinaryNode>()->op) return differ();
        break;
      case ExprKind::Fma: break;
      case ExprKind::Select: {
        const auto *x = a.as<SelectNode>(), *y = b.as<SelectNode>();
        push(s, g, x->b, y->b);
        push(s, g, x->a, y->a);
        if (!units()) {
          s.goals.push_back({Goal::Kind::Exprs, g.donor, g.target, x->cond, y->cond, true});
        }
        return true;
      }
      case ExprKind::Read: return pair_reads(s, g);
      default: return differ();
    }
    std::vector<Expr> of_a, of_b;
    for_each_child(*a.get(), [&](const Expr& e) { of_a.push_back(e); });
    for_each_child(*b.get(), [&](const Expr& e) { of_b.push_back(e); });
    for (size_t i = of_a.size(); i-- > 0;) push(s, g, of_a[i], of_b[i]);
    return true;
  }

  bool pair_reads(State& s, const Goal& g) {
    const StageInfo &from = donor_.stage(g.donor), &to = target_.stage(g.target);
    const auto *x = g.a.as<ReadNode>(), *y = g.b.as<ReadNode>();
    const int i = access_number(from, *x, donor_), j = access_number(to, *y, target_);
    if (i < 0 || j < 0) return fail(s, {MismatchCode::Operation, g.donor, g.target, 0, 0});
    std::vector<int>& reads = s.bindings[static_cast<size_t>(g.donor)].reads;
    int& bound = reads[static_cast<size_t>(i)];
    if (bound == j) return true;
    auto differ = [&] { return fail(s, {MismatchCode::AccessPattern, g.donor, g.target, i, j}); };
    if (bound >= 0) return is_same_element(to, target_, bound, j) ? true : differ();
    if (const auto at = std::find(reads.begin(), reads.end(), j); at != reads.end()) {
      const int other = static_cast<int>(at - reads.begin());
      return is_same_element(from, donor_, other, i) ? true : differ();
    }
    const Access &p = from.accesses[static_cast<size_t>(i)],
                 &q = to.accesses[static_cast<size_t>(j)];
    const Tensor& read_a = donor_.stage(p.producer).tensor;
    const Tensor& read_b = target_.stage(q.producer).tensor;
    const std::vector<int> dims_a = dims_of(read_a), dims_b = dims_of(read_b);
    if (read_a->dtype != read_b->dtype) {
      return fail(s, {MismatchCode::DataType, p.producer, q.producer, 0, 0});
    }
    if (dims_a.size() != dims_b.size()) return differ();
    bound = j;
    // What is no linear form is compared as it is written.
    for (size_t k = 0; k < dims_a.size(); ++k) {
      const size_t da = static_cast<size_t>(dims_a[k]), db = static_cast<size_t>(dims_b[k]);
      if (p.linear[da].affine != q.linear[db].affine) return differ();
      if (!p.linear[da].affine) {
        s.goals.push_back(
            {Goal::Kind::Exprs, g.donor, g.target, p.indices[da], q.indices[db], true});
      }
    }
    if (whole()) s.goals.push_back({Goal::Kind::Stages, p.producer, q.producer, {}, {}});
    return true;
  }

  // Whether two reads of a stage are of one element: written differently, or with different indices
  // in dimensions that do not count.
  bool is_same_element(const StageInfo& info, const ComputeDag& dag, int i, int j) const {
    const Access &p = info.accesses[static_cast<size_t>(i)],
                 &q = info.accesses[static_cast<size_t>(j)];
    if (p.producer != q.producer) return false;
    for (int d : dims_of(dag.stage(p.producer).tensor)) {
      const LinearIndex &x = p.linear[static_cast<size_t>(d)],
                        &y = q.linear[static_cast<size_t>(d)];
      if (!x.affine || !y.affine || x.offset != y.offset) return false;
      for (int a = 0; a < axis_count(info); ++a) {
        const size_t k = static_cast<size_t>(a);
        const bool counts = !options_.drop_units || !is_unit(axis_of(info, a).extent);
        if (counts && x.coef[k] != y.coef[k]) return false;
      }
    }
    return true;
  }

  // Whether the columns of two axes are the same in every pair of reads.
  bool same_column(const State& s, int d, int t, int a, int b, int64_t* where) const {
    const StageInfo &from = donor_.stage(d), &to = target_.stage(t);
    const std::vector<int>& reads = s.bindings[static_cast<size_t>(d)].reads;
    const bool wild =
        units() && (is_unit(axis_of(from, a).extent) || is_unit(axis_of(to, b).extent));
    if (wild) return true;
    for (size_t i = 0; i < reads.size(); ++i) {
      if (reads[i] < 0) continue;
      const Access &p = from.accesses[i], &q = to.accesses[static_cast<size_t>(reads[i])];
      const std::vector<int> dims_a = dims_of(donor_.stage(p.producer).tensor);
      const std::vector<int> dims_b = dims_of(target_.stage(q.producer).tensor);
      for (size_t k = 0; k < dims_a.size(); ++k) {
        const LinearIndex& x = p.linear[static_cast<size_t>(dims_a[k])];
        const LinearIndex& y = q.linear[static_cast<size_t>(dims_b[k])];
        if (!x.affine) continue;
        const int64_t cx = x.coef[static_cast<size_t>(a)], cy = y.coef[static_cast<size_t>(b)];
        if (units() ? (cx != 0) == (cy != 0) : cx == cy) continue;
        *where = static_cast<int64_t>(i);
        return false;
      }
    }
    return true;
  }

  bool same_offsets(const State& s, int d, int t, int64_t* where) const {
    if (units()) return true;
    const StageInfo &from = donor_.stage(d), &to = target_.stage(t);
    const std::vector<int>& reads = s.bindings[static_cast<size_t>(d)].reads;
    for (size_t i = 0; i < reads.size(); ++i) {
      if (reads[i] < 0) continue;
      const Access &p = from.accesses[i], &q = to.accesses[static_cast<size_t>(reads[i])];
      for (size_t k = 0; k < p.linear.size() && k < q.linear.size(); ++k) {
        if (p.linear[k].affine && p.linear[k].offset != q.linear[k].offset) {
          *where = static_cast<int64_t>(i);
          return false;
        }
      }
    }
    return true;
  }

  // All reads of the stages are paired: their reduction axes are, if some way fits.
  bool finish(State& s, int d, int t) {
    const StageInfo &from = donor_.stage(d), &to = target_.stage(t);
    StageBinding& binding = s.bindings[static_cast<size_t>(d)];
    int64_t where = 0;
    auto differ = [&] {
      const size_t i = static_cast<size_t>(where);
      return fail(s, {MismatchCode::AccessPattern, d, t, where,
                      i < binding.reads.size() ? binding.reads[i] : 0});
    };
    if (!same_offsets(s, d, t, &where)) return differ();
    for (int a : axes_of(from, false)) {
      if (!same_column(s, d, t, a, binding.axis[static_cast<size_t>(a)], &where)) return differ();
    }
    const std::vector<int> open_a = axes_of(from, true), open_b = axes_of(to, true);
    std::vector<bool> taken(open_b.size(), false);
    // Same order first; a depth-first search over what is left, for at most a handful of axes.
    auto place = [&](auto&& self, size_t n) -> bool {
      if (n == open_a.size()) return true;
      const int a = open_a[n];
      const int bound = binding.axis[static_cast<size_t>(a)];
      for (size_t step = 0; step < open_b.size(); ++step) {
        const size_t k = (n + step) % open_b.size();
        const int b = open_b[k];
        if (taken[k] || (bound >= 0 && bound != b)) continue;
        const int64_t x = axis_of(from, a).extent, y = axis_of(to, b).extent;
        if (exact() && x != y) continue;
        if (!same_column(s, d, t, a, b, &where)) continue;
        taken[k] = true;
        binding.axis[static_cast<size_t>(a)] = b;
        if (self(self, n + 1)) return true;
        taken[k] = false;
        binding.axis[static_cast<size_t>(a)] = bound;
      }
      return false;
    };
    if (open_a.size() > 6 && !std::equal(open_a.begin(), open_a.end(), open_b.begin())) {
      return fail(s, {MismatchCode::TooSymmetric, d, t, 0, 0});
    }
    return place(place, 0) ? true : differ();
  }

  DagMap as_map(const State& s) const {
    DagMap map;
    map.level = options_.level;
    for (int d = 0; d < donor_.size(); ++d) {
      const int t = s.to[static_cast<size_t>(d)];
      if (t < 0) continue;
      StageMap stage{d, t, {}, {}};
      const StageBinding& binding = s.bindings[static_cast<size_t>(d)];
      std::vector<bool> met(static_cast<size_t>(axis_count(target_.stage(t))), false);
      for (size_t a = 0; a < binding.axis.size(); ++a) {
        AxisGroup group{{static_cast<int>(a)}, {}};
        if (binding.axis[a] >= 0) {
          group.target.push_back(binding.axis[a]);
          met[static_cast<size_t>(binding.axis[a])] = true;
        }
        stage.axes.push_back(std::move(group));
      }
      for (size_t b = 0; b < met.size(); ++b) {
        if (!met[b]) stage.axes.push_back({{}, {static_cast<int>(b)}});
      }
      for (size_t i = 0; i < binding.reads.size(); ++i) {
        if (binding.reads[i] >= 0) stage.reads.push_back({static_cast<int>(i), binding.reads[i]});
      }
      map.stages.push_back(std::move(stage));
    }
    map.donor_anchor = anchor_of(donor_);
    const StageMap* anchor = map.of_donor(map.donor_anchor);
    map.target_anchor = anchor != nullptr ? anchor->target : anchor_of(target_);
    return map;
  }

  const ComputeDag &donor_, &target_;
  const UnifyOptions options_;
  Mismatch reason_;
  int furthest_ = -1;
  int steps_ = 0, choices_ = 0;
};

}  // namespace

std::optional<DagMap> unify(const ComputeDag& donor, const ComputeDag& target,
                            const UnifyOptions& options, Mismatch* reason) {
  return Unifier(donor, target, options).run(reason);
}

}  // namespace espalier
