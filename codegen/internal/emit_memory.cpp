#include <algorithm>
#include <bit>
#include <numeric>

#include "espalier/codegen/internal/emitter.h"
#include "espalier/codegen/internal/transpose.h"
#include "espalier/codegen/lane_mask.h"
#include "espalier/ir/mutate.h"
#include "espalier/support/check.h"
#include "llvm/IR/Intrinsics.h"

namespace espalier::internal {
namespace {

constexpr int kMostShuffledStride = 4;

bool is_power_of_two(int v) { return v > 0 && (v & (v - 1)) == 0; }

// Lanes 0 .. count-1 of `lanes`.
llvm::Constant* prefix_constant(llvm::LLVMContext& ctx, int count, int lanes) {
  llvm::SmallVector<llvm::Constant*, 64> bits;
  for (int l = 0; l < lanes; ++l) {
    bits.push_back(llvm::ConstantInt::getBool(ctx, l < count));
  }
  return llvm::ConstantVector::get(bits);
}

llvm::SmallVector<int, 64> lane_range(int from, int count) {
  llvm::SmallVector<int, 64> lanes(static_cast<size_t>(count));
  std::iota(lanes.begin(), lanes.end(), from);
  return lanes;
}

// As many of the first lanes as asked for; those that `v` does not have hold anything.
llvm::Value* resize_lanes(Builder& b, llvm::Value* v, int from, int to) {
  if (from == to) return v;
  if (to == 1) return b.CreateExtractElement(v, uint64_t{0});
  if (from == 1) {
    auto* type = llvm::FixedVectorType::get(v->getType(), static_cast<unsigned>(to));
    return b.CreateInsertElement(llvm::PoisonValue::get(type), v, uint64_t{0});
  }
  llvm::SmallVector<int, 64> lanes = lane_range(0, to);
  for (int l = from; l < to; ++l) lanes[static_cast<size_t>(l)] = llvm::PoisonMaskElem;
  return b.CreateShuffleVector(v, lanes);
}

bool has_load(const Expr& e) {
  bool result = false;
  visit(e, [&](const Expr& part) {
    result = result || part.kind() == ExprKind::Load;
    return !result;
  });
  return result;
}

// Whether lane l of the result depends on lane l of the operands only, and where memory is read on
// no operand at all.
bool lane_by_lane(const Expr& e) {
  bool result = true;
  visit(e, [&](const Expr& part) {
    if (part.kind() == ExprKind::LaneReduce) result = false;
    if (const auto* load = part.as<LoadNode>()) {
      for (const Expr& index : load->indices) {
        if (index.type().is_vector() && index.kind() != ExprKind::Ramp) result = false;
      }
      if (load->predicate && has_load(load->predicate)) result = false;
    }
    return result;
  });
  return result;
}

// Zeros to read from where a predicate is false.
llvm::Constant* zeros(llvm::Module& module) {
  constexpr const char* kName = "espalier_zeros";
  if (llvm::GlobalVariable* g = module.getNamedGlobal(kName)) return g;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 512);
  auto* g = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::PrivateLinkage,
                                     llvm::ConstantAggregateZero::get(type), kName);
  g->setAlignment(llvm::Align(64));
  return g;
}

}  // namespace

FunctionEmitter::Mask FunctionEmitter::emit_mask(const Expr& predicate, int lanes) {
  Mask mask;
  if (const std::optional<int> prefix = prefix_of(predicate, lanes)) {
    if (*prefix < lanes) mask = {Mask::Kind::Prefix, *prefix, nullptr};
    return mask;
  }
  mask.value = emit(predicate);
  mask.kind = predicate.type().is_vector() ? Mask::Kind::Lanes : Mask::Kind::Uniform;
  return mask;
}

llvm::Value* FunctionEmitter::mask_lanes(const Mask& mask, int lanes) {
  switch (mask.kind) {
    case Mask::Kind::All: return prefix_constant(b_.getContext(), lanes, lanes);
    case Mask::Kind::Prefix: return prefix_constant(b_.getContext(), mask.prefix, lanes);
    case Mask::Kind::Uniform: return splat(b_, mask.value, lanes);
    case Mask::Kind::Lanes: return mask.value;
  }
  ESP_UNREACHABLE("mask kind");
}

const FunctionEmitter::Place& FunctionEmitter::place_of(const Buffer& buffer) const {
  const auto it = places_.find(buffer.get());
  ESP_CHECK(it != places_.end(), "buffer ", buffer->name, " is used outside of its life");
  return it->second;
}

int64_t FunctionEmitter::divisor(const Expr& e) const {
  constexpr int64_t kMost = 4096;
  const auto power_of_two_in = [=](int64_t v) { return v == 0 ? kMost : std::min(kMost, v & -v); };
  int64_t value;
  if (is_const_int(e, &value)) return power_of_two_in(value);
  if (const auto it = divisors_.find(e.get()); it != divisors_.end()) return it->second;
  const auto* n = e.as<BinaryNode>();
  if (n == nullptr) return 1;
  if (n->op == BinaryOp::Mul) return std::min(kMost, divisor(n->a) * divisor(n->b));
  if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub) {
    return std::min(divisor(n->a), divisor(n->b));
  }
  return 1;
}

llvm::Align FunctionEmitter::alignment(const Place& place, const Buffer& buffer,
                                       const Expr& offset) const {
  const int64_t step = divisor(offset) * bytes_of(buffer->dtype);
  return llvm::Align(static_cast<uint64_t>(std::min(place.alignment, step)));
}

llvm::Value* FunctionEmitter::address(const Place& place, const Buffer& buffer,
                                      const Expr& offset) {
  llvm::Type* element = memory_type(b_.getContext(), buffer->dtype);
  int64_t constant = 0;
  if (is_const_int(offset, &constant)) {
    return constant == 0
               ? place.base
               : b_.CreateGEP(element, place.base, b_.getInt64(static_cast<uint64_t>(constant)));
  }
  // The constant last, so that neighbours share the rest and it becomes a displacement.
  const auto* sum = offset.as<BinaryNode>();
  if (sum != nullptr && sum->op == BinaryOp::Add) {
    if (is_const_int(sum->b, &constant)) {
      return b_.CreateGEP(element, address(place, buffer, sum->a),
                          b_.getInt64(static_cast<uint64_t>(constant)));
    }
    return b_.CreateGEP(element, address(place, buffer, sum->a), emit(sum->b));
  }
  return b_.CreateGEP(element, place.base, emit(offset));
}

llvm::Value* FunctionEmitter::address_of_lane(const Place& place, const Buffer& buffer,
                                              const Expr& offset, int lane) {
  llvm::Type* element = memory_type(b_.getContext(), buffer->dtype);
  if (const auto* ramp = offset.as<RampNode>()) {
    llvm::Value* at = address(place, buffer, ramp->base);
    const int64_t step = ramp->stride * lane;
    return step == 0 ? at : b_.CreateGEP(element, at, b_.getInt64(static_cast<uint64_t>(step)));
  }
  if (const auto* broadcast = offset.as<BroadcastNode>()) {
    return address(place, buffer, broadcast->value);
  }
  llvm::Value* index = b_.CreateExtractElement(emit(offset), static_cast<uint64_t>(lane));
  return b_.CreateGEP(element, place.base, index);
}

llvm::Value* FunctionEmitter::plain_load(const Buffer& buffer, Type t, llvm::Value* at,
                                         llvm::Align align) {
  llvm::LoadInst* load = b_.CreateAlignedLoad(memory_type(b_.getContext(), t), at, align);
  state_.scopes.annotate(load, buffer);
  return load;
}

const FunctionEmitter::HeldSlot& FunctionEmitter::find_slot(const Buffer& buffer,
                                                            const RegisterSlot& part) const {
  for (const HeldSlot& slot : slots_.at(buffer.get())) {
    if (slot.shape.offset == part.offset) return slot;
  }
  ESP_UNREACHABLE("no slot of ", buffer->name, " at ", part.offset);
}

llvm::Value* FunctionEmitter::load_slot(const HeldSlot& slot, const RegisterSlot& part,
                                        const LoadNode& n) {
  llvm::Value* v = b_.CreateLoad(slot.value->getAllocatedType(), slot.value);
  v = from_memory(b_, n.type, resize_lanes(b_, v, slot.shape.lanes, part.lanes));
  if (prefix_of(n.predicate, part.lanes)) return blank_others(v, part.active, part.lanes);
  if (stored_where_ && equal(n.predicate, stored_where_)) return v;
  const Mask mask = emit_mask(n.predicate, part.lanes);
  return b_.CreateSelect(mask.value, v, llvm::Constant::getNullValue(v->getType()));
}

llvm::Value* FunctionEmitter::blank_others(llvm::Value* v, int active, int lanes) {
  if (active == lanes) return v;
  // Lanes past the active ones hold whatever was computed in them. That can be seen unless the
  // value ends in a store under the same predicate, lane by lane.
  if (stored_lanes_ <= active) return v;
  return b_.CreateSelect(prefix_constant(b_.getContext(), active, lanes), v,
                         llvm::Constant::getNullValue(v->getType()));
}

llvm::Value* FunctionEmitter::load_column(const LoadNode& n, const StridedRead& read) {
  // All columns are made at once, where the first of them is read.
  const std::vector<HeldSlot>& slots = slots_.at(n.buffer.get());
  const auto slot_of = [&](int64_t element) -> const HeldSlot& {
    const auto after =
        std::upper_bound(slots.begin(), slots.end(), element,
                         [](int64_t e, const HeldSlot& s) { return e < s.shape.offset; });
    return *std::prev(after);
  };
  const HeldSlot& first = slot_of(read.base);
  Columns& columns = columns_[{n.buffer.get(), first.shape.offset, read.stride, read.active}];
  if (columns.values.empty() || columns.stores != stores_[n.buffer.get()]) {
    const int width = std::max(first.shape.lanes, read.active);
    const auto size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(width)));
    std::vector<llvm::Value*> rows(static_cast<size_t>(size), nullptr);
    for (int l = 0; l < read.active; ++l) {
      const HeldSlot& slot = slot_of(read.base + l * read.stride);
      llvm::Value* row = b_.CreateLoad(slot.value->getAllocatedType(), slot.value);
      rows[static_cast<size_t>(l)] = resize_lanes(b_, row, slot.shape.lanes, size);
    }
    columns = {transpose_rows(b_, rows), size, stores_[n.buffer.get()]};
  }
  llvm::Value* v = columns.values[static_cast<size_t>(read.base - first.shape.offset)];
  v = from_memory(b_, n.type, resize_lanes(b_, v, columns.lanes, read.lanes));
  return blank_others(v, read.active, read.lanes);
}

void FunctionEmitter::store_slot(const HeldSlot& slot, const RegisterSlot& part, llvm::Value* value,
                                 const Expr& predicate) {
  const int lanes = slot.shape.lanes;
  if (!prefix_of(predicate, part.lanes)) {
    llvm::Value* others = b_.CreateLoad(slot.value->getAllocatedType(), slot.value);
    others = resize_lanes(b_, others, lanes, part.lanes);
    value = b_.CreateSelect(emit_mask(predicate, part.lanes).value, value, others);
  }
  value = resize_lanes(b_, value, part.lanes, lanes);
  if (part.active < slot.shape.active) {
    llvm::Value* others = b_.CreateLoad(slot.value->getAllocatedType(), slot.value);
    value = b_.CreateSelect(prefix_constant(b_.getContext(), part.active, lanes), value, others);
  }
  b_.CreateStore(value, slot.value);
}

llvm::Value* FunctionEmitter::emit_load(const LoadNode& n) {
  ESP_CHECK(n.flat, "a load of ", n.buffer->name, " was not flattened");
  const Type t = n.type;
  const Expr& offset = n.indices[0];
  if (slots_.contains(n.buffer.get())) {
    if (const auto read = strided_read(offset, n.predicate, t.lanes)) return load_column(n, *read);
    const std::optional<RegisterSlot> shape = register_slot(offset, n.predicate, t.lanes);
    ESP_CHECK(shape.has_value());
    return load_slot(find_slot(n.buffer, *shape), *shape, n);
  }
  const Mask mask = emit_mask(n.predicate, t.lanes);
  if (mask.kind == Mask::Kind::Prefix && mask.prefix == 0) {
    return llvm::Constant::getNullValue(value_type(b_.getContext(), t));
  }
  if (!t.is_vector()) return from_memory(b_, t, load_contiguous(n, offset, mask));
  if (const auto* ramp = offset.as<RampNode>()) {
    if (ramp->stride == 1) return from_memory(b_, t, load_contiguous(n, ramp->base, mask));
    const bool whole = mask.kind == Mask::Kind::All;
    const int masked = state_.traits.masked_load_bytes;
    const bool can_mask = masked != 0 && bytes_of(t.dtype) >= masked && ramp->stride > 0 &&
                          mask.kind != Mask::Kind::Uniform;
    const bool shuffles =
        ramp->stride == -1 || (ramp->stride >= 2 && ramp->stride <= kMostShuffledStride);
    if (shuffles && (whole || can_mask) && is_power_of_two(t.lanes) && t.lanes >= 4) {
      return from_memory(b_, t, load_strided(n, *ramp, mask));
    }
  }
  return from_memory(b_, t, load_lanes(n, mask));
}

llvm::Value* FunctionEmitter::load_contiguous(const LoadNode& n, const Expr& first,
                                              const Mask& mask) {
  const Type t = n.type;
  const Place& place = place_of(n.buffer);
  llvm::Value* at = address(place, n.buffer, first);
  llvm::Align align = alignment(place, n.buffer, first);
  switch (mask.kind) {
    case Mask::Kind::All: return plain_load(n.buffer, t, at, align);
    case Mask::Kind::Uniform:
      // Without a branch: where nothing may be read, zeros are.
      at = b_.CreateSelect(mask.value, at, zeros(state_.module));
      return plain_load(n.buffer, t, at, std::min(align, llvm::Align(64)));
    case Mask::Kind::Prefix:
      if (state_.traits.masked_load_bytes == 0 ||
          bytes_of(t.dtype) < state_.traits.masked_load_bytes) {
        return load_pieces(n, at, align, mask.prefix);
      }
      [[fallthrough]];
    case Mask::Kind::Lanes: {
      llvm::Type* type = memory_type(b_.getContext(), t);
      llvm::CallInst* load = b_.CreateMaskedLoad(type, at, align, mask_lanes(mask, t.lanes),
                                                 llvm::Constant::getNullValue(type));
      state_.scopes.annotate(load, n.buffer);
      return load;
    }
  }
  ESP_UNREACHABLE("mask kind");
}

// The first `count` lanes by plain loads of falling powers of two, zeros after them.
llvm::Value* FunctionEmitter::load_pieces(const LoadNode& n, llvm::Value* at, llvm::Align align,
                                          int count) {
  const Type t = n.type;
  llvm::Type* element = memory_type(b_.getContext(), n.buffer->dtype);
  llvm::Value* result = llvm::Constant::getNullValue(memory_type(b_.getContext(), t));
  for (int done = 0; done < count;) {
    int piece = 1;
    while (piece * 2 <= count - done) piece *= 2;
    llvm::Value* from =
        done == 0 ? at : b_.CreateGEP(element, at, b_.getInt64(static_cast<uint64_t>(done)));
    const llvm::Align piece_align =
        commonAlignment(align, static_cast<uint64_t>(done * bytes_of(t.dtype)));
    llvm::Value* part = plain_load(n.buffer, t.with_lanes(piece), from, piece_align);
    if (piece == 1) {
      result = b_.CreateInsertElement(result, part, static_cast<uint64_t>(done));
    } else {
      llvm::SmallVector<int, 64> widen(static_cast<size_t>(t.lanes), -1);
      std::iota(widen.begin(), widen.begin() + piece, 0);
      llvm::Value* wide = b_.CreateShuffleVector(part, widen);
      llvm::SmallVector<int, 64> place = lane_range(0, t.lanes);
      for (int l = 0; l < piece; ++l) place[static_cast<size_t>(done + l)] = t.lanes + l;
      result = b_.CreateShuffleVector(result, wide, place);
    }
    done += piece;
  }
  return result;
}

// Every stride-th element by whole loads and shuffles. The last load is shifted back so as to end
// at the last element wanted; what lies between two elements that exist may be read. Under a mask,
// that of a whole load has the bits of the elements picked from it where those lie.
llvm::Value* FunctionEmitter::load_strided(const LoadNode& n, const RampNode& offset,
                                           const Mask& mask) {
  const Type t = n.type;
  const int lanes = t.lanes;
  const auto stride = static_cast<int>(offset.stride);
  const Place& place = place_of(n.buffer);
  llvm::Type* element = memory_type(b_.getContext(), n.buffer->dtype);
  llvm::Value* at = address(place, n.buffer, offset.base);
  const llvm::Align align(static_cast<uint64_t>(bytes_of(t.dtype)));
  llvm::Value* wanted_lanes = mask.kind == Mask::Kind::All ? nullptr : mask_lanes(mask, lanes);
  const auto load_at = [&](int from, int piece) -> llvm::Value* {
    llvm::Value* p =
        from == 0 ? at : b_.CreateGEP(element, at, int_constant(b_.getInt64Ty(), from));
    if (wanted_lanes == nullptr) return plain_load(n.buffer, t, p, align);
    llvm::SmallVector<int, 64> bits(static_cast<size_t>(lanes), lanes);
    for (int l = 0; l < lanes; ++l) {
      if (l * stride / lanes == piece) bits[static_cast<size_t>(l * stride - from)] = l;
    }
    llvm::Value* none = llvm::Constant::getNullValue(wanted_lanes->getType());
    llvm::Type* type = memory_type(b_.getContext(), t);
    llvm::CallInst* load =
        b_.CreateMaskedLoad(type, p, align, b_.CreateShuffleVector(wanted_lanes, none, bits),
                            llvm::Constant::getNullValue(type));
    state_.scopes.annotate(load, n.buffer);
    return load;
  };
  if (stride == -1) {
    llvm::SmallVector<int, 64> reversed;
    for (int l = 0; l < lanes; ++l) reversed.push_back(lanes - 1 - l);
    return b_.CreateShuffleVector(load_at(1 - lanes, 0), reversed);
  }
  const int last = (lanes - 1) * stride + 1 - lanes;
  llvm::Value* result = nullptr;
  for (int piece = 0; piece < stride; ++piece) {
    const int from = piece == stride - 1 ? last : piece * lanes;
    llvm::Value* part = load_at(from, piece);
    llvm::SmallVector<int, 64> picks = lane_range(0, lanes);
    for (int l = 0; l < lanes; ++l) {
      const int wanted = l * stride;
      if (wanted / lanes == piece) {
        picks[static_cast<size_t>(l)] = (result != nullptr ? lanes : 0) + wanted - from;
      }
    }
    result = result == nullptr ? b_.CreateShuffleVector(part, picks)
                               : b_.CreateShuffleVector(result, part, picks);
  }
  return result;
}

llvm::Value* FunctionEmitter::load_lanes(const LoadNode& n, const Mask& mask) {
  const Type t = n.type;
  const Expr& offset = n.indices[0];
  const Place& place = place_of(n.buffer);
  const llvm::Align align(static_cast<uint64_t>(bytes_of(t.dtype)));
  llvm::Type* type = memory_type(b_.getContext(), t);
  llvm::Type* element = memory_type(b_.getContext(), n.buffer->dtype);
  if (offset.as<BroadcastNode>() != nullptr && mask.kind != Mask::Kind::Prefix) {
    // One element for all lanes, read if any lane wants it.
    llvm::Value* at = address_of_lane(place, n.buffer, offset, 0);
    if (mask.kind != Mask::Kind::All) {
      llvm::Value* any =
          mask.kind == Mask::Kind::Uniform ? mask.value : b_.CreateOrReduce(mask.value);
      at = b_.CreateSelect(any, at, zeros(state_.module));
    }
    llvm::Value* v = splat(b_, plain_load(n.buffer, t.with_lanes(1), at, align), t.lanes);
    if (mask.kind != Mask::Kind::Lanes) return v;
    return b_.CreateSelect(mask.value, v, llvm::Constant::getNullValue(type));
  }
  if (mask.kind == Mask::Kind::Lanes || mask.kind == Mask::Kind::Uniform) {
    llvm::Value* pointers = b_.CreateGEP(element, place.base, emit(offset));
    llvm::CallInst* gather = b_.CreateMaskedGather(type, pointers, align, mask_lanes(mask, t.lanes),
                                                   llvm::Constant::getNullValue(type));
    state_.scopes.annotate(gather, n.buffer);
    return gather;
  }
  const int count = mask.kind == Mask::Kind::Prefix ? mask.prefix : t.lanes;
  llvm::Value* result = llvm::Constant::getNullValue(type);
  for (int l = 0; l < count; ++l) {
    llvm::Value* at = address_of_lane(place, n.buffer, offset, l);
    llvm::Value* v = plain_load(n.buffer, t.with_lanes(1), at, align);
    result = b_.CreateInsertElement(result, v, static_cast<uint64_t>(l));
  }
  return result;
}

void FunctionEmitter::emit_store(const StoreNode& n) {
  ESP_CHECK(n.flat, "a store to ", n.buffer->name, " was not flattened");
  const Type t = n.value.type();
  ESP_CHECK(t.dtype == n.buffer->dtype, "a ", to_string(t), " is stored to ", n.buffer->name);
  const Expr& offset = n.indices[0];
  statement_.clear();
  const std::optional<int> prefix = prefix_of(n.predicate, t.lanes);
  if (n.predicate && lane_by_lane(n.value)) {
    if (prefix) {
      stored_lanes_ = *prefix;
    } else if (!has_load(n.predicate)) {
      stored_where_ = n.predicate;
    }
  }
  llvm::Value* value = to_memory(b_, t, emit(n.value));
  stored_lanes_ = kAllLanes;
  stored_where_ = {};
  ++stores_[n.buffer.get()];
  if (slots_.contains(n.buffer.get())) {
    const std::optional<RegisterSlot> shape = register_slot(offset, n.predicate, t.lanes);
    ESP_CHECK(shape.has_value());
    store_slot(find_slot(n.buffer, *shape), *shape, value, n.predicate);
    return;
  }
  const Mask mask = emit_mask(n.predicate, t.lanes);
  if (mask.kind == Mask::Kind::Prefix && mask.prefix == 0) return;
  llvm::BasicBlock* after = nullptr;
  if (mask.kind == Mask::Kind::Uniform) {
    llvm::BasicBlock* then = new_block("store");
    after = new_block("stored");
    b_.CreateCondBr(mask.value, then, after);
    b_.SetInsertPoint(then);
  }
  const Mask lanes = mask.kind == Mask::Kind::Uniform ? Mask{} : mask;
  in_scope([&] {
    const auto* ramp = offset.as<RampNode>();
    if (!t.is_vector()) {
      store_contiguous(n, value, offset, lanes);
    } else if (ramp != nullptr && ramp->stride == 1) {
      store_contiguous(n, value, ramp->base, lanes);
    } else {
      store_lanes(n, value, lanes);
    }
  });
  if (after != nullptr) {
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
}

void FunctionEmitter::store_contiguous(const StoreNode& n, llvm::Value* value, const Expr& first,
                                       const Mask& mask) {
  const Type t = n.value.type();
  const Place& place = place_of(n.buffer);
  llvm::Value* at = address(place, n.buffer, first);
  const llvm::Align align = alignment(place, n.buffer, first);
  if (mask.kind == Mask::Kind::All) {
    llvm::StoreInst* store = b_.CreateAlignedStore(value, at, align);
    state_.scopes.annotate(store, n.buffer);
    // The machine has such stores for whole, aligned vectors only.
    if (n.non_temporal && t.is_vector() &&
        align.value() >= static_cast<uint64_t>(t.lanes * bytes_of(t.dtype))) {
      llvm::LLVMContext& ctx = b_.getContext();
      store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                         llvm::MDNode::get(ctx, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
      has_non_temporal_ = true;
    }
    return;
  }
  if (mask.kind == Mask::Kind::Prefix && !state_.traits.masked_stores) {
    store_pieces(n, value, at, align, mask.prefix);
    return;
  }
  state_.scopes.annotate(b_.CreateMaskedStore(value, at, align, mask_lanes(mask, t.lanes)),
                         n.buffer);
}

// The first `count` lanes by plain stores of falling powers of two.
void FunctionEmitter::store_pieces(const StoreNode& n, llvm::Value* value, llvm::Value* at,
                                   llvm::Align align, int count) {
  llvm::Type* element = memory_type(b_.getContext(), n.buffer->dtype);
  for (int done = 0; done < count;) {
    int piece = 1;
    while (piece * 2 <= count - done) piece *= 2;
    llvm::Value* to =
        done == 0 ? at : b_.CreateGEP(element, at, b_.getInt64(static_cast<uint64_t>(done)));
    llvm::Value* part = piece == 1 ? b_.CreateExtractElement(value, static_cast<uint64_t>(done))
                                   : b_.CreateShuffleVector(value, lane_range(done, piece));
    const llvm::Align piece_align =
        commonAlignment(align, static_cast<uint64_t>(done * bytes_of(n.buffer->dtype)));
    state_.scopes.annotate(b_.CreateAlignedStore(part, to, piece_align), n.buffer);
    done += piece;
  }
}

void FunctionEmitter::store_lanes(const StoreNode& n, llvm::Value* value, const Mask& mask) {
  const Type t = n.value.type();
  const Expr& offset = n.indices[0];
  const Place& place = place_of(n.buffer);
  const llvm::Align align(static_cast<uint64_t>(bytes_of(t.dtype)));
  llvm::Type* element = memory_type(b_.getContext(), n.buffer->dtype);
  if (mask.kind == Mask::Kind::Lanes) {
    llvm::Value* pointers = b_.CreateGEP(element, place.base, emit(offset));
    state_.scopes.annotate(b_.CreateMaskedScatter(value, pointers, align, mask.value), n.buffer);
    return;
  }
  const int count = mask.kind == Mask::Kind::Prefix ? mask.prefix : t.lanes;
  for (int l = 0; l < count; ++l) {
    llvm::Value* at = address_of_lane(place, n.buffer, offset, l);
    llvm::Value* v = b_.CreateExtractElement(value, static_cast<uint64_t>(l));
    state_.scopes.annotate(b_.CreateAlignedStore(v, at, align), n.buffer);
  }
}

void FunctionEmitter::emit_prefetch(const PrefetchNode& n) {
  ESP_CHECK(n.flat, "a prefetch of ", n.buffer->name, " was not flattened");
  if (slots_.contains(n.buffer.get())) return;
  statement_.clear();
  llvm::Value* at = address(place_of(n.buffer), n.buffer, n.indices[0]);
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {at->getType()},
                     {at, b_.getInt32(n.for_write), b_.getInt32(static_cast<uint32_t>(n.locality)),
                      b_.getInt32(1)});
}

}  // namespace espalier::internal
