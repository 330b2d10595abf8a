#include "espalier/codegen/lane_rewriter.h"

#include <algorithm>
#include <limits>

#include "espalier/codegen/lane_dependence.h"
#include "espalier/codegen/lane_mask.h"
#include "espalier/codegen/ranges.h"
#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

// What leaves any value unchanged, zeros' signs included.
Expr identity_of(BinaryOp op, Type t) {
  const double inf = std::numeric_limits<double>::infinity();
  const bool fp = is_float(t.dtype);
  switch (op) {
    case BinaryOp::Mul: return make_number(t, 1);
    case BinaryOp::Min: return fp ? make_float(t, inf) : make_int(t, int_max(t.dtype));
    case BinaryOp::Max: return fp ? make_float(t, -inf) : make_int(t, int_min(t.dtype));
    case BinaryOp::And: return make_int(t, -1);
    default: return fp ? make_float(t, -0.0) : make_int(t, 0);
  }
}

class LaneRewriter {
 public:
  LaneRewriter(const LaneBlock& block, const Bounds& bounds) : block_(block), bounds_(bounds) {}

  std::optional<Stmt> run(const Stmt& body) {
    Stmt result = stmt(body);
    if (failed_) return {};
    return result;
  }

 private:
  Stmt stmt(const Stmt& s) {
    done_.clear();
    if (failed_) return s;
    switch (s.kind()) {
      case StmtKind::For: return loop(*s.as<ForNode>());
      case StmtKind::Store: return store(*s.as<StoreNode>());
      case StmtKind::If: return branch(*s.as<IfNode>());
      case StmtKind::Let: return let(*s.as<LetNode>());
      case StmtKind::Block: {
        std::vector<Stmt> parts;
        for (const Stmt& part : s.as<BlockNode>()->stmts) parts.push_back(stmt(part));
        return make_block(std::move(parts));
      }
      case StmtKind::Allocate: return allocate(*s.as<AllocateNode>());
      case StmtKind::Prefetch: return prefetch(*s.as<PrefetchNode>());
    }
    return fail(s);
  }

  template <class T>
  T fail(const T& as_it_was) {
    failed_ = true;
    return as_it_was;
  }

  Stmt loop(const ForNode& n) {
    const Expr min = expr(n.min), extent = expr(n.extent);
    if (min.type().is_vector() || extent.type().is_vector() || n.for_kind == ForKind::Parallel) {
      failed_ = true;
      return n.body;
    }
    bounds_.set(n.var, loop_range(min, extent, bounds_));
    Stmt body = stmt(n.body);
    bounds_.erase(n.var);
    return make_for(n.var, min, extent, n.for_kind, std::move(body), n.partition);
  }

  Stmt let(const LetNode& n) {
    const Expr value = expr(n.value);
    if (!value.type().is_vector()) return make_let(n.var, value, stmt(n.body));
    const Var lanes(n.var.name(), value.type());
    vectors_[n.var.get()] = lanes;
    Stmt body = stmt(n.body);
    vectors_.erase(n.var.get());
    return make_let(lanes, value, std::move(body));
  }

  // A condition that differs between lanes becomes a predicate of all accesses below.
  Stmt branch(const IfNode& n) {
    const Expr cond = expr(n.cond);
    if (!cond.type().is_vector()) {
      Stmt then_case = stmt(n.then_case);
      return make_if(cond, std::move(then_case), n.else_case ? stmt(n.else_case) : Stmt{});
    }
    const Expr outer = condition_;
    // A constant stays visible, since it makes cheaper code; anything else is computed once, as the
    // branches may overwrite what it was read from.
    const bool constant = prefix_of(cond, block_.lanes).has_value();
    const Var held("lanes", cond.type());
    const Expr here = constant ? cond : held;
    condition_ = both(outer, here);
    std::vector<Stmt> parts{stmt(n.then_case)};
    if (n.else_case) {
      condition_ = both(outer, make_unary(UnaryOp::Not, here));
      parts.push_back(stmt(n.else_case));
    }
    condition_ = outer;
    Stmt body = make_block(std::move(parts));
    return constant ? body : make_let(held, cond, std::move(body));
  }

  // A buffer that each iteration has for itself gets a lane dimension.
  Stmt allocate(const AllocateNode& n) {
    constexpr int64_t kMostStackBytes = 1 << 16;
    std::vector<int64_t> shape = n.buffer->shape;
    shape.push_back(block_.lanes);
    const Buffer wide = make_buffer(n.buffer->name, n.buffer->dtype, std::move(shape),
                                    n.buffer->scope, n.buffer->alignment);
    if (wide->scope != BufferScope::Workspace && wide->bytes() > kMostStackBytes) {
      failed_ = true;
      return n.body;
    }
    privates_[n.buffer.get()] = wide;
    Stmt body = stmt(n.body);
    privates_.erase(n.buffer.get());
    return make_allocate(wide, std::move(body));
  }

  Stmt prefetch(const PrefetchNode& n) {
    if (privates_.contains(n.buffer.get())) return make_block({});
    const VarMap first{{block_.var.get(), block_.base}};
    std::vector<Expr> indices;
    for (const Expr& e : n.indices) {
      indices.push_back(simplify(substitute(e, first), bounds_));
      // What data say about the place is not worth waiting for.
      if (reads_or_vector(indices.back())) return make_block({});
    }
    return make_prefetch(n.buffer, std::move(indices), n.for_write, n.locality);
  }

  bool reads_or_vector(const Expr& e) const {
    bool found = false;
    visit(e, [&](const Expr& part) {
      found = found || part.kind() == ExprKind::Load || vectors_.contains(part.get());
      return !found;
    });
    return found;
  }

  Stmt store(const StoreNode& n) {
    Buffer buffer = n.buffer;
    std::vector<Expr> indices = access(&buffer, n.indices);
    const Expr predicate = n.predicate ? expr(n.predicate) : Expr{};
    bool spread = false;
    for (const Expr& e : indices) spread = spread || e.type().is_vector();
    if (spread) {
      return make_store(buffer, std::move(indices), widen(expr(n.value)), mask(predicate),
                        n.non_temporal);
    }
    if (const std::optional<LaneReduction> reduction = as_lane_reduction(n)) {
      Expr term = widen(expr(reduction->term));
      if (const Expr lanes = mask(predicate)) {
        const Expr absent = identity_of(reduction->op, term.type());
        term = make_select(widen(lanes), term, absent);
      }
      const Expr any = any_lane();
      const Expr value = make_binary(reduction->op, make_load(buffer, indices, any),
                                     make_lane_reduce(reduction->op, term));
      return make_store(buffer, std::move(indices), value, any, n.non_temporal);
    }
    const Expr value = expr(n.value);
    if (value.type().is_vector() || (predicate && predicate.type().is_vector())) {
      failed_ = true;
    }
    return make_store(buffer, std::move(indices), value, both(predicate, any_lane()),
                      n.non_temporal);
  }

  std::vector<Expr> access(Buffer* buffer, const std::vector<Expr>& from) {
    std::vector<Expr> indices;
    for (const Expr& e : from) indices.push_back(expr(e));
    const auto it = privates_.find(buffer->get());
    if (it != privates_.end()) {
      *buffer = it->second;
      indices.push_back(make_ramp(make_index(0), 1, block_.lanes));
    }
    return indices;
  }

  // ---- Masks.

  static Expr both(const Expr& a, const Expr& b) {
    if (!a) return b;
    if (!b) return a;
    const int lanes = std::max(a.type().lanes, b.type().lanes);
    const std::optional<int> pa = prefix_of(a, lanes), pb = prefix_of(b, lanes);
    if (lanes > 1 && pa && pb) return *pa <= *pb ? a : b;
    return make_binary(BinaryOp::And, make_broadcast_to(a, lanes), make_broadcast_to(b, lanes));
  }

  static Expr make_broadcast_to(const Expr& e, int lanes) {
    return e.type().is_vector() || lanes == 1 ? e : make_broadcast(e, lanes);
  }

  Expr prefix() const {
    return block_.active < block_.lanes ? make_prefix_mask(block_.active, block_.lanes) : Expr{};
  }

  // Lanes in which an access with this predicate happens; empty: in all.
  Expr mask(const Expr& predicate) const { return both(both(prefix(), condition_), predicate); }

  // Whether the current condition holds in some lane; empty: it always does.
  Expr any_lane() const {
    if (!condition_) return {};
    return make_lane_reduce(BinaryOp::Or, both(prefix(), condition_));
  }

  // ---- Expressions: the result is a scalar where all lanes have the same value.

  Expr widen(const Expr& e) const { return make_broadcast_to(e, block_.lanes); }

  Expr expr(const Expr& e) {
    if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
    Expr result = rewrite(e);
    done_.emplace(e.get(), result);
    return result;
  }

  Expr rewrite(const Expr& e) {
    if (e.type().is_vector()) return fail(e);
    if (e.kind() == ExprKind::Const) return e;
    if (e.kind() == ExprKind::Var) {
      if (e.same_as(block_.var)) return make_ramp(block_.base, 1, block_.lanes);
      const auto it = vectors_.find(e.get());
      return it == vectors_.end() ? e : Expr(it->second);
    }
    if (const auto* n = e.as<LoadNode>()) return load(*n);
    if (e.type() == kIndex && e.kind() == ExprKind::Binary) {
      if (const std::optional<Linear> form = linear(e)) {
        if (form->stride == 0) return form->uses_lane ? form->base : e;
        return make_ramp(form->base, form->stride, block_.lanes);
      }
    }
    if (const auto* n = e.as<BinaryNode>(); n != nullptr && is_comparison(n->op)) {
      if (Expr known = compare(*n)) return known;
    }
    // Operands first, then the same operation on vectors if any of them became one.
    bool spread = false;
    map_children(e, [&](const Expr& part) {
      spread = spread || expr(part).type().is_vector();
      return part;
    });
    if (!spread) return map_children(e, [this](const Expr& part) { return expr(part); });
    if (e.kind() == ExprKind::LaneReduce) return fail(e);
    const auto* select = e.as<SelectNode>();
    if (select != nullptr && !expr(select->cond).type().is_vector()) {
      return make_select(expr(select->cond), widen(expr(select->a)), widen(expr(select->b)));
    }
    return map_children(e, [this](const Expr& part) { return widen(expr(part)); });
  }

  Expr load(const LoadNode& n) {
    Buffer buffer = n.buffer;
    std::vector<Expr> indices = access(&buffer, n.indices);
    const Expr predicate = n.predicate ? expr(n.predicate) : Expr{};
    bool spread = predicate && predicate.type().is_vector();
    if (spread && std::none_of(indices.begin(), indices.end(),
                               [](const Expr& i) { return i.type().is_vector(); })) {
      if (indices.empty()) return fail(make_load(buffer, std::move(indices)));
      indices.back() = widen(indices.back());
    }
    for (const Expr& i : indices) spread = spread || i.type().is_vector();
    if (spread) return make_load(buffer, std::move(indices), mask(predicate));
    const Expr scalar = make_load(buffer, std::move(indices), predicate);
    if (!condition_ || reads_are_harmless(*scalar.as<LoadNode>(), bounds_)) return scalar;
    return make_load(buffer, scalar.as<LoadNode>()->indices, both(predicate, any_lane()));
  }

  // An index as base + stride * lane.
  struct Linear {
    Expr base;
    int64_t stride = 0;
    bool uses_lane = false;
  };

  static int64_t wrapping_mul(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  static int64_t wrapping_add(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }

  std::optional<Linear> linear(const Expr& e) {
    std::optional<Linear> form = linear_parts(e);
    if (form && form->uses_lane) form->base = simplify(form->base, bounds_);
    return form;
  }

  std::optional<Linear> linear_parts(const Expr& e) {
    if (e.same_as(block_.var)) return Linear{block_.base, 1, true};
    const auto* n = e.as<BinaryNode>();
    if (n == nullptr) {
      // The same in all lanes, it may still have used the loop's variable.
      const Expr value = expr(e);
      if (value.type().is_vector()) return {};
      return equal(value, e) ? Linear{e, 0, false} : Linear{value, 0, true};
    }
    const std::optional<Linear> a = linear_parts(n->a), b = linear_parts(n->b);
    if (!a || !b) return {};
    if (!a->uses_lane && !b->uses_lane) return Linear{e, 0, false};
    const Expr base = make_binary(n->op, a->base, b->base);
    if (n->op == BinaryOp::Add) return Linear{base, wrapping_add(a->stride, b->stride), true};
    if (n->op == BinaryOp::Sub) {
      return Linear{base, wrapping_add(a->stride, wrapping_mul(b->stride, -1)), true};
    }
    int64_t by;
    if (n->op == BinaryOp::Mul && is_const_int(n->b, &by)) {
      return Linear{base, wrapping_mul(a->stride, by), true};
    }
    if (n->op == BinaryOp::Mul && is_const_int(n->a, &by)) {
      return Linear{base, wrapping_mul(b->stride, by), true};
    }
    if (a->stride == 0 && b->stride == 0) return Linear{base, 0, true};
    return linear_by_lanes(e);
  }

  // Divisions and the like: lane by lane, and a progression if it turns out to be one.
  std::optional<Linear> linear_by_lanes(const Expr& e) {
    Linear form{{}, 0, true};
    for (int l = 0; l < block_.active; ++l) {
      const VarMap at{{block_.var.get(), block_.base + Expr(l)}};
      const Expr value = simplify(substitute(e, at), bounds_);
      if (l == 0) {
        form.base = value;
        continue;
      }
      int64_t step;
      if (!is_const_int(simplify(value - form.base, bounds_), &step)) return {};
      if (l == 1) form.stride = step;
      if (step != wrapping_mul(form.stride, l)) return {};
    }
    return form;
  }

  // lane < bound and its kin, for linear sides whose difference cannot wrap: the form that
  // prefix_of knows, and a constant where all lanes agree.
  Expr compare(const BinaryNode& n) {
    if (n.a.type() != kIndex) return {};
    const std::optional<Linear> a = linear(n.a), b = linear(n.b);
    if (!a || !b || (!a->uses_lane && !b->uses_lane)) return {};
    const Interval left = bounds_.of(a->base), right = bounds_.of(b->base);
    constexpr int64_t kFar = int64_t{1} << 60;
    for (const int64_t end : {left.lo, left.hi, right.lo, right.hi}) {
      if (end <= -kFar || end >= kFar) return {};
    }
    const int64_t stride = a->stride - b->stride;
    if (std::abs(stride) >= kFar / (2 * block_.lanes)) return {};
    const Expr distance = simplify(b->base - a->base, bounds_);
    if (stride == 0) return simplify(make_binary(n.op, make_index(0), distance), bounds_);
    const Interval range = bounds_.of(distance);
    const int64_t last = stride * (block_.active - 1);
    const Interval lanes{std::min<int64_t>(0, last), std::max<int64_t>(0, last)};
    if (const std::optional<bool> known = decide(n.op, lanes, range)) return make_bool(*known);
    const Expr ramp = make_ramp(make_index(0), stride, block_.lanes);
    if (stride == 1 && n.op == BinaryOp::Le) {
      return make_binary(BinaryOp::Lt, ramp, widen(simplify(distance + Expr(1), bounds_)));
    }
    return make_binary(n.op, ramp, widen(distance));
  }

  // x op y for all x and y of the ranges, if it is the same for all.
  static std::optional<bool> decide(BinaryOp op, Interval x, Interval y) {
    switch (op) {
      case BinaryOp::Lt:
        if (x.hi < y.lo) return true;
        if (x.lo >= y.hi) return false;
        return {};
      case BinaryOp::Le:
        if (x.hi <= y.lo) return true;
        if (x.lo > y.hi) return false;
        return {};
      case BinaryOp::Gt: return decide(BinaryOp::Lt, y, x);
      case BinaryOp::Ge: return decide(BinaryOp::Le, y, x);
      default:
        if (x.hi < y.lo || x.lo > y.hi) return op == BinaryOp::Ne;
        return {};
    }
  }

  const LaneBlock& block_;
  Bounds bounds_;
  bool failed_ = false;
  Expr condition_;  // vector: lanes in which the current statement happens; empty: all
  std::unordered_map<const ExprNode*, Var> vectors_;
  std::unordered_map<const BufferNode*, Buffer> privates_;
  VarMap done_;  // of the current statement
};

}  // namespace

std::optional<Stmt> rewrite_lanes(const Stmt& body, const LaneBlock& block, const Bounds& bounds) {
  return LaneRewriter(block, bounds).run(body);
}

}  // namespace espalier
