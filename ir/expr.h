// Expressions: immutable, shared trees with one node type a kind.
//
// The same nodes serve two levels. A tensor definition uses Read and Reduce; lowering replaces them
// by Load (and loops of Store), vectorization adds Ramp, Broadcast and LaneReduce. Everything else
// is common. A handle (`Expr`) is a pointer to a const node; nodes hold a structural hash computed
// when they are made. A Var is identified by its node, its name is for printing only.
//
// Index arithmetic is i64 with floor division (FloorDiv, FloorMod); TruncDiv and TruncMod exist for
// integer data. See ir/type.h for what arithmetic means.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "espalier/ir/type.h"
#include "espalier/support/ref.h"

namespace espalier {

enum class ExprKind : uint8_t {
  Const,        // a number; vectors of equal lanes are Broadcast(Const)
  Var,          // a loop variable, an axis or a let-bound name
  Cast,         // numeric conversion (see type.h); bool -> number gives 0 or 1
  Reinterpret,  // same bits, other type of the same width
  Unary,
  Binary,
  Fma,     // a*b + c rounded once (floating point only)
  Select,  // condition ? a : b; only the chosen side's reads happen. A vector condition picks lane
           // by lane from both sides: their reads must be safe by themselves (predicates)
  Read,    // definition level: an element of a tensor
  Reduce,  // definition level: only as the whole body of a compute
  Load,    // loop level: an element (or lanes) of a buffer
  Ramp,    // base, base+stride, ... (lanes of them)
  Broadcast,  // one value in all lanes
  LaneReduce  // lanes of a vector combined into a scalar, in a fixed tree
};

enum class UnaryOp : uint8_t {
  Neg,
  Not,
  Abs,
  Sqrt,
  Floor,
  Ceil,
  Round,  // exact
  Exp,
  Log,
  Tanh,
  Erf,
  Sigmoid,
  Rsqrt,
  Sin,
  Cos,  // expanded before code generation
};

enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,  // floating point only
  FloorDiv,
  FloorMod,  // integers, total
  TruncDiv,
  TruncMod,  // integers, total; on floats TruncMod is C's fmod, exact
  Min,
  Max,
  Pow,
  And,
  Or,
  Xor,
  Shl,
  Shr,  // And, Or, Xor: bool and integers; Shr is arithmetic on signed types;
        // a shift count outside [0, bits) gives 0 (or the sign)
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,  // result is bool; comparisons with NaN are false, Ne is true
};
constexpr bool is_comparison(BinaryOp op) { return op >= BinaryOp::Lt; }
std::string_view name_of(UnaryOp op);   // "neg", "exp", ...
std::string_view name_of(BinaryOp op);  // "add", "floordiv", "lt", ...

struct ExprNode : RefCounted {
  ExprKind kind;
  Type type;
  uint64_t hash = 0;  // structural; a Var contributes its address-independent id given at creation
  ExprNode(ExprKind k, Type t) : kind(k), type(t) {}
  static void destroy(const ExprNode* node);  // deletes as the node's own kind
};

// An expression. The default one is empty (`!e`), which stands for "none" in optional places.
class Expr : public Ref<const ExprNode> {
 public:
  using Ref<const ExprNode>::Ref;
  Expr() = default;
  // Of exactly this type, or an Expr would be made of a Var in two ways.
  template <std::same_as<Ref<const ExprNode>> R>
  Expr(R r) : Ref<const ExprNode>(std::move(r)) {}
  // Numbers convert: integers to i64 constants, float and double to f32 and f64 ones. A bool does
  // not (see make_bool), so that `e && flag` asks whether e is empty.
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  Expr(T v) : Expr(number(v)) {}
  // Whether there is a node. Not of temporaries: `if (a == b)`, which builds an expression where a
  // comparison of handles was meant (see same_as and equal), does not compile.
  explicit operator bool() const& { return get() != nullptr; }
  explicit operator bool() const&& = delete;
  ExprKind kind() const { return get()->kind; }
  Type type() const { return get()->type; }
  bool same_as(const Expr& o) const { return get() == o.get(); }
  // The node as a type, or null when it is of another kind: e.as<BinaryNode>().
  template <class Node>
  const Node* as() const {
    return get() && get()->kind == Node::kKind ? static_cast<const Node*>(get()) : nullptr;
  }

 private:
  static Expr number(int64_t v);
  static Expr number(float v);
  static Expr number(double v);
  template <std::integral T>
  static Expr number(T v) {
    return number(static_cast<int64_t>(v));
  }
};

struct ConstNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Const;
  // Integers and bool: the value, sign- or zero-extended to 64 bits. Floats: `f`, exactly
  // representable in the type.
  int64_t i = 0;
  double f = 0;
  ConstNode(Type t) : ExprNode(kKind, t) {}
};
struct VarNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Var;
  std::string name;
  VarNode(Type t) : ExprNode(kKind, t) {}
};
struct CastNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Cast;
  Expr value;
  CastNode(Type t) : ExprNode(kKind, t) {}
};
struct ReinterpretNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Reinterpret;
  Expr value;
  ReinterpretNode(Type t) : ExprNode(kKind, t) {}
};
struct UnaryNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Unary;
  UnaryOp op{};
  Expr a;
  UnaryNode(Type t) : ExprNode(kKind, t) {}
};
struct BinaryNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Binary;
  BinaryOp op{};
  Expr a, b;
  BinaryNode(Type t) : ExprNode(kKind, t) {}
};
struct FmaNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Fma;
  Expr a, b, c;
  FmaNode(Type t) : ExprNode(kKind, t) {}
};
struct SelectNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Select;
  Expr cond, a, b;
  SelectNode(Type t) : ExprNode(kKind, t) {}
};
struct RampNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Ramp;
  Expr base;
  int64_t stride = 1;
  RampNode(Type t) : ExprNode(kKind, t) {}
};
struct BroadcastNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::Broadcast;
  Expr value;
  BroadcastNode(Type t) : ExprNode(kKind, t) {}
};
// Combines the lower half of the n lanes with the upper one, lane i with lane i + ceil(n / 2) (n
// odd: the middle one passes through), then again, until one is left.
struct LaneReduceNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::LaneReduce;
  BinaryOp op{};  // Add, Mul, Min, Max, And, Or
  Expr value;
  LaneReduceNode(Type t) : ExprNode(kKind, t) {}
};

// A variable handle: an Expr that is known to be a Var.
class Var : public Expr {
 public:
  Var() = default;
  explicit Var(std::string name, Type type = kIndex);
  const VarNode* node() const { return static_cast<const VarNode*>(get()); }
  const std::string& name() const { return node()->name; }
};

// Makers check types (a mismatch of operand types is a bug in the caller: ESP_CHECK) and fold
// constants of one operation; anything cleverer is ir/simplify.h.
Expr make_int(Type type, int64_t value);    // wraps into the type; broadcast over lanes
Expr make_float(Type type, double value);   // rounds into the type; broadcast over lanes
Expr make_number(Type type, double value);  // either of the two, by the type
inline Expr make_index(int64_t v) { return make_int(kIndex, v); }
Expr make_bool(bool value);
Expr make_unary(UnaryOp op, Expr a);
Expr make_binary(BinaryOp op, Expr a, Expr b);
Expr make_fma(Expr a, Expr b, Expr c);
Expr make_select(Expr cond, Expr a, Expr b);
Expr make_cast(Type type, Expr value);
Expr make_reinterpret(Type type, Expr value);
Expr make_ramp(Expr base, int64_t stride, int lanes);
Expr make_broadcast(Expr value, int lanes);
Expr make_lane_reduce(BinaryOp op, Expr value);

// What a user writes. A scalar constant beside an operand of another type takes that type if it
// can; a bool beside a number counts as 0 or 1, and arithmetic on two bools is on i64; a scalar
// beside a vector is broadcast. Anything else that does not fit gives a poisoned expression
// (ir/tensor.h), as does a poisoned operand.
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  // floats: Div; integers: TruncDiv, as in C
Expr operator%(Expr a, Expr b);  // TruncMod
Expr operator-(Expr a);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
// For numbers, or in `i == 0` the 0 could as well be the null pointer.
template <class T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <Number T>
Expr operator==(const Expr& a, T b) {
  return a == Expr(b);
}
template <Number T>
Expr operator==(T a, const Expr& b) {
  return Expr(a) == b;
}
template <Number T>
Expr operator!=(const Expr& a, T b) {
  return a != Expr(b);
}
template <Number T>
Expr operator!=(T a, const Expr& b) {
  return Expr(a) != b;
}
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr logical_not(Expr a);  // `!e` asks whether e is empty
Expr floordiv(Expr a, Expr b);
Expr floormod(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr select(Expr cond, Expr a, Expr b);
Expr cast(DType t, Expr a);
Expr abs(Expr a);
Expr sqrt(Expr a);
Expr floor(Expr a);
Expr ceil(Expr a);
Expr round(Expr a);
Expr exp(Expr a);
Expr log(Expr a);
Expr tanh(Expr a);
Expr erf(Expr a);
Expr sigmoid(Expr a);
Expr rsqrt(Expr a);
Expr sin(Expr a);
Expr cos(Expr a);
Expr pow(Expr a, Expr b);

// The value of an integer or bool constant (also under Broadcast), if it is one.
bool is_const_int(const Expr& e, int64_t* value = nullptr);
inline bool is_const(const Expr& e, int64_t v) {
  int64_t x;
  return is_const_int(e, &x) && x == v;
}

// Structural equality; variables are equal only to themselves, and constants by their bits (but all
// NaNs alike).
bool equal(const Expr& a, const Expr& b);

// One line, in the syntax of DAG texts: `select(i < 3, A[i] * 2.0f32, 0.0f32)`. Constants other
// than i64 and bool ones carry their type as a suffix.
std::string to_string(const Expr& e);

}  // namespace espalier
