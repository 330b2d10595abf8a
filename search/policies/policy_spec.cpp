#include "espalier/search/policies/policy_spec.h"

#include <algorithm>
#include <cmath>

#include "espalier/support/number.h"

namespace espalier {

Result<PolicySpec> parse_policy_spec(std::string_view text) {
  const size_t colon = text.find(':');
  PolicySpec spec{std::string(text.substr(0, colon)), {}};
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest = item.size() == rest.size() ? "" : rest.substr(item.size() + 1);
    const size_t equals = item.find('=');
    const Result<double> value =
        parse_double(equals == std::string_view::npos ? "" : item.substr(equals + 1));
    if (!value.ok() || !std::isfinite(*value)) {
      return make_error(ErrorCode::InvalidArgument, "in policy '", text, "': '", item,
                        "' should be a setting and a number, such as 'audit=0.25'");
    }
    const std::string key(item.substr(0, equals));
    for (const auto& [other, unused] : spec.settings) {
      if (other == key) {
        return make_error(ErrorCode::InvalidArgument, "in policy '", text, "': '", key,
                          "' is given twice");
      }
    }
    spec.settings.push_back({key, *value});
  }
  return spec;
}

const double* SettingReader::find(std::string_view key) {
  known_.emplace_back(key);
  for (const auto& [name, value] : spec_.settings) {
    if (name == key) return &value;
  }
  return nullptr;
}

void SettingReader::refuse(std::string_view key, double value, double low, double high) {
  if (!wrong_.empty()) return;
  wrong_ = detail::concat("policy '", spec_.name, "': '", key, "' must be ", format_double(low),
                          " to ", format_double(high), ", got ", format_double(value));
}

SettingReader& SettingReader::number(std::string_view key, double low, double high, double* value) {
  const double* given = find(key);
  if (given == nullptr) return *this;
  if (*given < low || *given > high) refuse(key, *given, low, high);
  *value = *given;
  return *this;
}

SettingReader& SettingReader::integer(std::string_view key, int low, int high, int* value) {
  double given = *value;
  number(key, low, high, &given);
  if (given != std::floor(given)) refuse(key, given, low, high);
  *value = static_cast<int>(given);
  return *this;
}

SettingReader& SettingReader::flag(std::string_view key, bool* value) {
  int given = *value ? 1 : 0;
  integer(key, 0, 1, &given);
  *value = given != 0;
  return *this;
}

Result<void> SettingReader::finish() const {
  for (const auto& [key, value] : spec_.settings) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::string all;
    for (const std::string& k : known_) all += (all.empty() ? "" : " ") + k;
    if (all.empty()) {
      return make_error(ErrorCode::InvalidArgument, "policy '", spec_.name, "' has no settings");
    }
    return make_error(ErrorCode::InvalidArgument, "policy '", spec_.name, "' has no setting '", key,
                      "'; it has ", all);
  }
  if (!wrong_.empty()) return make_error(ErrorCode::InvalidArgument, wrong_);
  return {};
}

}  // namespace espalier
