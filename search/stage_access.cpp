#include "espalier/search/stage_access.h"

#include <algorithm>

#include "espalier/ir/buffer.h"
#include "espalier/ir/children.h"

namespace espalier {
namespace {

// Marks the axes whose variables occur in the expression.
void find_axes(const Expr& e, const StageInfo& info, std::vector<bool>* found) {
  if (e.kind() == ExprKind::Var) {
    const size_t spatial = info.axes.size();
    for (size_t a = 0; a < found->size(); ++a) {
      const Axis& axis = a < spatial ? info.axes[a] : info.reduce_axes[a - spatial];
      if (axis.var.same_as(e)) (*found)[a] = true;
    }
    return;
  }
  for_each_child(*e.get(), [&](const Expr& child) { find_axes(child, info, found); });
}

ReadAccess analyze_read(const State& state, const StageInfo& info, const StageRead& read,
                        int number, int axes) {
  ReadAccess r;
  r.number = number;
  r.source = read.source;
  r.producer = read.producer;
  const StageInfo& producer = state.dag().stage(read.producer);
  r.constant = producer.tensor->kind == TensorKind::Constant;
  r.computed = producer.is_compute();
  r.uses.assign(static_cast<size_t>(axes), false);
  r.stride.assign(static_cast<size_t>(axes), 0);
  const std::vector<int64_t>& shape = producer.tensor->shape;
  const std::vector<int64_t> strides = dense_strides(shape);
  r.elements = 1;
  for (int64_t e : shape) r.elements *= e;
  r.linear.assign(static_cast<size_t>(axes), true);
  for (size_t d = 0; d < read.linear.size(); ++d) {
    const LinearIndex& index = read.linear[d];
    std::vector<bool> occurs(static_cast<size_t>(axes), false);
    if (!index.affine && read.path.size() == 1) {
      // An index that data decide may name all axes; the expression says which it means.
      find_axes(info.accesses[static_cast<size_t>(read.path[0])].indices[d], info, &occurs);
    } else {
      for (size_t a = 0; a < index.coef.size(); ++a) occurs[a] = index.coef[a] != 0;
    }
    for (size_t a = 0; a < occurs.size(); ++a) {
      if (!occurs[a]) continue;
      r.uses[a] = true;
      if (index.affine) {
        r.stride[a] += index.coef[a] * strides[d];
      } else {
        r.linear[a] = false;
      }
    }
  }
  return r;
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

StageAccess analyze_stage(const State& state, StageId s) {
  const Stage& stage = state.stage(s);
  const StageInfo& info = state.dag().stage(stage.op);
  StageAccess access;
  access.spatial = stage.spatial_axes;
  access.reduce = stage.reduce_axes;
  for (int a = 0; a < access.axes(); ++a) {
    access.extent.push_back(stage.loops[static_cast<size_t>(a)].extent);
  }
  access.guarded.assign(static_cast<size_t>(access.axes()), false);
  if (const ReduceNode* reduce = info.reduce(); reduce != nullptr && reduce->where) {
    find_axes(reduce->where, info, &access.guarded);
  }
  access.write_stride = dense_strides(info.tensor->shape);
  for (size_t i = 0; i < stage.reads.size(); ++i) {
    if (stage.reads[i].kind != StageRead::Kind::Element) continue;
    access.reads.push_back(
        analyze_read(state, info, stage.reads[i], static_cast<int>(i), access.axes()));
  }
  access.lanes = std::max(1, state.task().target.lanes(bytes_of(info.tensor->dtype)));
  return access;
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
