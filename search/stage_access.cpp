#include "espalier/search/stage_access.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "espalier/ir/access.h"
#include "espalier/ir/buffer.h"
#include "espalier/ir/children.h"
#include "espalier/ir/mutate.h"
#include "espalier/ir/simplify.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

// Marks the axes whose variables occur in the expression.
void find_axes(const Expr& e, const std::vector<Axis>& axes, std::vector<bool>* found) {
  if (e.kind() == ExprKind::Var) {
    for (size_t a = 0; a < axes.size(); ++a) {
      if (axes[a].var.same_as(e)) (*found)[a] = true;
    }
    return;
  }
  for_each_child(*e.get(), [&](const Expr& child) { find_axes(child, axes, found); });
}

std::vector<Axis> axes_of(const StageInfo& info) {
  std::vector<Axis> axes = info.axes;
  axes.insert(axes.end(), info.reduce_axes.begin(), info.reduce_axes.end());
  return axes;
}

// The axes of the definition with the parts of those that are cut.
struct Parts {
  std::vector<Axis> axes;
  std::vector<int> origin;
  std::vector<AxisPart> part;
  VarMap whole;   // the axes that are cut over their parts
  Bounds bounds;  // of all

  Parts(const StageInfo& info, const std::vector<AxisCut>& cuts) {
    const std::vector<Axis> defined = axes_of(info);
    for (size_t a = 0; a < defined.size(); ++a) {
      const int axis = static_cast<int>(a);
      const auto cut =
          std::find_if(cuts.begin(), cuts.end(), [&](const AxisCut& c) { return c.axis == axis; });
      if (cut == cuts.end()) {
        add(defined[a], axis, AxisPart::Whole);
        continue;
      }
      const Axis outer{Var(defined[a].var.name()), ceil_div(defined[a].extent, cut->by)};
      const Axis inner{Var(defined[a].var.name()), cut->by};
      add(outer, axis, AxisPart::Outer);
      add(inner, axis, AxisPart::Inner);
      whole.emplace(defined[a].var.get(), outer.var * cut->by + inner.var);
    }
    for (const Axis& a : axes) bounds.set(a.var, {0, std::max<int64_t>(a.extent, 1) - 1});
  }

 private:
  void add(Axis axis, int from, AxisPart which) {
    axes.push_back(std::move(axis));
    origin.push_back(from);
    part.push_back(which);
  }
};

// Adds what the sum says to the steps, `factor` times over.
void add_terms(const Expr& e, int64_t factor, const std::vector<Axis>& axes, ReadDimension* dim) {
  for (size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].var.same_as(e)) {
      dim->step[a] += factor;
      return;
    }
  }
  if (const auto* binary = e.as<BinaryNode>()) {
    if (binary->op == BinaryOp::Add || binary->op == BinaryOp::Sub) {
      add_terms(binary->a, factor, axes, dim);
      add_terms(binary->b, binary->op == BinaryOp::Sub ? -factor : factor, axes, dim);
      return;
    }
    int64_t times = 0;
    if (binary->op == BinaryOp::Mul && is_const_int(binary->b, &times)) {
      if (const auto product = checked_mul(factor, times); product && *product != INT64_MIN) {
        add_terms(binary->a, *product, axes, dim);
        return;
      }
    }
  }
  find_axes(e, axes, &dim->irregular);
}

ReadDimension analyze_dimension(const StageInfo& info, const StageRead& read, size_t d,
                                const Parts& parts, const std::vector<AxisCut>& cuts) {
  const size_t n = parts.axes.size();
  ReadDimension dim{std::vector<int64_t>(n, 0), std::vector<bool>(n, false)};
  const LinearIndex& index = read.linear[d];
  if (!index.affine && read.path.size() == 1) {
    // Sums may be regular in some axes; one that data decide may name all, and means a few.
    const Expr e = info.accesses[static_cast<size_t>(read.path[0])].indices[d];
    if (cuts.empty()) {
      add_terms(e, 1, parts.axes, &dim);
    } else {
      add_terms(simplify(substitute(e, parts.whole), parts.bounds), 1, parts.axes, &dim);
    }
    return dim;
  }
  for (size_t p = 0; p < n; ++p) {
    const size_t a = static_cast<size_t>(parts.origin[p]);
    const int64_t coef = a < index.coef.size() ? index.coef[a] : 0;
    if (coef == 0) continue;
    if (!index.affine) {
      dim.irregular[p] = true;
      continue;
    }
    const auto cut = std::find_if(cuts.begin(), cuts.end(), [&](const AxisCut& c) {
      return c.axis == parts.origin[p] && parts.part[p] == AxisPart::Outer;
    });
    dim.step[p] = coef * (cut == cuts.end() ? 1 : cut->by);
  }
  return dim;
}

ReadAccess analyze_read(const State& state, const StageInfo& info, const StageRead& read,
                        int number, const Parts& parts, const std::vector<AxisCut>& cuts) {
  const size_t axes = parts.axes.size();
  ReadAccess r;
  r.number = number;
  r.source = read.source;
  r.producer = read.producer;
  const StageInfo& producer = state.dag().stage(read.producer);
  r.constant = producer.tensor->kind == TensorKind::Constant;
  r.computed = producer.is_compute();
  r.uses.assign(axes, false);
  r.stride.assign(axes, 0);
  const std::vector<int64_t>& shape = producer.tensor->shape;
  const std::vector<int64_t> strides = dense_strides(shape);
  r.elements = 1;
  for (int64_t e : shape) r.elements *= e;
  r.linear.assign(axes, true);
  for (size_t d = 0; d < read.linear.size(); ++d) {
    r.dims.push_back(analyze_dimension(info, read, d, parts, cuts));
    const ReadDimension& dim = r.dims.back();
    for (size_t a = 0; a < axes; ++a) {
      r.uses[a] = r.uses[a] || dim.uses(static_cast<int>(a));
      r.linear[a] = r.linear[a] && !dim.irregular[a];
      r.stride[a] += dim.step[a] * strides[d];
    }
  }
  return r;
}

// The least common multiple of all divisors by which the expression divides multiples of the axis,
// in steps of the axis; 1 if there are none, 0 if one of them is no constant or does not fit.
int64_t find_divisor(const Expr& e, const Expr& axis) {
  int64_t found = 1;
  const auto merge = [&](int64_t other) {
    if (other == 0 || found == 0) {
      found = 0;
    } else {
      found = checked_mul(found / std::gcd(found, other), other).value_or(0);
    }
  };
  const auto* binary = e.as<BinaryNode>();
  if (binary && (binary->op == BinaryOp::FloorDiv || binary->op == BinaryOp::FloorMod)) {
    int64_t divisor = 0;
    const LinearIndex form = linear_index(binary->a, {Axis{static_cast<const Var&>(axis), 1}});
    if (form.affine && form.coef[0] != 0) {
      if (!is_const_int(binary->b, &divisor) || divisor < 1 || form.coef[0] == INT64_MIN) return 0;
      return divisor / std::gcd(divisor, form.coef[0]);
    }
  }
  for_each_child(*e.get(), [&](const Expr& child) { merge(find_divisor(child, axis)); });
  return found;
}

double cost_of(const Expr& e) {
  double cost = 0;
  switch (e.kind()) {
    case ExprKind::Const:
    case ExprKind::Var: return 0;
    case ExprKind::Read: return 0;  // indices are addressing
    case ExprKind::Unary: cost = e.as<UnaryNode>()->op >= UnaryOp::Exp ? 10 : 1; break;
    case ExprKind::Binary: {
      const BinaryOp op = e.as<BinaryNode>()->op;
      cost = op == BinaryOp::Pow ? 20 : op == BinaryOp::Div || op == BinaryOp::TruncMod ? 10 : 1;
      break;
    }
    case ExprKind::Reduce: cost = 1; break;
    default: cost = 1; break;
  }
  for_each_child(*e.get(), [&](const Expr& child) { cost += cost_of(child); });
  return cost;
}

bool finds_select(const Expr& e) {
  if (e.kind() == ExprKind::Select) return true;
  bool found = false;
  for_each_child(*e.get(), [&](const Expr& child) { found = found || finds_select(child); });
  return found;
}

bool has_math(const Expr& e) {
  if (const auto* n = e.as<UnaryNode>(); n != nullptr && n->op >= UnaryOp::Exp) return true;
  if (const auto* n = e.as<BinaryNode>(); n != nullptr && n->op == BinaryOp::Pow) return true;
  bool found = false;
  for_each_child(*e.get(), [&](const Expr& child) { found = found || has_math(child); });
  return found;
}

// Of the definition `op` and of those inlined into it.
bool definition_takes_math(const State& state, int op) {
  const StageInfo& info = state.dag().stage(op);
  if (!info.is_compute()) return false;
  return has_math(info.tensor->body) ||
         std::any_of(info.accesses.begin(), info.accesses.end(), [&](const Access& a) {
           return state.stage(static_cast<StageId>(a.producer)).attach == AttachKind::Inlined &&
                  definition_takes_math(state, a.producer);
         });
}

}  // namespace

bool ReadAccess::all_linear() const {
  return std::find(linear.begin(), linear.end(), false) == linear.end();
}

int64_t StageAccess::points() const { return spatial_points() * reduce_points(); }

int64_t StageAccess::spatial_points() const {
  int64_t product = 1;
  for (int a = 0; a < spatial; ++a) product *= extent[static_cast<size_t>(a)];
  return product;
}

int64_t StageAccess::reduce_points() const {
  int64_t product = 1;
  for (int a = spatial; a < axes(); ++a) product *= extent[static_cast<size_t>(a)];
  return product;
}

StageAccess analyze_stage(const State& state, StageId s, const std::vector<AxisCut>& cuts) {
  const Stage& stage = state.stage(s);
  const StageInfo& info = state.dag().stage(stage.op);
  const Parts parts(info, cuts);
  StageAccess access;
  access.spatial = stage.spatial_axes + static_cast<int>(cuts.size());
  access.reduce = stage.reduce_axes;
  access.origin = parts.origin;
  access.part = parts.part;
  const std::vector<Axis> defined = axes_of(info);
  std::vector<bool> guarded(defined.size(), false);
  if (const ReduceNode* reduce = info.reduce(); reduce != nullptr && reduce->where) {
    find_axes(reduce->where, defined, &guarded);
  }
  const std::vector<int64_t> strides = dense_strides(info.tensor->shape);
  for (size_t p = 0; p < parts.axes.size(); ++p) {
    const size_t a = static_cast<size_t>(parts.origin[p]);
    const int64_t by = parts.part[p] == AxisPart::Outer ? parts.axes[p + 1].extent : 1;
    const int64_t whole = stage.loops[a].extent;
    access.extent.push_back(parts.part[p] == AxisPart::Inner ? parts.axes[p].extent
                                                             : ceil_div(whole, by));
    access.guarded.push_back(guarded[a]);
    if (static_cast<int>(p) < access.spatial) access.write_stride.push_back(strides[a] * by);
  }
  for (size_t i = 0; i < stage.reads.size(); ++i) {
    if (stage.reads[i].kind != StageRead::Kind::Element) continue;
    access.reads.push_back(
        analyze_read(state, info, stage.reads[i], static_cast<int>(i), parts, cuts));
  }
  access.lanes = std::max(1, state.task().target.lanes(bytes_of(info.tensor->dtype)));
  return access;
}

std::vector<AxisCut> find_cuts(const State& state, StageId s) {
  const Stage& stage = state.stage(s);
  const StageInfo& info = state.dag().stage(stage.op);
  std::vector<AxisCut> cuts;
  for (int a = 0; a < stage.spatial_axes; ++a) {
    const Axis& axis = info.axes[static_cast<size_t>(a)];
    int64_t by = 1;
    for (const StageRead& read : stage.reads) {
      if (read.kind != StageRead::Kind::Element || read.path.size() != 1) continue;
      for (const Expr& index : info.accesses[static_cast<size_t>(read.path[0])].indices) {
        const int64_t divisor = find_divisor(index, axis.var);
        by = divisor == 0 || by == 0 ? 0
                                     : checked_mul(by / std::gcd(by, divisor), divisor).value_or(0);
      }
    }
    if (by > 1 && by < stage.loops[static_cast<size_t>(a)].extent) cuts.push_back({a, by});
  }
  return cuts;
}

bool is_linear_pair(const StageAccess& access, int axis) {
  const size_t a = static_cast<size_t>(axis), b = a + 1;
  if (axis < 0 || axis + 1 >= access.axes()) return false;
  const bool spatial = axis < access.spatial;
  if (spatial != (axis + 1 < access.spatial)) return false;
  if (access.guarded[a] || access.guarded[b]) return false;
  const int64_t inner = access.extent[b];
  if (spatial && access.write_stride[a] != access.write_stride[b] * inner) return false;
  return std::all_of(access.reads.begin(), access.reads.end(), [&](const ReadAccess& r) {
    if (!r.uses[a] && !r.uses[b]) return true;
    return r.linear[a] && r.linear[b] && r.stride[a] == r.stride[b] * inner;
  });
}

bool reads_at_own_index(const State& state, StageId reader, StageId source) {
  const StageInfo& to = state.dag().stage(state.stage(reader).op);
  const StageInfo& from = state.dag().stage(state.stage(source).op);
  if (to.tensor->shape != from.tensor->shape) return false;
  bool any = false;
  for (const StageRead& r : state.stage(reader).reads) {
    if (r.source != source) continue;
    any = true;
    if (r.kind != StageRead::Kind::Element) return false;
    for (size_t d = 0; d < r.linear.size(); ++d) {
      const LinearIndex& index = r.linear[d];
      if (!index.affine || index.offset != 0) return false;
      for (size_t a = 0; a < index.coef.size(); ++a) {
        // An axis of one element may be left out of an index.
        if (a < to.axes.size() && to.axes[a].extent == 1) continue;
        if (index.coef[a] != (a == d ? 1 : 0)) return false;
      }
    }
  }
  return any;
}

std::vector<StageId> readers_of(const State& state, StageId s) {
  std::vector<StageId> readers;
  for (StageId c = 0; c < state.size(); ++c) {
    if (state.stage(c).attach == AttachKind::Inlined) continue;
    const std::vector<StageRead>& reads = state.stage(c).reads;
    if (std::any_of(reads.begin(), reads.end(),
                    [&](const StageRead& r) { return r.source == s; })) {
      readers.push_back(c);
    }
  }
  return readers;
}

double body_cost(const StageInfo& info) {
  return info.is_compute() ? cost_of(info.tensor->body) : 0;
}

bool takes_math(const State& state, StageId s) {
  return definition_takes_math(state, state.stage(s).op);
}

bool has_select(const StageInfo& info) {
  return info.is_compute() && finds_select(info.tensor->body);
}

}  // namespace espalier
