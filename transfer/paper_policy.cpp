#include "espalier/transfer/paper_policy.h"

#include "espalier/search/slots.h"
#include "espalier/support/hash.h"

namespace espalier {
namespace {

// The operator at the root of an expression, as far as a name would tell.
uint64_t root_of(const Expr& e) {
  uint64_t root = static_cast<uint64_t>(e.kind());
  if (const auto* unary = e.as<UnaryNode>()) {
    root = hash_combine(root, static_cast<uint64_t>(unary->op));
  } else if (const auto* binary = e.as<BinaryNode>()) {
    root = hash_combine(root, static_cast<uint64_t>(binary->op));
  } else if (const auto* reduce = e.as<ReduceNode>()) {
    root = hash_combine(root, static_cast<uint64_t>(reduce->combiner.kind));
    root = hash_combine(root, root_of(reduce->value));
  }
  return root;
}

}  // namespace

uint64_t operator_class(const ComputeDag& dag) {
  uint64_t hash = 0;
  for (const StageInfo& info : dag.stages()) {
    if (!info.is_compute()) continue;
    hash = hash_combine(hash, root_of(info.tensor->body));
    hash = hash_combine(hash, info.axes.size());
    hash = hash_combine(hash, info.reduce_axes.size());
    hash = hash_combine(hash, info.accesses.size());
  }
  return hash;
}

void PaperPolicy::list(const Task& task) {
  listed_ = true;
  const uint64_t wanted = operator_class(task.dag);
  for (const Donor& donor : index_.donors()) {
    if (donor.dag_hash == task.dag.hash() || operator_class(donor.dag) != wanted) continue;
    // The best record of each program, whatever the machine.
    if (donor.schedules.empty()) continue;
    const TuningRecord& record = index_.database().records()[donor.schedules[0].record];
    const std::shared_ptr<const Task> from = index_.task_of(donor, record);
    if (!from) continue;
    Result<Trace> trace = parse_trace(record.trace, *from);
    if (!trace.ok()) continue;
    ++pairs_;
    Candidate candidate = make_candidate(*std::move(trace));
    if (is_legal(task, candidate)) {
      candidates_.push_back(std::move(candidate));
    } else {
      ++invalid_;
    }
  }
}

std::vector<Proposal> PaperPolicy::propose(const SearchContext& context, int n) {
  if (!listed_) list(context.task());
  std::vector<Proposal> proposals;
  while (next_ < candidates_.size() && static_cast<int>(proposals.size()) < n) {
    Candidate candidate = candidates_[next_++];
    if (context.history.proposed(candidate.hash())) continue;
    proposals.push_back({std::move(candidate), Provenance::Transferred, 0});
  }
  return proposals;
}

void PaperPolicy::observe(const SearchContext&, std::span<const Observation> batch) {
  for (const Observation& o : batch) {
    if (!o.result.ok() || o.proposal.provenance != Provenance::Transferred) continue;
    if (best_ && best_->result.time_us <= o.result.time_us) continue;
    best_ = std::make_unique<Observation>(o);
  }
}

}  // namespace espalier
