#include "espalier/ir/expr_parse.h"

#include <algorithm>

#include "espalier/ir/definition.h"
#include "espalier/ir/scalar_ops.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

// Parentheses and calls inside one another: each takes a few frames of the parser's stack.
constexpr int kMaxNesting = 200;

struct Parsed {
  Expr e;
  int depth = 1;
  bool literal = false;  // a number without a suffix, whose type is open
};

constexpr UnaryOp kUnaryOps[] = {UnaryOp::Neg,   UnaryOp::Not,  UnaryOp::Abs,   UnaryOp::Sqrt,
                                 UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::Round, UnaryOp::Exp,
                                 UnaryOp::Log,   UnaryOp::Tanh, UnaryOp::Erf,   UnaryOp::Sigmoid,
                                 UnaryOp::Rsqrt, UnaryOp::Sin,  UnaryOp::Cos};

struct Infix {
  std::string_view sign;
  BinaryOp op;
};
// From loose to tight.
const std::vector<Infix> kLevels[] = {
    {{"||", BinaryOp::Or}},
    {{"&&", BinaryOp::And}},
    {{"<", BinaryOp::Lt},
     {"<=", BinaryOp::Le},
     {">", BinaryOp::Gt},
     {">=", BinaryOp::Ge},
     {"==", BinaryOp::Eq},
     {"!=", BinaryOp::Ne}},
    {{"+", BinaryOp::Add}, {"-", BinaryOp::Sub}},
    {{"*", BinaryOp::Mul}, {"/", BinaryOp::Div}, {"%", BinaryOp::TruncMod}},
};
constexpr size_t kCompareLevel = 2, kLevelCount = 5;

std::optional<BinaryOp> binary_from_name(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(BinaryOp::Ne); ++i) {
    if (name_of(static_cast<BinaryOp>(i)) == name) return static_cast<BinaryOp>(i);
  }
  return std::nullopt;
}

class ExprParser {
 public:
  ExprParser(Lexer& lexer, const ExprScope& scope) : lexer_(lexer), scope_(scope) {}

  Result<Parsed> parse() { return level(0); }

 private:
  Result<Parsed> level(size_t l) {
    if (l == kLevelCount) return unary();
    ESP_TRY(Parsed left, level(l + 1));
    while (true) {
      ESP_TRY(const Token sign, lexer_.peek());
      const Infix* found = nullptr;
      for (const Infix& infix : kLevels[l]) {
        if (sign.kind == TokenKind::Punctuation && sign.text == infix.sign) found = &infix;
      }
      if (found == nullptr) return left;
      ESP_TRY(const Token taken, lexer_.next());
      ESP_TRY(Parsed right, level(l + 1));
      ESP_TRY(left, binary(taken, found->op, std::move(left), std::move(right)));
      if (l == kCompareLevel) return left;  // comparisons do not chain
    }
  }

  Result<Parsed> unary() {
    ESP_TRY(const Token token, lexer_.peek());
    if (token.kind == TokenKind::Punctuation && (token.text == "-" || token.text == "!")) {
      ESP_TRY(const Token sign, lexer_.next());
      if (sign.text == "-" && (lexer_.at(TokenKind::Integer) || lexer_.at(TokenKind::Float))) {
        return number(true);
      }
      ESP_TRY(const Nested nested, enter(sign));
      ESP_TRY(Parsed operand, unary());
      return apply(sign, sign.text == "-" ? UnaryOp::Neg : UnaryOp::Not, std::move(operand));
    }
    return primary();
  }

  Result<Parsed> primary() {
    if (lexer_.at(TokenKind::Integer) || lexer_.at(TokenKind::Float)) return number(false);
    ESP_TRY(const Token token, lexer_.peek());
    if (token.kind == TokenKind::Punctuation && token.text == "(") {
      ESP_TRY(const Token open, lexer_.next());
      ESP_TRY(const Nested nested, enter(open));
      ESP_TRY(Parsed inner, level(0));
      ESP_TRY(const Token close, lexer_.expect(")"));
      return inner;
    }
    if (token.kind != TokenKind::Identifier) return lexer_.error_here("an expression was expected");
    ESP_TRY(const Token name, lexer_.next());
    if (lexer_.at("[")) return read(name);
    if (lexer_.at("(")) return call(name);
    if (name.text == "true" || name.text == "false") {
      return Parsed{make_bool(name.text == "true")};
    }
    if (auto it = scope_.vars.find(name.text); it != scope_.vars.end()) return Parsed{it->second};
    return Lexer::error_at(name, detail::concat("'", name.text, "' is not defined here"));
  }

  Result<Parsed> number(bool negative) {
    ESP_TRY(const Token token, lexer_.next());
    const bool is_integer = token.kind == TokenKind::Integer;
    std::optional<DType> type = is_integer ? DType::I64 : DType::F32;
    if (!token.suffix.empty()) type = dtype_from_name(token.suffix);
    if (!type || *type == DType::Bool) {
      return Lexer::error_at(token, detail::concat("'", token.suffix, "' is no type of numbers"));
    }
    Parsed result;
    result.literal = token.suffix.empty();
    if (is_float(*type)) {
      double value = token.number;
      if (*type != DType::F64 && !result.literal && !is_integer && token.text != "inf" &&
          token.text != "nan") {
        // Rounded from the text at once, as it was printed.
        ESP_TRY(const float narrow, parse_float(token.text));
        value = static_cast<double>(narrow);
      }
      if (result.literal) literal_value_ = negative ? -value : value;
      result.e = make_float(*type, negative ? -value : value);
      return result;
    }
    if (!is_integer) {
      return Lexer::error_at(token, detail::concat("'", token.text, "' is not an integer"));
    }
    const auto magnitude = static_cast<uint64_t>(token.integer);
    const uint64_t limit = static_cast<uint64_t>(int_max(*type)) + (negative ? 1 : 0);
    const bool fits = negative && is_unsigned_int(*type) ? magnitude == 0
                      : *type == DType::U64              ? true
                                                         : magnitude <= limit;
    if (!fits) {
      return Lexer::error_at(token, detail::concat("'", negative ? "-" : "", token.text,
                                                   "' does not fit ", name_of(*type)));
    }
    if (result.literal) literal_value_ = negative ? -token.number : token.number;
    result.e = make_int(*type, static_cast<int64_t>(negative ? 0 - magnitude : magnitude));
    return result;
  }

  Result<Parsed> read(const Token& name) {
    if (scope_.tensors == nullptr || !scope_.tensors->contains(name.text)) {
      return Lexer::error_at(name, detail::concat("there is no tensor '", name.text, "' yet"));
    }
    const Tensor tensor = scope_.tensors->find(name.text)->second;
    ESP_TRY(const Token open, lexer_.expect("["));
    ESP_TRY(const Nested nested, enter(open));
    ESP_TRY(std::vector<Parsed> indices, list("]"));
    Parsed result;
    std::vector<Expr> exprs;
    for (Parsed& index : indices) {
      result.depth = std::max(result.depth, index.depth + 2);  // it may need a cast
      exprs.push_back(std::move(index.e));
    }
    result.e = make_read(tensor, std::move(exprs));
    if (const std::string* message = poison_message(result.e)) {
      return Lexer::error_at(name, *message);
    }
    return checked(name, std::move(result));
  }

  Result<Parsed> call(const Token& name) {
    ESP_TRY(const Token open, lexer_.expect("("));
    ESP_TRY(const Nested nested, enter(open));
    ESP_TRY(std::vector<Parsed> args, list(")"));
    auto takes = [&](size_t count) -> Result<void> {
      if (args.size() == count) return {};
      return Lexer::error_at(
          name, detail::concat("'", name.text, "' takes ", count, " operands, not ", args.size()));
    };
    constexpr std::string_view kReinterpret = "reinterpret_";
    if (auto type = dtype_from_name(name.text)) {
      ESP_TRY_VOID(takes(1));
      if (args[0].literal) return Parsed{make_number(*type, literal_value_)};
      return node(name, make_cast(*type, args[0].e), args);
    }
    if (name.text.starts_with(kReinterpret)) {
      ESP_TRY_VOID(takes(1));
      const auto type = dtype_from_name(name.text.substr(kReinterpret.size()));
      const DType from = args[0].e.type().dtype;
      if (!type || bits_of(*type) != bits_of(from) || from == DType::Bool) {
        return Lexer::error_at(name, detail::concat("'", name.text, "' of ", name_of(from),
                                                    ": a type of the same size is needed"));
      }
      return node(name, make_reinterpret(*type, args[0].e), args);
    }
    if (name.text == "select") {
      ESP_TRY_VOID(takes(3));
      unify(args[1], args[2]);
      if (args[0].e.type() != kBool || args[1].e.type() != args[2].e.type()) {
        return Lexer::error_at(
            name, detail::concat("'select' takes a bool and two values of one type, not ",
                                 to_string(args[0].e.type()), ", ", to_string(args[1].e.type()),
                                 " and ", to_string(args[2].e.type())));
      }
      return node(name, make_select(args[0].e, args[1].e, args[2].e), args);
    }
    if (name.text == "fma") {
      ESP_TRY_VOID(takes(3));
      const Type t = args[0].e.type();
      if (args[1].e.type() != t || args[2].e.type() != t || !is_float(t.dtype)) {
        return Lexer::error_at(name, "'fma' takes three floating-point values of one type");
      }
      return node(name, make_fma(args[0].e, args[1].e, args[2].e), args);
    }
    for (UnaryOp op : kUnaryOps) {
      if (name_of(op) != name.text) continue;
      ESP_TRY_VOID(takes(1));
      return apply(name, op, std::move(args[0]));
    }
    if (auto op = binary_from_name(name.text)) {
      ESP_TRY_VOID(takes(2));
      return binary(name, *op, std::move(args[0]), std::move(args[1]));
    }
    return Lexer::error_at(name, detail::concat("there is no function '", name.text, "'"));
  }

  // Expressions up to the closing bracket, which is taken.
  Result<std::vector<Parsed>> list(std::string_view close) {
    std::vector<Parsed> items;
    if (lexer_.accept(close)) return items;
    while (true) {
      ESP_TRY(Parsed item, level(0));
      items.push_back(std::move(item));
      if (lexer_.accept(close)) return items;
      ESP_TRY(const Token comma, lexer_.expect(","));
    }
  }

  // Gives a literal the type of the other operand.
  static void unify(Parsed& a, Parsed& b) {
    if (a.literal == b.literal) {
      if (a.literal && a.e.type() != b.e.type()) {  // an integer and another number
        Parsed& integer = is_float(a.e.type().dtype) ? b : a;
        integer.e = make_cast(DType::F32, integer.e);
      }
      return;
    }
    Parsed& literal = a.literal ? a : b;
    const Type type = (a.literal ? b : a).e.type();
    const auto* c = literal.e.as<ConstNode>();
    if (c == nullptr || type.dtype == DType::Bool) return;
    if (is_float(c->type.dtype) && !is_float(type.dtype)) return;
    const Expr converted = make_cast(type, literal.e);
    if (!is_float(type.dtype)) {
      const auto* v = converted.as<ConstNode>();
      if (v->i != c->i || (type.dtype == DType::U64 && c->i < 0)) return;
    }
    literal.e = converted;
  }

  Result<Parsed> binary(const Token& at, BinaryOp op, Parsed a, Parsed b) {
    unify(a, b);
    const Type ta = a.e.type(), tb = b.e.type();
    if (ta != tb) {
      return Lexer::error_at(at, detail::concat("'", at.text, "' of ", to_string(ta), " and ",
                                                to_string(tb), ": cast one of them"));
    }
    if (!is_defined(op, ta.dtype)) {
      const bool is_sign = at.text == "/";
      return Lexer::error_at(at,
                             detail::concat("'", at.text, "' is not defined on ", to_string(ta),
                                            is_sign ? "; there are floordiv and truncdiv" : ""));
    }
    return node(at, make_binary(op, a.e, b.e), {a, b});
  }

  Result<Parsed> apply(const Token& at, UnaryOp op, Parsed a) {
    const Type t = a.e.type();
    if (!is_defined(op, t.dtype)) {
      return Lexer::error_at(at,
                             detail::concat("'", at.text, "' is not defined on ", to_string(t)));
    }
    return node(at, make_unary(op, a.e), {a});
  }

  Result<Parsed> node(const Token& at, Expr e, const std::vector<Parsed>& operands) {
    Parsed result{std::move(e)};
    for (const Parsed& p : operands) result.depth = std::max(result.depth, p.depth + 1);
    return checked(at, std::move(result));
  }
  Result<Parsed> checked(const Token& at, Parsed p) {
    if (p.depth > kMaxExprDepth) {
      return Lexer::error_at(
          at, detail::concat("the expression is nested deeper than ", kMaxExprDepth, " levels"));
    }
    return p;
  }

  // Counts open brackets; leaves when it goes out of scope.
  class Nested {
   public:
    explicit Nested(int* count) : count_(count) { ++*count_; }
    Nested(Nested&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ~Nested() {
      if (count_ != nullptr) --*count_;
    }

   private:
    int* count_;
  };
  Result<Nested> enter(const Token& at) {
    if (nesting_ >= kMaxNesting) {
      return Lexer::error_at(
          at, detail::concat("more than ", kMaxNesting, " brackets and signs are open"));
    }
    return Nested(&nesting_);
  }

  Lexer& lexer_;
  const ExprScope& scope_;
  int nesting_ = 0;
  double literal_value_ = 0;  // of the literal parsed last, before it was rounded to a type
};

}  // namespace

Result<Expr> parse_expr(Lexer& lexer, const ExprScope& scope) {
  ESP_TRY(Parsed parsed, ExprParser(lexer, scope).parse());
  return std::move(parsed.e);
}

Result<Expr> parse_expr(std::string_view text, const ExprScope& scope) {
  Lexer lexer(text);
  lexer.suffixes(true);
  ESP_TRY(Expr e, parse_expr(lexer, scope));
  if (!lexer.at_end()) return lexer.error_here("the expression should end here");
  return e;
}

}  // namespace espalier
