#include "espalier/codegen/register_plan.h"

#include <algorithm>

#include "espalier/codegen/lane_mask.h"
#include "espalier/ir/mutate.h"

namespace espalier {

std::optional<RegisterSlot> register_slot(const Expr& offset, const Expr& predicate, int lanes) {
  RegisterSlot slot;
  slot.lanes = lanes;
  slot.active = lanes_before(predicate, lanes);
  if (slot.active == 0) return {};
  if (lanes == 1) {
    if (!is_const_int(offset, &slot.offset)) return {};
    return slot;
  }
  const auto* ramp = offset.as<RampNode>();
  if (ramp == nullptr || ramp->stride != 1 || !is_const_int(ramp->base, &slot.offset)) return {};
  return slot;
}

std::optional<StridedRead> strided_read(const Expr& offset, const Expr& predicate, int lanes) {
  StridedRead read;
  read.lanes = lanes;
  const std::optional<int> active = prefix_of(predicate, lanes);
  const auto* ramp = offset.as<RampNode>();
  if (!active || *active == 0 || ramp == nullptr || ramp->stride <= 1) return {};
  if (!is_const_int(ramp->base, &read.base)) return {};
  read.active = *active;
  read.stride = ramp->stride;
  return read;
}

namespace {

// Every element read is in the same lane of its slot, and the slots have as many lanes.
bool reads_a_column(const StridedRead& read, const std::vector<RegisterSlot>& slots) {
  std::optional<RegisterSlot> first;
  for (int l = 0; l < read.active; ++l) {
    const int64_t element = read.base + l * read.stride;
    const auto after =
        std::upper_bound(slots.begin(), slots.end(), element,
                         [](int64_t e, const RegisterSlot& s) { return e < s.offset; });
    if (after == slots.begin()) return false;
    const RegisterSlot& slot = *std::prev(after);
    if (!first) first = slot;
    if (element - slot.offset >= slot.active || slot.lanes != first->lanes) return false;
    if (element - slot.offset != read.base - first->offset) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<RegisterSlot>> plan_registers(const Buffer& buffer, const Stmt& body,
                                                        bool parallel_outlined) {
  std::vector<RegisterSlot> slots;
  std::vector<StridedRead> strided;
  bool regular = true;
  const auto add = [&](const Expr& offset, const Expr& predicate, int lanes) {
    const std::optional<RegisterSlot> slot = register_slot(offset, predicate, lanes);
    if (!slot) {
      regular = false;
      return;
    }
    const auto same = std::find_if(slots.begin(), slots.end(),
                                   [&](const RegisterSlot& s) { return s.offset == slot->offset; });
    if (same == slots.end()) {
      slots.push_back(*slot);
    } else {
      same->lanes = std::max(same->lanes, slot->lanes);
      same->active = std::max(same->active, slot->active);
    }
  };
  const auto on_expr = [&](const Expr& e) {
    const auto* load = e.as<LoadNode>();
    if (load != nullptr && load->buffer == buffer) {
      const Expr& offset = load->indices[0];
      if (load->type.lanes > 1 && !offset.type().is_vector()) regular = false;
      if (const auto read = strided_read(offset, load->predicate, load->type.lanes)) {
        strided.push_back(*read);
      } else {
        add(offset, load->predicate, load->type.lanes);
      }
    }
    return regular;
  };
  const auto on_stmt = [&](const Stmt& s) {
    if (const auto* store = s.as<StoreNode>(); store != nullptr && store->buffer == buffer) {
      add(store->indices[0], store->predicate, store->value.type().lanes);
    }
    const auto* loop = s.as<ForNode>();
    if (loop != nullptr && parallel_outlined && loop->for_kind == ForKind::Parallel) {
      visit(
          s,
          [&](const Stmt& inner) {
            const auto* store = inner.as<StoreNode>();
            if (store != nullptr && store->buffer == buffer) regular = false;
            return regular;
          },
          [&](const Expr& inner) {
            const auto* load = inner.as<LoadNode>();
            if (load != nullptr && load->buffer == buffer) regular = false;
            return regular;
          });
    }
    return regular;
  };
  visit(body, on_stmt, on_expr);
  if (!regular) return {};

  std::sort(slots.begin(), slots.end(),
            [](const RegisterSlot& a, const RegisterSlot& b) { return a.offset < b.offset; });
  for (size_t i = 1; i < slots.size(); ++i) {
    if (slots[i - 1].offset + slots[i - 1].active > slots[i].offset) return {};
  }
  for (const StridedRead& read : strided) {
    if (!reads_a_column(read, slots)) return {};
  }
  return slots;
}

}  // namespace espalier
