// The transfer-tuning paper's own method as a search policy, to be compared with.
//
// Gibson and Cano, "Transfer-Tuning: Reusing Auto-Schedules for Efficient Tensor Program Code
// Generation", PACT 2022. Programs are of one class if they are made of the same sequence of
// operators, whatever their extents, windows and strides. A schedule of another program of the
// class is replayed as it is: stages and loops by their numbers, tiles as large as they were, the
// outermost loop of each split taking up what is left. Each pair is measured once.
#pragma once

#include <memory>

#include "espalier/search/policy.h"
#include "espalier/transfer/donor_index.h"

namespace espalier {

// What kinds of stages a program computes, one after the other.
uint64_t operator_class(const ComputeDag& dag);

class PaperPolicy final : public SearchPolicy {
 public:
  // The index must outlive the policy. Records of the task's own program are left out.
  explicit PaperPolicy(const DonorIndex& index) : index_(index) {}

  std::string_view name() const override { return "paper"; }
  std::vector<Proposal> propose(const SearchContext& context, int n) override;
  void observe(const SearchContext& context, std::span<const Observation> batch) override;

  // Schedules of the class that were tried, and those that did not apply as they were.
  int pairs() const { return pairs_; }
  int invalid() const { return invalid_; }
  // The fastest of its own proposals: the method does not compare with the default schedule. Null:
  // none ran right.
  const Observation* best() const { return best_.get(); }

 private:
  void list(const Task& task);

  const DonorIndex& index_;
  bool listed_ = false;
  std::vector<Candidate> candidates_;
  size_t next_ = 0;
  int pairs_ = 0, invalid_ = 0;
  std::unique_ptr<Observation> best_;
};

}  // namespace espalier
