// Compilation of a definition for the naive evaluator (see internal/eval_program.h).
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

#include "espalier/ir/access.h"
#include "espalier/ir/buffer.h"
#include "espalier/ir/children.h"
#include "espalier/ir/internal/eval_program.h"

namespace espalier {
namespace {

// exp of a type narrower than f64 gives 0 where the result would be subnormal in f32.
void flush_subnormal(const ScalarBits* a, ScalarBits* out, int lanes) {
  for (int i = 0; i < lanes; ++i) {
    out[i] = std::fabs(std::bit_cast<double>(a[i])) < static_cast<double>(FLT_MIN) ? 0 : a[i];
  }
}

ScalarBits bits_of(const Expr& e) {
  const auto* c = e.as<ConstNode>();
  ESP_CHECK(c != nullptr);
  return is_float(c->type.dtype) ? std::bit_cast<ScalarBits>(c->f) : static_cast<ScalarBits>(c->i);
}

}  // namespace

EvalProgram::EvalProgram(const ComputeDag& dag, int stage) : dag_(dag), stage_(dag.stage(stage)) {
  axes_ = stage_.axes;
  axes_.insert(axes_.end(), stage_.reduce_axes.begin(), stage_.reduce_axes.end());
  order_loops();
  const int depth = static_cast<int>(loops_.size());
  code_.resize(static_cast<size_t>(depth) + 2);
  position_.assign(loops_.size(), 0);
  const std::vector<int64_t> strides = dense_strides(stage_.tensor->shape);
  for (int loop = 0; loop < depth; ++loop) {
    const size_t axis = loops_[static_cast<size_t>(loop)];
    var_slots_.push_back(new_slot(loop, loop == lane_loop_));
    vars_[axes_[axis].var.get()] = var_slots_.back();
    out_strides_.push_back(axis < stage_.axes.size() ? strides[axis] : 0);
  }
  if (const ReduceNode* reduce = stage_.reduce()) {
    compile_reduction(*reduce);
  } else {
    value_ = compile(stage_.tensor->body, -1);
  }
  slots_[static_cast<size_t>(value_)].fill = true;
  if (where_ >= 0) slots_[static_cast<size_t>(where_)].fill = true;
}

// The longest spatial axis is cut into lanes, or the last reduced one if that is longer; the terms
// of an element are combined in the order of the definition either way.
void EvalProgram::order_loops() {
  const size_t spatial = stage_.axes.size();
  std::optional<size_t> lane;
  for (size_t a = 0; a < spatial; ++a) {
    if (!lane || axes_[a].extent >= axes_[*lane].extent) lane = a;
  }
  if (axes_.size() > spatial && (!lane || axes_.back().extent > axes_[*lane].extent)) {
    lane = axes_.size() - 1;
  }
  for (size_t a = 0; a < spatial; ++a) {
    if (a != lane) loops_.push_back(a);
  }
  if (lane && *lane < spatial) {
    lane_loop_ = static_cast<int>(loops_.size());
    loops_.push_back(*lane);
  }
  spatial_loops_ = static_cast<int>(loops_.size());
  for (size_t a = spatial; a < axes_.size(); ++a) {
    if (a == lane) lane_loop_ = static_cast<int>(loops_.size());
    loops_.push_back(a);
  }
}

int EvalProgram::new_slot(int level, bool lanes) {
  slots_.push_back({level, lanes, false});
  storage_.resize(slots_.size() * kLanes);
  return static_cast<int>(slots_.size()) - 1;
}

int EvalProgram::constant(ScalarBits bits) {
  const int slot = new_slot(-1, false);
  std::fill_n(lanes_of(slot), kLanes, bits);
  return slot;
}

int EvalProgram::emit(Instruction instruction, int level, bool lanes) {
  for (int operand : instruction.in) {
    if (operand < 0) continue;
    const Slot& s = slots_[static_cast<size_t>(operand)];
    level = std::max(level, s.level);
    lanes = lanes || s.lanes;
  }
  for (int operand : instruction.in) {
    if (operand >= 0 && lanes) slots_[static_cast<size_t>(operand)].fill = true;
  }
  instruction.out = new_slot(level, lanes);
  code_[static_cast<size_t>(level) + 1].push_back(instruction);
  return instruction.out;
}

int EvalProgram::emit_unary(UnaryLanes f, int a) {
  ESP_CHECK(f != nullptr);
  Instruction in;
  in.in[0] = a;
  in.unary = f;
  return emit(in);
}

int EvalProgram::emit_binary(BinaryLanes f, int a, int b) {
  ESP_CHECK(f != nullptr);
  Instruction in;
  in.op = Op::Binary;
  in.in = {a, b, -1};
  in.binary = f;
  return emit(in);
}

bool EvalProgram::needs_guard(const Expr& e) {
  if (auto it = needs_guard_.find(e.get()); it != needs_guard_.end()) return it->second;
  bool found = false;
  if (const auto* read = e.as<ReadNode>()) found = linear_read(*read) == nullptr;
  for_each_child(*e, [&](const Expr& child) { found = needs_guard(child) || found; });
  needs_guard_[e.get()] = found;
  return found;
}

// `guard` is the slot of the condition under which the value matters; -1: always.
int EvalProgram::compile(const Expr& e, int guard) {
  if (guard >= 0 && !needs_guard(e)) guard = -1;
  const auto key = std::pair(e.get(), guard);
  if (auto it = known_.find(key); it != known_.end()) return it->second;
  const int slot = compile_node(e, guard);
  known_[key] = slot;
  return slot;
}

int EvalProgram::compile_node(const Expr& e, int guard) {
  switch (e.kind()) {
    case ExprKind::Const: return constant(bits_of(e));
    case ExprKind::Var: return vars_.at(e.get());
    case ExprKind::Cast: {
      const Expr& value = e.as<CastNode>()->value;
      return compile_cast(value.type().dtype, e.type().dtype, compile(value, guard));
    }
    case ExprKind::Reinterpret: {
      const Expr& value = e.as<ReinterpretNode>()->value;
      Instruction in;
      in.op = Op::Reinterpret;
      in.in[0] = compile(value, guard);
      in.from = value.type().dtype;
      in.to = e.type().dtype;
      return emit(in);
    }
    case ExprKind::Unary: return compile_unary(*e.as<UnaryNode>(), guard);
    case ExprKind::Binary: {
      const auto* n = e.as<BinaryNode>();
      const int a = compile(n->a, guard), b = compile(n->b, guard);
      return emit_binary(binary_lanes(n->op, evaluation_type(n->a.type().dtype)), a, b);
    }
    case ExprKind::Fma: {
      const auto* n = e.as<FmaNode>();
      Instruction in;
      in.op = Op::Fma;
      in.in = {compile(n->a, guard), compile(n->b, guard), compile(n->c, guard)};
      in.fma = fma_lanes(DType::F64);
      return emit(in);
    }
    case ExprKind::Select: return compile_select(*e.as<SelectNode>(), guard);
    case ExprKind::Read: return compile_read(*e.as<ReadNode>(), guard);
    case ExprKind::Reduce:
    case ExprKind::Load:
    case ExprKind::Ramp:
    case ExprKind::Broadcast:
    case ExprKind::LaneReduce: break;
  }
  ESP_UNREACHABLE("no such node in a definition");
}

int EvalProgram::compile_unary(const UnaryNode& e, int guard) {
  const DType t = e.type.dtype;
  const int value = emit_unary(unary_lanes(e.op, evaluation_type(t)), compile(e.a, guard));
  const bool flushes = e.op == UnaryOp::Exp && t != DType::F64;
  return flushes ? emit_unary(flush_subnormal, value) : value;
}

int EvalProgram::compile_select(const SelectNode& e, int guard) {
  const int cond = compile(e.cond, guard);
  auto side = [&](const Expr& value, bool taken) {
    if (!needs_guard(value)) return compile(value, -1);
    int own = taken ? cond : emit_unary(unary_lanes(UnaryOp::Not, DType::Bool), cond);
    if (guard >= 0) own = emit_binary(binary_lanes(BinaryOp::And, DType::Bool), guard, own);
    return compile(value, own);
  };
  Instruction in;
  in.op = Op::Select;
  in.in[0] = cond;
  in.in[1] = side(e.a, true);
  in.in[2] = side(e.b, false);
  return emit(in);
}

int EvalProgram::compile_cast(DType from, DType to, int value) {
  if (from == to) return value;
  if (!is_float(to)) return emit_unary(cast_lanes(evaluation_type(from), to), value);
  if (is_float(from)) {
    const bool exact =
        to == DType::F64 || (to == DType::F32 && (from == DType::F16 || from == DType::BF16));
    if (exact) return value;
    return emit_unary(cast_lanes(to, DType::F64), emit_unary(cast_lanes(DType::F64, to), value));
  }
  const int rounded = emit_unary(cast_lanes(from, to), value);
  return to == DType::F64 ? rounded : emit_unary(cast_lanes(to, DType::F64), rounded);
}

// A read at affine indices that are in range for all points of the loops; null for others.
const EvalProgram::Read* EvalProgram::linear_read(const ReadNode& e) {
  auto [it, fresh] = linear_reads_.try_emplace(&e);
  if (!fresh) return it->second ? &*it->second : nullptr;
  if (!is_always_in_range(e, axes_)) return nullptr;
  Read read;
  read.coef.assign(loops_.size(), 0);
  const std::vector<int64_t> strides = dense_strides(e.tensor->shape);
  for (size_t d = 0; d < e.indices.size(); ++d) {
    const LinearIndex f = linear_index(e.indices[d], axes_);
    read.offset += f.offset * strides[d];
    for (size_t loop = 0; loop < loops_.size(); ++loop) {
      read.coef[loop] += f.coef[loops_[loop]] * strides[d];
    }
  }
  it->second = std::move(read);
  return &*it->second;
}

int EvalProgram::compile_read(const ReadNode& e, int guard) {
  Instruction in;
  Read read;
  int level = -1;
  bool lanes = false;
  if (const Read* linear = linear_read(e)) {
    in.op = Op::ReadLinear;
    read = *linear;
    for (size_t loop = 0; loop < loops_.size(); ++loop) {
      if (read.coef[loop] != 0) level = static_cast<int>(loop);
    }
    lanes = lane_loop_ >= 0 && read.coef[static_cast<size_t>(lane_loop_)] != 0;
  } else {
    in.op = Op::ReadChecked;
    read.guard = guard;
    auto depend_on = [&](int slot) {
      level = std::max(level, slots_[static_cast<size_t>(slot)].level);
      lanes = lanes || slots_[static_cast<size_t>(slot)].lanes;
    };
    if (guard >= 0) depend_on(guard);
    for (const Expr& index : e.indices) {
      read.index_slots.push_back(compile(index, guard));
      depend_on(read.index_slots.back());
    }
  }
  for (int i = 0; i < dag_.size(); ++i) {
    if (dag_.stage(i).tensor == e.tensor) read.producer = i;
  }
  in.read = static_cast<int>(reads_.size());
  reads_.push_back(std::move(read));
  return emit(in, level, lanes);
}

void EvalProgram::compile_reduction(const ReduceNode& reduce) {
  identity_ = bits_of(reduce.combiner.identity(reduce.type));
  for (const Axis& a : reduce.axes) {
    if (a.extent == 0) {  // without terms there is nothing to compile, and nothing may be read
      value_ = constant(identity_);
      return;
    }
  }
  if (reduce.where) where_ = compile(reduce.where, -1);
  value_ = compile(reduce.value, where_);
  const DType t = evaluation_type(reduce.type.dtype);
  const Combiner& c = reduce.combiner;
  const int depth = static_cast<int>(loops_.size());
  total_ = new_slot(depth, true);
  if (auto op = c.binary()) {
    combiner_ = binary_lanes(*op, t);
    sums_floats_ = *op == BinaryOp::Add && t == DType::F64;
    combined_ = new_slot(depth, true);
    return;
  }
  lhs_ = new_slot(depth, true);
  rhs_ = new_slot(depth, true);
  vars_[c.lhs.get()] = lhs_;
  vars_[c.rhs.get()] = rhs_;
  combined_ = compile(c.body, -1);
  slots_[static_cast<size_t>(combined_)].fill = true;  // a body may be constant
}

}  // namespace espalier
