#include "espalier/transfer/donor_uses.h"

#include <algorithm>

#include "espalier/search/rules/nest_tools.h"

namespace espalier {

// Whether f holds for the loop itself or one that it went into, in the stage or in those that took
// its loops over (accumulators, partial results, what runs after a tile).
template <class F>
bool DonorUses::any_standing(StageId stage, LoopId loop, F&& f) const {
  const int16_t op = end_.stage(stage).op;
  for (StageId s = 0; s < end_.size(); ++s) {
    const Stage& st = end_.stage(s);
    const bool heir = s == stage || (st.op == op && st.layout.empty()) ||
                      (st.attach == AttachKind::After && st.attach_stage == stage);
    if (!heir || static_cast<size_t>(loop) >= st.loops.size()) continue;
    for (LoopId l : st.order) {
      // Up from the leaf to what it was made from.
      std::vector<LoopId> open = {l};
      while (!open.empty()) {
        const LoopId at = open.back();
        open.pop_back();
        const Loop& lp = st.loops[static_cast<size_t>(at)];
        if (at == loop || lp.copy_of == loop) {
          if (f(st.loops[static_cast<size_t>(l)])) return true;
          break;
        }
        if (lp.origin < 0) continue;
        const Relation& made_by = st.relations[static_cast<size_t>(lp.origin)];
        if (!made_by.is_fuse) {
          open.push_back(made_by.whole);
        } else {
          open.insert(open.end(), made_by.parts.begin(), made_by.parts.end());
        }
      }
    }
  }
  return false;
}

FactorUse DonorUses::use_of(StageId stage, LoopId loop) const {
  if (any_standing(stage, loop, [](const Loop& l) { return l.vectorize; })) {
    return FactorUse::Vector;
  }
  if (any_standing(stage, loop, [](const Loop& l) { return l.unroll && !l.reduce; })) {
    return FactorUse::Register;
  }
  if (any_standing(stage, loop, [](const Loop& l) { return l.unroll; })) {
    return FactorUse::Straight;
  }
  return FactorUse::Tile;
}

bool DonorUses::is_parallel(StageId stage, LoopId loop) const {
  return any_standing(stage, loop, [](const Loop& l) { return l.parallel; });
}

std::optional<DonorUses::Tile> DonorUses::tile_of(int op) const {
  std::optional<Tile> best;
  bool best_in_registers = false;
  for (StageId s = 0; s < end_.size(); ++s) {
    const Stage& st = end_.stage(s);
    if (st.op != op || !st.layout.empty()) continue;
    Tile tile;
    for (LoopId l : st.order) {
      const Loop& lp = st.loops[static_cast<size_t>(l)];
      if (lp.reduce || lp.extent <= 1) continue;
      if (lp.vectorize) {
        tile.column_axes = axes_of_loop(st, l);
        tile.size.columns = lp.extent;
      } else if (lp.unroll) {
        const std::vector<int> axes = axes_of_loop(st, l);
        tile.row_axes.insert(tile.row_axes.end(), axes.begin(), axes.end());
        tile.size.rows *= lp.extent;
      }
    }
    if (tile.size.columns <= 1 || (best_in_registers && !st.registers)) continue;
    if (best && best_in_registers == st.registers) continue;
    best = std::move(tile);
    best_in_registers = st.registers;
  }
  return best;
}

}  // namespace espalier
