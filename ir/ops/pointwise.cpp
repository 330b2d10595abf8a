#include "espalier/ir/ops/pointwise.h"

#include <set>

#include "espalier/ir/definition.h"

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

Result<Tensor> apply_chain(const Args& args, const std::vector<std::string>& chain, Tensor x,
                           const std::string& last_name,
                           const std::optional<std::vector<int64_t>>& operand_shape) {
  OperandNames names(x);
  for (size_t step = 0; step < chain.size(); ++step) {
    const std::string& word = chain[step];
    const Tensor in = x;
    const DType dtype = in->dtype;
    std::function<Expr(const std::vector<Var>&)> body;
    auto element = [&](const std::vector<Var>& v) { return in.at({v.begin(), v.end()}); };
    if (word == "bias" || word == "cscale") {
      if (in->shape.empty()) {
        return args.error("'", word, "' works on the last axis, but the result has no axes");
      }
      const Tensor vector = placeholder(names.vector(word), {in->shape.back()}, dtype);
      body = [=](const std::vector<Var>& v) {
        return word == "bias" ? element(v) + vector(v.back()) : element(v) * vector(v.back());
      };
    } else if (word == "scale") {
      body = [=, &args](const std::vector<Var>& v) { return element(v) * args.number("scale"); };
    } else if (word == "cast" && args.has("to")) {
      const DType to = *dtype_from_name(args.word("to"));
      body = [=](const std::vector<Var>& v) { return cast(to, element(v)); };
    } else if (unary_formula(word, make_number(dtype, 0))) {
      body = [=](const std::vector<Var>& v) { return *unary_formula(word, element(v)); };
    } else if (binary_formula(word, make_number(dtype, 0), make_number(dtype, 0))) {
      const Tensor operand =
          placeholder(names.operand(word), operand_shape.value_or(in->shape), dtype);
      body = [=](const std::vector<Var>& v) {
        return *binary_formula(word, element(v),
                               operand.at(broadcast_indices(operand->shape, in->shape, v)));
      };
    } else {
      return args.error("there is no step '", word, "'; steps are ", list_of_words());
    }
    const bool last = step + 1 == chain.size();
    x = pointwise(last ? last_name : "after_" + word, in, body);
  }
  return x;
}

}  // namespace espalier::ops
