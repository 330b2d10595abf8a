#include "espalier/search/chooser.h"

#include <algorithm>

#include "espalier/support/check.h"

namespace espalier {

int Chooser::choose(std::string_view what, int options, int preferred) {
  ESP_CHECK(options >= 1 && preferred >= 0 && preferred < options, what, ": ", preferred, " of ",
            options);
  int taken = preferred;
  if (taken_.size() < script_.size()) {
    // A script made for another branch may say too much here.
    const int said = script_[taken_.size()];
    if (said >= 0 && said < options) taken = said;
  } else if (const auto hint = std::find_if(
                 hints_.begin(), hints_.end(),
                 [&](const StructureChoice& c) { return c.what == what && c.options == options; });
             hint != hints_.end()) {
    taken = hint->taken;
  } else if (rng_ != nullptr && options > 1 && !rng_->chance(preference_)) {
    taken = static_cast<int>(rng_->below(static_cast<uint64_t>(options)));
  }
  taken_.push_back({std::string(what), options, preferred, taken});
  return taken;
}

std::vector<int> script_of(const std::vector<StructureChoice>& choices) {
  std::vector<int> script;
  script.reserve(choices.size());
  for (const StructureChoice& c : choices) script.push_back(c.taken);
  return script;
}

}  // namespace espalier
