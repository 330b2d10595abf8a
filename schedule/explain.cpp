#include "espalier/schedule/explain.h"

#include <algorithm>

#include "espalier/schedule/names.h"
#include "espalier/schedule/nest.h"
#include "espalier/schedule/text.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

using detail::concat;

// The sentences, one function a code that needs more than a line.
class Explainer {
 public:
  Explainer(const Rejection& r, const State& state, const Step& step)
      : r_(r), state_(state), step_(step), stages_(stage_names(state)) {}

  std::string sentence() const {
    if (!known()) {
      return concat("there is no stage number ", r_.stage, "; the stages are ",
                    join_names(stages_));
    }
    switch (r_.code) {
      case RejectionCode::NoSuchStage: return no_such_stage();
      case RejectionCode::NoSuchLoop:
        return concat(here(), " has no loop number ", r_.loop, "; its loops are ", leaves());
      case RejectionCode::NoSuchRead:
        return concat(here(), " has no read number ", r_.a,
                      " that is not served from elsewhere already; its reads are ", reads());
      case RejectionCode::LoopNotLeaf: return not_leaf();
      case RejectionCode::BadFactor: return bad_factor();
      case RejectionCode::NotAdjacent: return not_adjacent();
      case RejectionCode::MixedKinds:
        return concat(the_loop(), " is a ", kind(),
                      " loop and the first of the fused ones is not; "
                      "fuse loops of one kind");
      case RejectionCode::NotReorderable:
        return concat("the terms of ", here(), " must keep their order, since its combiner",
                      combiner(), " is not declared associative and commutative");
      case RejectionCode::AttachedHere:
        return concat(join_names(attached()), " is computed or stored inside ", the_loop(),
                      ", which must stay as it is for that; take this step before the one that "
                      "attaches");
      case RejectionCode::ReductionLoop: return reduction_loop();
      case RejectionCode::AlreadyAnnotated:
        return concat(the_loop(), " is ", annotations(), ", which does not go with this step; ",
                      "annotate loops when they have their final shape, each in one way");
      case RejectionCode::NotInlineable: return not_inlineable();
      case RejectionCode::NotAttachable: return not_attachable();
      case RejectionCode::NotEnclosing: return not_enclosing();
      case RejectionCode::NotElementwise:
        return concat(here(),
                      " must read the stage it follows, at its own index alone, have the "
                      "same shape and no reduction; compute it at a loop or at root instead");
      case RejectionCode::LayoutIncomplete: return layout_incomplete();
      case RejectionCode::LayoutInvalid: return layout_invalid();
      case RejectionCode::NotConstant:
        return concat("read ", r_.a, " of ", here(), " is of ", read_name(r_.a),
                      ", which is not a constant and so is not known at bind; use cache_read");
      case RejectionCode::NotReduction:
        return r_.loop == kNoLoop
                   ? concat(here(),
                            " must be a reduction, and the step name loops of it; its "
                            "reduction loops are ",
                            join_names(loops_where(true)))
                   : concat(the_loop(), " is spatial; the reduction loops are ",
                            join_names(loops_where(true)));
      case RejectionCode::NotShareable:
        return concat(here(), " can live in the buffer of ", stage_name(r_.a),
                      " only if both are at "
                      "root with equal shape and type, ",
                      stage_name(r_.a),
                      " has no reduction and "
                      "is all that reads ",
                      here(), ", at its own index");
      case RejectionCode::NotUnrolled:
        return concat("registers have no addresses, so every spatial loop of ", here(),
                      " must be unrolled or vectorized; ", the_loop(), " is not");
      case RejectionCode::TooManyRegisters:
        return concat("the tile of ", here(), " takes at least ", r_.a,
                      " vectors, and the target "
                      "has ",
                      r_.b, " registers; make it smaller");
      case RejectionCode::TooMuchCode:
        if (is<InlineStep>()) {
          return concat(here(), " in every place where it is read would make about ", r_.a,
                        " instructions an element, and ", r_.b, " is the most; compute it");
        }
        return concat(the_loop(), " would become ", r_.a, " copies of its body, and ", r_.b,
                      " is the most; split it and unroll the inner part");
      case RejectionCode::TooManyParts:
        return concat("partitioning ", the_loop(), " too would make ", r_.a,
                      " copies of the nest, and ", r_.b, " is the most; leave out a loop");
      case RejectionCode::TooManyLanes:
        return concat(the_loop(), " would be a vector of ", r_.a, " lanes, and ", r_.b,
                      " is the most; split it and vectorize the inner part");
      case RejectionCode::TooManyLoops:
        return concat(here(), " would have had ", r_.a, " loops in all, and ", r_.b,
                      " is the most");
      case RejectionCode::TooManyStages:
        return concat("the schedule has added ", r_.a, " stages, and ", r_.b, " is the most");
      case RejectionCode::NotAccumulating: return not_accumulating();
      case RejectionCode::IsOutput:
        return concat(here(),
                      " is an output: its place and size are the caller's, and it has no "
                      "reader to be computed for");
      case RejectionCode::Overflow:
        return concat("an extent or buffer of ", here(), " would be too large; use smaller tiles");
    }
    return std::string(name_of(r_.code));
  }

 private:
  bool known() const { return r_.stage >= 0 && r_.stage < state_.size(); }
  const Stage& stage() const { return state_.stage(r_.stage); }
  std::string stage_name(int64_t s) const {
    return s >= 0 && s < state_.size() ? stages_[static_cast<size_t>(s)] : concat("stage ", s);
  }
  std::string here() const { return stage_name(r_.stage); }
  std::string loop_name(LoopId l) const {
    if (l < 0 || static_cast<size_t>(l) >= stage().loops.size()) return concat(l);
    return loop_names(state_, r_.stage)[static_cast<size_t>(l)];
  }
  const Loop* loop() const {
    if (r_.loop < 0 || static_cast<size_t>(r_.loop) >= stage().loops.size()) return {};
    return &stage().loops[static_cast<size_t>(r_.loop)];
  }
  // "loop j.1 of C (16)"
  std::string the_loop() const {
    const Loop* l = loop();
    return concat("loop ", loop_name(r_.loop), " of ", here(), " (extent ", l ? l->extent : 0, ")");
  }
  std::string_view kind() const { return loop() && loop()->reduce ? "reduction" : "spatial"; }
  std::vector<std::string> loops_where(bool reduce) const {
    std::vector<std::string> names;
    for (LoopId l : stage().order) {
      if (stage().loops[static_cast<size_t>(l)].reduce == reduce) names.push_back(loop_name(l));
    }
    return names;
  }
  std::string leaves() const {
    std::vector<std::string> names;
    for (LoopId l : stage().order) names.push_back(loop_name(l));
    return join_names(names);
  }
  std::string read_name(int64_t number) const {
    if (number < 0 || static_cast<size_t>(number) >= stage().reads.size()) return "?";
    return stage_name(stage().reads[static_cast<size_t>(number)].source);
  }
  std::string reads() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < stage().reads.size(); ++i) {
      names.push_back(concat(i, " (", read_name(static_cast<int64_t>(i)), ")"));
    }
    return join_names(names);
  }
  std::string combiner() const {
    const StageInfo& info = state_.dag().stage(stage().op);
    return info.is_compute() && info.reduce() ? " '" + info.reduce()->combiner.name + "'" : "";
  }
  std::string annotations() const {
    std::vector<std::string> words;
    if (const Loop* l = loop()) {
      if (l->parallel) words.emplace_back("parallel");
      if (l->vectorize) words.emplace_back("vectorized");
      if (l->unroll) words.emplace_back("unrolled");
      if (l->partition) words.emplace_back("partitioned");
      if (l->prefetch != 0) words.emplace_back("prefetched");
    }
    return join_names(words, "annotated");
  }
  std::vector<std::string> attached() const {
    std::vector<std::string> names;
    for (StageId t = 0; t < state_.size(); ++t) {
      const Stage& st = state_.stage(t);
      const bool computed = (st.attach == AttachKind::At || st.attach == AttachKind::After) &&
                            st.attach_stage == r_.stage && st.attach_loop == r_.loop;
      const bool stored =
          !st.stored_at_root && st.store_stage == r_.stage && st.store_loop == r_.loop;
      if (computed || stored) names.push_back(stage_name(t));
    }
    return names;
  }
  // Where the stage runs, as the end of a sentence.
  std::string place() const {
    const Stage& st = stage();
    switch (st.attach) {
      case AttachKind::Root: return "at root";
      case AttachKind::Inlined: return "inlined";
      case AttachKind::At:
      case AttachKind::After: break;
    }
    const std::vector<std::string> around = loop_names(state_, st.attach_stage);
    return concat(st.attach == AttachKind::At ? "at loop " : "after loop ",
                  around[static_cast<size_t>(st.attach_loop)], " of ", stage_name(st.attach_stage));
  }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(step_);
  }

  std::string no_such_stage() const {
    if (stage().role == StageRole::Input) {
      return here() + " is an input, which has no loops; schedule the stages that read it";
    }
    return here() + " was inlined and has no loops of its own; schedule the stages that read it";
  }

  std::string not_leaf() const {
    const Loop* l = loop();
    if (!l || l->state == LoopState::Leaf) {
      return concat("a loop of ", here(), " is named twice; its loops are ", leaves());
    }
    if (l->state == LoopState::Bound) {
      return concat("loop ", loop_name(r_.loop), " encloses ", here(), ", it is a loop of ",
                    stage_name(l->bound_stage), "; the loops of ", here(), " are ", leaves());
    }
    if (l->relation < 0 || l->state == LoopState::Absent) {
      return concat("loop ", loop_name(r_.loop), " is not a loop of ", here(),
                    " any more; its loops are ", leaves());
    }
    const Relation& relation = stage().relations[static_cast<size_t>(l->relation)];
    std::vector<std::string> now;
    if (relation.is_fuse) {
      now.push_back(loop_name(relation.whole));
    } else {
      for (LoopId part : relation.parts) now.push_back(loop_name(part));
    }
    return concat("loop ", loop_name(r_.loop), " of ", here(), " has become ", join_names(now),
                  "; the loops are ", leaves());
  }

  std::string bad_factor() const {
    if (const auto* s = std::get_if<SplitStep>(&step_)) {
      if (s->factors.empty()) return "a split takes at least one factor; there is none";
      return concat("factors must be at least 1 and their product at most 2^40; ", the_loop(),
                    " got ", r_.a);
    }
    if (is<PadStep>()) return concat("the multiple must be at least 1; it is ", r_.a);
    if (const auto* s = std::get_if<AnnotateStep>(&step_)) {
      return s->annotation == Annotation::Unroll
                 ? concat("the most iterations to unroll must be at least 0; it is ", r_.a)
                 : concat("the distance must be at least 1; it is ", r_.a);
    }
    return concat(
        "a block must be at least 1, and the same in the outer and the inner entry of a "
        "dimension; there is ",
        r_.a, " for a dimension of ", r_.b);
  }

  std::string not_adjacent() const {
    if (r_.loop == kNoLoop) return "fuse takes at least two loops; name the ones to join";
    return concat("fused loops must follow one another, outermost first; loop ", loop_name(r_.loop),
                  " does not in ", leaves(), "; reorder first");
  }

  std::string reduction_loop() const {
    if (is<StoreAtStep>()) {
      return concat("the buffer of ", here(), " cannot lie inside ", the_loop(),
                    ", whose iterations all add to it; name a loop outside");
    }
    return concat(the_loop(),
                  " is a reduction loop, whose iterations add to one value; rfactor it "
                  "first, which makes it spatial in the partial results");
  }

  std::string not_inlineable() const {
    const StageInfo& info = state_.dag().stage(stage().op);
    std::string why = "is scheduled or rewritten already (it is " + place() + ")";
    if (info.is_compute() && info.reduce()) why = "is a reduction";
    if (info.is_output) why = "is an output";
    return concat(
        "only a computed stage that is no reduction, no output and not scheduled yet can be "
        "inlined; ",
        here(), " ", why);
  }

  std::string not_attachable() const {
    if (is<AnnotateStep>()) {
      return concat("only values that live inside a loop can be registers; ", here(), " is stored ",
                    stage().stored_at_root ? "at root" : "in another buffer",
                    "; compute it at a loop first");
    }
    if (is<StoreAtStep>() && loop() && loop()->parallel) {
      return concat(the_loop(),
                    " is parallel and each of its iterations has a buffer of its own; "
                    "store at this loop or inside it");
    }
    if (is<StoreAtStep>()) {
      return concat(
          "store_at moves the buffer of an attached stage outwards, or that of a stage with "
          "readers after its own loop inwards; ",
          here(), " is ", place());
    }
    if (is<PadStep>()) {
      return concat(
          "only a whole axis of a stage at root, as it was defined, can be padded, before "
          "anything is attached to it; ",
          here(), " is ", place());
    }
    if (is<RfactorStep>()) {
      return concat("an attached stage needs its spatial axes whole to be factored, and ",
                    the_loop(), " is not; rfactor before splitting");
    }
    if (is<ComputeRootStep>()) {
      return concat("only a stage under compute_at whose loops are untouched can go back to root; ",
                    here(), " is ", place());
    }
    if (loop()) {
      return concat(the_loop(), " is ", annotations(),
                    " and lanes have no inside; name a loop "
                    "outside of it");
    }
    if (is<ComputeAfterStep>() && r_.stage != stage_of(step_)) {
      return concat("the stage to follow must be at root and hold whole values; ", here(), " is ",
                    place());
    }
    return concat(here(),
                  " must be at root, with its loops untouched and nothing attached inside, "
                  "when it is attached; it is ",
                  place(), "; attach first, then split and annotate");
  }

  std::string not_enclosing() const {
    if (is<ComputeAtStep>() && r_.b < 0) {
      return concat("nothing reads ", stage_name(r_.a), ", so there is nothing to compute it for");
    }
    if (is<CacheReadStep>() || is<PackConstantStep>()) {
      return concat("the copy needs ", stage_name(r_.a),
                    " complete before it is made, which it is "
                    "not there; make it further in, or compute ",
                    stage_name(r_.a), " further out");
    }
    if (is<ComputeAfterStep>()) {
      return concat(the_loop(),
                    " is parallel inside the place where the stage would follow; follow "
                    "a loop further in");
    }
    const std::string reader =
        r_.b >= 0 && r_.b < state_.size() ? stage_name(r_.b) : std::string("a stage");
    const std::string place = loop() ? the_loop() : concat("the root of ", here());
    return concat(place, " does not enclose ", is<ComputeAtStep>() ? reader : "all that reads it: ",
                  is<ComputeAtStep>() ? ", which reads " : "", stage_name(r_.a),
                  "; attach the readers inside that loop first, or name one further out");
  }

  std::string layout_incomplete() const {
    return concat("below ", loop() ? the_loop() : std::string("the root"), " dimension ", r_.a,
                  " of the source covers ", r_.b,
                  " elements that no entry of the layout tells apart; "
                  "add 'dim ",
                  r_.a, "' or the loops that index it");
  }

  std::string layout_invalid() const {
    if (r_.a < 0) {
      return concat("dimension ", r_.b,
                    " must stand in the layout whole, or once as outer and once "
                    "as inner blocks");
    }
    const std::vector<LayoutEntry>* layout = nullptr;
    if (const auto* s = std::get_if<CacheReadStep>(&step_)) layout = &s->layout;
    if (const auto* s = std::get_if<PackConstantStep>(&step_)) layout = &s->layout;
    if (layout && layout->empty()) return "a layout needs at least one entry; there is none";
    if (stage().role == StageRole::Copy || stage().role == StageRole::Pack) {
      return here() + " is a copy itself; copy what its reader reads instead";
    }
    return concat("entry ", r_.a, " of the layout must be a loop of ", here(),
                  " below the place of the copy, or a dimension of ",
                  "the source, each once; the loops "
                  "are ",
                  leaves());
  }

  std::string not_accumulating() const {
    if (is<ComputeAfterStep>()) {
      return concat(here(), " adds up over ", the_loop(),
                    ", outside the place to follow, without "
                    "writing whole partial sums there; cache_write ",
                    here(), " below that loop first");
    }
    if (is<CacheWriteStep>() && loop()) {
      return concat(the_loop(),
                    " tells the partial results apart, each of which is added up on its own; "
                    "name a loop inside of it");
    }
    return concat(here(),
                  " was rewritten, shared or attached in a way that leaves nothing to "
                  "accumulate (it is ",
                  place(),
                  "); rfactor comes first, then cache_write, each "
                  "once");
  }

  const Rejection& r_;
  const State& state_;
  const Step& step_;
  std::vector<std::string> stages_;
};

}  // namespace

std::string reason(const Rejection& rejection, const State& state, const Step& step) {
  return concat("'", to_string(step, state),
                "' does not apply: ", Explainer(rejection, state, step).sentence());
}

std::string explain(const Rejection& rejection, const Task& task, const Trace& trace) {
  State state = State::initial(task);
  for (size_t i = 0; i < trace.size(); ++i) {
    State before = state;
    const bool last = static_cast<int>(i) == rejection.step;
    const std::optional<Rejection> earlier = last ? std::nullopt : state.apply(trace[i]);
    if (!last && !earlier) continue;
    const Rejection& why = earlier ? *earlier : rejection;
    return concat("step ", i, ": ", reason(why, before, trace[i]), "\n",
                  print_nest(before, why.stage, why.loop, 2));
  }
  return concat("step ", rejection.step, " of a trace of ", trace.size(), ": ",
                name_of(rejection.code));
}

}  // namespace espalier
