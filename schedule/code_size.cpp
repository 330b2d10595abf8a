#include "espalier/schedule/code_size.h"

#include <algorithm>

#include "espalier/ir/children.h"
#include "espalier/schedule/nest.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

// Instructions of an expanded f32 function (codegen/expand_math.h), as its assembly counts them.
constexpr double kPow = 240;
double instructions_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::Neg:
    case UnaryOp::Not:
    case UnaryOp::Abs:
    case UnaryOp::Sqrt:
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round: return 1;
    case UnaryOp::Rsqrt: return 2;
    case UnaryOp::Exp: return 20;
    case UnaryOp::Sigmoid:
    case UnaryOp::Tanh: return 23;
    case UnaryOp::Log: return 29;
    case UnaryOp::Erf:
    case UnaryOp::Sin:
    case UnaryOp::Cos: return 38;
  }
  return 1;
}

class Estimate {
 public:
  explicit Estimate(const State& state)
      : state_(state), definitions_(static_cast<size_t>(state.dag().size()), -1) {}

  double total() {
    double sum = 0;
    for (StageId s = 0; s < state_.size(); ++s) {
      const Stage& stage = state_.stage(s);
      if (stage.role == StageRole::Input || stage.attach == AttachKind::Inlined) continue;
      sum += copies(s, stage.order.size()) * body(stage);
    }
    return sum;
  }

  // The same if `op` were inlined too.
  void inline_too(int op) { inlined_too_ = op; }

  // An element of the definition, with what was inlined into it.
  double definition(int op) {
    double& size = definitions_[static_cast<size_t>(op)];
    if (size >= 0) return size;
    const StageInfo& info = state_.dag().stage(op);
    if (!info.is_compute()) return size = 0;
    return size = 1 + operations(info, info.tensor->body, false);
  }

 private:
  bool is_inlined(int op) const {
    return op == inlined_too_ ||
           state_.stage(static_cast<StageId>(op)).attach == AttachKind::Inlined;
  }

  // Operations of an expression of a stage. Sums and products in an index are addressing, which
  // costs nothing. What is inlined is there as often as it is read.
  double operations(const StageInfo& info, const Expr& e, bool index) {
    double size = 1;
    switch (e.kind()) {
      case ExprKind::Const:
      case ExprKind::Var: return 0;
      case ExprKind::Unary: size = instructions_of(e.as<UnaryNode>()->op); break;
      case ExprKind::Binary: {
        const BinaryOp op = e.as<BinaryNode>()->op;
        if (index && (op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul)) size = 0;
        if (op == BinaryOp::Pow) size = kPow;
        break;
      }
      case ExprKind::Read: {
        index = true;
        const TensorNode* tensor = e.as<ReadNode>()->tensor.get();
        for (const Access& access : info.accesses) {
          if (state_.dag().stage(access.producer).tensor.get() != tensor) continue;
          if (is_inlined(access.producer)) size += definition(access.producer);
          break;
        }
        break;
      }
      case ExprKind::Reduce: {
        // Most of a condition becomes bounds of loops, or is settled; a test is what may remain.
        const auto* reduce = e.as<ReduceNode>();
        return size + operations(info, reduce->value, index) + (reduce->where ? 1 : 0);
      }
      default: break;
    }
    for_each_child(*e, [&](const Expr& child) { size += operations(info, child, index); });
    return size;
  }

  double body(const Stage& stage) {
    switch (stage.role) {
      case StageRole::Input: return 0;
      case StageRole::Copy:
      case StageRole::Pack: return 2;
      case StageRole::WriteBack: return stage.has_own_reduce() ? 4 : 2;
      case StageRole::Final: return 3;
      case StageRole::Compute:
      case StageRole::Accumulate:
      case StageRole::Partial: return definition(stage.op);
    }
    return 0;
  }

  // How often the code inside the first `depth` loops of a stage is repeated.
  double copies(StageId s, size_t depth) {
    const Stage& stage = state_.stage(s);
    double product = 1;
    for (size_t i = 0; i < depth; ++i) product *= copies_of(stage, stage.order[i]);
    if (stage.attach != AttachKind::At && stage.attach != AttachKind::After) return product;
    const std::vector<LoopId>& around = state_.stage(stage.attach_stage).order;
    const auto at = std::find(around.begin(), around.end(), stage.attach_loop) - around.begin();
    return product *
           copies(stage.attach_stage, std::min(static_cast<size_t>(at) + 1, around.size()));
  }

  // Straight code has a second, smaller copy for the tail of a tile that does not divide.
  double copies_of(const Stage& stage, LoopId l) const {
    const Loop& loop = stage.loops[static_cast<size_t>(l)];
    double product = loop.partition ? 3 : 1;
    if (loop.unroll || loop.vectorize) {
      const DType type = state_.dag().stage(stage.op).tensor->dtype;
      const int64_t lanes =
          loop.vectorize ? std::max(1, state_.task().target.lanes(bytes_of(type))) : 1;
      product *= static_cast<double>(ceil_div(loop.extent, lanes) +
                                     ceil_div(tail_extent(stage, l), lanes));
    }
    return product;
  }

  const State& state_;
  std::vector<double> definitions_;  // by DAG stage; -1: not known yet
  int inlined_too_ = -1;
};

}  // namespace

double code_size(const State& state) { return Estimate(state).total(); }

double inlined_code_size(const State& state, StageId s) {
  Estimate estimate(state);
  estimate.inline_too(state.stage(s).op);
  double size = 0;
  for (StageId c = 0; c < state.size(); ++c) {
    for (const StageRead& r : state.stage(c).reads) {
      if (r.source == s) size = std::max(size, estimate.definition(state.stage(c).op));
    }
  }
  return size;
}

}  // namespace espalier
