// DAGs from text (see ir/dag.h for the syntax).
#include <map>

#include "espalier/ir/dag.h"
#include "espalier/ir/expr_parse.h"

namespace espalier {
namespace {

class DagParser {
 public:
  explicit DagParser(std::string_view text) : lexer_(text) { lexer_.suffixes(true); }

  Result<ComputeDag> run() {
    while (true) {
      ESP_TRY(const Token word, lexer_.expect(TokenKind::Identifier));
      ESP_TRY(const Token next, lexer_.peek());
      const bool is_definition = next.text == "=" || next.text == "[";
      if (word.text == "return" && !is_definition) return outputs(word);
      if (word.text == "combiner" && !is_definition) {
        ESP_TRY_VOID(combiner());
      } else {
        ESP_TRY_VOID(definition(word));
      }
    }
  }

 private:
  struct Definition {
    Token at;
    Tensor tensor;
  };

  Result<void> definition(const Token& name) {
    Tensor tensor;
    if (lexer_.accept("=")) {
      ESP_TRY(tensor, leaf(std::string(name.text)));
    } else {
      ExprScope scope;
      scope.tensors = &tensors_;
      ESP_TRY(const std::vector<Axis> axes, axis_list(scope));
      ESP_TRY(const Token equals, lexer_.expect("="));
      ESP_TRY(const Expr value, body(scope));
      if (const std::string* message = poison_message(value)) {
        return Lexer::error_at(equals, *message);
      }
      tensor = compute_with_axes(std::string(name.text), axes, value);
    }
    if (!tensors_.emplace(name.text, tensor).second) {
      return Lexer::error_at(name, detail::concat("'", name.text, "' is defined twice"));
    }
    order_.push_back({name, tensor});
    return {};
  }

  Result<Tensor> leaf(std::string name) {
    ESP_TRY(const Token kind, lexer_.expect(TokenKind::Identifier));
    if (kind.text != "placeholder" && kind.text != "constant") {
      return Lexer::error_at(kind, "'placeholder' or 'constant' was expected");
    }
    ESP_TRY(const DType dtype, type());
    ESP_TRY(const Token open, lexer_.expect("["));
    std::vector<int64_t> shape;
    while (!lexer_.accept("]")) {
      if (!shape.empty()) {
        ESP_TRY(const Token comma, lexer_.expect(","));
      }
      ESP_TRY(const int64_t extent, integer());
      shape.push_back(extent);
    }
    if (kind.text == "constant") return constant(std::move(name), std::move(shape), dtype);
    std::optional<std::pair<int64_t, int64_t>> range;
    if (lexer_.at("in")) {
      ESP_TRY(const Token in, lexer_.next());
      ESP_TRY(const Token bracket, lexer_.expect("["));
      ESP_TRY(const int64_t first, integer());
      ESP_TRY(const Token comma, lexer_.expect(","));
      ESP_TRY(const int64_t end, integer());
      ESP_TRY(const Token close, lexer_.expect(")"));
      range = {first, end};
    }
    return placeholder(std::move(name), std::move(shape), dtype, range);
  }

  Result<DType> type() {
    ESP_TRY(const Token token, lexer_.expect(TokenKind::Identifier));
    if (auto t = dtype_from_name(token.text)) return *t;
    return Lexer::error_at(token, detail::concat("there is no type '", token.text, "'"));
  }

  Result<int64_t> integer() {
    const bool negative = lexer_.accept("-");
    ESP_TRY(const Token token, lexer_.expect(TokenKind::Integer));
    const auto magnitude = static_cast<uint64_t>(token.integer);
    if (!token.suffix.empty() || magnitude > static_cast<uint64_t>(INT64_MAX) + negative) {
      return Lexer::error_at(token, "an integer of 64 bits was expected");
    }
    return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  }

  // "[i: 4, j: 5]", added to the scope.
  Result<std::vector<Axis>> axis_list(ExprScope& scope) {
    std::vector<Axis> axes;
    ESP_TRY(const Token open, lexer_.expect("["));
    while (!lexer_.accept("]")) {
      if (!axes.empty()) {
        ESP_TRY(const Token comma, lexer_.expect(","));
      }
      ESP_TRY(const Token name, lexer_.expect(TokenKind::Identifier));
      ESP_TRY(const Token colon, lexer_.expect(":"));
      ESP_TRY(const int64_t extent, integer());
      const Var var{std::string(name.text)};
      if (!scope.vars.emplace(name.text, var).second) {
        return Lexer::error_at(name, detail::concat("the axis '", name.text, "' is named twice"));
      }
      axes.push_back({var, extent});
    }
    return axes;
  }

  // An expression, or a reduction: "sum[k: 4](term, where=condition)", "ordered" in front of it.
  Result<Expr> body(ExprScope& scope) {
    Lexer ahead = lexer_;
    const bool ordered = ahead.accept("ordered");
    ESP_TRY(const Token name, ahead.peek());
    const bool is_reduction = ahead.accept(TokenKind::Identifier) && ahead.accept("[") &&
                              ahead.accept(TokenKind::Identifier) && ahead.accept(":");
    if (!is_reduction) return parse_expr(lexer_, scope);
    if (ordered) {
      ESP_TRY(const Token word, lexer_.next());
    }
    ESP_TRY(const Token taken, lexer_.next());
    std::optional<Combiner> c = find_combiner(name.text);
    if (!c) return Lexer::error_at(name, detail::concat("there is no combiner '", name.text, "'"));
    c->reorderable = !ordered;
    ESP_TRY(std::vector<Axis> axes, axis_list(scope));
    ESP_TRY(const Token open, lexer_.expect("("));
    ESP_TRY(Expr value, parse_expr(lexer_, scope));
    Expr where;
    if (lexer_.accept(",")) {
      ESP_TRY(const Token word, lexer_.expect("where"));
      ESP_TRY(const Token equals, lexer_.expect("="));
      ESP_TRY(where, parse_expr(lexer_, scope));
    }
    ESP_TRY(const Token close, lexer_.expect(")"));
    const Expr reduce = make_reduce(*c, std::move(value), std::move(axes), std::move(where));
    if (const std::string* message = poison_message(reduce)) {
      return Lexer::error_at(name, *message);
    }
    return reduce;
  }

  std::optional<Combiner> find_combiner(std::string_view name) const {
    for (auto kind : {Combiner::Kind::Sum, Combiner::Kind::Prod, Combiner::Kind::Max,
                      Combiner::Kind::Min, Combiner::Kind::And, Combiner::Kind::Or}) {
      Combiner c = Combiner::of(kind);
      if (c.name == name) return c;
    }
    auto it = combiners_.find(name);
    if (it == combiners_.end()) return std::nullopt;
    return it->second;
  }

  // "combiner NAME(a: TYPE, b: TYPE) = body, identity=value"; the word is already taken.
  Result<void> combiner() {
    ESP_TRY(const Token name, lexer_.expect(TokenKind::Identifier));
    ESP_TRY(const Token open, lexer_.expect("("));
    ExprScope scope;
    auto operand = [&]() -> Result<Var> {
      ESP_TRY(const Token id, lexer_.expect(TokenKind::Identifier));
      ESP_TRY(const Token colon, lexer_.expect(":"));
      ESP_TRY(const DType t, type());
      const Var var(std::string(id.text), t);
      if (!scope.vars.emplace(id.text, var).second) {
        return Lexer::error_at(id, detail::concat("the operand '", id.text, "' is named twice"));
      }
      return var;
    };
    Combiner c = Combiner::of(Combiner::Kind::Custom);
    c.name = std::string(name.text);
    ESP_TRY(c.lhs, operand());
    ESP_TRY(const Token comma, lexer_.expect(","));
    ESP_TRY(c.rhs, operand());
    ESP_TRY(const Token close, lexer_.expect(")"));
    ESP_TRY(const Token equals, lexer_.expect("="));
    ESP_TRY(c.body, parse_expr(lexer_, scope));
    ESP_TRY(const Token comma2, lexer_.expect(","));
    ESP_TRY(const Token word, lexer_.expect("identity"));
    ESP_TRY(const Token equals2, lexer_.expect("="));
    ESP_TRY(c.custom_identity, parse_expr(lexer_, ExprScope()));
    if (find_combiner(name.text)) {
      return Lexer::error_at(name, detail::concat("the combiner '", name.text, "' exists already"));
    }
    combiners_.emplace(name.text, std::move(c));
    return {};
  }

  // The names after "return", which end the text.
  Result<ComputeDag> outputs(const Token& word) {
    std::vector<Tensor> tensors;
    do {
      ESP_TRY(const Token name, lexer_.expect(TokenKind::Identifier));
      auto it = tensors_.find(name.text);
      if (it == tensors_.end()) {
        return Lexer::error_at(name, detail::concat("there is no tensor '", name.text, "'"));
      }
      tensors.push_back(it->second);
    } while (lexer_.accept(","));
    ESP_TRY(const Token end, lexer_.peek());
    if (end.kind != TokenKind::End) return lexer_.error_here("the text should end after 'return'");
    Result<ComputeDag> dag = ComputeDag::make(std::move(tensors));
    if (!dag.ok()) return with_note(std::move(dag).error(), "line ", word.line, " returns it");
    std::map<const TensorNode*, bool> used;
    for (const StageInfo& s : dag->stages()) used[s.tensor.get()] = true;
    for (const Definition& d : order_) {
      if (!used.contains(d.tensor.get())) {
        return Lexer::error_at(d.at, detail::concat("'", d.at.text, "' is not used by any output"));
      }
    }
    return dag;
  }

  Lexer lexer_;
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::map<std::string, Combiner, std::less<>> combiners_;
  std::vector<Definition> order_;
};

}  // namespace

Result<ComputeDag> parse_dag(std::string_view text) { return DagParser(text).run(); }

}  // namespace espalier
