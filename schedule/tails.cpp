#include "espalier/schedule/tails.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "espalier/ir/mutate.h"
#include "espalier/ir/simplify.h"
#include "espalier/schedule/linear_condition.h"

namespace espalier {
namespace {

constexpr int64_t kFar = int64_t{1} << 40;  // beyond it nothing is known of an index

bool is_tile(ForKind k) { return k == ForKind::Vectorized || k == ForKind::Unrolled; }

// Every If on `guard` (alone or in a conjunction) is decided, or has `guard` replaced.
Stmt replace_guard(const Stmt& s, const Expr& guard, const Expr& by) {
  if (const IfNode* branch = s.as<IfNode>()) {
    std::vector<Expr> conds = conjuncts(branch->cond);
    bool found = false;
    for (Expr& c : conds) {
      if (equal(c, guard)) {
        c = by;
        found = true;
      }
    }
    if (found) {
      return make_if(conjunction(conds), replace_guard(branch->then_case, guard, by),
                     branch->else_case ? replace_guard(branch->else_case, guard, by) : Stmt());
    }
  }
  return map_children(
      s, [](const Expr& e) { return e; },
      [&](const Stmt& c) { return replace_guard(c, guard, by); });
}

bool is_empty(const Stmt& s) {
  if (!s) return true;
  const BlockNode* block = s.as<BlockNode>();
  return block != nullptr && block->stmts.empty();
}

// Nothing that outlives the statement is written.
bool writes_only_its_own(const Stmt& s) {
  std::unordered_set<const BufferNode*> own;
  bool ok = true;
  visit(
      s,
      [&](const Stmt& c) {
        if (const AllocateNode* a = c.as<AllocateNode>()) own.insert(a->buffer.get());
        if (const StoreNode* st = c.as<StoreNode>()) ok = ok && own.count(st->buffer.get()) > 0;
        return ok;
      },
      [](const Expr&) { return false; });
  return ok;
}

class TailResolver {
 public:
  Stmt visit_stmt(const Stmt& s) {
    if (const ForNode* loop = s.as<ForNode>()) return visit_for(*loop, s);
    return map_children(
        s, [](const Expr& e) { return e; }, [&](const Stmt& c) { return visit_stmt(c); });
  }

 private:
  struct InnerLoop {
    Interval range;
    bool tile = false;
  };

  struct Found {
    Expr guard;
    LinearCondition linear;       // base + inner >= 0
    LinearCondition base, inner;  // over this loop and those outside; over loops further in
    int64_t inner_min = 0, inner_max = 0;
    bool tiles = false;          // mentions a tile loop
    bool serial_inside = false;  // mentions a serial loop further in
    bool innermost_is_tile = false;
    bool same_base(const Found& o) const {
      return base.offset == o.base.offset && base.terms.size() == o.base.terms.size() &&
             std::all_of(base.terms.begin(), base.terms.end(), [&](const auto& t) {
               return std::any_of(o.base.terms.begin(), o.base.terms.end(), [&](const auto& u) {
                 return t.second == u.second && equal(t.first, u.first);
               });
             });
    }
  };

  // Conditions of Ifs below `s` that mention `v`, in order, each once.
  void collect(const Stmt& s, const Expr& v, std::vector<std::pair<Expr, InnerLoop>>& inner,
               std::vector<Found>& out) {
    if (const IfNode* branch = s.as<IfNode>()) {
      for (const Expr& c : conjuncts(branch->cond)) consider(c, v, inner, out);
      collect(branch->then_case, v, inner, out);
      if (branch->else_case) collect(branch->else_case, v, inner, out);
      return;
    }
    if (const ForNode* loop = s.as<ForNode>()) {
      Interval range = range_of(*loop);
      inner.push_back({loop->var, {range, is_tile(loop->for_kind)}});
      bounds_.set(loop->var, range);
      collect(loop->body, v, inner, out);
      bounds_.erase(loop->var);
      inner.pop_back();
      return;
    }
    if (const BlockNode* block = s.as<BlockNode>()) {
      for (const Stmt& c : block->stmts) collect(c, v, inner, out);
    } else if (const AllocateNode* a = s.as<AllocateNode>()) {
      collect(a->body, v, inner, out);
    } else if (const LetNode* let = s.as<LetNode>()) {
      collect(let->body, v, inner, out);
    }
  }

  void consider(const Expr& cond, const Expr& v,
                const std::vector<std::pair<Expr, InnerLoop>>& inner, std::vector<Found>& out) {
    for (const Found& f : out) {
      if (equal(f.guard, cond)) return;
    }
    if (!mentions(cond, v)) return;
    std::optional<LinearCondition> linear = as_linear_condition(cond);
    if (!linear) return;
    Found f;
    f.guard = cond;
    for (const auto& [atom, coef] : linear->terms) {
      const InnerLoop* loop = nullptr;
      Interval range;
      for (const auto& [var, info] : inner) {
        int64_t block = 1;
        if (atom.same_as(var) || is_block_of(atom, var, &block)) {
          loop = &info;
          range = {info.range.lo / block, info.range.hi / block};
          continue;
        }
        // Inside a division nothing can be said of an inner loop's part.
        if (atom.kind() != ExprKind::Var && mentions(atom, var)) return;
      }
      if (loop == nullptr) {
        f.base.terms.emplace_back(atom, coef);
        continue;
      }
      f.inner.terms.emplace_back(atom, coef);
      (loop->tile ? f.tiles : f.serial_inside) = true;
      const Interval r = range;
      const bool known = r.lo > -kFar && r.hi < kFar && std::abs(coef) < kFar;
      f.inner_min =
          known && f.inner_min > -kFar ? f.inner_min + std::min(coef * r.lo, coef * r.hi) : -kFar;
      f.inner_max =
          known && f.inner_max < kFar ? f.inner_max + std::max(coef * r.lo, coef * r.hi) : kFar;
    }
    f.base.offset = linear->offset;
    for (auto it = inner.rbegin(); it != inner.rend(); ++it) {
      if (mentions(cond, it->first)) {
        f.innermost_is_tile = it->second.tile;
        break;
      }
    }
    f.linear = std::move(*linear);
    out.push_back(std::move(f));
  }

  static bool mentions(const Expr& e, const Expr& v) {
    bool found = false;
    visit(e, [&](const Expr& x) {
      found = found || x.same_as(v);
      return !found;
    });
    return found;
  }

  Interval range_of(const ForNode& loop) const {
    const Interval lo = bounds_.of(loop.min);
    const Interval end = bounds_.of(make_binary(BinaryOp::Add, loop.min, loop.extent));
    const Interval n = bounds_.of(loop.extent);
    Interval range{lo.lo, end.hi == INT64_MAX ? INT64_MAX : end.hi - 1};
    if (lo.is_point() && n.hi != INT64_MAX) range.hi = std::min(range.hi, lo.lo + n.hi - 1);
    if (range.hi < range.lo) range.hi = range.lo;
    return range;
  }

  Stmt visit_for(const ForNode& loop, const Stmt& original) {
    bounds_.set(loop.var, range_of(loop));
    Stmt result = resolve(loop, original);
    bounds_.erase(loop.var);
    return result;
  }

  Stmt resolve(const ForNode& loop, const Stmt& original) {
    if (is_tile(loop.for_kind)) {
      if (Stmt clipped = clip(loop)) return visit_stmt(clipped);
      Stmt body = visit_stmt(loop.body);
      if (body.same_as(loop.body)) return original;
      return make_for(loop.var, loop.min, loop.extent, loop.for_kind, body);
    }
    if (loop.partition) return partition(loop);
    if (Stmt clipped = clip(loop)) return visit_stmt(clipped);
    if (Stmt peeled = peel(loop)) return visit_stmt(peeled);
    Stmt body = visit_stmt(loop.body);
    if (body.same_as(loop.body)) return original;
    return make_for(loop.var, loop.min, loop.extent, loop.for_kind, body);
  }

  // `atom` is var div block, for a loop variable that is never negative.
  static bool is_block_of(const Expr& atom, const Expr& var, int64_t* block) {
    const BinaryNode* b = atom.as<BinaryNode>();
    return b != nullptr && b->op == BinaryOp::FloorDiv && b->a.same_as(var) &&
           is_const_int(b->b, block) && *block > 0;
  }

  // All of the body is under conditions on the loop: they become its bounds.
  Stmt clip(const ForNode& loop) {
    const IfNode* branch = loop.body.as<IfNode>();
    if (branch == nullptr || branch->else_case) return {};
    Expr min = loop.min, end = make_binary(BinaryOp::Add, loop.min, loop.extent);
    std::vector<Expr> hoisted, left;
    bool clipped = false;
    for (const Expr& c : conjuncts(branch->cond)) {
      if (!mentions(c, loop.var)) {
        hoisted.push_back(c);
        continue;
      }
      std::optional<LinearCondition> linear = as_linear_condition(c);
      int64_t coef = linear ? linear->coef_of(loop.var) : 0;
      Expr rest = coef != 0 ? linear->rest(loop.var) : Expr();
      int64_t block = 1;
      if (coef == 0 && linear) {
        for (const auto& [atom, c] : linear->terms) {
          if (c < 0 && is_block_of(atom, loop.var, &block)) {
            coef = c;
            rest = linear->rest(atom);
            break;
          }
        }
      }
      if (coef == 0 || mentions(rest, loop.var)) {
        left.push_back(c);
        continue;
      }
      if (coef > 0) {  // v >= ceil(-rest / coef)
        min = espalier::max(min, floordiv(make_index(coef - 1) - rest, make_index(coef)));
      } else {  // v <= floor(rest / -coef)
        // (v div block <= floor(rest / -coef) for whole blocks)
        end = espalier::min(
            end, (floordiv(rest, make_index(-coef)) + make_index(1)) * make_index(block));
      }
      clipped = true;
    }
    if (!clipped && hoisted.empty()) return {};
    // Lanes and straight code need a constant extent.
    min = simplify(min, bounds_without(loop.var));
    Expr extent = simplify(end - min, bounds_without(loop.var));
    if (is_tile(loop.for_kind) && !is_const_int(extent)) return {};
    Stmt body = left.empty() ? branch->then_case : make_if(conjunction(left), branch->then_case);
    Stmt result = make_for(loop.var, min, extent, loop.for_kind, body, loop.partition);
    if (!hoisted.empty()) result = make_if(conjunction(hoisted), result);
    return simplify(result, bounds_without(loop.var));
  }

  // Tiles inside the loop end in the middle of a tile: full tiles first, then the one that is not.
  Stmt peel(const ForNode& loop) {
    std::vector<std::pair<Expr, InnerLoop>> inner;
    std::vector<Found> found;
    collect(loop.body, loop.var, inner, found);
    for (const Found& leader : found) {
      if (!leader.tiles || leader.serial_inside) continue;
      // All conditions that start from the same base are decided together.
      std::vector<const Found*> group;
      int64_t inner_min = leader.inner_min, inner_max = leader.inner_max;
      for (const Found& f : found) {
        if (!f.same_base(leader) || f.inner_min <= -kFar || f.inner_max >= kFar) continue;
        group.push_back(&f);
        inner_min = std::min(inner_min, f.inner_min);
        inner_max = std::max(inner_max, f.inner_max);
      }
      int64_t step = 0;
      for (const auto& [atom, coef] : leader.base.terms) step = std::gcd(step, coef);
      if (group.empty() || step <= inner_max - inner_min) continue;
      // Bases are its offset modulo step: at most one of them lies where only a part of the inner
      // iterations exists, in [-inner_max, -inner_min).
      int64_t partial = ((leader.base.offset % step) + step) % step;
      while (partial >= -inner_min) partial -= step;
      while (partial + step < -inner_min) partial += step;
      const bool has_partial = partial >= -inner_max;

      const Bounds outside = bounds_without(loop.var);
      Stmt full = loop.body, part = has_partial ? loop.body : Stmt(), none = loop.body;
      for (const Found* f : group) {
        full = replace_guard(full, f->guard, make_bool(true));
        none = replace_guard(none, f->guard, make_bool(false));
        if (!has_partial) continue;
        part =
            replace_guard(part, f->guard, f->inner.rest({}) + make_index(partial) >= make_index(0));
      }
      none = simplify(none, bounds_);
      if (writes_only_its_own(none)) none = Stmt();
      const int64_t coef = leader.base.coef_of(loop.var);
      const Expr rest = leader.base.rest(loop.var);
      if (coef < 0 && loop.for_kind == ForKind::Serial && is_empty(none) &&
          !mentions(rest, loop.var)) {
        // base >= -slack  <=>  v <= floor((rest + slack) / -coef)
        auto end_where = [&](int64_t slack) {
          return floordiv(rest + make_index(slack), make_index(-coef)) + make_index(1);
        };
        const Expr end = loop.min + loop.extent;
        const Expr full_end =
            simplify(espalier::max(loop.min, espalier::min(end, end_where(inner_min))), outside);
        Stmt result = make_for(loop.var, loop.min, full_end - loop.min, loop.for_kind, full);
        if (has_partial) {
          const Expr part_end = espalier::min(end, end_where(-partial));
          result = make_block(
              {result, make_for(loop.var, full_end, part_end - full_end, loop.for_kind, part)});
        }
        return simplify(result, outside);
      }
      const Expr base = leader.base.rest({});
      Stmt otherwise = none;
      if (has_partial) otherwise = make_if(base >= make_index(partial), part, none);
      if (is_empty(otherwise)) otherwise = Stmt();
      return simplify(make_for(loop.var, loop.min, loop.extent, loop.for_kind,
                               make_if(base >= make_index(-inner_min), full, otherwise)),
                      outside);
    }
    return {};
  }

  // Low, interior and high parts: in the interior all conditions hold that only straight code or
  // lanes could decide otherwise.
  Stmt partition(const ForNode& loop) {
    const Bounds outside = bounds_without(loop.var);
    const Stmt plain = make_for(loop.var, loop.min, loop.extent, loop.for_kind, loop.body);
    int64_t min = 0, extent = 0;
    if (!is_const_int(loop.min, &min) || !is_const_int(loop.extent, &extent)) {
      return visit_stmt(plain);
    }
    std::vector<std::pair<Expr, InnerLoop>> inner;
    std::vector<Found> found;
    collect(loop.body, loop.var, inner, found);
    int64_t lo = min, hi = min + extent;
    std::vector<Expr> hold;
    for (const Found& f : found) {
      if (!f.innermost_is_tile && f.serial_inside) continue;  // clipped there
      const int64_t coef = f.linear.coef_of(loop.var);
      const Expr rest = f.linear.rest(loop.var);
      if (coef == 0 || mentions(rest, loop.var)) continue;
      const Interval r = with_inner(loop.body, rest);
      if (r.lo == INT64_MIN || r.lo < -kFar) continue;
      const int64_t a = coef > 0 ? coef : -coef;
      if (coef > 0) {
        lo = std::max(lo, -floor_div(r.lo, a));
      } else {
        hi = std::min(hi, floor_div(r.lo, a) + 1);
      }
      hold.push_back(f.guard);
    }
    if (hold.empty() || lo >= hi || (lo <= min && hi >= min + extent)) {
      Stmt body = loop.body;
      if (!hold.empty() && lo < hi) {
        for (const Expr& g : hold) body = replace_guard(body, g, make_bool(true));
      }
      return visit_stmt(
          simplify(make_for(loop.var, loop.min, loop.extent, loop.for_kind, body), outside));
    }
    Stmt interior = loop.body;
    for (const Expr& g : hold) interior = replace_guard(interior, g, make_bool(true));
    if (loop.for_kind == ForKind::Parallel) {
      const Expr in = loop.var >= make_index(lo) && loop.var < make_index(hi);
      return visit_stmt(simplify(make_for(loop.var, loop.min, loop.extent, loop.for_kind,
                                          make_if(in, interior, loop.body)),
                                 outside));
    }
    auto part = [&](int64_t from, int64_t to, const Stmt& body) {
      return make_for(loop.var, make_index(from), make_index(to - from), loop.for_kind, body);
    };
    return visit_stmt(simplify(make_block({part(min, lo, loop.body), part(lo, hi, interior),
                                           part(hi, min + extent, loop.body)}),
                               outside));
  }

  static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

  // Range of `e` over all loops below `body` too.
  Interval with_inner(const Stmt& body, const Expr& e) {
    Bounds all = bounds_;
    visit(
        body,
        [&](const Stmt& s) {
          if (const ForNode* f = s.as<ForNode>()) {
            const Interval lo = all.of(f->min);
            const Interval n = all.of(f->extent);
            const Interval end = all.of(make_binary(BinaryOp::Add, f->min, f->extent));
            int64_t last = end.hi == INT64_MAX ? INT64_MAX : end.hi - 1;
            if (lo.is_point() && n.hi != INT64_MAX) last = std::min(last, lo.lo + n.hi - 1);
            all.set(f->var, {lo.lo, std::max(lo.lo, last)});
          }
          return true;
        },
        [](const Expr&) { return false; });
    return all.of(e);
  }

  Bounds bounds_without(const Var& v) const {
    Bounds b = bounds_;
    b.erase(v);
    return b;
  }

  Bounds bounds_;
};

}  // namespace

Stmt resolve_tails(const Stmt& s) { return TailResolver().visit_stmt(s); }

}  // namespace espalier
