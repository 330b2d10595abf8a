#include "espalier/search/rules/tiling_nest.h"

#include <algorithm>

#include "espalier/search/rules/nest_tools.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

constexpr int64_t kWindow = 11;  // longest reduction axis that counts as a window

const ReadAccess* find_read(const StageAccess& access, int number) {
  const auto found = std::find_if(access.reads.begin(), access.reads.end(),
                                  [&](const ReadAccess& r) { return r.number == number; });
  return found == access.reads.end() ? nullptr : &*found;
}

}  // namespace

TilingNest::TilingNest(PartialSketch& sketch, Chooser& chooser, StageId anchor, StageId epilogue)
    : sketch_(sketch),
      chooser_(chooser),
      anchor_(anchor),
      epilogue_(epilogue),
      tiles_(plan_tiles(sketch.state(), anchor)),
      access_(tiles_.access) {}

bool TilingNest::Order::has(Part p) const {
  return std::find(parts.begin(), parts.end(), p) != parts.end();
}

void TilingNest::build() {
  const int defined = sketch_.stage(anchor_).spatial_axes + sketch_.stage(anchor_).reduce_axes;
  for (LoopId l : sketch_.stage(anchor_).order) {
    if (l >= defined && !sketch_.loop(anchor_, l).reduce) share_ = l;
  }
  choose();
  root_ = fused_ ? epilogue_ : anchor_;
  cut_axes();
  split_columns_and_rows();
  fused_ ? build_fused() : build_rooted();
}

std::vector<TilingNest::Order> TilingNest::orders() const {
  const bool has_rows = !rows_.axes.empty();
  const bool has_others = access_.spatial > static_cast<int>(rows_.axes.size()) + 1;
  std::vector<Order> all = {{"O V R", {Part::O, Part::V0, Part::R0}}};
  if (has_others) all.push_back({"V O R", {Part::V0, Part::O, Part::R0}});
  if (has_rows) {
    all.push_back({"O R V", {Part::O, Part::R0, Part::V0}});
    // BLIS: a panel of columns and a block of the reduction stay in cache for all rows.
    all.push_back({"V K O R v r", {Part::V0, Part::K0, Part::O, Part::R0, Part::V1, Part::R1}});
    // Ansor's: a block of the result is combined into by all blocks of the reduction.
    all.push_back({"O R V r v K", {Part::O, Part::R0, Part::V0, Part::R1, Part::V1, Part::K0}});
  } else {
    all.push_back({"V K O", {Part::V0, Part::K0, Part::O}});
    all.push_back({"O K V", {Part::O, Part::K0, Part::V0}});
  }
  const ReduceNode* reduce = sketch_.task().dag.stage(sketch_.stage(anchor_).op).reduce();
  if (access_.reduce_points() <= 1 || !reduce->combiner.reorderable) {
    std::erase_if(all, [](const Order& o) { return o.has(Part::K0); });
  }
  return all;
}

int TilingNest::preferred_order(const std::vector<Order>& orders) const {
  const Target& target = sketch_.task().target;
  const int bytes = bytes_of(sketch_.task().dag.stage(sketch_.stage(anchor_).op).tensor->dtype);
  const int64_t panel = panel_bytes(access_, rows_.tile, bytes);
  auto find = [&](std::string_view name) {
    for (size_t i = 0; i < orders.size(); ++i) {
      if (orders[i].name == name) return static_cast<int>(i);
    }
    return 0;
  };
  // The panel of a column of tiles is read again for every row: it should stay in cache.
  if (panel > target.l2_bytes / 4 * 3 && !rows_.axes.empty()) return find("V K O R v r");
  const int64_t all_panels = panel / std::max<int64_t>(1, rows_.tile.cols) * columns_extent();
  bool same_for_rows = false, others_used = false;
  for (const ReadPlan& r : plan_.reads) {
    if (!r.vector) continue;
    for (const ReadAccess& a : access_.reads) {
      if (a.number != r.number) continue;
      bool rows_used = false;
      for (int axis = 0; axis < access_.spatial; ++axis) {
        if (axis == plan_.vector_axis || !a.uses[static_cast<size_t>(axis)]) continue;
        const bool is_row =
            std::find(rows_.axes.begin(), rows_.axes.end(), axis) != rows_.axes.end();
        (is_row ? rows_used : others_used) = true;
      }
      if (!rows_used) same_for_rows = true;
    }
  }
  // With nothing to come back for from row to row, columns are walked through first: what is read
  // and written then lies side by side.
  if (!rows_.axes.empty() && !same_for_rows) return find("O R V");
  if (all_panels > target.l2_bytes / 2 && !others_used) return find("V O R");
  return find("O V R");
}

bool TilingNest::wants_pack(const ReadPlan& read) const {
  // Panels make the reads of a tile consecutive, whole and aligned; a weight is repacked once and
  // for all.
  if (read.constant) return true;
  int64_t rows = 1;
  for (int a : rows_.axes) rows *= access_.extent[static_cast<size_t>(a)];
  const bool scattered = read.stride_bytes >= 512 || columns_extent() % access_.lanes != 0;
  return scattered && rows >= 8 * rows_.tile.rows;
}

bool TilingNest::tiles_outer_part() const {
  const auto is_outer = [&](int a) {
    return access_.part[static_cast<size_t>(a)] == AxisPart::Outer;
  };
  return is_outer(plan_.vector_axis) || std::any_of(rows_.axes.begin(), rows_.axes.end(), is_outer);
}

void TilingNest::choose() {
  plan_ = tiles_.plans[static_cast<size_t>(
      chooser_.choose("columns", static_cast<int>(tiles_.plans.size())))];
  rows_ =
      plan_.rows[static_cast<size_t>(chooser_.choose("rows", static_cast<int>(plan_.rows.size())))];
  const std::vector<Order> all = orders();
  order_ = all[static_cast<size_t>(
      chooser_.choose("order", static_cast<int>(all.size()), preferred_order(all)))];
  const bool blocked = order_.has(Part::K0);
  bool variable_pack = false;
  for (const ReadPlan& read : plan_.reads) {
    bool pack = read.must_pack;
    // What changes from call to call and moves with the rows would be copied for nothing.
    const bool reused = read.constant || !read.rows;
    if (read.vector && read.packable && !read.must_pack && reused) {
      pack = chooser_.flag("pack columns", wants_pack(read));
    }
    pack_.push_back(pack);
    variable_pack = variable_pack || (pack && !read.constant);
  }
  // Panels of what changes from call to call are packed inside the outer loops, which then belong
  // to the anchor.
  // An epilogue of many instructions goes over the finished tile row by row; inside the nest of the
  // accumulators it would be repeated for each of them.
  long_epilogue_ = epilogue_ >= 0 && takes_math(sketch_.state(), epilogue_);
  const bool can_fuse = epilogue_ >= 0 && !blocked && rows_.axes.size() <= 1 && !long_epilogue_ &&
                        !tiles_outer_part();
  fused_ = can_fuse && chooser_.flag("anchor inside its consumer", !variable_pack);
  if (order_.has(Part::V1) && !rows_.axes.empty()) {
    // What is copied should be used a few times.
    const bool reused = columns_extent() >= 4 * rows_.tile.cols;
    pack_rows_ = chooser_.flag("pack rows", reused);
  }
  const bool guarded_rows = std::any_of(rows_.axes.begin(), rows_.axes.end(), [&](int a) {
    return access_.guarded[static_cast<size_t>(a)];
  });
  if (guarded_rows) {
    const int64_t tiles =
        ceil_div(access_.extent[static_cast<size_t>(rows_.axes[0])], rows_.tile.rows);
    partition_ = chooser_.flag("partition rows", tiles >= 3);
  }
  // Lanes that a guard tells apart are masked, or gathered one by one.
  const bool guarded_columns = access_.guarded[static_cast<size_t>(plan_.vector_axis)];
  if (guarded_columns) {
    const int64_t tiles = ceil_div(columns_extent(), rows_.tile.cols);
    partition_columns_ = chooser_.flag("partition columns", tiles >= 3);
  }
  // Of the tile there will then be nine copies.
  if (partition_ && partition_columns_) rows_.tile.rows = std::min<int64_t>(rows_.tile.rows, 8);

  // Small reduction axes become straight code, first those that a guard mentions: where it mentions
  // the rows as well, it is decided once both are numbers. One that mentions loops further out only
  // is better off as the bound of a serial loop.
  std::vector<int> windows;
  for (bool guarded : {true, false}) {
    for (int a = access_.axes() - 1; a >= access_.spatial; --a) {
      const size_t i = static_cast<size_t>(a);
      const bool small = access_.extent[i] > 1 && access_.extent[i] <= kWindow;
      if (small && access_.guarded[i] == guarded) windows.push_back(a);
    }
  }
  const int64_t limit = 192 / (partition_ ? 2 : 1) / (partition_columns_ ? 2 : 1);
  int64_t copies = rows_.tile.rows * ceil_div(rows_.tile.cols, access_.lanes);
  if (partition_ && partition_columns_) {
    // Parts of both have a tile for their tails.
    int64_t rows = 1;
    for (int a : rows_.axes) rows *= access_.extent[static_cast<size_t>(a)];
    if (rows % rows_.tile.rows != 0) copies *= 2;
    if (columns_extent() % rows_.tile.cols != 0) copies *= 2;
  }
  int preferred = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    const size_t i = static_cast<size_t>(windows[w]);
    copies *= access_.extent[i];
    const bool useful = !access_.guarded[i] || ((guarded_rows || guarded_columns) && w == 0);
    if (!useful || copies > limit) break;
    preferred = static_cast<int>(w) + 1;
  }
  if (!windows.empty()) {
    windows.resize(static_cast<size_t>(
        chooser_.choose("straight windows", static_cast<int>(windows.size()) + 1, preferred)));
    straight_ = windows;
  }
  if (access_.reduce > 1) {
    const ReduceNode* reduce = sketch_.task().dag.stage(sketch_.stage(anchor_).op).reduce();
    largest_reduction_first_ =
        reduce->combiner.reorderable && chooser_.flag("largest reduction outside", false);
  }
  unroll_reduction_ = chooser_.flag("unroll the reduction", false);
}

void TilingNest::cut_axes() {
  std::vector<LoopId> loops;
  for (const AxisCut& cut : tiles_.cuts) {
    const std::vector<LoopId> parts =
        sketch_.split(root_, static_cast<LoopId>(cut.axis), {SketchBuilder::fixed(cut.by)});
    loops.insert(loops.end(), parts.begin(), parts.end());
  }
  auto next = loops.begin();
  for (size_t p = 0; p < access_.origin.size(); ++p) {
    const bool whole = access_.part[p] == AxisPart::Whole;
    loop_of_.push_back(whole ? static_cast<LoopId>(access_.origin[p]) : *next++);
  }
}

void TilingNest::split_columns_and_rows() {
  // What makes a read irregular goes outside: below it, the read is a plain one.
  for (bool irregular : {true, false}) {
    for (int a = 0; a < access_.spatial; ++a) {
      const bool row = std::find(rows_.axes.begin(), rows_.axes.end(), a) != rows_.axes.end();
      if (a == plan_.vector_axis || row) continue;
      const bool is_irregular =
          std::any_of(access_.reads.begin(), access_.reads.end(),
                      [&](const ReadAccess& r) { return !r.linear[static_cast<size_t>(a)]; });
      if (is_irregular == irregular) others_.push_back(loop_of_[static_cast<size_t>(a)]);
    }
  }
  const LoopId cols = loop_of_[static_cast<size_t>(plan_.vector_axis)];
  const Target& target = sketch_.task().target;
  const int64_t block = order_.has(Part::K0) ? 256 : access_.reduce_points();
  const int bytes = bytes_of(sketch_.task().dag.stage(sketch_.stage(anchor_).op).tensor->dtype);
  std::vector<Num> col_factors, row_factors;
  if (order_.has(Part::V1)) {
    // A panel of columns for half of the L3 or, with the rows outside, of the L2 cache.
    const int64_t cache = order_.has(Part::K0) && order_.parts[0] == Part::V0
                              ? std::max(target.l2_bytes, target.l3_bytes / 4)
                              : target.l2_bytes;
    const int64_t panels = std::max<int64_t>(1, cache / 2 / (block * rows_.tile.cols * bytes));
    col_factors.push_back(
        sketch_.slot(name_slot(sketch_, anchor_, "column block"), SlotKind::Tile,
                     std::min(panels, ceil_div(columns_extent(), rows_.tile.cols))));
  }
  cols_ = sketch_.slot(name_slot(sketch_, anchor_, "columns"), SlotKind::Vector, rows_.tile.cols);
  col_factors.push_back(cols_);
  std::vector<LoopId> parts = sketch_.split(root_, cols, col_factors);
  col_[0] = parts.front();
  col_[1] = parts.size() == 3 ? parts[1] : kNoLoop;
  col_[2] = parts.back();

  if (rows_.axes.empty()) return;
  std::vector<LoopId> row_loops;
  row_loops.reserve(rows_.axes.size());
  for (int a : rows_.axes) row_loops.push_back(loop_of_[static_cast<size_t>(a)]);
  const LoopId row = sketch_.fuse(root_, row_loops);
  if (order_.has(Part::R1)) {
    const int64_t tiles =
        std::max<int64_t>(1, target.l2_bytes / 4 / (block * rows_.tile.rows * bytes));
    row_factors.push_back(
        sketch_.slot(name_slot(sketch_, anchor_, "row block"), SlotKind::Tile,
                     std::min(tiles, ceil_div(sketch_.extent(root_, row), rows_.tile.rows))));
  }
  row_factors.push_back(
      sketch_.slot(name_slot(sketch_, anchor_, "rows"), SlotKind::Register, rows_.tile.rows));
  parts = sketch_.split(root_, row, row_factors);
  row_[0] = parts.front();
  row_[1] = parts.size() == 3 ? parts[1] : kNoLoop;
  row_[2] = parts.back();
}

std::vector<LoopId> TilingNest::reduction_loops(StageId s) const {
  const Stage& stage = sketch_.stage(s);
  std::vector<LoopId> loops;
  for (LoopId l : stage.order) {
    if (sketch_.loop(s, l).reduce && l != reduction_outer_) loops.push_back(l);
  }
  if (largest_reduction_first_) {
    const auto largest = std::max_element(loops.begin(), loops.end(), [&](LoopId a, LoopId b) {
      return sketch_.extent(s, a) < sketch_.extent(s, b);
    });
    if (largest != loops.end()) std::rotate(loops.begin(), largest, largest + 1);
  }
  return loops;
}

void TilingNest::order_outer_loops() {
  if (share_ != kNoLoop) outer_.push_back(share_);
  for (Part p : order_.parts) {
    switch (p) {
      case Part::O: outer_.insert(outer_.end(), others_.begin(), others_.end()); break;
      case Part::V0: outer_.push_back(col_[0]); break;
      case Part::R0: outer_.push_back(row_[0]); break;
      case Part::K0: outer_.push_back(reduction_outer_); break;
      case Part::V1: outer_.push_back(col_[1]); break;
      case Part::R1: outer_.push_back(row_[1]); break;
    }
  }
  std::erase(outer_, kNoLoop);
  std::vector<LoopId> order = outer_;
  for (LoopId l : reduction_loops(root_)) order.push_back(l);
  if (row_[2] != kNoLoop) order.push_back(row_[2]);
  order.push_back(col_[2]);
  sketch_.reorder(root_, order);
  tile_loop_ = outer_.back();
  if (share_ != kNoLoop) return sketch_.parallel(root_, share_);

  // Threads share the spatial loops below the blocks of the reduction and above what is packed
  // inside them; a partitioned loop keeps its own counter.
  size_t from = 0, to = outer_.size();
  for (size_t i = 0; i < outer_.size(); ++i) {
    if (outer_[i] == reduction_outer_ && order_.parts.back() != Part::K0) from = i + 1;
    if (outer_[i] == reduction_outer_ && order_.parts.back() == Part::K0) to = std::min(to, i);
    if (partition_ && outer_[i] == row_[0]) to = std::min(to, i);
    if (partition_columns_ && outer_[i] == col_[0]) to = std::min(to, i);
    if (pack_rows_ && outer_[i] == row_[0]) to = std::min(to, i + 1);
  }
  bool packs_inside = false;
  for (size_t i = 0; i < pack_.size(); ++i) {
    packs_inside = packs_inside || (pack_[i] && !plan_.reads[i].constant);
  }
  const auto cols_at = std::find(outer_.begin(), outer_.end(), col_[0]) - outer_.begin();
  if (packs_inside && !fused_ && from <= static_cast<size_t>(cols_at)) {
    to = std::min(to, static_cast<size_t>(cols_at) + 1);
  }
  if (from >= to) return;
  const auto begin = outer_.begin() + static_cast<std::ptrdiff_t>(from);
  std::vector<LoopId> shared(begin, outer_.begin() + static_cast<std::ptrdiff_t>(to));
  const std::vector<LoopId> before = shared;
  parallelize(sketch_, root_, &shared, work_of(sketch_.state(), anchor_), chooser_);
  const size_t fused = before.size() - shared.size() + 1;
  for (size_t i = 0; i < fused && !shared.empty(); ++i) {
    // Whatever named a loop that is now part of the fused one means that one.
    for (LoopId* l : {&tile_loop_, &row_[0], &row_[1], &col_[0], &col_[1]}) {
      if (*l == before[i]) *l = shared[0];
    }
  }
  outer_.erase(begin, begin + static_cast<std::ptrdiff_t>(before.size()));
  outer_.insert(outer_.begin() + static_cast<std::ptrdiff_t>(from), shared.begin(), shared.end());
}

void TilingNest::pack_at_root(const ReadPlan& read) {
  // [what other axes use, blocks of columns, what the reduction uses, columns of a block]
  const ReadAccess& source = *find_read(access_, read.number);
  std::vector<LayoutEntry> outside, inside;
  int16_t cut = 0;
  for (size_t d = 0; d < source.dims.size(); ++d) {
    const bool columns = source.dims[d].uses(plan_.vector_axis);
    bool reduction = false;
    for (int a = access_.spatial; a < access_.axes(); ++a) {
      reduction = reduction || source.dims[d].uses(a);
    }
    LayoutEntry entry;
    entry.kind = LayoutEntry::Kind::Dim;
    entry.index = static_cast<int16_t>(d);
    if (columns) {
      cut = entry.index;
    } else {
      (reduction ? inside : outside).push_back(entry);
    }
  }
  std::vector<LayoutEntry> layout = outside;
  LayoutEntry block;
  block.index = cut;
  block.block = cols_;
  block.kind = LayoutEntry::Kind::DimOuter;
  layout.push_back(block);
  layout.insert(layout.end(), inside.begin(), inside.end());
  block.kind = LayoutEntry::Kind::DimInner;
  layout.push_back(block);
  if (read.constant) {
    sketch_.pack_constant(anchor_, read.number, layout);
    return;
  }
  const StageId copy = sketch_.cache_read(anchor_, read.number, kNoLoop, layout);
  if (!sketch_.ok()) return;
  sketch_.vectorize(copy, innermost(sketch_.stage(copy)));
  if (sketch_.task().threads > 1) sketch_.parallel(copy, sketch_.stage(copy).order[0]);
}

void TilingNest::pack_at_loop(const ReadPlan& read, LoopId at, LoopId last) {
  const StageAccess whole = analyze_stage(sketch_.state(), anchor_);
  const ReadAccess& source = *find_read(whole, read.number);
  const Stage& stage = sketch_.stage(anchor_);
  std::vector<LayoutEntry> layout;
  for (LoopId l : loops_below(stage, at)) {
    bool used = false;
    for (int a : axes_of_loop(stage, l)) used = used || source.uses[static_cast<size_t>(a)];
    if (!used || l == last) continue;
    layout.push_back({LayoutEntry::Kind::Loop, l, {}});
  }
  layout.push_back({LayoutEntry::Kind::Loop, last, {}});
  const StageId copy = sketch_.cache_read(anchor_, read.number, at, layout);
  if (!sketch_.ok()) return;
  vectorize_copy(copy, layout, source);
  const bool outside_threads = std::any_of(outer_.begin(), outer_.end(), [&](LoopId l) {
    return sketch_.loop(anchor_, l).parallel &&
           std::find(outer_.begin(), outer_.end(), l) > std::find(outer_.begin(), outer_.end(), at);
  });
  if (outside_threads && sketch_.stage(copy).order.size() > 1) {
    sketch_.parallel(copy, sketch_.stage(copy).order[0]);
  }
}

void TilingNest::vectorize_copy(StageId copy, const std::vector<LayoutEntry>& layout,
                                const ReadAccess& access) {
  const std::vector<LoopId> loops = sketch_.stage(copy).order;
  // What lies side by side in the source: if that is not what lies so in the copy, tiles of both
  // are read by rows and written by columns.
  int side = -1;
  for (size_t i = 0; i + 1 < layout.size(); ++i) {
    const std::vector<int> axes = axes_of_loop(sketch_.stage(anchor_), layout[i].index);
    const bool contiguous = axes.size() == 1 && access.uses[static_cast<size_t>(axes[0])] &&
                            access.stride[static_cast<size_t>(axes[0])] == 1;
    if (contiguous && sketch_.extent(copy, loops[i]) > 1) side = static_cast<int>(i);
  }
  const int64_t lanes = access_.lanes;
  if (side < 0 || sketch_.extent(copy, loops[static_cast<size_t>(side)]) < lanes ||
      sketch_.extent(copy, loops.back()) < lanes) {
    sketch_.vectorize(copy, loops.back());
    return;
  }
  const Num size = SketchBuilder::fixed(lanes);
  const std::vector<LoopId> rows = sketch_.split(copy, loops[static_cast<size_t>(side)], {size});
  const std::vector<LoopId> cols = sketch_.split(copy, loops.back(), {size});
  std::vector<LoopId> order;
  for (size_t i = 0; i + 1 < loops.size(); ++i) {
    order.push_back(static_cast<int>(i) == side ? rows[0] : loops[i]);
  }
  order.insert(order.end(), {cols[0], rows[1], cols[1]});
  sketch_.reorder(copy, order);
  sketch_.unroll(copy, rows[1]);
  sketch_.vectorize(copy, cols[1]);
}

void TilingNest::finish_tile(StageId s, LoopId rows, LoopId cols) {
  if (rows != kNoLoop) sketch_.unroll(s, rows);
  sketch_.vectorize(s, cols);
}

void TilingNest::finish_reduction(StageId s) {
  for (int a : straight_) {
    const LoopId l = loop_of_[static_cast<size_t>(a)];
    // An axis that was cut into blocks is no window any more.
    if (sketch_.loop(s, l).state == LoopState::Leaf) sketch_.unroll(s, l);
  }
}

void TilingNest::build_rooted() {
  // The largest reduction loop is the one that is cut.
  LoopId largest = kNoLoop;
  for (LoopId l : sketch_.stage(anchor_).order) {
    if (!sketch_.loop(anchor_, l).reduce) continue;
    if (largest == kNoLoop || sketch_.extent(anchor_, l) > sketch_.extent(anchor_, largest)) {
      largest = l;
    }
  }
  if (order_.has(Part::K0)) {
    const int64_t extent = sketch_.extent(anchor_, largest);
    int64_t others = 1;
    for (LoopId l : reduction_loops(anchor_))
      others *= l == largest ? 1 : sketch_.extent(anchor_, l);
    const int64_t block = std::clamp<int64_t>(256 / std::max<int64_t>(1, others), 1, extent);
    // Blocks of equal size.
    const int64_t start = ceil_div(extent, ceil_div(extent, block));
    const std::vector<LoopId> parts = sketch_.split(
        anchor_, largest,
        {sketch_.slot(name_slot(sketch_, anchor_, "reduction block"), SlotKind::Tile, start)});
    reduction_outer_ = parts[0];
    largest = parts[1];
  }
  if (unroll_reduction_) {
    const std::vector<LoopId> reduction = reduction_loops(anchor_);
    const LoopId last = largest_reduction_first_ ? largest : reduction.back();
    const std::vector<LoopId> parts =
        sketch_.split(anchor_, last,
                      {sketch_.slot(name_slot(sketch_, anchor_, "unroll"), SlotKind::Register, 2)});
    sketch_.unroll(anchor_, parts[1]);
  }
  order_outer_loops();

  for (size_t i = 0; i < pack_.size(); ++i) {
    const ReadPlan& read = plan_.reads[i];
    if (!pack_[i]) continue;
    const LoopId at =
        order_.parts.size() > 1 && order_.parts[1] == Part::K0 ? reduction_outer_ : col_[0];
    const auto rows_at = std::find(outer_.begin(), outer_.end(), row_[0]);
    const auto pack_at = std::find(outer_.begin(), outer_.end(), at);
    const bool reused = row_[0] != kNoLoop && pack_at < rows_at;
    if (read.constant || !reused) {
      pack_at_root(read);
    } else {
      pack_at_loop(read, at, col_[2]);
    }
  }
  if (pack_rows_) {
    for (const ReadPlan& read : plan_.reads) {
      if (read.rows && !read.vector && !read.constant) pack_at_loop(read, row_[0], row_[2]);
    }
  }
  const StageId accumulator = sketch_.cache_write(anchor_, tile_loop_);
  if (!sketch_.ok()) return;
  finish_reduction(accumulator);
  finish_tile(accumulator, row_[2], col_[2]);
  sketch_.registers(accumulator);
  // The fresh loops that write the tile back, in the order of those that they mirror.
  const std::vector<LoopId> back = loops_below(sketch_.stage(anchor_), tile_loop_);
  if (partition_) sketch_.annotate(anchor_, row_[0], Annotation::Partition);
  if (partition_columns_) sketch_.annotate(anchor_, col_[0], Annotation::Partition);

  if (epilogue_ >= 0) {
    sketch_.compute_after(epilogue_, anchor_, tile_loop_);
    if (!sketch_.ok()) return;
    const std::vector<LoopId>& loops = sketch_.stage(epilogue_).order;
    if (loops.size() > 1 && !long_epilogue_) sketch_.unroll(epilogue_, loops[loops.size() - 2]);
    if (!loops.empty()) sketch_.vectorize(epilogue_, loops.back());
    if (!order_.has(Part::K0)) {
      sketch_.store_at(anchor_, anchor_, tile_loop_);
    } else {
      // Partial sums are kept where the result will be, if that can hold them.
      const SketchBuilder::Mark mark = sketch_.mark();
      sketch_.share(anchor_, epilogue_);
      if (!sketch_.ok()) sketch_.rewind(mark);
    }
  }
  finish_tile(anchor_, back.size() > 1 ? back[back.size() - 2] : kNoLoop, back.back());
}

void TilingNest::build_fused() {
  order_outer_loops();
  sketch_.compute_at(anchor_, epilogue_, tile_loop_);
  // The anchor's own axes: below the loops of the epilogue, parts that the tile does not go along
  // are single places.
  const auto whole_axis = [&](int a) {
    return static_cast<LoopId>(access_.origin[static_cast<size_t>(a)]);
  };
  const LoopId cols = whole_axis(plan_.vector_axis);
  const LoopId rows = rows_.axes.empty() ? kNoLoop : whole_axis(rows_.axes[0]);
  if (unroll_reduction_) {
    const std::vector<LoopId> parts =
        sketch_.split(anchor_, reduction_loops(anchor_).back(),
                      {sketch_.slot(name_slot(sketch_, anchor_, "unroll"), SlotKind::Register, 2)});
    sketch_.unroll(anchor_, parts[1]);
  }
  std::vector<LoopId> order;
  for (LoopId l : sketch_.stage(anchor_).order) {
    if (!sketch_.loop(anchor_, l).reduce && l != rows && l != cols) order.push_back(l);
  }
  for (LoopId l : reduction_loops(anchor_)) order.push_back(l);
  if (rows != kNoLoop) order.push_back(rows);
  order.push_back(cols);
  sketch_.reorder(anchor_, order);
  for (size_t i = 0; i < pack_.size(); ++i) {
    if (pack_[i]) pack_at_root(plan_.reads[i]);
  }
  finish_reduction(anchor_);
  finish_tile(anchor_, rows, cols);
  sketch_.registers(anchor_);
  finish_tile(epilogue_, row_[2], col_[2]);
  if (partition_) sketch_.annotate(epilogue_, row_[0], Annotation::Partition);
  if (partition_columns_) sketch_.annotate(epilogue_, col_[0], Annotation::Partition);
}

}  // namespace espalier
