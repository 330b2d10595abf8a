// AccessDims: each dimension of what an access touches, as a sum of loop values.
#pragma once

#include <optional>

#include "espalier/cost_model/index_form.h"
#include "espalier/cost_model/shape.h"

namespace espalier {

struct StageAccess;

class AccessDims {
 public:
  AccessDims(const State& state, const Shape& shape) : state_(state), shape_(shape) {}

  using Leaf = std::pair<StageId, LoopId>;

  // A dimension of a buffer as an access sees it: a sum of loop values, each times a factor.
  struct Dim {
    std::vector<std::pair<LoopId, Quantity>> terms;
    bool data = false;  // not a sum: data decide
    // Terms that hold for so many steps of an axis on end, counted from a multiple of that.
    std::vector<std::pair<LoopId, double>> periods;
    std::vector<Leaf> leaves;  // all that it depends on
  };

  // Dimension `d` of the buffer that access `a` of stage `s` touches.
  Dim dim_of(StageId s, const StageAccess& a, size_t d) const;
  size_t rank(StageId buffer) const { return stage(buffer).storage.size(); }
  // How far the loop's value moves with one step of a leaf.
  Quantity step(StageId s, LoopId l, const Leaf& leaf) const;
  // The index as it is written; null where it went through inlined stages.
  const Expr* written_index(StageId s, const StageRead& r, size_t d) const;
  // Of the definition of a stage, the spatial ones first.
  std::vector<Axis> axes_of(StageId s) const;

 private:
  const Stage& stage(StageId s) const { return state_.stage(s); }
  const StageShape& shape(StageId s) const { return shape_[static_cast<size_t>(s)]; }
  // Leaves that the loop's value, or the axis' coordinate, depends on.
  void leaves(StageId s, LoopId l, std::vector<Leaf>& out) const;
  void axis_leaves(StageId s, int a, std::vector<Leaf>& out) const;
  void index_leaves(StageId s, const StageRead& r, int dim, std::vector<Leaf>& out) const;
  void add_loop(StageId s, LoopId l, Dim& dim) const;
  void add_index(StageId s, const StageRead& r, size_t d, Dim& dim) const;
  IndexForm form_of(StageId s, const StageRead& r, size_t d) const;

  const State& state_;
  const Shape& shape_;
};

}  // namespace espalier
