#include "remade_dag.h"

#include <map>
#include <utility>

#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

bool may_swap(BinaryOp op) {
  return op == BinaryOp::Add || op == BinaryOp::Mul || op == BinaryOp::And || op == BinaryOp::Or;
}

class Remaker {
 public:
  Remaker(const ComputeDag& dag, Rng& rng, const RemakeOptions& options)
      : dag_(dag), rng_(rng), options_(options) {}

  ComputeDag run() {
    for (int s = 0; s < dag_.size(); ++s) remake(dag_.stage(s));
    std::vector<Tensor> outputs;
    for (int s : dag_.outputs()) outputs.push_back(made_.at(dag_.stage(s).tensor.get()).tensor);
    return ComputeDag::make(std::move(outputs)).value();
  }

 private:
  struct Made {
    Tensor tensor;
    std::vector<int> dims;  // the old dimension of each, -1: put in
  };

  std::string fresh_name() { return "t" + std::to_string(++names_); }

  std::vector<int> new_dims(size_t rank) {
    std::vector<int> dims;
    for (size_t d = 0; d <= rank; ++d) {
      while (options_.units && rng_.chance(0.2)) dims.push_back(-1);
      if (d < rank) dims.push_back(static_cast<int>(d));
    }
    return dims;
  }

  void remake(const StageInfo& info) {
    const TensorNode& old = *info.tensor;
    Made made;
    made.dims = new_dims(old.shape.size());
    std::vector<int64_t> shape;
    for (int d : made.dims) shape.push_back(d < 0 ? 1 : old.shape[static_cast<size_t>(d)]);
    if (old.kind == TensorKind::Placeholder) {
      made.tensor = placeholder(fresh_name(), shape, old.dtype, old.value_range);
    } else if (old.kind == TensorKind::Constant) {
      made.tensor = constant(fresh_name(), shape, old.dtype);
    } else {
      made.tensor = compute_again(info, made.dims, shape);
    }
    made_[info.tensor.get()] = std::move(made);
  }

  Tensor compute_again(const StageInfo& info, const std::vector<int>& dims,
                       const std::vector<int64_t>& shape) {
    vars_.clear();
    units_.clear();
    std::vector<Axis> axes;
    for (size_t d = 0; d < dims.size(); ++d) {
      axes.push_back({Var("x" + std::to_string(d)), shape[d]});
      if (dims[d] < 0) {
        units_.push_back(axes.back().var);
      } else {
        vars_[info.axes[static_cast<size_t>(dims[d])].var.get()] = axes.back().var;
      }
    }
    const ReduceNode* reduce = info.reduce();
    if (reduce == nullptr) {
      return compute_with_axes(fresh_name(), std::move(axes), rewrite(info.tensor->body));
    }
    std::vector<Axis> reduced;
    for (size_t r = 0; r < reduce->axes.size(); ++r) {
      reduced.push_back({Var("r" + std::to_string(r)), reduce->axes[r].extent});
      vars_[reduce->axes[r].var.get()] = reduced.back().var;
    }
    if (options_.reorder && reduce->combiner.reorderable) rng_.shuffle(reduced);
    if (options_.units && rng_.chance(0.3)) {
      reduced.push_back({Var("u"), 1});
      units_.push_back(reduced.back().var);
    }
    const Expr value = rewrite(reduce->value);
    const Expr where = reduce->where ? rewrite(reduce->where) : Expr();
    return compute_with_axes(fresh_name(), std::move(axes),
                             make_reduce(reduce->combiner, value, std::move(reduced), where));
  }

  Expr rewrite(const Expr& e) {
    if (e.kind() == ExprKind::Var) {
      const auto at = vars_.find(e.get());
      return at == vars_.end() ? e : Expr(at->second);
    }
    if (const auto* read = e.as<ReadNode>()) {
      const Made& from = made_.at(read->tensor.get());
      std::vector<Expr> indices;
      for (int d : from.dims) {
        if (d >= 0) {
          indices.push_back(rewrite(read->indices[static_cast<size_t>(d)]));
        } else if (!units_.empty() && rng_.chance(0.7)) {
          indices.push_back(units_[rng_.below(units_.size())]);
        } else {
          indices.push_back(make_index(0));
        }
      }
      return make_read(from.tensor, std::move(indices));
    }
    if (const auto* binary = e.as<BinaryNode>();
        binary != nullptr && options_.reorder && may_swap(binary->op) && rng_.chance(0.5)) {
      return make_binary(binary->op, rewrite(binary->b), rewrite(binary->a));
    }
    return map_children(e, [&](const Expr& child) { return rewrite(child); });
  }

  const ComputeDag& dag_;
  Rng& rng_;
  const RemakeOptions options_;
  std::map<const TensorNode*, Made> made_;
  std::map<const ExprNode*, Var> vars_;
  std::vector<Var> units_;
  int names_ = 0;
};

}  // namespace

ComputeDag remade(const ComputeDag& dag, Rng& rng, const RemakeOptions& options) {
  return Remaker(dag, rng, options).run();
}

}  // namespace espalier
