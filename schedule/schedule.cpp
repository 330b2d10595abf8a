#include "espalier/schedule/schedule.h"

#include "espalier/schedule/names.h"

namespace espalier {

StageRef::StageRef(const Tensor& tensor) : name_(tensor ? tensor->name : std::string()) {}

Schedule::Schedule(const ComputeDag& dag) : Schedule(Task{dag, host_target(), 1, ""}) {}

void Schedule::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

StageId Schedule::find(const StageRef& s) {
  if (error_ || s.name_.empty()) return s.id_;
  const StageId id = state_.find_stage(s.name_);
  if (id < 0) {
    fail(make_error(ErrorCode::NotFound, "no stage named '", s.name_,
                    "'; there are: ", join_names(stage_names(state_))));
  }
  return id;
}

LoopHandle Schedule::find(const LoopRef& l) {
  const StageId stage = find(l.stage_);
  if (error_ || l.name_.empty()) return {stage, l.id_};
  if (stage < 0 || stage >= state_.size()) {
    fail(make_error(ErrorCode::NotFound, "a loop '", l.name_, "' of a stage that does not exist"));
    return {};
  }
  const LoopId id = state_.find_loop(stage, l.name_);
  if (id < 0) {
    std::vector<std::string> names;
    for (LoopId leaf : state_.stage(stage).order) names.push_back(state_.loop_name(stage, leaf));
    fail(make_error(ErrorCode::NotFound, "no loop of ", state_.stage_name(stage), " named '",
                    l.name_, "'; there are: ", join_names(names)));
  }
  return {stage, id};
}

std::vector<LoopId> Schedule::find(Loops loops, StageId* stage) {
  std::vector<LoopId> ids;
  for (const LoopRef& l : loops) {
    const LoopHandle found = find(l);
    if (ids.empty()) *stage = found.stage;
    if (!error_ && found.stage != *stage) {
      fail(make_error(ErrorCode::InvalidArgument, "a step takes loops of one stage; got some of ",
                      state_.stage_name(*stage), " and some of ", state_.stage_name(found.stage)));
    }
    ids.push_back(found.id);
  }
  return ids;
}

std::vector<LayoutEntry> Schedule::find(StageId of, Layout layout) {
  std::vector<LayoutEntry> entries;
  for (const LayoutRef& ref : layout) {
    LayoutEntry entry = ref.entry_;
    if (entry.kind == LayoutEntry::Kind::Loop) {
      const LoopHandle l = find(ref.loop_);
      if (!error_ && l.stage != of) {
        fail(make_error(ErrorCode::InvalidArgument,
                        "a layout takes loops of the stage that reads (", state_.stage_name(of),
                        "); got one of ", state_.stage_name(l.stage)));
      }
      entry.index = l.id;
    }
    entries.push_back(entry);
  }
  return entries;
}

bool Schedule::apply(const Step& step) {
  if (error_) return false;
  std::optional<Rejection> rejection = state_.apply(step);
  if (!rejection) return true;
  Trace trace = state_.trace();
  rejection->step = static_cast<int16_t>(trace.size());
  trace.push_back(step);
  fail(make_error(ErrorCode::InvalidArgument, explain(*rejection, state_.task(), trace)));
  return false;
}

StageHandle Schedule::make_stage(const Step& step) {
  if (!apply(step)) return {};
  return {static_cast<StageId>(state_.size() - 1)};
}

StageHandle Schedule::stage(const StageRef& s) { return {find(s)}; }
LoopHandle Schedule::loop(const StageRef& s, std::string_view name) { return find({s, name}); }
LoopHandle Schedule::loop(const StageRef& s, LoopHandle same) { return {find(s), same.id}; }

void Schedule::split_into(const LoopRef& l, std::vector<Num> factors, LoopHandle* parts) {
  const auto [stage, loop] = find(l);
  if (!apply(SplitStep{stage, loop, std::move(factors)})) return;
  for (LoopId part : state_.stage(stage).relations.back().parts) *parts++ = {stage, part};
}

LoopHandle Schedule::fuse(Loops loops) {
  StageId stage = kNoStage;
  std::vector<LoopId> ids = find(loops, &stage);
  if (!apply(FuseStep{stage, std::move(ids)})) return {};
  return {stage, state_.stage(stage).relations.back().whole};
}

void Schedule::reorder(Loops order) {
  StageId stage = kNoStage;
  std::vector<LoopId> ids = find(order, &stage);
  apply(ReorderStep{stage, std::move(ids)});
}

void Schedule::pad(const LoopRef& axis, int64_t multiple) {
  const auto [stage, loop] = find(axis);
  apply(PadStep{stage, loop, Num{multiple}});
}

void Schedule::annotate(const LoopRef& l, Annotation a, int64_t arg) {
  const auto [stage, loop] = find(l);
  apply(AnnotateStep{stage, loop, a, Num{arg}});
}

void Schedule::parallel(const LoopRef& l) { annotate(l, Annotation::Parallel); }
void Schedule::vectorize(const LoopRef& l) { annotate(l, Annotation::Vectorize); }
void Schedule::unroll(const LoopRef& l, int64_t max) { annotate(l, Annotation::Unroll, max); }
void Schedule::prefetch(const LoopRef& l, int64_t distance) {
  annotate(l, Annotation::Prefetch, distance);
}
void Schedule::partition(const LoopRef& l) { annotate(l, Annotation::Partition); }
void Schedule::registers(const StageRef& s) {
  apply(AnnotateStep{find(s), kNoLoop, Annotation::Registers});
}
void Schedule::non_temporal(const StageRef& s) {
  apply(AnnotateStep{find(s), kNoLoop, Annotation::NonTemporal});
}

void Schedule::compute_at(const StageRef& s, const LoopRef& at) {
  const auto [target, loop] = find(at);
  apply(ComputeAtStep{find(s), target, loop});
}
void Schedule::compute_root(const StageRef& s) { apply(ComputeRootStep{find(s)}); }
void Schedule::compute_after(const StageRef& s, const LoopRef& at) {
  const auto [target, loop] = find(at);
  apply(ComputeAfterStep{find(s), target, loop});
}
void Schedule::store_at(const StageRef& s, const LoopRef& at) {
  const auto [target, loop] = find(at);
  apply(StoreAtStep{find(s), target, loop});
}
void Schedule::store_at_root(const StageRef& s) { apply(StoreAtStep{find(s), kNoStage, kNoLoop}); }
void Schedule::share(const StageRef& s, const StageRef& with) {
  const StageId stage = find(s);
  apply(ShareStep{stage, find(with)});
}
void Schedule::inline_stage(const StageRef& s) { apply(InlineStep{find(s)}); }

StageHandle Schedule::cache_write(const LoopRef& at) {
  const auto [stage, loop] = find(at);
  return make_stage(CacheWriteStep{stage, loop});
}
StageHandle Schedule::cache_write_at_root(const StageRef& s) {
  return make_stage(CacheWriteStep{find(s), kNoLoop});
}
StageHandle Schedule::cache_read(int read, const LoopRef& at, Layout layout) {
  const auto [stage, loop] = find(at);
  std::vector<LayoutEntry> entries = find(stage, layout);
  return make_stage(CacheReadStep{stage, static_cast<int16_t>(read), loop, std::move(entries)});
}
StageHandle Schedule::cache_read_at_root(const StageRef& s, int read, Layout layout) {
  const StageId stage = find(s);
  std::vector<LayoutEntry> entries = find(stage, layout);
  return make_stage(CacheReadStep{stage, static_cast<int16_t>(read), kNoLoop, std::move(entries)});
}
StageHandle Schedule::pack_constant(const StageRef& s, int read, Layout layout) {
  const StageId stage = find(s);
  std::vector<LayoutEntry> entries = find(stage, layout);
  return make_stage(PackConstantStep{stage, static_cast<int16_t>(read), std::move(entries)});
}
StageHandle Schedule::rfactor(Loops loops) {
  StageId stage = kNoStage;
  std::vector<LoopId> ids = find(loops, &stage);
  return make_stage(RfactorStep{stage, std::move(ids)});
}

Result<State> Schedule::finish() const {
  if (error_) return *error_;
  return state_;
}

}  // namespace espalier
