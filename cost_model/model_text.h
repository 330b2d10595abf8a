// What the saved forms of all cost models have in common.
#pragma once

#include <cstdint>
#include <string_view>

#include "espalier/support/result.h"

namespace espalier {

class Json;

// Checks that a saved model says `"model": name, "version": version`. Errors: Parse where a member
// is missing, Unsupported for another kind of model or another version.
Result<void> check_model_header(const Json& json, std::string_view name, int64_t version);

// The number behind 16 hexadecimal digits, as hash_to_hex writes it.
Result<uint64_t> parse_hash(std::string_view text);

}  // namespace espalier
