#include "espalier/transfer/mismatch.h"

#include "espalier/support/check.h"

namespace espalier {
namespace {

std::string kind_of(const StageInfo& info) {
  switch (info.tensor->kind) {
    case TensorKind::Placeholder: return "an input";
    case TensorKind::Constant: return "a constant";
    case TensorKind::Compute: return "computed";
  }
  ESP_UNREACHABLE();
}

std::string combiner_of(const StageInfo& info) {
  const ReduceNode* reduce = info.reduce();
  return reduce == nullptr ? "no reduction" : "a reduction (" + reduce->combiner.name + ")";
}

std::string order_of(const StageInfo& info) {
  const ReduceNode* reduce = info.reduce();
  return reduce != nullptr && !reduce->combiner.reorderable ? "must keep its order"
                                                            : "may be reordered";
}

// What a role is called: bit r of `reads` says that read r moves with the iterator.
std::string role_name(int64_t role) {
  const bool reduce = (role & 1) != 0, window = (role & 2) != 0;
  std::string text = window   ? "reduction iterators that slide a window"
                     : reduce ? "reduction iterators"
                              : "spatial iterators";
  const int64_t reads = role >> 2;
  if (reads == 0) return text + " that no read moves with";
  text += " that move read";
  int count = 0;
  for (int r = 0; r < 60; ++r) {
    if ((reads >> r & 1) != 0) text += (count++ == 0 ? " " : " and ") + std::to_string(r);
  }
  return text;
}

}  // namespace

std::string_view name_of(MismatchCode code) {
  switch (code) {
    case MismatchCode::NothingComputed: return "nothing computed";
    case MismatchCode::StageCount: return "stage count";
    case MismatchCode::OutputCount: return "output count";
    case MismatchCode::StageKind: return "stage kind";
    case MismatchCode::DataType: return "data type";
    case MismatchCode::Rank: return "rank";
    case MismatchCode::ReductionCount: return "reduction count";
    case MismatchCode::Reduction: return "reduction";
    case MismatchCode::Combiner: return "combiner";
    case MismatchCode::FixedOrder: return "fixed order";
    case MismatchCode::Operation: return "operation";
    case MismatchCode::Condition: return "condition";
    case MismatchCode::AccessPattern: return "access pattern";
    case MismatchCode::Conflict: return "conflict";
    case MismatchCode::Extent: return "extent";
    case MismatchCode::RoleMissing: return "role missing";
    case MismatchCode::Layout: return "layout";
    case MismatchCode::TooManyReads: return "too many reads";
    case MismatchCode::TooSymmetric: return "too symmetric";
  }
  ESP_UNREACHABLE("mismatch code ", static_cast<int>(code));
}

std::string explain(const Mismatch& m, const ComputeDag& donor, const ComputeDag& target) {
  const StageInfo* from = m.donor >= 0 ? &donor.stage(m.donor) : nullptr;
  const StageInfo* to = m.target >= 0 ? &target.stage(m.target) : nullptr;
  const std::string d = from != nullptr ? from->name + " of the donor" : "the donor";
  const std::string t = to != nullptr ? to->name + " of the target" : "the target";
  const std::string a = std::to_string(m.a), b = std::to_string(m.b);
  switch (m.code) {
    case MismatchCode::NothingComputed: return "one of the programs computes nothing";
    case MismatchCode::StageCount: return "the donor has " + a + " stages, the target has " + b;
    case MismatchCode::OutputCount: return "the donor has " + a + " outputs, the target has " + b;
    case MismatchCode::StageKind:
      return d + " is " + kind_of(*from) + ", " + t + " is " + kind_of(*to);
    case MismatchCode::DataType:
      return d + " holds " + std::string(name_of(from->tensor->dtype)) + ", " + t + " holds " +
             std::string(name_of(to->tensor->dtype));
    case MismatchCode::Rank: return d + " has " + a + " spatial axes, " + t + " has " + b;
    case MismatchCode::ReductionCount:
      return d + " has " + a + " reduction axes, " + t + " has " + b;
    case MismatchCode::Reduction:
    case MismatchCode::Combiner:
      return d + " is " + combiner_of(*from) + ", " + t + " is " + combiner_of(*to);
    case MismatchCode::FixedOrder:
      return "the reduction " + d + " " + order_of(*from) + ", " + t + " " + order_of(*to);
    case MismatchCode::Operation: return d + " and " + t + " compute different expressions";
    case MismatchCode::Condition: return d + " and " + t + " leave out terms by other conditions";
    case MismatchCode::AccessPattern:
      return "read " + a + " of " + d + " is indexed otherwise than read " + b + " of " + t;
    case MismatchCode::Conflict: return d + " would have to stand for two stages of the target";
    case MismatchCode::Extent:
      return "an axis has " + a + " elements in " + d + ", " + b + " in " + t;
    case MismatchCode::RoleMissing:
      return (m.b == 0 ? d + " has " : t + " has ") + role_name(m.a) + ", " + (m.b == 0 ? t : d) +
             " has none";
    case MismatchCode::Layout: return d + " and " + t + " walk memory in different orders";
    case MismatchCode::TooManyReads: return d + " or " + t + " has too many reads to tell apart";
    case MismatchCode::TooSymmetric:
      return "there are too many ways to pair what looks the same in both programs";
  }
  ESP_UNREACHABLE();
}

}  // namespace espalier
