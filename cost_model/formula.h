// Formula: arithmetic over the decisions of a sketch, made once and evaluated for many candidates.
//
// Code that computes with Quantity runs in two ways. With plain numbers it is ordinary arithmetic.
// With decisions in it, each operation is written down, and Formula evaluates what was written
// for batches of candidates side by side. Both do the same operations on doubles in the same order,
// so their results are equal to the bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace espalier {

class FormulaBuilder;

enum class FormulaOp : uint8_t {
  Number,
  Decision,
  Add,
  Sub,
  Mul,
  Div,
  Min,
  Max,
  Floor,
  Ceil,
  Log,
  IfLe
};

// A number, or a value that depends on decisions.
class Quantity {
 public:
  Quantity(double number = 0) : number_(number) {}
  bool is_number() const { return builder_ == nullptr; }
  double number() const { return number_; }  // where it is one
  // Known to have the same value always.
  bool same_as(const Quantity& o) const {
    return builder_ == o.builder_ && node_ == o.node_ && number_ == o.number_;
  }

  Quantity& operator+=(const Quantity& o) { return *this = *this + o; }
  Quantity& operator*=(const Quantity& o) { return *this = *this * o; }
  friend Quantity operator+(const Quantity& a, const Quantity& b) {
    return both(a, b) ? Quantity(a.number_ + b.number_) : add(a, b);
  }
  friend Quantity operator-(const Quantity& a, const Quantity& b) {
    return both(a, b) ? Quantity(a.number_ - b.number_) : subtract(a, b);
  }
  friend Quantity operator*(const Quantity& a, const Quantity& b) {
    return both(a, b) ? Quantity(a.number_ * b.number_) : multiply(a, b);
  }
  friend Quantity operator/(const Quantity& a, const Quantity& b) {  // b must not be 0
    return both(a, b) ? Quantity(a.number_ / b.number_) : divide(a, b);
  }
  friend Quantity min(const Quantity& a, const Quantity& b) {
    return both(a, b) ? (a.number_ < b.number_ ? a : b) : smaller(a, b);
  }
  friend Quantity max(const Quantity& a, const Quantity& b) {
    return both(a, b) ? (a.number_ > b.number_ ? a : b) : larger(a, b);
  }
  friend Quantity floor(const Quantity& a) {
    return a.is_number() ? Quantity(std::floor(a.number_)) : map(FormulaOp::Floor, a);
  }
  friend Quantity ceil(const Quantity& a) {
    return a.is_number() ? Quantity(std::ceil(a.number_)) : map(FormulaOp::Ceil, a);
  }
  // log2(1 + a) for a >= 0: how features see sizes.
  friend Quantity log2_1p(const Quantity& a) {
    return a.is_number() ? Quantity(std::log2(1 + a.number_)) : map(FormulaOp::Log, a);
  }
  // a <= b ? x : y
  friend Quantity if_le(const Quantity& a, const Quantity& b, const Quantity& x,
                        const Quantity& y) {
    return both(a, b) ? (a.number_ <= b.number_ ? x : y) : choose(a, b, x, y);
  }

 private:
  friend class FormulaBuilder;
  friend class Formula;
  static bool both(const Quantity& a, const Quantity& b) { return a.is_number() && b.is_number(); }
  // Where one of them, at least, depends on decisions.
  static Quantity add(const Quantity& a, const Quantity& b);
  static Quantity subtract(const Quantity& a, const Quantity& b);
  static Quantity multiply(const Quantity& a, const Quantity& b);
  static Quantity divide(const Quantity& a, const Quantity& b);
  static Quantity smaller(const Quantity& a, const Quantity& b);
  static Quantity map(FormulaOp op, const Quantity& a);
  static Quantity larger(const Quantity& a, const Quantity& b);
  static Quantity choose(const Quantity& a, const Quantity& b, const Quantity& x,
                         const Quantity& y);

  double number_ = 0;
  int32_t node_ = -1;
  FormulaBuilder* builder_ = nullptr;
};

// What is left over from whole b's in a; both whole numbers, b >= 1.
inline Quantity remainder(const Quantity& a, const Quantity& b) { return a - floor(a / b) * b; }
inline Quantity ceil_div(const Quantity& a, const Quantity& b) { return ceil(a / b); }

// Writes operations down, equal ones once. It must outlive the quantities made with it.
class FormulaBuilder {
 public:
  Quantity decision(int slot);

 private:
  friend class Formula;
  friend class Quantity;
  struct Node {
    FormulaOp op = FormulaOp::Number;
    int32_t a = -1, b = -1, x = -1, y = -1;
    double number = 0;
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct NodeHash {
    size_t operator()(const Node& n) const;
  };
  int32_t node_of(const Quantity& q);
  static Quantity combine(FormulaOp op, const Quantity& a, const Quantity& b = {},
                          const Quantity& x = {}, const Quantity& y = {});
  Quantity add(const Node& node);

  std::vector<Node> nodes_;
  std::unordered_map<Node, int32_t, NodeHash> known_;
};

struct FormulaInstruction {
  FormulaOp op;
  uint32_t to, a, b, x, y;  // registers
};

// The operations that some results take, in order, over a small set of registers.
class Formula {
 public:
  Formula() = default;
  explicit Formula(std::span<const Quantity> results);

  size_t results() const { return result_registers_.size(); }
  size_t operations() const { return code_.size(); }

  // `decisions` holds `count` candidates' decisions, `slots` numbers each; `out` gets `results()`
  // numbers for each candidate.
  void evaluate(std::span<const int32_t> decisions, size_t slots, size_t count,
                std::span<double> out) const;

 private:
  std::vector<FormulaInstruction> code_;
  std::vector<std::pair<uint32_t, double>> numbers_;  // registers that hold numbers
  std::vector<std::pair<uint32_t, int32_t>> inputs_;  // registers that hold decisions
  std::vector<uint32_t> result_registers_;
  uint32_t registers_ = 0;
};

}  // namespace espalier
