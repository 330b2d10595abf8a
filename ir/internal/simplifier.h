// The rewriting of expressions behind ir/simplify.h, with the context that it happens in.
#pragma once

#include "espalier/ir/internal/context.h"

namespace espalier {

// Whether evaluating `e` reads memory.
bool reads_memory(const Expr& e);

class Simplifier {
 public:
  explicit Simplifier(const Bounds& base) : context_(base) {}

  Context& context() { return context_; }
  // The normal form; the same node if `e` is one.
  Expr operator()(const Expr& e);
  // One round of it, with bounds of the result (integers and bool).
  struct Value {
    Expr e;
    Interval range;
  };
  Value visit(const Expr& e);
  // The same, of an expression that is worth no remembering: nobody will ask for it again.
  Value visit_root(const Expr& e);

 private:
  Value visit_node(const Expr& e);
  Value visit_unary(const Expr& e);
  Value visit_binary(const Expr& e);
  Value visit_select(const Expr& e);
  Value visit_load(const Expr& e);
  std::vector<Expr> visit_indices(const std::vector<Expr>& indices);
  Value visit_reduce(const Expr& e);
  Value visit_cast(const Expr& e);
  Value visit_children(const Expr& e);

  // simplify_sum.cpp: sums, products and divisions of integers.
  Value visit_sum(const Expr& e);
  Sum form_of(const Expr& e);      // of an operand, rewritten
  Sum normal_form(const Expr& e);  // of what is in normal form
  void collect(const Expr& e, int64_t factor, Sum& sum, bool root);
  void collect_shared(const Expr& e, int64_t factor, Sum& sum);
  void add_visited(const Value& v, int64_t factor, Sum& sum);
  void collect_product(const Expr& e, int64_t factor, Sum& sum);
  void collect_division(const Expr& e, int64_t factor, Sum& sum);

  // simplify_condition.cpp: comparisons, logic, minima and maxima.
  Value visit_comparison(const Expr& e);
  Value decide(const Expr& e, BinaryOp op, const BinaryNode& n, Sum a, Sum b);
  Value visit_logic(const Expr& e);
  Value visit_not(const Expr& e);
  Value visit_extremum(const Expr& e);
  std::optional<bool> is_at_most(const Expr& a, const Expr& b);

  Value with_context_range(Expr e);
  // Visits the operands of a read without what an enclosing Select's condition tells: later on both
  // sides of a Select may be computed, once reads have predicates or indices that are safe without.
  template <class F>
  void outside_selects(F visit_operands);

  Context context_;
  std::optional<Context::Mark> outermost_select_;
  // Results for nodes that have several holders, so that shared subtrees are visited once. Whether
  // a result is found here never changes it.
  template <class T>
  struct Memory {
    struct Entry {
      Expr key;
      uint32_t epoch = 0;
      T value;
    };
    std::vector<Entry> entries;
    Entry& at(const Expr& e, const T& empty) {
      constexpr size_t kSlots = 16;
      if (entries.empty()) entries.resize(kSlots, Entry{{}, 0, empty});
      return entries[(reinterpret_cast<uintptr_t>(e.get()) >> 4) * 0x9e3779b97f4a7c15u >> 60];
    }
  };
  Memory<Value> values_;
  Memory<Sum> sums_;
};

}  // namespace espalier
