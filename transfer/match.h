// match(): how one tensor program stands for another, by structure alone.
#pragma once

#include <variant>

#include "espalier/transfer/dag_map.h"
#include "espalier/transfer/mismatch.h"

namespace espalier {

// A map, or why there is none.
class Match {
 public:
  Match(DagMap map) : value_(std::move(map)) {}
  Match(Mismatch reason) : value_(reason) {}
  bool ok() const { return value_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const DagMap& map() const { return *std::get_if<0>(&value_); }
  const Mismatch& reason() const { return *std::get_if<1>(&value_); }

 private:
  std::variant<DagMap, Mismatch> value_;
};

// The map of the closest level that fits; else what stood in the way of the widest one. No names of
// operators, stages or axes are looked at.
Match match(const ComputeDag& donor, const ComputeDag& target);

// Programs that match have equal families (not the other way round).
uint64_t family_of(const ComputeDag& dag);

}  // namespace espalier
