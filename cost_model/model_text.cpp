#include "espalier/cost_model/model_text.h"

#include <charconv>
#include <string>

#include "espalier/support/json.h"

namespace espalier {

Result<void> check_model_header(const Json& json, std::string_view name, int64_t version) {
  ESP_TRY(const std::string model, json.get_string("model"));
  ESP_TRY(const int64_t found, json.get_int("version"));
  if (model != name) {
    return make_error(ErrorCode::Unsupported, "the text holds a cost model of kind '", model,
                      "', expected '", name, "': load it into a model of its own kind");
  }
  if (found != version) {
    return make_error(ErrorCode::Unsupported, "the text holds version ", found, " of the ", name,
                      " model, this program reads version ", version,
                      ": train it again or use the program that wrote it");
  }
  return {};
}

Result<uint64_t> parse_hash(std::string_view text) {
  uint64_t hash = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 16) {
    return make_error(ErrorCode::Parse, "expected 16 hexadecimal digits, got '", text, "'");
  }
  return hash;
}

}  // namespace espalier
