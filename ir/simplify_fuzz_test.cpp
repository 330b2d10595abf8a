// Random expressions of every type, before and after simplification, at the ends of their ranges.
#include <gtest/gtest.h>

#include <array>
#include <unordered_map>

#include "espalier/ir/mutate.h"
#include "espalier/ir/scalar_ops.h"
#include "espalier/ir/simplify.h"
#include "espalier/support/rng.h"

namespace espalier {
namespace {

using Values = std::unordered_map<const ExprNode*, ScalarBits>;

// One lane of an expression over scalars.
ScalarBits evaluate(const Expr& e, const Values& values, int lane) {
  switch (e.kind()) {
    case ExprKind::Const: {
      const auto* n = e.as<ConstNode>();
      return is_float(n->type.dtype) ? bits_from_double(n->type.dtype, n->f)
                                     : static_cast<ScalarBits>(n->i);
    }
    case ExprKind::Var: return values.at(e.get());
    case ExprKind::Cast: {
      const Expr& v = e.as<CastNode>()->value;
      return apply_cast(v.type().dtype, e.type().dtype, evaluate(v, values, lane));
    }
    case ExprKind::Unary: {
      const auto* n = e.as<UnaryNode>();
      return apply(n->op, e.type().dtype, evaluate(n->a, values, lane));
    }
    case ExprKind::Binary: {
      const auto* n = e.as<BinaryNode>();
      return apply(n->op, n->a.type().dtype, evaluate(n->a, values, lane),
                   evaluate(n->b, values, lane));
    }
    case ExprKind::Select: {
      const auto* n = e.as<SelectNode>();
      return evaluate(evaluate(n->cond, values, lane) != 0 ? n->a : n->b, values, lane);
    }
    case ExprKind::Ramp: {
      const auto* n = e.as<RampNode>();
      const DType t = e.type().dtype;
      const ScalarBits offset = bits_from_int(
          t, static_cast<int64_t>(static_cast<uint64_t>(n->stride) * static_cast<uint64_t>(lane)));
      return apply(BinaryOp::Add, t, evaluate(n->base, values, lane), offset);
    }
    case ExprKind::Broadcast: return evaluate(e.as<BroadcastNode>()->value, values, lane);
    default: ADD_FAILURE() << to_string(e); return 0;
  }
}

class Generator {
 public:
  Generator(Rng& rng, DType t, int lanes) : rng_(rng), lanes_(lanes) {
    for (size_t n = 0; n < vars_.size(); ++n) {
      vars_[n] = Var(std::string(1, static_cast<char>('a' + n)), t);
      add_range(vars_[n], t);
    }
  }

  Expr number(DType t, int depth) {
    using enum BinaryOp;
    if (depth == 0 || chance(12)) return leaf(t);
    const auto sub = [&] { return number(t, depth - 1); };
    switch (below(14)) {
      case 0:
      case 1: return make_binary(Add, sub(), sub());
      case 2: return make_binary(Sub, sub(), sub());
      case 3: return make_binary(Mul, sub(), chance(85) ? constant(t) : sub());
      case 4: return make_binary(FloorDiv, sub(), chance(85) ? constant(t) : sub());
      case 5: return make_binary(FloorMod, sub(), chance(85) ? constant(t) : sub());
      case 6: return make_binary(TruncDiv, sub(), chance(85) ? constant(t) : sub());
      case 7: return make_binary(TruncMod, sub(), chance(85) ? constant(t) : sub());
      case 8: return make_binary(chance(50) ? Min : Max, sub(), sub());
      case 9: return make_select(condition(t, depth - 1), sub(), sub());
      case 10: return parts_of(sub(), t);
      case 11: {
        const DType other = kIntegers[static_cast<size_t>(below(8))];
        return make_cast(Type(t, lanes_), make_cast(Type(other, lanes_), sub()));
      }
      case 12: return make_cast(Type(t, lanes_), condition(t, depth - 1));
      default: {
        constexpr BinaryOp kBits[] = {And, Or, Xor, Shl, Shr};
        if (chance(50)) return make_unary(chance(50) ? UnaryOp::Neg : UnaryOp::Abs, sub());
        return make_binary(kBits[below(5)], sub(), sub());
      }
    }
  }

  Expr condition(DType t, int depth) {
    using enum BinaryOp;
    if (depth > 0 && chance(35)) {
      const Expr a = condition(t, depth - 1);
      if (chance(25)) return make_unary(UnaryOp::Not, a);
      return make_binary(chance(50) ? And : Or, a, condition(t, depth - 1));
    }
    constexpr BinaryOp kOps[] = {Lt, Le, Gt, Ge, Eq, Ne};
    const Expr a = number(t, depth > 0 ? depth - 1 : 0);
    const Expr b = chance(60) ? constant(t) : number(t, depth > 0 ? depth - 1 : 0);
    return make_binary(kOps[below(6)], a, b);
  }

  // Values within the ranges, their ends more often than not.
  Values values() {
    Values v;
    for (const Var& var : vars_) {
      const DType t = var.type().dtype;
      const Interval* known = bounds_.find(var.get());
      const Interval r = known != nullptr ? *known : Interval{int_min(t), int_max(t)};
      int64_t x;
      switch (below(4)) {
        case 0: x = r.lo; break;
        case 1: x = r.hi; break;
        case 2: x = nudge(chance(50) ? r.lo : r.hi, r); break;
        default: x = uniform(r);
      }
      v[var.get()] = bits_from_int(t, x);
    }
    return v;
  }

  const Bounds& bounds() const { return bounds_; }

  static constexpr std::array kIntegers = {DType::I8, DType::I16, DType::I32, DType::I64,
                                           DType::U8, DType::U16, DType::U32, DType::U64};

 private:
  int below(int n) { return static_cast<int>(rng_.below(static_cast<uint64_t>(n))); }
  bool chance(int percent) { return below(100) < percent; }

  int64_t uniform(Interval r) {
    const uint64_t span = static_cast<uint64_t>(r.hi) - static_cast<uint64_t>(r.lo) + 1;
    const uint64_t x = span == 0 ? rng_.next() : rng_.below(span);
    return static_cast<int64_t>(static_cast<uint64_t>(r.lo) + x);
  }
  int64_t nudge(int64_t x, Interval r) {
    const uint64_t y = static_cast<uint64_t>(x) + static_cast<uint64_t>(below(7)) - 3;
    const int64_t n = static_cast<int64_t>(y);
    return n < r.lo || n > r.hi ? x : n;
  }

  void add_range(const Var& v, DType t) {
    if (t == DType::U64 || chance(15)) return;  // of any value
    const Interval all{int_min(t), int_max(t)};
    switch (below(4)) {
      case 0: {  // near an end
        const Interval r = chance(50) ? Interval{all.hi - below(40), all.hi}
                                      : Interval{all.lo, all.lo + below(40)};
        bounds_.set(v, r);
        return;
      }
      case 1: {
        Interval r{uniform(all), uniform(all)};
        if (r.lo > r.hi) std::swap(r.lo, r.hi);
        bounds_.set(v, r);
        return;
      }
      case 2:
        if (is_signed_int(t)) {
          bounds_.set(v, {-below(20), below(20)});
          return;
        }
        [[fallthrough]];
      default: bounds_.set(v, {0, below(3) == 0 ? below(4) : below(64)});
    }
  }

  // Sums of quotients and remainders of `x` that may make something of it again.
  Expr parts_of(const Expr& x, DType t) {
    using enum BinaryOp;
    const auto op = [](BinaryOp o, const Expr& a, const Expr& b) { return make_binary(o, a, b); };
    const Expr d = chance(80) ? small(t) : constant(t), e = small(t);
    const Expr low = op(FloorMod, x, d), high = op(Mul, op(FloorDiv, x, d), d);
    switch (below(4)) {
      case 0: return op(Add, high, low);
      case 1: return op(Sub, x, high);
      case 2: {
        const Expr middle = op(FloorMod, op(FloorDiv, x, d), e), de = op(Mul, d, e);
        return op(Add, op(Mul, op(FloorDiv, x, de), de), op(Add, op(Mul, middle, d), low));
      }
      default: {  // an axis, tiled and put together
        const Expr tiled = op(Add, op(Mul, x, d), op(FloorMod, leaf(t), d));
        return op(chance(50) ? FloorDiv : FloorMod, tiled, chance(50) ? d : op(Mul, d, e));
      }
    }
  }

  Expr small(DType t) { return make_int(Type(t, lanes_), 1 + below(12)); }
  Expr leaf(DType t) {
    if (chance(20)) return constant(t);
    Expr v = vars_[static_cast<size_t>(below(static_cast<int>(vars_.size())))];
    if (lanes_ == 1) return v;
    if (chance(40)) return make_ramp(v, below(9) - 4, lanes_);
    return make_broadcast(v, lanes_);
  }
  Expr constant(DType t) {
    int64_t v;
    switch (below(8)) {
      case 0: v = int_min(t) + below(3); break;
      case 1: v = int_max(t) - below(3); break;
      case 2: v = uniform({int_min(t), int_max(t) == -1 ? INT64_MAX : int_max(t)}); break;
      case 3: v = int64_t{1} << below(std::min(bits_of(t), 63)); break;
      case 4: v = -below(20); break;
      default: v = below(20);
    }
    return make_int(Type(t, lanes_), v);
  }

  Rng& rng_;
  int lanes_;
  std::array<Var, 4> vars_;
  Bounds bounds_;
};

std::string describe(const Bounds& bounds, const Expr& e, const Values& values) {
  std::string text = to_string(e) + "\n";
  visit(e, [&](const Expr& n) {
    if (const auto* v = n.as<VarNode>()) {
      const Interval* r = bounds.find(v);
      text += v->name + ": " + to_string(v->type) + " = " +
              std::to_string(static_cast<int64_t>(values.at(v)));
      if (r != nullptr) {
        text += " in [" + std::to_string(r->lo) + ", " + std::to_string(r->hi) + "]";
      }
      text += "\n";
    }
    return true;
  });
  return text;
}

void check(uint64_t seed, int lanes, int depth) {
  Rng rng(seed);
  const DType t = Generator::kIntegers[rng.below(8)];
  Generator g(rng, rng.below(2) == 0 ? DType::I64 : t, lanes);
  const DType used = rng.below(2) == 0 ? DType::I64 : t;
  Generator typed(rng, used, lanes);
  const Expr e = rng.below(3) == 0 ? typed.condition(used, depth) : typed.number(used, depth);
  const Expr s = simplify(e, typed.bounds());
  ASSERT_EQ(s.type(), e.type());
  const Expr again = simplify(s, typed.bounds());
  ASSERT_TRUE(again.same_as(s)) << "seed " << seed << ": not stable\n"
                                << to_string(e) << "\n"
                                << to_string(s) << "\n"
                                << to_string(again);
  if (equal(e, s)) ASSERT_TRUE(e.same_as(s)) << "seed " << seed << ": " << to_string(e);
  const Interval range = typed.bounds().of(e);
  for (int n = 0; n < 12; ++n) {
    const Values values = typed.values();
    for (int lane = 0; lane < lanes; ++lane) {
      const ScalarBits want = evaluate(e, values, lane), got = evaluate(s, values, lane);
      ASSERT_EQ(static_cast<int64_t>(want), static_cast<int64_t>(got))
          << "seed " << seed << ", lane " << lane << "\n"
          << describe(typed.bounds(), e, values) << to_string(s);
      ASSERT_TRUE(static_cast<int64_t>(want) >= range.lo && static_cast<int64_t>(want) <= range.hi)
          << "seed " << seed << ": " << static_cast<int64_t>(want) << " outside [" << range.lo
          << ", " << range.hi << "]\n"
          << describe(typed.bounds(), e, values);
    }
  }
}

TEST(SimplifyFuzz, Scalars) {
  for (uint64_t seed = 0; seed < 20000 && !testing::Test::HasFailure(); ++seed) {
    check(seed, 1, 1 + static_cast<int>(seed % 5));
  }
}

TEST(SimplifyFuzz, Vectors) {
  for (uint64_t seed = 0; seed < 8000 && !testing::Test::HasFailure(); ++seed) {
    check(seed, 4, 1 + static_cast<int>(seed % 4));
  }
}

}  // namespace
}  // namespace espalier
