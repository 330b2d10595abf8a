// The text of a DAG. Expressions are printed by ir/print.cpp; what is done here is to give every
// name one meaning, so that the text parses back.
#include <map>
#include <set>

#include "espalier/ir/dag.h"
#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

class DagPrinter {
 public:
  explicit DagPrinter(const ComputeDag& dag) : dag_(dag) {}

  std::string run() {
    std::string definitions;
    for (const StageInfo& s : dag_.stages()) definitions += stage(s);
    std::string outputs;
    for (int o : dag_.outputs()) {
      outputs += (outputs.empty() ? "return " : ", ") + dag_.stage(o).name;
    }
    return combiner_lines_ + definitions + outputs + "\n";
  }

 private:
  std::string stage(const StageInfo& s) {
    const TensorNode& t = *s.tensor;
    if (!s.is_compute()) {
      std::string line = s.name;
      line += t.kind == TensorKind::Constant ? " = constant " : " = placeholder ";
      line += std::string(name_of(t.dtype)) + "[";
      for (size_t d = 0; d < t.shape.size(); ++d) {
        line += (d == 0 ? "" : ", ") + std::to_string(t.shape[d]);
      }
      line += "]";
      if (t.value_range) {
        line += detail::concat(" in [", t.value_range->first, ", ", t.value_range->second, ")");
      }
      renamed_[&t] = t.kind == TensorKind::Constant
                         ? constant(s.name, t.shape, t.dtype)
                         : placeholder(s.name, t.shape, t.dtype, t.value_range);
      return line + "\n";
    }
    vars_.clear();
    done_.clear();
    std::set<std::string> taken = {"inf", "nan", "true", "false"};
    std::vector<Axis> axes = rename(s.axes, taken);
    const std::string head = s.name + axes_text(axes) + " = ";
    Expr body;
    std::string text;
    if (const ReduceNode* reduce = s.reduce()) {
      const std::string name = combiner_name(reduce->combiner);
      std::vector<Axis> reduced = rename(s.reduce_axes, taken);
      text = (reduce->combiner.reorderable ? "" : "ordered ") + name + axes_text(reduced) + "(" +
             to_string(rename(reduce->value));
      if (reduce->where) text += ", where=" + to_string(rename(reduce->where));
      text += ")";
      body = make_number(t.dtype, 0);  // readers need the tensor's name and type only
    } else {
      body = rename(t.body);
      text = to_string(body);
    }
    renamed_[&t] = compute_with_axes(s.name, axes, body);
    return head + text + "\n";
  }

  static std::string axes_text(const std::vector<Axis>& axes) {
    std::string text = "[";
    for (const Axis& a : axes) {
      text += (text.size() == 1 ? "" : ", ") + a.var.name() + ": " + std::to_string(a.extent);
    }
    return text + "]";
  }

  static std::string identifier(const std::string& name) {
    std::string id;
    for (char c : name) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      id += letter || (c >= '0' && c <= '9') ? c : '_';
    }
    return id.empty() || (id[0] >= '0' && id[0] <= '9') ? "v" + id : id;
  }
  static std::string unique(const std::string& wanted, std::set<std::string>& taken) {
    std::string name = identifier(wanted);
    for (int n = 1; !taken.insert(name).second; ++n)
      name = identifier(wanted) + "_" + std::to_string(n);
    return name;
  }

  std::vector<Axis> rename(const std::vector<Axis>& axes, std::set<std::string>& taken) {
    std::vector<Axis> result;
    for (const Axis& a : axes) {
      const Var v(unique(a.var.name(), taken));
      vars_[a.var.get()] = v;
      result.push_back({v, a.extent});
    }
    return result;
  }

  Expr rename(const Expr& e) {
    if (auto it = done_.find(e.get()); it != done_.end()) return it->second;
    Expr result;
    if (auto it = vars_.find(e.get()); it != vars_.end()) {
      result = it->second;
    } else if (const auto* read = e.as<ReadNode>()) {
      std::vector<Expr> indices;
      for (const Expr& i : read->indices) indices.push_back(rename(i));
      result = make_read(renamed_.at(read->tensor.get()), std::move(indices));
    } else {
      result = map_children(e, [&](const Expr& child) { return rename(child); });
    }
    done_.emplace(e.get(), result);
    return result;
  }

  // Custom combiners are told apart by their node: the same one is defined once.
  std::string combiner_name(const Combiner& c) {
    if (c.kind != Combiner::Kind::Custom) return c.name;
    if (auto it = combiners_.find(c.body.get()); it != combiners_.end()) return it->second;
    const std::string name = unique(c.name, combiner_names_);
    combiners_[c.body.get()] = name;
    std::set<std::string> taken = {"inf", "nan", "true", "false"};
    const Var lhs(unique(c.lhs.name(), taken), c.lhs.type());
    const Var rhs(unique(c.rhs.name(), taken), c.rhs.type());
    const Expr body = substitute(c.body, {{c.lhs.get(), lhs}, {c.rhs.get(), rhs}});
    const std::string type = to_string(c.lhs.type());
    combiner_lines_ += "combiner " + name + "(" + lhs.name() + ": " + type + ", " + rhs.name() +
                       ": " + type + ") = " + to_string(body) +
                       ", identity=" + to_string(c.custom_identity) + "\n";
    return name;
  }

  const ComputeDag& dag_;
  std::map<const TensorNode*, Tensor> renamed_;
  std::map<const ExprNode*, Expr> vars_, done_;
  std::map<const ExprNode*, std::string> combiners_;
  std::set<std::string> combiner_names_ = {"sum", "prod", "max", "min", "and", "or"};
  std::string combiner_lines_;
};

}  // namespace

std::string to_string(const ComputeDag& dag) { return DagPrinter(dag).run(); }

}  // namespace espalier
