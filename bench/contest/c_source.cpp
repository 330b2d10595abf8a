#include "contest/c_source.h"

#include <cctype>
#include <cmath>
#include <unordered_map>

#include "espalier/support/number.h"

namespace espalier::bench {
namespace {

constexpr const char* kPrelude =
    "#include <math.h>\n"
    "#include <stdint.h>\n\n"
    "static inline int64_t floor_div(int64_t a, int64_t b) {\n"
    "  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));\n"
    "}\n"
    "static inline int64_t floor_mod(int64_t a, int64_t b) {\n"
    "  return b == 0 ? 0 : a - floor_div(a, b) * b;\n"
    "}\n\n";

// The C type, or nothing.
const char* c_type(DType t) {
  switch (t) {
    case DType::F64: return "double";
    case DType::F32: return "float";
    case DType::I8: return "int8_t";
    case DType::I16: return "int16_t";
    case DType::I32: return "int32_t";
    case DType::I64: return "int64_t";
    case DType::U8: return "uint8_t";
    case DType::U16: return "uint16_t";
    case DType::U32: return "uint32_t";
    case DType::U64: return "uint64_t";
    case DType::Bool: return "_Bool";
    case DType::F16:
    case DType::BF16: break;
  }
  return nullptr;
}

std::string identifier(const std::string& name, size_t number) {
  std::string text;
  for (char c : name) text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return text + "_" + std::to_string(number);
}

class Emitter {
 public:
  Result<std::string> run(const LoweredFunc& func) {
    std::string params, passed;
    for (size_t i = 0; i < func.params.size(); ++i) {
      const LoweredFunc::Param& param = func.params[i];
      const bool written = param.role == LoweredFunc::Role::Output;
      params += std::string(i > 0 ? ", " : "") + (written ? "" : "const ") +
                type(param.buffer->dtype) + " *restrict " + name_of_buffer(param.buffer);
      passed += std::string(i > 0 ? ", " : "") + "arguments[" + std::to_string(i) + "]";
    }
    statement(func.body, 1);
    if (!unsupported_.empty()) {
      return make_error(ErrorCode::Unsupported, "C for ", unsupported_, " is not written");
    }
    return kPrelude + scratch_ + "\nstatic void kernel(" + params + ") {\n" + body_ +
           "}\n\nvoid espalier_kernel(void *const *arguments) {\n  kernel(" + passed + ");\n}\n";
  }

 private:
  std::string type(DType t) {
    const char* text = c_type(t);
    if (text == nullptr) refuse(std::string(name_of(t)));
    return text == nullptr ? "float" : text;
  }
  std::string type(Type t) {
    if (t.is_vector()) refuse("vectors");
    return type(t.dtype);
  }
  void refuse(const std::string& what) {
    if (unsupported_.empty()) unsupported_ = what;
  }

  std::string name_of_buffer(const Buffer& buffer) {
    const size_t next = buffers_.size();
    return buffers_.try_emplace(buffer.get(), identifier(buffer->name, next)).first->second;
  }
  std::string name_of_var(const Expr& var) {
    const size_t next = vars_.size();
    const auto* node = var.as<VarNode>();
    return vars_.try_emplace(node, identifier(node->name, next)).first->second;
  }

  void line(int depth, const std::string& text) {
    body_ += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n";
  }

  std::string element(const Buffer& buffer, const std::vector<Expr>& indices, bool flat) {
    std::string offset;
    for (size_t d = 0; d < indices.size(); ++d) {
      const std::string index = expression(indices[d]);
      const int64_t stride = flat ? 1 : buffer->strides[d];
      offset += (offset.empty() ? "" : " + ") + index +
                (stride == 1 ? "" : " * " + std::to_string(stride));
    }
    return name_of_buffer(buffer) + "[" + (offset.empty() ? "0" : offset) + "]";
  }

  void statement(const Stmt& s, int depth) {
    if (!s) return;
    if (const auto* block = s.as<BlockNode>()) {
      for (const Stmt& each : block->stmts) statement(each, depth);
    } else if (const auto* loop = s.as<ForNode>()) {
      const std::string v = name_of_var(loop->var), min = expression(loop->min);
      const std::string end = is_const(loop->min, 0) ? expression(loop->extent)
                                                     : min + " + " + expression(loop->extent);
      line(depth, "for (int64_t " + v + " = " + min + "; " + v + " < " + end + "; ++" + v + ") {");
      statement(loop->body, depth + 1);
      line(depth, "}");
    } else if (const auto* store = s.as<StoreNode>()) {
      if (store->predicate) refuse("predicated stores");
      line(depth, element(store->buffer, store->indices, store->flat) + " = " +
                      expression(store->value) + ";");
    } else if (const auto* branch = s.as<IfNode>()) {
      line(depth, "if (" + expression(branch->cond) + ") {");
      statement(branch->then_case, depth + 1);
      if (branch->else_case) {
        line(depth, "} else {");
        statement(branch->else_case, depth + 1);
      }
      line(depth, "}");
    } else if (const auto* let = s.as<LetNode>()) {
      line(depth, "{");
      line(depth + 1, "const " + type(let->value.type()) + " " + name_of_var(let->var) + " = " +
                          expression(let->value) + ";");
      statement(let->body, depth + 1);
      line(depth, "}");
    } else if (const auto* allocate = s.as<AllocateNode>()) {
      scratch_ += "static _Alignas(64) " + type(allocate->buffer->dtype) + " " +
                  name_of_buffer(allocate->buffer) + "[" +
                  std::to_string(std::max<int64_t>(1, allocate->buffer->elements())) + "];\n";
      statement(allocate->body, depth);
    } else {
      refuse("this statement");
    }
  }

  std::string number(const ConstNode& c) {
    if (!is_float(c.type.dtype)) {
      if (c.type.dtype == DType::Bool) return c.i != 0 ? "1" : "0";
      if (c.i == INT64_MIN) return "INT64_MIN";
      return std::to_string(c.i) + (c.type.dtype == DType::U64 ? "u" : "");
    }
    const bool wide = c.type.dtype == DType::F64;
    if (std::isnan(c.f)) return "NAN";
    if (std::isinf(c.f)) {
      return std::string(c.f < 0 ? "-" : "") + (wide ? "1.7976931348623157e308" : "3.40282347e38f");
    }
    std::string text = format_double(c.f);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return wide ? text : text + "f";
  }

  std::string call(const std::string& function, Type t, const std::string& a) {
    return function + (t.dtype == DType::F64 ? "" : "f") + "(" + a + ")";
  }

  std::string unary(const UnaryNode& u) {
    const std::string a = expression(u.a);
    const bool real = is_float(u.type.dtype);
    switch (u.op) {
      case UnaryOp::Neg: return "(-" + a + ")";
      case UnaryOp::Not: return "(!" + a + ")";
      case UnaryOp::Abs:
        return real ? call("fabs", u.type, a) : "(" + a + " < 0 ? -" + a + " : " + a + ")";
      case UnaryOp::Round: return call("rint", u.type, a);
      case UnaryOp::Sigmoid: return "(1 / (1 + " + call("exp", u.type, "-" + a) + "))";
      case UnaryOp::Rsqrt: return "(1 / " + call("sqrt", u.type, a) + ")";
      default: return call(std::string(name_of(u.op)), u.type, a);
    }
  }

  std::string binary(const BinaryNode& b) {
    const std::string x = expression(b.a), y = expression(b.b);
    const bool real = is_float(b.a.type().dtype);
    auto infix = [&](const char* op) { return "(" + x + " " + op + " " + y + ")"; };
    switch (b.op) {
      case BinaryOp::Add: return infix("+");
      case BinaryOp::Sub: return infix("-");
      case BinaryOp::Mul: return infix("*");
      case BinaryOp::Div: return infix("/");
      case BinaryOp::FloorDiv: return "floor_div(" + x + ", " + y + ")";
      case BinaryOp::FloorMod: return "floor_mod(" + x + ", " + y + ")";
      case BinaryOp::TruncDiv: return "(" + y + " == 0 ? 0 : " + x + " / " + y + ")";
      case BinaryOp::TruncMod:
        return real ? (b.type.dtype == DType::F64 ? "fmod(" : "fmodf(") + x + ", " + y + ")"
                    : "(" + y + " == 0 ? 0 : " + x + " % " + y + ")";
      case BinaryOp::Min: return "(" + x + " < " + y + " ? " + x + " : " + y + ")";
      case BinaryOp::Max: return "(" + x + " > " + y + " ? " + x + " : " + y + ")";
      case BinaryOp::Pow:
        return (b.type.dtype == DType::F64 ? "pow(" : "powf(") + x + ", " + y + ")";
      case BinaryOp::And: return infix("&");
      case BinaryOp::Or: return infix("|");
      case BinaryOp::Xor: return infix("^");
      case BinaryOp::Shl: return infix("<<");
      case BinaryOp::Shr: return infix(">>");
      case BinaryOp::Lt: return infix("<");
      case BinaryOp::Le: return infix("<=");
      case BinaryOp::Gt: return infix(">");
      case BinaryOp::Ge: return infix(">=");
      case BinaryOp::Eq: return infix("==");
      case BinaryOp::Ne: return infix("!=");
    }
    return {};
  }

  std::string expression(const Expr& e) {
    if (e.type().is_vector()) refuse("vectors");
    if (const auto* c = e.as<ConstNode>()) return number(*c);
    if (e.as<VarNode>() != nullptr) return name_of_var(e);
    if (const auto* cast = e.as<CastNode>()) {
      return "((" + type(e.type()) + ")" + expression(cast->value) + ")";
    }
    if (const auto* u = e.as<UnaryNode>()) return unary(*u);
    if (const auto* b = e.as<BinaryNode>()) return binary(*b);
    if (const auto* f = e.as<FmaNode>()) {
      return "(" + expression(f->a) + " * " + expression(f->b) + " + " + expression(f->c) + ")";
    }
    if (const auto* select = e.as<SelectNode>()) {
      return "(" + expression(select->cond) + " ? " + expression(select->a) + " : " +
             expression(select->b) + ")";
    }
    if (const auto* load = e.as<LoadNode>()) {
      if (load->predicate) refuse("predicated loads");
      return element(load->buffer, load->indices, load->flat);
    }
    refuse("this expression");
    return "0";
  }

  std::unordered_map<const BufferNode*, std::string> buffers_;
  std::unordered_map<const VarNode*, std::string> vars_;
  std::string scratch_, body_, unsupported_;
};

}  // namespace

Result<std::string> c_source(const LoweredFunc& func) { return Emitter().run(func); }

}  // namespace espalier::bench
