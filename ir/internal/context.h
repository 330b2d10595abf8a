// What is known at a point of a program: ranges of variables, bounds of linear forms, conditions.
#pragma once

#include "espalier/ir/internal/sum.h"

namespace espalier {

class Context final : public Ranges {
 public:
  // `base` must outlive the context.
  explicit Context(const Bounds& base) : base_(base) {}

  // Bounds of an integer or bool expression in normal form (sound, if loose, for any other).
  Interval of(const Expr& e) override;
  // Bounds of the exact value of a form, facts included.
  Wide bounds(const Sum& form) const;
  // Whether the condition, in normal form, is known to be true or false.
  std::optional<bool> known(const Expr& cond) const;
  const Expr* replacement(const ExprNode* var) const;

  // Each of these holds until `restore` takes back what came after `mark`.
  void set_range(const ExprNode* var, Interval range);
  void replace(const ExprNode* var, Expr by);
  void assume(const Expr& cond, bool truth);  // scalar, in normal form
  void assume_at_most(const Sum& form, Int128 limit);

  struct Fact {
    Sum terms;  // coefficients without a common divisor, the sign as in `normalize`
    uint64_t hash;
    Wide range;
  };
  struct Mark {
    size_t ranges, replacements, facts, conditions;
    uint32_t epoch;
  };
  Mark mark() const;
  void restore(const Mark& m);
  // Forgets what came after a mark for a while: `suspend` then `resume` with what it returned.
  struct Suspended {
    std::vector<std::pair<const ExprNode*, Interval>> ranges;
    std::vector<Fact> facts;
    std::vector<std::pair<Expr, bool>> conditions;
    uint32_t epoch = 0;
  };
  Suspended suspend(const Mark& m);
  void resume(Suspended s);
  // Differs between any two states in which something else is known.
  uint32_t epoch() const { return epoch_; }

 private:
  struct Normal {
    Sum terms;
    int64_t factor;  // form = factor * terms + constant
    uint64_t hash;
  };
  static std::optional<Normal> normalize(const Sum& form);
  static bool same_terms(const Sum& a, const Sum& b);

  Interval of_var(const Expr& e) const;
  Interval of_node(const Expr& e);
  void assume_comparison(const BinaryNode& n, bool truth);
  void assume_within(const Sum& form, Wide range);

  const Bounds& base_;
  std::vector<std::pair<const ExprNode*, Interval>> ranges_;
  std::vector<std::pair<const ExprNode*, Expr>> replacements_;
  std::vector<Fact> facts_;
  std::vector<std::pair<Expr, bool>> conditions_;
  uint32_t epoch_ = 0, last_epoch_ = 0;
  int depth_ = 0;
};

}  // namespace espalier
