// cache_read and pack_constant: copies of what one access reads, in a layout of their own.
#include <algorithm>

#include "espalier/schedule/apply.h"
#include "espalier/support/number.h"

namespace espalier {

StepApplier::Outcome StepApplier::on(const CacheReadStep& step) {
  if (step.loop != kNoLoop) {
    if (Outcome r = check_attach_loop(step.stage, step.loop)) return r;
  }
  return add_copy(step.stage, step.read, step.loop, step.layout, StageRole::Copy);
}

StepApplier::Outcome StepApplier::on(const PackConstantStep& step) {
  return add_copy(step.stage, step.read, kNoLoop, step.layout, StageRole::Pack);
}

StepApplier::Outcome StepApplier::add_copy(StageId s, int16_t number, LoopId at,
                                           const std::vector<LayoutEntry>& layout, StageRole role) {
  if (Outcome r = check_stage(s)) return r;
  const Stage& before = stage(s);
  if (number < 0 || static_cast<size_t>(number) >= before.reads.size() ||
      before.reads[static_cast<size_t>(number)].kind != StageRead::Kind::Element) {
    return reject(RejectionCode::NoSuchRead, s, kNoLoop, number);
  }
  const StageRead& read = before.reads[static_cast<size_t>(number)];
  const StageInfo& producer = state_.dag().stage(read.producer);
  if (role == StageRole::Pack && producer.tensor->kind != TensorKind::Constant) {
    return reject(RejectionCode::NotConstant, s, kNoLoop, number);
  }
  if (layout.empty() || before.role == StageRole::Copy || before.role == StageRole::Pack) {
    return reject(RejectionCode::LayoutInvalid, s, kNoLoop, 0);
  }

  // Every entry names a loop below the attach point or a dimension of the source, once.
  const Place place = at == kNoLoop ? Place{} : Place{s, at};
  const int below = at == kNoLoop ? -1 : position(before, at);
  const size_t rank = read.linear.size();
  std::vector<LoopId> fixed;
  std::vector<int> whole(rank, 0), outer(rank, 0), inner(rank, 0);
  std::vector<int64_t> block(rank, 0);
  for (size_t e = 0; e < layout.size(); ++e) {
    const LayoutEntry& entry = layout[e];
    const Rejection invalid =
        reject(RejectionCode::LayoutInvalid, s, kNoLoop, static_cast<int64_t>(e), entry.index);
    if (entry.kind == LayoutEntry::Kind::Loop) {
      if (Outcome r = check_leaf(s, entry.index)) return r;
      if (position(before, entry.index) <= below ||
          std::find(fixed.begin(), fixed.end(), entry.index) != fixed.end()) {
        return invalid;
      }
      fixed.push_back(entry.index);
      continue;
    }
    if (entry.index < 0 || static_cast<size_t>(entry.index) >= rank) return invalid;
    const size_t d = static_cast<size_t>(entry.index);
    int& count = entry.kind == LayoutEntry::Kind::Dim        ? whole[d]
                 : entry.kind == LayoutEntry::Kind::DimOuter ? outer[d]
                                                             : inner[d];
    if (count++ > 0) return invalid;
    if (entry.kind == LayoutEntry::Kind::Dim) continue;
    if (entry.block.value < 1 || (block[d] != 0 && block[d] != entry.block.value)) {
      return reject(RejectionCode::BadFactor, s, kNoLoop, entry.block.value,
                    producer.tensor->shape[d]);
    }
    block[d] = entry.block.value;
  }
  Coordinates coordinates(state_);
  std::vector<int64_t> width(rank);
  for (size_t d = 0; d < rank; ++d) {
    if (outer[d] != inner[d] || whole[d] + outer[d] > 1) {
      return reject(RejectionCode::LayoutInvalid, s, kNoLoop, -1, static_cast<int64_t>(d));
    }
    width[d] = coordinates.read_span(s, read, static_cast<int>(d), place, fixed).width;
    const bool named = whole[d] + outer[d] > 0;
    if (!named && (width[d] != 1 || !read.linear[d].affine)) {
      return reject(RejectionCode::LayoutIncomplete, s, at, static_cast<int64_t>(d), width[d]);
    }
  }
  // A source that is computed inside this nest must be complete where the copy is made.
  const Stage& source = stage(read.source);
  if (source.attach == AttachKind::At || source.attach == AttachKind::After) {
    const bool complete =
        at != kNoLoop && role == StageRole::Copy &&
        (source.attach_stage == s ? position(before, source.attach_loop) <= below
                                  : inside(s, source.attach_stage, source.attach_loop));
    if (!complete) return reject(RejectionCode::NotEnclosing, s, at, read.source, s);
  }
  if (source.attach == AttachKind::Root && !runs_before(read.source, root_of(s))) {
    return reject(RejectionCode::NotEnclosing, s, at, read.source, s);
  }
  if (!source.stored_at_root && source.store_stage == read.source) {
    return reject(RejectionCode::NotEnclosing, s, at, read.source, s);
  }

  auto copy = std::make_shared<Stage>(before);
  copy->role = role;
  copy->attach = at == kNoLoop ? AttachKind::Root : AttachKind::At;
  copy->attach_stage = copy->store_stage = place.stage;
  copy->attach_loop = copy->store_loop = place.loop;
  copy->stored_at_root = at == kNoLoop;
  copy->shares = -1;
  copy->registers = copy->non_temporal = false;
  copy->layout = layout;
  copy->copy_width = width;
  copy->order.clear();
  copy->storage.clear();
  copy->storage_extent.clear();
  for (LoopId l : before.order) {
    Loop& lp = copy->loops[static_cast<size_t>(l)];
    lp.parallel = lp.vectorize = lp.unroll = lp.partition = lp.reduce = false;
    lp.prefetch = 0;
    if (std::find(fixed.begin(), fixed.end(), l) != fixed.end()) continue;
    lp.state = LoopState::Bound;
    lp.bound_stage = s;
    lp.bound_loop = l;
  }
  int64_t elements = 1;
  for (const LayoutEntry& entry : layout) {
    LoopId l = entry.index;
    if (entry.kind != LayoutEntry::Kind::Loop) {
      const size_t d = static_cast<size_t>(entry.index);
      Loop dim;
      dim.extent = entry.kind == LayoutEntry::Kind::Dim ? width[d]
                   : entry.kind == LayoutEntry::Kind::DimInner
                       ? block[d]
                       : (width[d] + block[d] - 1) / block[d];
      l = static_cast<LoopId>(copy->loops.size());
      copy->loops.push_back(dim);
    }
    copy->order.push_back(l);
    copy->storage.push_back(l);
    const int64_t extent = copy->loops[static_cast<size_t>(l)].extent;
    copy->storage_extent.push_back(extent);
    const std::optional<int64_t> next = checked_mul(elements, std::max<int64_t>(1, extent));
    if (!next || *next > (int64_t{1} << 34)) return reject(RejectionCode::Overflow, s);
    elements = *next;
  }
  copy->reads.assign(1, read);
  const StageId id = add_stage(std::move(copy), at == kNoLoop ? root_of(s) : s);
  StageRead& served = edit(s).reads[static_cast<size_t>(number)];
  served.kind = StageRead::Kind::Packed;
  served.source = id;
  return std::nullopt;
}

}  // namespace espalier
