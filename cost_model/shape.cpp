#include "espalier/cost_model/shape.h"

#include <algorithm>

#include "espalier/cost_model/widths.h"

namespace espalier {
namespace {

// Averages and tails, once the extents are known.
void finish(const State& state, Shape& shape) {
  for (StageId s = 0; s < state.size(); ++s) {
    const Stage& stage = state.stage(s);
    StageShape& st = shape[static_cast<size_t>(s)];
    st.effective = st.units = st.extent;
    for (size_t l = 0; l < stage.loops.size(); ++l) {
      const Loop& loop = stage.loops[l];
      if (loop.origin >= 0 && stage.relations[static_cast<size_t>(loop.origin)].is_fuse) {
        Quantity product = 1;
        for (LoopId part : stage.relations[static_cast<size_t>(loop.origin)].parts) {
          product *= st.effective[static_cast<size_t>(part)];
        }
        st.effective[l] = product;
      }
      if (loop.state != LoopState::Split) continue;
      const std::vector<LoopId>& parts = stage.relations[static_cast<size_t>(loop.relation)].parts;
      Quantity inner = 1;
      for (size_t i = parts.size(); i-- > 1;) {
        const size_t part = static_cast<size_t>(parts[i]);
        st.units[part] = ceil_div(st.extent[l], inner);
        inner *= st.extent[part];
      }
      st.effective[static_cast<size_t>(parts[0])] = st.effective[l] / inner;
    }
  }
}

// Follows a sketch step by step, writing down the numbers of what each step makes.
class Follower {
 public:
  Follower(const Task& task, const Sketch& sketch, std::span<const int32_t> decisions,
           FormulaBuilder& builder)
      : sketch_(sketch), decisions_(decisions), builder_(builder), state_(State::initial(task)) {
    shape_ = shape_of(state_);
  }

  std::optional<SketchShape> run() {
    for (const Step& step : sketch_.steps) {
      std::visit([this](const auto& s) { before(s); }, step);
      const State old = state_;
      if (state_.apply(step, decisions_)) return std::nullopt;
      add_stages(step);
      add_loops(old);
      std::visit([this](const auto& s) { after(s); }, step);
    }
    finish(state_, shape_);
    return SketchShape{std::move(state_), std::move(shape_)};
  }

 private:
  Quantity value(const Num& n) {
    return n.slot < 0 ? Quantity(static_cast<double>(n.value)) : builder_.decision(n.slot);
  }
  StageShape& at(StageId s) { return shape_[static_cast<size_t>(s)]; }
  Quantity& extent(StageId s, LoopId l) { return at(s).extent[static_cast<size_t>(l)]; }

  // A stage that a step adds starts with the loops of the stage that it was made for.
  void add_stages(const Step& step) {
    while (static_cast<int>(shape_.size()) < state_.size()) {
      StageShape copy = at(stage_of(step));
      shape_.push_back(std::move(copy));
    }
  }

  void add_loops(const State& old) {
    for (StageId s = 0; s < state_.size(); ++s) {
      const Stage& stage = state_.stage(s);
      StageShape& st = at(s);
      const size_t known = s < old.size() ? old.stage(s).loops.size() : st.extent.size();
      for (size_t l = std::min(known, st.extent.size()); l < stage.loops.size(); ++l) {
        st.extent.push_back(static_cast<double>(stage.loops[l].extent));
        st.unrolled.push_back(0);
      }
      for (size_t l = known; l < stage.loops.size(); ++l) {
        const int16_t origin = stage.loops[l].origin;
        if (origin < 0) continue;
        const Relation& r = stage.relations[static_cast<size_t>(origin)];
        if (r.is_fuse) {
          st.extent[l] = 1;
          for (LoopId part : r.parts) st.extent[l] *= extent(s, part);
        } else if (r.parts.size() == 1) {
          st.extent[l] = extent(s, r.whole);  // stands for a loop that went elsewhere
        }
      }
    }
  }

  // Numbers that need the state as it was, or as it is.
  template <class S>
  void before(const S&) {}
  template <class S>
  void after(const S&) {}

  void after(const SplitStep& step) {
    const Stage& stage = state_.stage(step.stage);
    const std::vector<LoopId>& parts = stage.relations.back().parts;
    Quantity product = 1;
    for (size_t i = 1; i < parts.size(); ++i) {
      extent(step.stage, parts[i]) = value(step.factors[i - 1]);
      product *= value(step.factors[i - 1]);
    }
    extent(step.stage, parts[0]) = ceil_div(extent(step.stage, step.loop), product);
  }
  void after(const PadStep& step) {
    const Quantity multiple = value(step.multiple);
    Quantity& axis = extent(step.stage, step.axis);
    axis = ceil_div(axis, multiple) * multiple;
    if (step.axis < state_.stage(step.stage).spatial_axes) {
      at(step.stage).storage_extent[static_cast<size_t>(step.axis)] = axis;
    }
  }
  void after(const AnnotateStep& step) {
    if (step.annotation != Annotation::Unroll) return;
    const Quantity limit = value(step.arg);
    const Quantity always = if_le(limit, 0, 1, 0);
    at(step.stage).unrolled[static_cast<size_t>(step.loop)] =
        if_le(extent(step.stage, step.loop), limit, 1, always);
  }
  void before(const ComputeAtStep& step) { find_region(step.stage, {step.target, step.loop}); }
  void after(const ComputeAtStep& step) {
    for (size_t a = 0; a < found_.size(); ++a) {
      at(step.stage).extent[a] = at(step.stage).storage_extent[a] = found_[a];
    }
  }
  void after(const ComputeRootStep& step) {
    const StageInfo& info = state_.dag().stage(state_.stage(step.stage).op);
    for (size_t a = 0; a < info.axes.size(); ++a) {
      at(step.stage).extent[a] = at(step.stage).storage_extent[a] =
          static_cast<double>(info.axes[a].extent);
    }
  }
  void after(const ComputeAfterStep& step) {
    at(step.stage).extent = at(step.target).extent;
    at(step.stage).unrolled.assign(at(step.stage).extent.size(), 0);
  }
  void before(const StoreAtStep& step) {
    found_.clear();
    if (state_.stage(step.stage).attach != AttachKind::At || step.loop == kNoLoop) return;
    if (state_.stage(step.stage).base_stage == step.stage) {
      find_region(step.stage, {step.target, step.loop});
    }
  }
  void after(const StoreAtStep& step) {
    const Stage& stage = state_.stage(step.stage);
    std::vector<Quantity>& storage = at(step.stage).storage_extent;
    if (stage.attach == AttachKind::Root) {
      storage_from_loops(step.stage);
      return;
    }
    for (size_t i = 0; i < stage.storage.size(); ++i) {
      const size_t axis = static_cast<size_t>(stage.storage[i]);
      if (stage.base_stage != step.stage || !stage.loops[axis].region) continue;
      storage[i] =
          step.loop != kNoLoop
              ? found_[axis]
              : Quantity(static_cast<double>(state_.dag().stage(stage.op).axes[axis].extent));
    }
  }
  void after(const CacheWriteStep&) {
    const StageId made = static_cast<StageId>(state_.size() - 1);
    storage_from_loops(made);
  }
  void after(const RfactorStep&) {
    const StageId made = static_cast<StageId>(state_.size() - 1);
    const Stage& stage = state_.stage(made);
    std::vector<Quantity>& storage = at(made).storage_extent;
    for (size_t i = storage.size(); i < stage.storage.size(); ++i) {
      storage.push_back(extent(made, stage.storage[i]));
    }
  }
  void before(const CacheReadStep& step) {
    find_copied(step.stage, step.read,
                step.loop == kNoLoop ? Place{} : Place{step.stage, step.loop}, step.layout);
  }
  void after(const CacheReadStep& step) { add_copy(step.layout); }
  void before(const PackConstantStep& step) { find_copied(step.stage, step.read, {}, step.layout); }
  void after(const PackConstantStep& step) { add_copy(step.layout); }

  void find_region(StageId s, const Place& place) {
    found_.clear();
    const Widths widths(state_, shape_);
    const Widths::Boundary b = widths.boundary(place);
    for (int a = 0; a < state_.stage(s).spatial_axes; ++a) found_.push_back(widths.region(b, s, a));
  }
  void find_copied(StageId s, int16_t number, const Place& place,
                   const std::vector<LayoutEntry>& layout) {
    found_.clear();
    const Widths widths(state_, shape_);
    Widths::Boundary b = widths.boundary(place);
    std::vector<LoopId> fixed;
    for (const LayoutEntry& e : layout) {
      if (e.kind == LayoutEntry::Kind::Loop) fixed.push_back(e.index);
    }
    b.fixed_stage = s;
    b.fixed = fixed;
    const Stage& stage = state_.stage(s);
    // A step that cannot be applied will be rejected; here it only must not be followed.
    if (number < 0 || static_cast<size_t>(number) >= stage.reads.size()) return;
    const StageRead& read = stage.reads[static_cast<size_t>(number)];
    for (size_t d = 0; d < read.linear.size(); ++d) {
      found_.push_back(widths.read(b, s, read, static_cast<int>(d), true));
    }
  }
  void add_copy(const std::vector<LayoutEntry>& layout) {
    const StageId made = static_cast<StageId>(state_.size() - 1);
    const Stage& stage = state_.stage(made);
    StageShape& st = at(made);
    st.block.assign(layout.size(), 0);
    std::fill(st.unrolled.begin(), st.unrolled.end(), 0);
    for (size_t e = 0; e < layout.size(); ++e) {
      if (layout[e].kind == LayoutEntry::Kind::Loop) continue;
      const Quantity& width = found_[static_cast<size_t>(layout[e].index)];
      const Quantity block = layout[e].is_block() ? value(layout[e].block) : Quantity(0);
      st.block[e] = block;
      extent(made, stage.order[e]) = layout[e].kind == LayoutEntry::Kind::Dim ? width
                                     : layout[e].kind == LayoutEntry::Kind::DimInner
                                         ? block
                                         : ceil_div(width, block);
    }
    storage_from_loops(made);
  }
  void storage_from_loops(StageId s) {
    std::vector<Quantity>& storage = at(s).storage_extent;
    storage.clear();
    for (LoopId l : state_.stage(s).storage) storage.push_back(extent(s, l));
  }

  const Sketch& sketch_;
  std::span<const int32_t> decisions_;
  FormulaBuilder& builder_;
  State state_;
  Shape shape_;
  std::vector<Quantity> found_;
};

}  // namespace

Shape shape_of(const State& state) {
  Shape shape(static_cast<size_t>(state.size()));
  for (StageId s = 0; s < state.size(); ++s) {
    const Stage& stage = state.stage(s);
    StageShape& st = shape[static_cast<size_t>(s)];
    for (const Loop& l : stage.loops) {
      st.extent.push_back(static_cast<double>(l.extent));
      st.unrolled.push_back(l.unroll ? 1 : 0);
    }
    for (int64_t e : stage.storage_extent) st.storage_extent.push_back(static_cast<double>(e));
    for (const LayoutEntry& e : stage.layout) {
      st.block.push_back(e.is_block() ? static_cast<double>(e.block.value) : 0);
    }
  }
  finish(state, shape);
  return shape;
}

std::optional<SketchShape> shape_of(const Task& task, const Sketch& sketch,
                                    std::span<const int32_t> decisions, FormulaBuilder& builder) {
  return Follower(task, sketch, decisions, builder).run();
}

}  // namespace espalier
