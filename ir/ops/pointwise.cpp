#include "espalier/ir/ops/pointwise.h"

#include <set>

#include "espalier/ir/definition.h"
#include "espalier/ir/ops/types.h"

namespace espalier::ops {
namespace {

// exp(-x) and x*x*x stay finite enough at this bound, and every formula it is used in is exactly 0
// there: below it lie only values whose product with 0 must not become NaN.
Expr bounded_below(const Expr& x) { return max(x, -1000.0); }

struct Formula {
  const char* name;
  Expr (*make)(const Expr& x);
};
// sqrt(1/2), sqrt(2/pi).
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;

const Formula kUnary[] = {
    {"relu", [](const Expr& x) { return max(x, 0.0); }},
    {"relu6", [](const Expr& x) { return min(max(x, 0.0), 6.0); }},
    {"gelu",
     [](const Expr& x) {
       const Expr t = bounded_below(x);
       return 0.5 * t * (1.0 + erf(t * kSqrtHalf));
     }},
    {"gelu_tanh",
     [](const Expr& x) {
       const Expr t = bounded_below(x);
       return 0.5 * t * (1.0 + tanh(kSqrtTwoOverPi * (t + 0.044715 * t * t * t)));
     }},
    {"silu",
     [](const Expr& x) {
       const Expr t = bounded_below(x);
       return t * sigmoid(t);
     }},
    {"hardswish",
     [](const Expr& x) {
       const Expr t = max(x, -3.0);
       return t * min(t + 3.0, 6.0) * (1.0 / 6.0);
     }},
    {"hardsigmoid", [](const Expr& x) { return min(max(x + 3.0, 0.0), 6.0) * (1.0 / 6.0); }},
    {"sigmoid", [](const Expr& x) { return sigmoid(x); }},
    {"tanh", [](const Expr& x) { return tanh(x); }},
    {"erf", [](const Expr& x) { return erf(x); }},
    {"exp", [](const Expr& x) { return exp(x); }},
    {"log", [](const Expr& x) { return log(x); }},
    {"sqrt", [](const Expr& x) { return sqrt(x); }},
    {"rsqrt", [](const Expr& x) { return rsqrt(x); }},
    {"abs", [](const Expr& x) { return abs(x); }},
    {"neg", [](const Expr& x) { return -x; }},
    {"round", [](const Expr& x) { return round(x); }},
    {"floor", [](const Expr& x) { return floor(x); }},
    {"ceil", [](const Expr& x) { return ceil(x); }},
};

std::string list_of_words() {
  std::string text;
  for (const Formula& f : kUnary) text += std::string(f.name) + " ";
  return text + "bias cscale scale cast add sub mul div mod min max pow";
}

// Names of further inputs, apart from those that the tensors so far use.
class OperandNames {
 public:
  explicit OperandNames(const Tensor& x) { collect(x); }
  std::string vector(const std::string& word) {  // bias, bias1, ...
    std::string name = word;
    for (int n = 1; !taken_.insert(name).second; ++n) name = word + std::to_string(n);
    return name;
  }
  std::string operand(const std::string& word) {  // add0, add1, ...
    std::string name;
    for (int n = 0; name.empty() || !taken_.insert(name).second; ++n) {
      name = word + std::to_string(n);
    }
    return name;
  }

 private:
  void collect(const Tensor& x) {
    taken_.insert(x->name);
    if (x->error.empty()) {
      for (const Tensor& t : tensors_read(*x)) collect(t);
    }
  }
  std::set<std::string> taken_;
};

}  // namespace

Tensor pointwise(std::string name, const Tensor& like,
                 const std::function<Expr(const std::vector<Var>&)>& body) {
  if (like->kind != TensorKind::Compute) return compute_over(std::move(name), like->shape, body);
  std::vector<Axis> axes;
  std::vector<Var> vars;
  for (const Axis& a : like->axes) {
    vars.emplace_back(a.var.name());
    axes.push_back(Axis{vars.back(), a.extent});
  }
  return compute_with_axes(std::move(name), std::move(axes), body(vars));
}

std::optional<Expr> unary_formula(std::string_view name, const Expr& x) {
  for (const Formula& f : kUnary) {
    if (f.name == name) return f.make(x);
  }
  return std::nullopt;
}

std::optional<Expr> binary_formula(std::string_view name, const Expr& a, const Expr& b) {
  if (name == "add") return a + b;
  if (name == "sub") return a - b;
  if (name == "mul") return a * b;
  if (name == "div") return a / b;
  if (name == "mod") return a % b;
  if (name == "min") return min(a, b);
  if (name == "max") return max(a, b);
  if (name == "pow") return pow(a, b);
  return std::nullopt;
}

std::vector<Expr> broadcast_indices(const std::vector<int64_t>& from,
                                    const std::vector<int64_t>& to, const std::vector<Var>& vars) {
  std::vector<Expr> indices;
  const size_t skipped = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    indices.push_back(from[d] == to[d + skipped] ? Expr(vars[d + skipped]) : Expr(0));
  }
  return indices;
}

Result<OpResult> apply_chain(const Args& args, const std::vector<std::string>& chain, OpResult x,
                             const std::optional<std::vector<int64_t>>& operand_shape) {
  OperandNames names(x.tensor);
  for (const std::string& word : chain) {
    const Tensor in = x.tensor;
    const DType type = compute_type(in->dtype);
    const bool vector = word == "bias" || word == "cscale",
               casts = word == "cast" && args.has("to");
    Tensor operand;
    size_t axis = 0;
    if (vector) {
      if (in->shape.empty()) {
        return args.error("'", word, "' works on the last axis, but the result has no axes");
      }
      axis = x.channel < 0 ? in->shape.size() - 1 : static_cast<size_t>(x.channel);
      operand = placeholder(names.vector(word), {in->shape[axis]}, x.type);
    } else if (binary_formula(word, make_number(type, 0), make_number(type, 0))) {
      operand = placeholder(names.operand(word), operand_shape.value_or(in->shape), x.type);
    } else if (word != "scale" && !casts && !unary_formula(word, make_number(type, 0))) {
      return args.error("there is no step '", word, "'; steps are ", list_of_words());
    }
    if (casts) x.type = *dtype_from_name(args.word("to"));
    x.tensor = pointwise("after_" + word, in, [&](const std::vector<Var>& v) {
      const Expr value = widened(type, in.at({v.begin(), v.end()}));
      if (vector) {
        const Expr factor = widened(type, operand(v[axis]));
        return word == "bias" ? value + factor : value * factor;
      }
      if (word == "scale") return value * args.number("scale");
      if (casts) return cast(x.type, value);
      if (!operand) return *unary_formula(word, value);
      const Expr other = operand.at(broadcast_indices(operand->shape, in->shape, v));
      return *binary_formula(word, value, widened(type, other));
    });
    if (const std::string* message = poison_message(x.tensor->body)) {
      return args.error("'", word, "' does not work on values of type ", name_of(type), ": ",
                        *message);
    }
  }
  return x;
}

Tensor narrowed(const OpResult& x) {
  if (x.tensor->dtype == x.type) return compute_with_axes("Y", x.tensor->axes, x.tensor->body);
  return pointwise("Y", x.tensor, [&](const std::vector<Var>& v) {
    return cast(x.type, x.tensor.at({v.begin(), v.end()}));
  });
}

}  // namespace espalier::ops
