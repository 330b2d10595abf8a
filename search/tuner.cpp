#include "espalier/search/tuner.h"

#include <algorithm>

#include "espalier/search/parts.h"
#include "espalier/search/tuning_run.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

// How many candidates the budget has room for now; 0: it is used up.
int next_batch(const TuneOptions& options, const TuningRun& run) {
  int n = std::min(options.batch, options.trials - run.trials());
  if (options.seconds > 0 && n > 0) {
    // The final comparison needs its share.
    const double reserve = std::min(0.15 * options.seconds, 3.0);
    const double left = options.seconds - reserve - run.elapsed();
    if (left <= 0) return 0;
    if (run.seconds_per_trial() > 0) {
      n = std::min(n, std::max(0, static_cast<int>(left / run.seconds_per_trial())));
    }
  }
  return std::max(n, 0);
}

// Until the budget is used up or the policy is at its end.
Result<StopReason> search(const TuneOptions& options, TuningRun* run) {
  ESP_TRY_VOID(run->start(options.trials));
  while (true) {
    if (run->interrupted()) return StopReason::Interrupted;
    if (options.trials <= run->trials()) return StopReason::Trials;
    const int n = next_batch(options, *run);
    if (n == 0) return StopReason::Seconds;
    ESP_TRY(const bool more, run->advance(n));
    if (!more) return StopReason::Converged;
  }
}

}  // namespace

std::string_view name_of(StopReason r) {
  switch (r) {
    case StopReason::Trials: return "trials";
    case StopReason::Seconds: return "seconds";
    case StopReason::Converged: return "converged";
    case StopReason::Exhausted: return "exhausted";
    case StopReason::Interrupted: return "interrupted";
  }
  ESP_UNREACHABLE();
}

Result<TuneReport> tune(const Task& task, const TuneOptions& options, Measurer& measurer) {
  ESP_TRY(const auto run, TuningRun::make(task, options, measurer));
  ESP_TRY(const StopReason stopped, search(options, run.get()));
  ESP_TRY(TuneReport report, run->finish(stopped));
  if (options.trials == 0) report.trials = 0;
  return report;
}

Result<std::vector<Proposal>> propose(const Task& task, int n, const TuneOptions& options) {
  ESP_TRY_VOID(check_options(options));
  std::unique_ptr<SearchPolicy> owned;
  SearchPolicy* policy = options.custom_policy;
  if (policy == nullptr) {
    ESP_TRY(const PolicyParts parts,
            complete_parts(options.parts, task, options.policy, options.search_threads));
    ESP_TRY(owned, make_policy(options.policy, parts));
    policy = owned.get();
  }
  const SketchSpace space(task, options.custom_rules);
  History history;
  std::vector<Proposal> proposals;
  auto add = [&](Proposal p) {
    if (static_cast<int>(proposals.size()) < n && history.propose(p.candidate.hash())) {
      proposals.push_back(std::move(p));
    }
  };
  add({space.preferred()->candidate(), Provenance::Default, 0});
  know_seeds(space, options.seeds);
  for (const Seed& seed : options.seeds) add({seed.candidate, Provenance::Transferred, 0});
  while (static_cast<int>(proposals.size()) < n) {
    const size_t before = proposals.size();
    const SearchContext context{space, Rng(options.seed), history, options.search_threads,
                                options.trials};
    for (Proposal& p : policy->propose(context, options.batch)) add(std::move(p));
    if (proposals.size() == before) break;
  }
  return proposals;
}

}  // namespace espalier
