// A search policy of one's own: hill climbing. It proposes mutations of the fastest candidate so
// far, and is handed to tune() as an object.
#include <cstdio>
#include <cstring>
#include <iostream>

#include "espalier/espalier.h"

using namespace espalier;

namespace {

class HillClimbing final : public SearchPolicy {
 public:
  std::string_view name() const override { return "hill_climbing"; }

  // The tuner has measured the default schedule before it asks.
  std::vector<Proposal> propose(const SearchContext& context, int n) override {
    const Observation* best = context.history.best();
    const Candidate& top =
        best != nullptr ? best->proposal.candidate : context.space.preferred()->candidate();
    const Parent parent{top, context.space.find(*top.sketch)};
    // Randomness comes from the context alone: the same seed gives the same search.
    Rng rng = context.rng.fork(++calls_);
    std::vector<Proposal> proposals;
    for (int attempt = 0; attempt < 50 * n && static_cast<int>(proposals.size()) < n; ++attempt) {
      const auto child = rng.pick(mutations_)->apply(context.space, parent, rng);
      if (!child || context.history.proposed(child->hash())) continue;
      proposals.push_back({*child, Provenance::Mutated, top.hash()});
    }
    return proposals;  // none: the search is at its end
  }

  void observe(const SearchContext&, std::span<const Observation> batch) override {
    for (const Observation& o : batch) failed_ += o.result.ok() ? 0 : 1;
  }

  int failed() const { return failed_; }

 private:
  Mutations mutations_ = default_mutations();
  uint64_t calls_ = 0;
  int failed_ = 0;
};

Result<void> run(const std::string& own_program) {
  Task task{load_workload("softmax:rows=60,cols=100").value(), host_target(), 1, ""};
  MeasureOptions measuring;
  measuring.worker = own_program;
  ESP_TRY(const auto measurer, WorkerMeasurer::make(task, measuring, default_candidate));

  HillClimbing policy;
  TuneOptions options;
  options.trials = 24;
  options.custom_policy = &policy;
  ESP_TRY(const TuneReport report, tune(task, options, *measurer));
  std::printf("%s: %d candidates, %d failed, default %.1f us, best %.1f us\n",
              report.record.run.policy.c_str(), report.trials, policy.failed(),
              report.default_us.value_or(0), report.best_us);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return run_worker(0, 1);
  const Result<void> done = run(argv[0]);
  if (!done.ok()) std::cerr << to_string(done.error()) << "\n";
  return done.ok() ? 0 : 1;
}
