#include "espalier/search/policy.h"

namespace espalier {

void History::observe(Observation o) {
  const Observation* so_far = best();
  if (o.result.ok() && (so_far == nullptr || o.result.time_us < so_far->result.time_us)) {
    best_ = static_cast<int>(observations_.size());
  }
  observations_.push_back(std::move(o));
}

Result<std::unique_ptr<SearchPolicy>> make_policy(std::string_view name) {
  if (name == "auto") return make_auto_policy();
  if (name == "random") return make_random_policy();
  if (name == "descent") return make_descent_policy();
  if (name == "ansor" || name == "evolutionary" || name == "draft_verify") {
    return make_error(ErrorCode::Unsupported, "the policy '", name,
                      "' does not exist in this version; there are auto, random and descent");
  }
  return make_error(ErrorCode::InvalidArgument, "unknown policy '", name,
                    "'; there are auto, random and descent");
}

}  // namespace espalier
