// A mutation of one's own: all numbers of a candidate are doubled or halved at once, which keeps
// the proportions of its tiles. The policies that breed candidates use it beside their own, and as
// often as it helps.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "espalier/espalier.h"

using namespace espalier;

namespace {

class ScaleTiles final : public Mutation {
 public:
  std::string_view name() const override { return "scale tiles"; }

  // Called from several threads: all randomness comes from `rng`.
  std::optional<Candidate> apply(const SketchSpace& space, const Parent& parent,
                                 Rng& rng) const override {
    Candidate child = parent.candidate;
    const bool larger = rng.chance(0.5);
    for (int32_t& number : child.decisions) {
      number = larger ? number * 2 : std::max(number / 2, 1);
    }
    if (child.decisions == parent.candidate.decisions) return std::nullopt;
    if (!is_legal(space.task(), child)) return std::nullopt;
    ++applied;
    return child;
  }

  mutable std::atomic<int> applied = 0;
};

Result<void> run(const std::string& own_program) {
  Task task{load_workload("matmul:m=48,n=64,k=96").value(), host_target(), 1, ""};
  MeasureOptions measuring;
  measuring.worker = own_program;
  ESP_TRY(const auto measurer, WorkerMeasurer::make(task, measuring, default_candidate));

  const auto scale = std::make_shared<ScaleTiles>();
  TuneOptions options;
  options.trials = 32;
  options.policy = "evolutionary";
  options.parts.mutations = {scale};
  ESP_TRY(const TuneReport report, tune(task, options, *measurer));
  std::printf("%d candidates scaled, best %.1f us, %s\n", scale->applied.load(), report.best_us,
              std::string(name_of(report.record.provenance)).c_str());
  return scale->applied > 0 ? Result<void>()
                            : make_error(ErrorCode::Internal, "the mutation was never used");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return run_worker(0, 1);
  const Result<void> done = run(argv[0]);
  if (!done.ok()) std::cerr << to_string(done.error()) << "\n";
  return done.ok() ? 0 : 1;
}
