// The policies of this folder, and what each can be told.
#pragma once

#include "espalier/search/policies/policy_spec.h"
#include "espalier/search/policy.h"

namespace espalier {

// Uniformly drawn structures and numbers. A space that runs dry is counted through.
Result<std::unique_ptr<SearchPolicy>> make_random_policy(const PolicySpec& spec);
// Coordinate descent: neighbours of the best in one slot, then in one structural decision, then
// further away; restarts from elsewhere when nothing near is better.
Result<std::unique_ptr<SearchPolicy>> make_descent_policy(const PolicySpec& spec);
Result<std::unique_ptr<SearchPolicy>> make_evolutionary_policy(const PolicySpec& spec,
                                                               const PolicyParts& parts);
Result<std::unique_ptr<SearchPolicy>> make_ansor_policy(const PolicySpec& spec,
                                                        const PolicyParts& parts);
Result<std::unique_ptr<SearchPolicy>> make_draft_verify_policy(const PolicySpec& spec,
                                                               const PolicyParts& parts);
Result<std::unique_ptr<SearchPolicy>> make_auto_policy(const PolicySpec& spec,
                                                       const PolicyParts& parts);

}  // namespace espalier
