#include "espalier/search/policy.h"

#include "espalier/search/policies/policies.h"

namespace espalier {

void know_seeds(const SketchSpace& space, std::span<const Seed> seeds) {
  for (const Seed& seed : seeds) {
    if (!seed.script.empty()) space.along(seed.script);
  }
}

void History::observe(Observation o) {
  const Observation* so_far = best();
  if (o.result.ok() && (so_far == nullptr || o.result.time_us < so_far->result.time_us)) {
    best_ = static_cast<int>(observations_.size());
  }
  observations_.push_back(std::move(o));
}

Result<std::unique_ptr<SearchPolicy>> make_policy(std::string_view text, const PolicyParts& parts) {
  ESP_TRY(const PolicySpec spec, parse_policy_spec(text));
  if (spec.name == "auto") return make_auto_policy(spec, parts);
  if (spec.name == "random") return make_random_policy(spec);
  if (spec.name == "ansor") return make_ansor_policy(spec, parts);
  if (spec.name == "evolutionary") return make_evolutionary_policy(spec, parts);
  if (spec.name == "draft_verify") return make_draft_verify_policy(spec, parts);
  if (spec.name == "descent") return make_descent_policy(spec);
  return make_error(ErrorCode::InvalidArgument, "unknown policy '", spec.name,
                    "'; there are auto, random, ansor, evolutionary, draft_verify and descent");
}

Result<void> check_policy(std::string_view spec) {
  const auto policy = make_policy(spec, {});
  if (!policy.ok()) return policy.error();
  return {};
}

}  // namespace espalier
