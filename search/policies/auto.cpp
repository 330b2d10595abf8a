// The default policy: draft and verify, with descent around the fastest, until nothing more is to
// be gained.
#include <algorithm>

#include "espalier/search/policies/descent.h"
#include "espalier/search/policies/draft_verify.h"
#include "espalier/search/policies/policies.h"

namespace espalier {
namespace {

// Of a batch, what descent proposes while there are gains, and when the verifier expects no more or
// what it expects did not come for so many trials.
constexpr double kDescentShare = 0.125, kFinishingShare = 0.5;
constexpr int kStuck = 48;
// Before so many trials the place to descend from is not known.
constexpr int kLookAround = 32;
// Smaller gains are noise.
constexpr double kNoise = 0.005;
// The search ends when so many trials, or this share of all so far, brought no gain.
constexpr int kPatience = 256;
constexpr double kPatientShare = 0.5;

class AutoPolicy final : public SearchPolicy {
 public:
  AutoPolicy(const DraftVerifySettings& settings, const PolicyParts& parts)
      : learnt_(settings, parts) {}

  std::string_view name() const override { return "auto"; }

  std::vector<Proposal> propose(const SearchContext& context, int n) override {
    // Everything near the best was tried, and what the model hoped for did not come.
    if (descent_.at_bottom()) tried_near_ = true;
    const int patience = std::max(kPatience, static_cast<int>(kPatientShare * trials_));
    if (tried_near_ && trials_ - gained_at_ > patience) return {};
    const bool stuck = !expects_gain() || trials_ - gained_at_ > kStuck;
    if (trials_ >= kLookAround) descent_due_ += (stuck ? kFinishingShare : kDescentShare) * n;
    const int descending = std::min(n, static_cast<int>(descent_due_));
    descent_due_ -= descending;
    std::vector<Proposal> proposals;
    std::unordered_set<uint64_t> taken;
    auto append = [&](std::vector<Proposal> more) {
      for (Proposal& p : more) {
        if (taken.insert(p.candidate.hash()).second) proposals.push_back(std::move(p));
      }
    };
    append(learnt_.propose(context, n - descending));
    append(descent_.propose(context, descending));
    // Both proposed the same, or descent waits for results.
    const int missing = n - static_cast<int>(proposals.size());
    if (missing > 0) append(learnt_.propose(context, missing));
    return proposals;
  }

  void observe(const SearchContext& context, std::span<const Observation> batch) override {
    for (const Observation& o : batch) {
      ++trials_;
      if (!o.result.ok()) continue;
      if (best_us_ == 0 || o.result.time_us < best_us_ * (1 - kNoise)) {
        best_us_ = o.result.time_us;
        gained_at_ = trials_;
        tried_near_ = false;
      }
    }
    learnt_.observe(context, batch);
    descent_.observe(context, batch);
  }

 private:
  bool expects_gain() const {
    const std::optional<double> gain = learnt_.expected_gain();
    return !gain || *gain > kNoise;
  }

  DraftVerify learnt_;
  Descent descent_;
  double descent_due_ = 0;
  int trials_ = 0, gained_at_ = 0;
  bool tried_near_ = false;  // since the last gain
  double best_us_ = 0;
};

}  // namespace

Result<std::unique_ptr<SearchPolicy>> make_auto_policy(const PolicySpec& spec,
                                                       const PolicyParts& parts) {
  DraftVerifySettings settings;
  ESP_TRY_VOID(SettingReader(spec).integer("round", 1, 4096, &settings.round).finish());
  return std::unique_ptr<SearchPolicy>(std::make_unique<AutoPolicy>(settings, parts));
}

}  // namespace espalier
