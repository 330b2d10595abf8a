// What the parts of lowering share: expressions for coordinates, buffers, reads and conditions.
#pragma once

#include <map>

#include "espalier/ir/simplify.h"
#include "espalier/schedule/coordinates.h"
#include "espalier/schedule/lower.h"

namespace espalier {

// A condition under which iterations of a stage happen.
struct Guard {
  Expr cond;
  int position = -1;     // of the innermost own loop that it mentions, in the stage's order
  bool reduce = false;   // mentions a reduction loop (own or bound): concerns terms, not elements
  bool pad = false;      // outside it lie padded elements, which hold the identity
  bool storage = false;  // outside it the stage's buffer has no element
};

class LowerContext {
 public:
  explicit LowerContext(const State& state);

  const State& state() const { return state_; }
  const Stage& stage(StageId s) const { return state_.stage(s); }
  const StageInfo& info(StageId s) const { return state_.dag().stage(stage(s).op); }
  Coordinates& coordinates() { return coordinates_; }
  const Bounds& bounds() const { return bounds_; }

  Var loop_var(StageId s, LoopId l);
  Expr to_expr(const Linear& v);
  Expr loop_expr(StageId s, LoopId l) { return to_expr(coordinates_.loop_value(s, l)); }

  Buffer buffer(StageId s);
  bool is_copy(const Buffer& b) const;  // of a copy stage
  // Where the stage writes the element of its current iteration.
  std::vector<Expr> write_index(StageId s);
  // What an accumulator, partial result or local producer holds for the current iteration.
  Expr read_loops(StageId s, const StageRead& r);
  // The term (of a reduction) or value of the stage's definition, with all reads resolved.
  Expr body_value(StageId s);
  // The value copied by a copy stage, before conditions.
  Expr copied_value(StageId s);
  std::vector<Guard> guards(StageId s);
  // When a copy's element exists in the source, and what it holds otherwise: something that makes
  // the reader's term the identity where that can be.
  Expr copy_condition(StageId s);
  Expr copy_fill(StageId s);

 private:
  Expr resolve(const Expr& e, StageId s, int op, const std::vector<Expr>& axes,
               std::vector<int16_t>& path);
  Expr serve(StageId s, const StageRead& r, const std::vector<Expr>& indices);
  std::vector<Expr> axis_exprs(StageId s);
  void add_guard(std::vector<Guard>& out, StageId s, Expr cond, const Guard& traits);
  bool made_from_storage(const Stage& stage, LoopId l) const;
  // The dimension of the stage's buffer along which its vectorized loop moves by single elements;
  // the last if there is none.
  int lane_dimension(StageId s);
  bool absent_in_copies(StageId s, const Expr& where);
  std::vector<StageId> partial_sources(StageId s) const;
  std::vector<Expr> within_sources(StageId s, int axis, const Expr& value);
  void add_outer_term_guards(std::vector<Guard>& out, StageId s);
  bool has_absent_part(const Stage& stage, LoopId l) const;
  bool in_scope(const Expr& e, StageId s) const;
  Expr subtract(Expr index, const Linear& base);

  const State& state_;
  Coordinates coordinates_;
  Bounds bounds_;
  std::map<std::pair<StageId, LoopId>, Var> vars_;
  std::map<const ExprNode*, std::pair<StageId, LoopId>> loop_of_var_;
  std::map<StageId, Buffer> buffers_;
};

// The nest of one stage with everything attached in it.
Stmt lower_nest(LowerContext& context, StageId s);

}  // namespace espalier
