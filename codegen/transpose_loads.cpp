#include "espalier/codegen/transpose_loads.h"

#include <algorithm>
#include <bit>

#include "espalier/codegen/any_part.h"
#include "espalier/ir/mutate.h"
#include "espalier/ir/simplify.h"

namespace espalier {
namespace {

// Vectors whose lanes lie nearer are put together from whole loads where they are emitted.
constexpr int64_t kLeastStride = 5;
constexpr int kFewestLanes = 4, kMostLanes = 16;

const RampNode* rows_of(const LoadNode* load) {
  if (load == nullptr || load->predicate) return nullptr;
  const auto* ramp = load->indices[0].as<RampNode>();
  if (ramp == nullptr || ramp->stride < kLeastStride) return nullptr;
  const int lanes = load->type.lanes;
  const bool suits = std::has_single_bit(static_cast<unsigned>(lanes)) && lanes >= kFewestLanes &&
                     lanes <= kMostLanes && bytes_of(load->type.dtype) * lanes <= 64;
  return suits ? ramp : nullptr;
}

// The only strided load of a store, if there is one and the store is unconditional.
Expr strided_load(const Stmt& s) {
  const auto* store = s.as<StoreNode>();
  if (store == nullptr || store->predicate) return {};
  Expr found;
  bool several = false;
  any_part(store->value, [&](const Expr& e) {
    if (rows_of(e.as<LoadNode>()) == nullptr) return false;
    several = several || (found && !equal(found, e));
    found = e;
    return false;
  });
  if (several || (found && found.as<LoadNode>()->buffer == store->buffer)) return {};
  return found;
}

bool follows(const Expr& a, const Expr& b) {
  const auto *x = a.as<LoadNode>(), *y = b.as<LoadNode>();
  const RampNode *p = rows_of(x), *q = rows_of(y);
  if (x->buffer != y->buffer || a.type() != b.type() || p->stride != q->stride) return false;
  int64_t difference;
  return is_const_int(simplify(q->base - p->base), &difference) && difference == 1;
}

Expr replace(const Expr& e, const Expr& old, const Expr& with) {
  if (equal(e, old)) return with;
  return map_children(e, [&](const Expr& part) { return replace(part, old, with); });
}

// `columns` stores, whose strided loads follow one another.
Stmt transposed(std::span<const Stmt> stores, std::span<const Expr> loads) {
  const auto* first = loads[0].as<LoadNode>();
  const RampNode* rows = rows_of(first);
  const auto lanes = static_cast<int64_t>(loads.size());
  const Buffer tile = make_buffer(first->buffer->name + ".tile", first->buffer->dtype,
                                  {lanes, lanes}, BufferScope::Register);
  const int n = static_cast<int>(lanes);
  std::vector<Stmt> all;
  for (int64_t r = 0; r < lanes; ++r) {
    const Expr from = simplify(rows->base + make_index(r * rows->stride));
    all.push_back(make_flat_store(tile, make_ramp(make_index(r * lanes), 1, n),
                                  make_flat_load(first->buffer, make_ramp(from, 1, n))));
  }
  for (int64_t c = 0; c < lanes; ++c) {
    const auto i = static_cast<size_t>(c);
    const auto* store = stores[i].as<StoreNode>();
    const Expr column = make_flat_load(tile, make_ramp(make_index(c), lanes, n));
    all.push_back(make_flat_store(store->buffer, store->indices[0],
                                  replace(store->value, loads[i], column), {},
                                  store->non_temporal));
  }
  return make_allocate(tile, make_block(std::move(all)));
}

Stmt transpose_block(const BlockNode& block) {
  std::vector<Stmt> stmts;
  const size_t count = block.stmts.size();
  bool changed = false;
  for (size_t at = 0; at < count;) {
    std::vector<Expr> loads;
    if (Expr load = strided_load(block.stmts[at])) loads.push_back(std::move(load));
    const size_t lanes = loads.empty() ? 1 : static_cast<size_t>(loads[0].type().lanes);
    while (!loads.empty() && loads.size() < lanes && at + loads.size() < count) {
      Expr next = strided_load(block.stmts[at + loads.size()]);
      if (!next || !follows(loads.back(), next)) break;
      loads.push_back(std::move(next));
    }
    if (loads.size() == lanes && lanes > 1) {
      stmts.push_back(transposed(std::span(block.stmts).subspan(at, lanes), loads));
      changed = true;
      at += lanes;
    } else {
      stmts.push_back(transpose_loads(block.stmts[at]));
      changed = changed || !stmts.back().same_as(block.stmts[at]);
      ++at;
    }
  }
  return changed ? make_block(std::move(stmts)) : Stmt{};
}

}  // namespace

Stmt transpose_loads(const Stmt& s) {
  if (const auto* block = s.as<BlockNode>()) {
    const Stmt result = transpose_block(*block);
    return result ? result : s;
  }
  return map_children(
      s, [](const Expr& e) { return e; }, [](const Stmt& inner) { return transpose_loads(inner); });
}

}  // namespace espalier
