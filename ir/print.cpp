// Text of expressions, statements and functions.
//
// Expressions use the syntax of DAG texts. From loose to tight: `||`, `&&`, comparisons, `+ -`,
// `* /` (floating-point division), unary `- !`; operators of one level group to the left,
// comparisons not at all. Everything else is written as a call: floordiv(a, b), truncmod(a, b),
// max(a, b), shl(a, b), select(c, a, b), fma(a, b, c), exp(a). `and`, `or`, `xor` and `not` as
// calls are those of integers. A cast is a call of its type, f32(a), also around the words inf and
// nan.
#include <cmath>

#include "espalier/ir/stmt.h"
#include "espalier/ir/tensor.h"
#include "espalier/support/check.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

enum Precedence { kOr = 1, kAnd, kCompare, kSum, kProduct, kUnary, kAtom };

// The operator's sign and level, or none for what is written as a call.
struct Infix {
  const char* sign = nullptr;
  int level = kAtom;
};
Infix infix(BinaryOp op, DType t) {
  switch (op) {
    case BinaryOp::Add: return {" + ", kSum};
    case BinaryOp::Sub: return {" - ", kSum};
    case BinaryOp::Mul: return {" * ", kProduct};
    case BinaryOp::Div: return {" / ", kProduct};
    case BinaryOp::Lt: return {" < ", kCompare};
    case BinaryOp::Le: return {" <= ", kCompare};
    case BinaryOp::Gt: return {" > ", kCompare};
    case BinaryOp::Ge: return {" >= ", kCompare};
    case BinaryOp::Eq: return {" == ", kCompare};
    case BinaryOp::Ne: return {" != ", kCompare};
    case BinaryOp::And: return t == DType::Bool ? Infix{" && ", kAnd} : Infix{};
    case BinaryOp::Or: return t == DType::Bool ? Infix{" || ", kOr} : Infix{};
    default: return {};
  }
}

std::string text_of(const ConstNode& c) {
  const DType t = c.type.dtype;
  if (t == DType::Bool) return c.i != 0 ? "true" : "false";
  if (!is_float(t)) {
    std::string text =
        t == DType::U64 ? std::to_string(static_cast<uint64_t>(c.i)) : std::to_string(c.i);
    return t == DType::I64 ? text : text + std::string(name_of(t));
  }
  if (!std::isfinite(c.f)) {
    return (c.f < 0 ? "-" : "") + std::string(name_of(t)) + (c.f != c.f ? "(nan)" : "(inf)");
  }
  std::string text = t == DType::F64 ? format_double(c.f) : format_float(static_cast<float>(c.f));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + std::string(name_of(t));
}

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void expr(const Expr& e, int level = 0) {
    if (!e) {
      out_ += "<none>";
      return;
    }
    switch (e.kind()) {
      case ExprKind::Const: {
        const std::string text = text_of(*e.as<ConstNode>());
        const bool wrap = text[0] == '-' && level > kUnary;
        out_ += wrap ? "(" + text + ")" : text;
        return;
      }
      case ExprKind::Var: out_ += e.as<VarNode>()->name; return;
      case ExprKind::Cast: call(to_string(e.type()), {e.as<CastNode>()->value}); return;
      case ExprKind::Reinterpret:
        call("reinterpret_" + to_string(e.type()), {e.as<ReinterpretNode>()->value});
        return;
      case ExprKind::Unary: unary(*e.as<UnaryNode>(), level); return;
      case ExprKind::Binary: binary(*e.as<BinaryNode>(), level); return;
      case ExprKind::Fma: {
        const auto* n = e.as<FmaNode>();
        call("fma", {n->a, n->b, n->c});
        return;
      }
      case ExprKind::Select: {
        const auto* n = e.as<SelectNode>();
        call("select", {n->cond, n->a, n->b});
        return;
      }
      case ExprKind::Read: {
        if (const std::string* message = poison_message(e)) {
          out_ += "<error: " + *message + ">";
          return;
        }
        const auto* n = e.as<ReadNode>();
        element(n->tensor->name, n->indices, {}, false);
        return;
      }
      case ExprKind::Reduce: reduce(*e.as<ReduceNode>()); return;
      case ExprKind::Load: {
        const auto* n = e.as<LoadNode>();
        element(n->buffer->name, n->indices, n->predicate, n->flat);
        return;
      }
      case ExprKind::Ramp: {
        const auto* n = e.as<RampNode>();
        call("ramp", {n->base, make_index(n->stride), make_index(n->type.lanes)});
        return;
      }
      case ExprKind::Broadcast: {
        const auto* n = e.as<BroadcastNode>();
        call("broadcast", {n->value, make_index(n->type.lanes)});
        return;
      }
      case ExprKind::LaneReduce: {
        const auto* n = e.as<LaneReduceNode>();
        call("lane_" + std::string(name_of(n->op)), {n->value});
        return;
      }
    }
  }

  void stmt(const Stmt& s, int depth) {
    if (!s) return;
    switch (s.kind()) {
      case StmtKind::For: loop(*s.as<ForNode>(), depth); return;
      case StmtKind::Store: {
        const auto* n = s.as<StoreNode>();
        indent(depth);
        element(n->buffer->name, n->indices, n->predicate, n->flat);
        out_ += n->non_temporal ? " =nt " : " = ";
        expr(n->value);
        out_ += '\n';
        return;
      }
      case StmtKind::If: {
        const auto* n = s.as<IfNode>();
        indent(depth);
        out_ += "if ";
        expr(n->cond);
        out_ += ":\n";
        body(n->then_case, depth + 1);
        if (n->else_case) {
          indent(depth);
          out_ += "else:\n";
          body(n->else_case, depth + 1);
        }
        return;
      }
      case StmtKind::Let: {
        const auto* n = s.as<LetNode>();
        indent(depth);
        out_ += "let " + n->var.name() + " = ";
        expr(n->value);
        out_ += '\n';
        body(n->body, depth);
        return;
      }
      case StmtKind::Block:
        for (const Stmt& c : s.as<BlockNode>()->stmts) stmt(c, depth);
        return;
      case StmtKind::Allocate: {
        const auto* n = s.as<AllocateNode>();
        indent(depth);
        out_ += "allocate ";
        buffer(*n->buffer);
        out_ += '\n';
        body(n->body, depth);
        return;
      }
      case StmtKind::Prefetch: {
        const auto* n = s.as<PrefetchNode>();
        indent(depth);
        out_ += "prefetch ";
        element(n->buffer->name, n->indices, {}, n->flat);
        out_ += n->for_write ? " to write" : " to read";
        out_ += ", locality " + std::to_string(n->locality) + "\n";
        return;
      }
    }
  }

  void func(const LoweredFunc& f) {
    static constexpr const char* kRoles[] = {"input", "constant", "packed", "output"};
    out_ += "func " + f.name + "(";
    for (size_t i = 0; i < f.params.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += std::string(kRoles[static_cast<size_t>(f.params[i].role)]) + " ";
      buffer(*f.params[i].buffer);
    }
    out_ += ") threads " + std::to_string(f.threads) + ":\n";
    body(f.body, 1);
  }

 private:
  void indent(int depth) { out_.append(2 * static_cast<size_t>(depth), ' '); }

  void list(std::span<const Expr> items) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ", ";
      expr(items[i]);
    }
  }
  void call(std::string_view name, std::initializer_list<Expr> args) {
    out_ += name;
    out_ += '(';
    list({args.begin(), args.size()});
    out_ += ')';
  }

  void element(const std::string& name, const std::vector<Expr>& indices, const Expr& predicate,
               bool flat) {
    out_ += name + (flat ? "[@ " : "[");
    list(indices);
    if (predicate) {
      out_ += " if ";
      expr(predicate);
    }
    out_ += ']';
  }

  void unary(const UnaryNode& n, int level) {
    const bool not_bool = n.op == UnaryOp::Not && n.type.dtype == DType::Bool;
    if (n.op != UnaryOp::Neg && !not_bool) {
      call(name_of(n.op), {n.a});
      return;
    }
    if (level > kUnary) out_ += '(';
    out_ += not_bool ? '!' : '-';
    expr(n.a, kAtom);
    if (level > kUnary) out_ += ')';
  }

  void binary(const BinaryNode& n, int level) {
    const Infix op = infix(n.op, n.a.type().dtype);
    if (op.sign == nullptr) {
      call(name_of(n.op), {n.a, n.b});
      return;
    }
    const bool wrap = level > op.level;
    if (wrap) out_ += '(';
    expr(n.a, op.level == kCompare ? kSum : op.level);
    out_ += op.sign;
    expr(n.b, op.level + 1);
    if (wrap) out_ += ')';
  }

  void reduce(const ReduceNode& n) {
    out_ += n.combiner.name + "[";
    for (size_t i = 0; i < n.axes.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += n.axes[i].var.name() + ": " + std::to_string(n.axes[i].extent);
    }
    out_ += "](";
    expr(n.value);
    if (n.where) {
      out_ += ", where=";
      expr(n.where);
    }
    out_ += ')';
  }

  void buffer(const BufferNode& b) {
    static constexpr const char* kScopes[] = {"", " workspace", " stack", " register"};
    out_ += b.name + ": " + std::string(name_of(b.dtype));
    numbers(b.shape);
    if (b.strides != dense_strides(b.shape)) {
      out_ += " strides ";
      numbers(b.strides);
    }
    out_ += kScopes[static_cast<size_t>(b.scope)];
  }
  void numbers(const std::vector<int64_t>& values) {
    out_ += '[';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += std::to_string(values[i]);
    }
    out_ += ']';
  }

  void loop(const ForNode& n, int depth) {
    static constexpr const char* kKinds[] = {"for ", "parallel for ", "vectorized for ",
                                             "unrolled for "};
    indent(depth);
    out_ += kKinds[static_cast<size_t>(n.for_kind)] + n.var.name() + " in [";
    expr(n.min);
    out_ += ", ";
    expr(is_const(n.min, 0) ? n.extent : make_binary(BinaryOp::Add, n.min, n.extent));
    out_ += n.partition ? ") partition:\n" : "):\n";
    body(n.body, depth + 1);
  }

  void body(const Stmt& s, int depth) {
    const size_t before = out_.size();
    stmt(s, depth);
    if (out_.size() == before) {
      indent(depth);
      out_ += "pass\n";
    }
  }

  std::string out_;
};

}  // namespace

std::string to_string(const Expr& e) {
  Printer p;
  p.expr(e);
  return p.take();
}

std::string to_string(const Stmt& s) {
  Printer p;
  p.stmt(s, 0);
  return p.take();
}

std::string to_string(const LoweredFunc& f) {
  Printer p;
  p.func(f);
  return p.take();
}

}  // namespace espalier
