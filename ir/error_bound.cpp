#include "espalier/ir/error_bound.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include "espalier/ir/access.h"
#include "espalier/ir/internal/bounded_expr.h"
#include "espalier/ir/mutate.h"
#include "espalier/ir/scalar_ops.h"

namespace espalier {
namespace {

// A stage over f64 and the parts of its bound (see Bounded).
struct BoundedTensor {
  Tensor value;
  double relative = 0, floor = 0;
  Tensor absolute;   // none: 0
  double scale = 1;  // of `absolute`
  double most =
      std::numeric_limits<double>::infinity();  // where `absolute` is this, it is infinite
};

BoundedTensor exact(Tensor value) {
  BoundedTensor t;
  t.value = std::move(value);
  return t;
}

// A stage over axes of its own, named like those that the body is written over.
Tensor stage_over(std::string name, const std::vector<Axis>& axes, const Expr& body) {
  VarMap fresh;
  auto renew = [&](const std::vector<Axis>& old) {
    std::vector<Axis> result;
    for (const Axis& a : old) {
      result.push_back({Var(a.var.name()), a.extent});
      fresh.emplace(a.var.get(), result.back().var);
    }
    return result;
  };
  std::vector<Axis> own = renew(axes);
  if (const auto* reduce = body.as<ReduceNode>()) {
    std::vector<Axis> reduced = renew(reduce->axes);
    const Expr where = reduce->where ? substitute(reduce->where, fresh) : Expr();
    return compute_with_axes(
        std::move(name), std::move(own),
        make_reduce(reduce->combiner, substitute(reduce->value, fresh), std::move(reduced), where));
  }
  return compute_with_axes(std::move(name), std::move(own), substitute(body, fresh));
}

class Translator {
 public:
  explicit Translator(const ComputeDag& dag) : dag_(dag) {}

  Result<ComputeDag> run() {
    for (const StageInfo& s : dag_.stages()) {
      done_.emplace(s.tensor.get(), s.is_compute() ? compute_stage(s) : leaf(s));
    }
    std::vector<Tensor> outputs, bounds;
    for (int o : dag_.outputs()) {
      const StageInfo& s = dag_.stage(o);
      outputs.push_back(done_.at(s.tensor.get()).value);
      bounds.push_back(total(s));
    }
    outputs.insert(outputs.end(), bounds.begin(), bounds.end());
    return ComputeDag::make(std::move(outputs));
  }

 private:
  static DType wide(DType t) { return is_float(t) ? DType::F64 : t; }

  static BoundedTensor leaf(const StageInfo& s) {
    const TensorNode& t = *s.tensor;
    if (t.kind == TensorKind::Constant) return exact(constant(s.name, t.shape, wide(t.dtype)));
    return exact(placeholder(s.name, t.shape, wide(t.dtype), t.value_range));
  }

  BoundedTensor compute_stage(const StageInfo& s) {
    std::vector<Axis> axes = s.axes;
    axes.insert(axes.end(), s.reduce_axes.begin(), s.reduce_axes.end());
    BoundedExprs exprs(
        [&](const ReadNode& read, std::vector<Expr> indices) {
          return element(done_.at(read.tensor.get()), std::move(indices));
        },
        [&](const ReadNode& read) { return is_always_in_range(read, axes); },
        s.reduce() != nullptr ? BoundedExprs::KeepFunction()
                              : [&](const Bounded& b) { return kept(s, b); });
    if (const ReduceNode* reduce = s.reduce()) return reduction(s, *reduce, exprs);
    return computed(s, s.name, exprs(s.tensor->body));
  }

  static BoundedTensor computed(const StageInfo& s, const std::string& name, const Bounded& b) {
    BoundedTensor r = exact(stage_over(name, s.axes, b.value));
    r.relative = b.relative;
    r.floor = b.floor;
    if (b.absolute) r.absolute = stage_over(name + "_error", s.axes, b.absolute);
    return r;
  }

  // A part of the stage's body, computed once for each element.
  Bounded kept(const StageInfo& s, const Bounded& b) {
    const std::string name = s.name + "_part" + std::to_string(parts_++);
    std::vector<Expr> index;
    for (const Axis& a : s.axes) index.push_back(a.var);
    return element(computed(s, name, b), std::move(index));
  }

  static Bounded element(const BoundedTensor& t, std::vector<Expr> indices) {
    Bounded b{t.value.at(indices), t.relative, t.floor, {}};
    if (!t.absolute) return b;
    b.absolute = times(t.scale, t.absolute.at(std::move(indices)));
    if (!std::isfinite(t.most)) return b;
    const Expr beyond = b.absolute >= make_float(DType::F64, t.most);
    b.absolute = select(beyond, make_float(DType::F64, HUGE_VAL), b.absolute);
    return b;
  }

  BoundedTensor reduction(const StageInfo& s, const ReduceNode& reduce, BoundedExprs& exprs) {
    const DType t = s.tensor->dtype;
    const Combiner& c = reduce.combiner;
    const Bounded term = exprs(reduce.value);
    Expr where;
    bool where_exact = true;
    if (reduce.where) {
      const Bounded w = exprs(reduce.where);
      where = w.value;
      where_exact = w.exact();
    }
    auto over = [&](const std::string& name, const Combiner& combiner, const Expr& e) {
      return stage_over(name, s.axes, make_reduce(combiner, e, reduce.axes, where));
    };
    BoundedTensor r;
    if (c.kind == Combiner::Kind::Custom && is_float(t)) return custom(s, reduce, term, where);
    r.value = over(s.name, c, term.value);
    double count = 1;
    for (const Axis& a : reduce.axes) count *= static_cast<double>(a.extent);
    const Combiner sum_of = Combiner::of(Combiner::Kind::Sum);
    if (!where_exact) return infinite(s, r.value);
    if (term.exact() && !is_float(t)) return r;
    switch (c.kind) {
      case Combiner::Kind::Sum: {
        const double rounding = rounding_of(t) * (16 + 2 * std::sqrt(count));
        const double own = compound(rounding, term.relative);
        const double growth = growth_of(t) > 1 ? 1 + rounding : 1;
        r.floor = growth * count * term.floor;
        if (!term.absolute) {
          r.absolute = over(s.name + "_magnitude", sum_of, term.magnitude());
          r.scale = own;
        } else {
          r.absolute = over(s.name + "_error", sum_of,
                            plus(times(growth, term.absolute), times(own, term.magnitude())));
        }
        // That is at least `own` times the sum of the magnitudes; where those add up to more than
        // the type holds, a partial sum may be infinite.
        if (is_float(t)) r.most = own * overflow_threshold(t);
        return r;
      }
      case Combiner::Kind::Prod: {
        r.relative = std::expm1(count * (rounding_of(t) + term.relative));
        // A partial product that vanishes is multiplied by the others.
        const Tensor most = over(s.name + "_most", c, max(term.magnitude(), 1.0));
        r.absolute = over_axes(s, s.name + "_vanished", [&](const std::vector<Expr>& i) {
          const Expr lost = times(underflow_of(t) * count, most.at(i));
          const Expr overflows = most.at(i) >= make_float(DType::F64, overflow_threshold(t));
          return select(overflows, make_float(DType::F64, HUGE_VAL), lost ? lost : Expr(0.0));
        });
        if (const Expr d = term.without_relative()) {
          const Tensor drift = over(s.name + "_drift", sum_of, d / term.magnitude());
          const Tensor vanished = r.absolute;
          r.absolute = over_axes(s, s.name + "_error", [&](const std::vector<Expr>& i) {
            return abs(r.value.at(i)) * drift.at(i) + vanished.at(i);
          });
        }
        return r;
      }
      case Combiner::Kind::Max:
      case Combiner::Kind::Min: {
        r.floor = term.floor;
        Expr e = plus(term.absolute, times(term.relative, term.magnitude()));
        if (!e) return r;
        const Tensor most = over(s.name + "_most", Combiner::of(Combiner::Kind::Max), std::move(e));
        // Without any term the most is -inf.
        r.absolute = over_axes(s, s.name + "_error",
                               [&](const std::vector<Expr>& i) { return max(most.at(i), 0.0); });
        return r;
      }
      case Combiner::Kind::And:
      case Combiner::Kind::Or:
      case Combiner::Kind::Custom: return infinite(s, r.value);
    }
    ESP_UNREACHABLE("combiner kind");
  }

  // Nothing is known of what a custom combiner does to errors.
  BoundedTensor custom(const StageInfo& s, const ReduceNode& reduce, const Bounded& term,
                       const Expr& where) {
    const Combiner& c = reduce.combiner;
    Combiner wide_c = c;
    wide_c.lhs = Var(c.lhs.name(), DType::F64);
    wide_c.rhs = Var(c.rhs.name(), DType::F64);
    // The body is translated with the operands standing in for reads.
    const Tensor lhs = placeholder("lhs", {}, c.lhs.type().dtype);
    const Tensor rhs = placeholder("rhs", {}, c.rhs.type().dtype);
    BoundedExprs operands(
        [&](const ReadNode& read, const std::vector<Expr>&) {
          return Bounded{read.tensor == lhs ? wide_c.lhs : wide_c.rhs, 0, 0, {}};
        },
        [](const ReadNode&) { return true; });
    wide_c.body = operands(c.combine(lhs.at({}), rhs.at({}))).value;
    wide_c.custom_identity = operands(c.custom_identity).value;
    return infinite(
        s, stage_over(s.name, s.axes, make_reduce(wide_c, term.value, reduce.axes, where)));
  }

  static Tensor over_axes(const StageInfo& s, std::string name,
                          const std::function<Expr(const std::vector<Expr>&)>& f) {
    std::vector<Expr> index(s.axes.begin(), s.axes.end());
    return stage_over(std::move(name), s.axes, f(index));
  }

  static BoundedTensor infinite(const StageInfo& s, Tensor value) {
    const Expr inf = make_float(DType::F64, HUGE_VAL);
    BoundedTensor t = exact(std::move(value));
    t.absolute = over_axes(s, s.name + "_error", [&](const auto&) { return inf; });
    return t;
  }

  Tensor total(const StageInfo& s) const {
    const BoundedTensor& t = done_.at(s.tensor.get());
    return over_axes(s, s.name + "_bound", [&](const std::vector<Expr>& index) -> Expr {
      const Bounded element_bound = element(t, index);
      if (!is_float(s.tensor->dtype) && element_bound.exact()) return 0.0;
      // The last bits of results that are subnormal in f64 itself.
      const bool vanishes = s.tensor->dtype == DType::F64 && !element_bound.exact();
      const Expr b =
          plus(element_bound.total(), vanishes ? make_float(DType::F64, 0x1p-1060) : Expr());
      const Expr inf = make_float(DType::F64, HUGE_VAL);
      return b.as<ConstNode>() != nullptr ? b : select(b == b, b, inf);
    });
  }

  const ComputeDag& dag_;
  std::unordered_map<const TensorNode*, BoundedTensor> done_;
  int parts_ = 0;  // kept so far
};

}  // namespace

Result<ComputeDag> with_error_bounds(const ComputeDag& dag) { return Translator(dag).run(); }

}  // namespace espalier
