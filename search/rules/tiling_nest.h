// The nest that the tiling rule builds: choices, loops, packing, accumulators, epilogue.
#pragma once

#include <vector>

#include "espalier/search/rule.h"
#include "espalier/search/rules/tile_plan.h"

namespace espalier {

class TilingNest {
 public:
  // `epilogue` is the only consumer of `anchor` and reads it at its own index; -1: there is none.
  // An anchor that holds partial results has loops that tell them apart, which go outermost.
  TilingNest(PartialSketch& sketch, Chooser& chooser, StageId anchor, StageId epilogue);
  void build();

 private:
  // Loops outside the register tile, outermost first. O: the spatial axes that are not tiled,
  // V: columns, R: rows, K: the reduction's blocks; 0 the outer part, 1 a middle one.
  enum class Part : uint8_t { O, V0, R0, K0, V1, R1 };
  struct Order {
    std::string_view name;
    std::vector<Part> parts;
    bool has(Part p) const;
  };
  std::vector<Order> orders() const;
  int preferred_order(const std::vector<Order>& orders) const;

  void choose();
  void cut_axes();                // of root_; makes loop_of_
  void split_columns_and_rows();  // of root_
  void order_outer_loops();       // makes outer_ and innermost_outer_
  void build_rooted();            // the anchor has the outer loops; the epilogue runs after tiles
  void build_fused();             // the epilogue has the outer loops; the anchor runs inside
  void finish_reduction(StageId s);  // orders and unrolls the reduction loops of the accumulators
  std::vector<LoopId> reduction_loops(StageId s) const;  // in the chosen order, leaves only
  void finish_tile(StageId s, LoopId rows, LoopId cols);
  void pack_at_root(const ReadPlan& read);
  void pack_at_loop(const ReadPlan& read, LoopId at, LoopId last);
  // Lanes for a copy whose loops are those of its layout.
  void vectorize_copy(StageId copy, const std::vector<LayoutEntry>& layout,
                      const ReadAccess& access);
  bool wants_pack(const ReadPlan& read) const;
  int64_t columns_extent() const { return access_.extent[static_cast<size_t>(plan_.vector_axis)]; }
  // Whether the tile goes along the outer part of an axis that is cut: it then covers places that
  // do not lie side by side.
  bool tiles_outer_part() const;

  PartialSketch& sketch_;
  Chooser& chooser_;
  const StageId anchor_, epilogue_;
  const TilePlans tiles_;
  const StageAccess& access_;

  // Choices.
  TilePlan plan_;
  RowOption rows_;
  Order order_;
  bool fused_ = false;
  bool long_epilogue_ = false;
  bool partition_ = false, partition_columns_ = false;
  bool largest_reduction_first_ = false;
  bool pack_rows_ = false;
  std::vector<int> straight_;  // small reduction axes that become straight code
  bool unroll_reduction_ = false;
  std::vector<bool> pack_;  // by read of the plan

  // Loops of the root stage.
  StageId root_ = -1;
  std::vector<LoopId> loop_of_;                  // by axis
  std::vector<LoopId> others_;                   // O
  LoopId row_[3] = {kNoLoop, kNoLoop, kNoLoop};  // outer, middle, register
  LoopId col_[3] = {kNoLoop, kNoLoop, kNoLoop};
  LoopId reduction_outer_ = kNoLoop;
  LoopId share_ = kNoLoop;  // partial results: one for each thread
  Num cols_;
  std::vector<LoopId> outer_;
  LoopId tile_loop_ = kNoLoop;  // the innermost of them
};

}  // namespace espalier
