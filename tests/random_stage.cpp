#include "random_stage.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace espalier {
namespace {

constexpr std::array<int64_t, 13> kExtents = {1, 2, 3, 5, 7, 13, 31, 49, 127, 128, 129, 197, 1021};

}  // namespace

StageWriter::StageWriter(Rng& rng, int64_t work) : rng_(rng), work_(work) {
  exact_ = rng.chance(0.65);
  dtype_ = rng.chance(0.4) ? draw_dtype() : DType::F32;
}

DType StageWriter::draw_dtype() {
  static constexpr std::array kTypes = {DType::F32,  DType::F64, DType::I32, DType::I8,  DType::U8,
                                        DType::I64,  DType::U32, DType::I16, DType::U16, DType::U64,
                                        DType::Bool, DType::F16, DType::BF16};
  return rng_.pick(kTypes);
}

int64_t StageWriter::extent(int64_t limit) {
  if (rng_.chance(0.004)) return 0;  // rare, since it leaves nothing to compute
  size_t n = 0;
  while (n < kExtents.size() && kExtents[n] <= limit) ++n;
  return n == 0 ? 1 : kExtents[rng_.below(n)];
}

std::vector<int64_t> StageWriter::shape(size_t rank, int64_t limit) {
  std::vector<int64_t> s;
  for (size_t d = 0; d < rank; ++d) {
    s.push_back(extent(limit));
    limit /= std::max<int64_t>(1, s.back());
  }
  rng_.shuffle(s);
  return s;
}

Axis StageWriter::axis(int64_t n) { return reduce_axis(name("r"), n); }

Value StageWriter::input(std::vector<int64_t> s, DType t) {
  Tensor tensor = rng_.chance(0.3) ? constant(name("W"), std::move(s), t)
                                   : placeholder(name("A"), std::move(s), t);
  const bool narrow = t == DType::F16 || t == DType::BF16;
  return {std::move(tensor), is_float(t) ? (narrow ? 2.0 : 4.0) : 0.0};
}

Value StageWriter::index_input(std::vector<int64_t> s, int64_t end) {
  static constexpr std::array kTypes = {DType::I32, DType::I64, DType::U8, DType::I16};
  const DType t = end <= 100 ? rng_.pick(kTypes) : DType::I32;
  return {placeholder(name("I"), std::move(s), t, std::pair<int64_t, int64_t>(0, end)), 0};
}

Value StageWriter::add(std::vector<int64_t> s, int64_t reduction,
                       const std::function<Operand(const Vars&)>& body) {
  int64_t work = std::max<int64_t>(1, reduction);
  for (int64_t e : s) work *= e;
  work_ -= work;
  double magnitude = 0;
  Tensor t = compute_over(name("S"), std::move(s), [&](const Vars& v) {
    Operand e = body(v);
    magnitude = e.magnitude;
    return e.expr;
  });
  stages_.push_back({std::move(t), magnitude});
  return stages_.back();
}

Operand StageWriter::read(const Value& v, std::vector<Expr> at, DType t) {
  const Expr e = v.tensor.at(std::move(at));
  const DType from = v.dtype();
  if (from == t) return {e, v.magnitude};
  const double m = is_float(from)        ? v.magnitude
                   : from == DType::Bool ? 1.0
                                         : std::ldexp(1.0, bits_of(from));
  if (!is_float(t)) return {cast(t, e), 0};
  if (m <= limit_of(t, exact_)) return {cast(t, e), m};
  if (is_float(from)) return {cast(t, clamp({e, m}, 3).expr), 3};
  return {cast(t, cast(DType::Bool, e)), 1};  // integers of many bits do not fit
}

Operand StageWriter::broadcast_read(const Vars& at, const std::vector<int64_t>& s, DType t) {
  std::vector<int64_t> dims;
  std::vector<Expr> index;
  const bool whole = rng_.chance(0.3);
  for (size_t d = 0; d < s.size(); ++d) {
    const double draw = whole ? 0 : rng_.uniform();
    if (draw < 0.6) {
      dims.push_back(s[d]);
      index.push_back(at[d]);
    } else if (draw < 0.75) {
      dims.push_back(1);
      index.push_back(make_index(0));
    }
  }
  return read(input(std::move(dims), t), std::move(index), t);
}

Operand StageWriter::multiply(const Operand& a, const Operand& b) {
  const DType t = a.expr.type().dtype;
  if (t == DType::Bool) return {a.expr && b.expr, 1};
  if (!is_float(t)) return {a.expr * b.expr, 0};
  Operand x = a, y = b;
  if (x.magnitude * y.magnitude > limit_of(t, exact_)) x = clamp(x, 3), y = clamp(y, 3);
  return {x.expr * y.expr, x.magnitude * y.magnitude};
}

Operand StageWriter::reduce(Operand term, std::vector<Axis> axes, Expr where, bool plain_sum) {
  using Kind = Combiner::Kind;
  const DType t = term.expr.type().dtype;
  double count = 1;
  for (const Axis& a : axes) count *= static_cast<double>(a.extent);
  count = std::max(1.0, count);
  if (where) has_absent_terms_ = true;
  auto of = [&](Kind kind, double magnitude) -> Operand {
    return {make_reduce(Combiner::of(kind), term.expr, axes, where), magnitude};
  };
  if (t == DType::Bool) return of(rng_.chance(0.5) ? Kind::And : Kind::Or, 1);
  const double limit = limit_of(t, exact_);
  // Long sums of equal terms, and in types of few bits any long ones, are further off than bounds
  // that count on errors of either sign say.
  const bool narrow = t == DType::F16 || t == DType::BF16;
  if (is_float(t) && !exact_ && count > 48 && (narrow || !plain_sum)) {
    return of(Kind::Max, term.magnitude);
  }
  if (is_float(t) && term.magnitude * count > limit) {
    term = clamp(term, std::max(1.0, std::floor(limit / count)));
    if (term.magnitude * count > limit) return of(Kind::Max, term.magnitude);
  }
  const uint64_t draw = plain_sum ? 11 : rng_.below(12);
  const double grown = std::pow(std::max(1.0, term.magnitude), count);
  if (draw == 0) return of(Kind::Max, term.magnitude);
  if (draw == 1) return of(Kind::Min, term.magnitude);
  if (draw == 2 && (!is_float(t) || grown < std::min(1e6, limit))) {
    return of(Kind::Prod, grown);
  }
  if (draw == 3) return custom(term, std::move(axes), where, count);
  return of(Kind::Sum, term.magnitude * count);
}

// Combiners that no pass knows: a subtraction and a saturating sum, which must stay in order, and
// an exclusive or, which need not.
Operand StageWriter::custom(const Operand& term, std::vector<Axis> axes, const Expr& where,
                            double count) {
  const Type t = term.expr.type();
  Combiner c;
  c.kind = Combiner::Kind::Custom;
  c.lhs = Var("lhs", t);
  c.rhs = Var("rhs", t);
  c.custom_identity = make_number(t, 0);
  const uint64_t draw = rng_.below(3);
  c.reorderable = draw == 0 && is_int(t.dtype);
  if (c.reorderable) {
    c.name = "xor_all";
    c.body = make_binary(BinaryOp::Xor, c.lhs, c.rhs);
  } else if (draw == 1 && is_int(t.dtype)) {
    c.name = "capped";
    c.body = min(max(c.lhs + c.rhs, make_number(t, 0)), make_number(t, 100));
  } else {
    c.name = "minus";
    c.body = c.lhs - c.rhs;
  }
  return {make_reduce(std::move(c), term.expr, std::move(axes), where), term.magnitude * count};
}

}  // namespace espalier
