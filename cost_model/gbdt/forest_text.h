// The saved form of a forest.
#pragma once

#include <string_view>

#include "espalier/cost_model/gbdt/forest.h"
#include "espalier/support/result.h"

namespace espalier {
class Json;
}

namespace espalier::gbdt {

inline constexpr int kForestVersion = 1;

// An object of flat arrays, a number a node in each. Every number is written so that it reads back
// the same, so a forest that is read back predicts the same bits.
Json to_json(const Forest& forest);

// Errors: Unsupported for another version; Parse for a member that is missing, of another kind or
// length, and for a structure that is no tree (walking it would not end, or would leave it).
Result<Forest> parse_forest(const Json& json);

}  // namespace espalier::gbdt
