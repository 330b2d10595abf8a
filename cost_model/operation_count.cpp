#include "espalier/cost_model/operation_count.h"

#include "espalier/ir/children.h"

namespace espalier {
namespace {

bool is_mul(const Expr& e) {
  const auto* binary = e.as<BinaryNode>();
  return binary != nullptr && binary->op == BinaryOp::Mul && is_float(e.type().dtype);
}
bool is_const(const Expr& e) { return e.kind() == ExprKind::Const; }

class Counter {
 public:
  explicit Counter(const State& state) : state_(state) {}

  OperationCount definition(int op) {
    const StageInfo& info = state_.dag().stage(op);
    OperationCount count;
    if (!info.is_compute()) return count;
    add_expr(info.tensor->body, count);
    for (const Access& access : info.accesses) {
      if (state_.stage(static_cast<StageId>(access.producer)).attach == AttachKind::Inlined) {
        count.add(definition(access.producer));
      }
    }
    return count;
  }

 private:
  static void add_binary(const BinaryNode& e, OperationCount& count) {
    const bool floating = is_float(e.a.type().dtype);
    switch (e.op) {
      case BinaryOp::Div: count.divisions += 1; return;
      case BinaryOp::FloorDiv:
      case BinaryOp::FloorMod:
      case BinaryOp::TruncDiv:
      case BinaryOp::TruncMod:
        if (is_const(e.b) && !floating) {
          count.plain += 4;
        } else {
          count.integer_divisions += 1;
        }
        return;
      case BinaryOp::Pow: count.functions += 3; return;
      case BinaryOp::Min:
      case BinaryOp::Max:
        count.plain += floating && !is_const(e.a) && !is_const(e.b) ? 3 : 1;
        return;
      case BinaryOp::Add:
      case BinaryOp::Sub:
        if (is_mul(e.a) || is_mul(e.b)) return;  // a multiply-add
        count.plain += 1;
        return;
      default: count.plain += 1; return;
    }
  }

  void add_expr(const Expr& e, OperationCount& count) {
    switch (e.kind()) {
      case ExprKind::Read: return;  // addressing is nearly free
      case ExprKind::Unary: {
        const UnaryOp op = e.as<UnaryNode>()->op;
        if (op == UnaryOp::Sqrt) count.divisions += 1;
        if (op == UnaryOp::Rsqrt) count.divisions += 2;
        if (op == UnaryOp::Sigmoid || op == UnaryOp::Tanh) count.divisions += 1;
        if (op >= UnaryOp::Exp && op != UnaryOp::Rsqrt) {
          count.functions += op == UnaryOp::Erf ? 2 : 1;
        } else if (op != UnaryOp::Sqrt && op != UnaryOp::Rsqrt) {
          count.plain += 1;
        }
        break;
      }
      case ExprKind::Binary: add_binary(*e.as<BinaryNode>(), count); break;
      case ExprKind::Cast:
      case ExprKind::Select: count.plain += 1; break;
      case ExprKind::Reduce: {
        const auto* reduce = e.as<ReduceNode>();
        // (what remains of a `where` is in the bounds of loops, mostly)
        const bool fused = reduce->combiner.kind == Combiner::Kind::Sum && is_mul(reduce->value);
        add_expr(reduce->value, count);
        if (!fused) {
          const std::optional<BinaryOp> op = reduce->combiner.binary();
          const bool extremum = op == BinaryOp::Min || op == BinaryOp::Max;
          count.plain += extremum && is_float(e.type().dtype) ? 3 : 1;
        }
        return;
      }
      default: break;
    }
    for_each_child(*e, [&](const Expr& child) {
      if (child.type().dtype == DType::Bool && e.kind() == ExprKind::Select) {
        count.plain += 1;  // a condition on indices or data
        return;
      }
      add_expr(child, count);
    });
  }

  const State& state_;
};

}  // namespace

void OperationCount::add(const OperationCount& o, double times) {
  plain += o.plain * times;
  divisions += o.divisions * times;
  functions += o.functions * times;
  integer_divisions += o.integer_divisions * times;
}

OperationCount count_operations(const State& state, StageId s) {
  const Stage& stage = state.stage(s);
  OperationCount count;
  switch (stage.role) {
    case StageRole::Input:
    case StageRole::Copy:
    case StageRole::Pack: return count;
    case StageRole::WriteBack: count.plain = stage.has_own_reduce() ? 1 : 0; return count;
    case StageRole::Final: {
      const ReduceNode* reduce = state.dag().stage(stage.op).reduce();
      const std::optional<BinaryOp> op = reduce->combiner.binary();
      count.plain = op == BinaryOp::Min || op == BinaryOp::Max ? 3 : 1;
      return count;
    }
    case StageRole::Compute:
    case StageRole::Accumulate:
    case StageRole::Partial: return Counter(state).definition(stage.op);
  }
  return count;
}

}  // namespace espalier
