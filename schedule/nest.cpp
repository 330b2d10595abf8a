#include "espalier/schedule/nest.h"

#include <algorithm>
#include <ostream>

#include "espalier/schedule/names.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

class NestPrinter {
 public:
  NestPrinter(const State& state, StageId marked_stage, LoopId marked_loop, int indent)
      : state_(state), marked_stage_(marked_stage), indent_(indent), stages_(stage_names(state)) {
    for (StageId s = 0; s < state.size(); ++s) loops_.push_back(loop_names(state, s));
    mark(marked_loop);
  }

  std::string print() {
    for (StageId s : state_.execution_order()) {
      const Stage& stage = state_.stage(s);
      if (stage.stored_at_root && needs_buffer(s)) buffer(s, 0);
    }
    for (StageId s : state_.execution_order()) {
      const Stage& stage = state_.stage(s);
      if (stage.attach == AttachKind::Root && stage.role != StageRole::Input) root(s);
    }
    return std::move(out_);
  }

 private:
  // The leaves that the marked loop has become.
  void mark(LoopId l) {
    if (marked_stage_ < 0 || marked_stage_ >= state_.size()) return;
    const Stage& stage = state_.stage(marked_stage_);
    if (l < 0 || static_cast<size_t>(l) >= stage.loops.size()) return;
    const Loop& loop = stage.loops[static_cast<size_t>(l)];
    if (loop.state == LoopState::Leaf) marked_.push_back(l);
    if (loop.relation < 0) return;
    const Relation& relation = stage.relations[static_cast<size_t>(loop.relation)];
    if (loop.state == LoopState::Fused) mark(relation.whole);
    if (loop.state != LoopState::Split) return;
    for (LoopId part : relation.parts) mark(part);
  }

  void line(int depth, const std::string& text, bool marked = false) {
    out_.append(static_cast<size_t>(indent_ + 2 * depth), ' ');
    out_ += text;
    out_ += marked ? "  <--\n" : "\n";
  }
  const std::string& name(StageId s) const { return stages_[static_cast<size_t>(s)]; }

  // Buffers that the kernel itself owns; inputs and outputs are the caller's.
  bool needs_buffer(StageId s) const {
    const Stage& stage = state_.stage(s);
    if (stage.role == StageRole::Input || stage.attach == AttachKind::Inlined) return false;
    return stage.shares >= 0 || s >= state_.dag().size() || !state_.dag().stage(s).is_output;
  }
  void buffer(StageId s, int depth) {
    const Stage& stage = state_.stage(s);
    std::string text = name(s) + ": ";
    if (stage.shares >= 0) {
      line(depth, text + "in " + name(stage.shares));
      return;
    }
    const bool copy = stage.role == StageRole::Copy || stage.role == StageRole::Pack;
    const int16_t definition = copy ? stage.reads.front().producer : stage.op;
    text += name_of(state_.dag().stage(definition).tensor->dtype);
    std::string_view separator = "[";
    for (int64_t extent : stage.storage_extent) {
      text += separator;
      text += std::to_string(extent);
      separator = ", ";
    }
    text += stage.storage_extent.empty() ? "[]" : "]";
    line(depth, stage.registers ? text + " registers" : text);
  }

  void root(StageId s) {
    const bool bound = state_.stage(s).role == StageRole::Pack;
    if (bound) line(0, "at bind");
    body(s, 0, bound ? 1 : 0);
  }

  // The loops of the stage from position `at` on, what is attached in them, and its statement.
  void body(StageId s, size_t at, int depth) {
    const Stage& stage = state_.stage(s);
    if (at == stage.order.size()) {
      line(depth, statement(s), s == marked_stage_ && marked_.empty());
      return;
    }
    const LoopId l = stage.order[at];
    const bool marked = s == marked_stage_ && std::ranges::find(marked_, l) != marked_.end();
    line(depth, loop_line(s, l), marked);
    for (StageId t : state_.execution_order()) {
      const Stage& stored = state_.stage(t);
      const bool here = !stored.stored_at_root && stored.store_stage == s && stored.store_loop == l;
      if (here && needs_buffer(t)) buffer(t, depth + 1);
    }
    attached(s, l, AttachKind::At, depth + 1);
    body(s, at + 1, depth + 1);
    attached(s, l, AttachKind::After, depth + 1);
  }
  void attached(StageId s, LoopId l, AttachKind kind, int depth) {
    for (StageId t : state_.execution_order()) {
      const Stage& stage = state_.stage(t);
      if (stage.attach == kind && stage.attach_stage == s && stage.attach_loop == l) {
        body(t, 0, depth);
      }
    }
  }

  std::string loop_line(StageId s, LoopId l) const {
    const Stage& stage = state_.stage(s);
    const Loop& loop = stage.loops[static_cast<size_t>(l)];
    std::string text = loop.reduce ? "reduce " : "for ";
    text += loops_[static_cast<size_t>(s)][static_cast<size_t>(l)];
    text += ": " + std::to_string(loop.extent);
    if (const int64_t tail = tail_extent(stage, l)) text += " tail " + std::to_string(tail);
    if (loop.parallel) text += " parallel";
    if (loop.vectorize) text += " vectorize";
    if (loop.unroll) text += " unroll";
    if (loop.partition) text += " partition";
    if (loop.prefetch != 0) text += " prefetch " + std::to_string(loop.prefetch);
    return text;
  }

  std::string reads_of(const Stage& stage) const {
    std::vector<StageId> sources;
    for (const StageRead& read : stage.reads) {
      if (std::ranges::find(sources, read.source) == sources.end()) sources.push_back(read.source);
    }
    std::string text;
    for (StageId source : sources) {
      if (!text.empty()) text += ", ";
      text += name(source);
    }
    return text;
  }

  std::string statement(StageId s) const {
    const Stage& stage = state_.stage(s);
    const StageInfo& info = state_.dag().stage(stage.op);
    const ReduceNode* reduce = info.is_compute() ? info.reduce() : nullptr;
    const std::string reads = reads_of(stage);
    std::string text = name(s) + " = ";
    switch (stage.role) {
      case StageRole::Copy:
      case StageRole::Pack: text += reads; break;
      case StageRole::WriteBack:
        text += stage.has_own_reduce() ? reduce->combiner.name + "(" + name(s) + ", " + reads + ")"
                                       : reads;
        break;
      case StageRole::Input:
      case StageRole::Compute:
      case StageRole::Accumulate:
      case StageRole::Partial:
      case StageRole::Final:
        text += reduce ? reduce->combiner.name : "f";
        text += "(" + reads + ")";
        break;
    }
    if (stage.non_temporal) text += " non_temporal";
    if (stage.attach == AttachKind::After) text += " when complete";
    return text;
  }

  const State& state_;
  StageId marked_stage_;
  int indent_;
  std::vector<LoopId> marked_;
  std::vector<std::string> stages_;
  std::vector<std::vector<std::string>> loops_;
  std::string out_;
};

}  // namespace

int64_t tail_extent(const Stage& stage, LoopId l) {
  const Loop& loop = stage.loops[static_cast<size_t>(l)];
  // What reduces partial results takes all of them: those of a tail hold the identity.
  if (loop.origin < 0 || (loop.copy_of != kNoLoop && loop.reduce)) return 0;
  const Relation& split = stage.relations[static_cast<size_t>(loop.origin)];
  if (split.is_fuse) return 0;
  int64_t inner = 1;  // elements in one iteration of the loop
  for (size_t p = static_cast<size_t>(loop.origin_part) + 1; p < split.parts.size(); ++p) {
    inner *= stage.loops[static_cast<size_t>(split.parts[p])].extent;
  }
  // The loop that was split runs over its extent, and over less if it has a tail itself.
  for (int64_t whole :
       {stage.loops[static_cast<size_t>(split.whole)].extent, tail_extent(stage, split.whole)}) {
    if (loop.origin_part > 0) whole %= inner * loop.extent;
    const int64_t rest = ceil_div(whole, inner);
    if (rest != 0 && rest != loop.extent) return rest;
  }
  return 0;
}

std::string print_nest(const State& state, StageId marked_stage, LoopId marked_loop, int indent) {
  return NestPrinter(state, marked_stage, marked_loop, indent).print();
}

std::string print_nest(const State& state) { return print_nest(state, kNoStage); }

std::ostream& operator<<(std::ostream& os, const State& state) { return os << print_nest(state); }

}  // namespace espalier
