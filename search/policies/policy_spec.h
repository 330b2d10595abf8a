// PolicySpec: a policy's name with settings, "name:key=value,key=value".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/support/result.h"

namespace espalier {

struct PolicySpec {
  std::string name;
  std::vector<std::pair<std::string, double>> settings;
};

// Errors: InvalidArgument where a setting is no "key=number", or is given twice.
Result<PolicySpec> parse_policy_spec(std::string_view text);

// Reads the settings that a policy knows, each with its bounds, then says which were wrong.
class SettingReader {
 public:
  explicit SettingReader(const PolicySpec& spec) : spec_(spec) {}

  SettingReader& number(std::string_view key, double low, double high, double* value);
  SettingReader& integer(std::string_view key, int low, int high, int* value);
  SettingReader& flag(std::string_view key, bool* value);
  // Errors: InvalidArgument for an unknown setting, or one out of its bounds.
  Result<void> finish() const;

 private:
  const double* find(std::string_view key);
  void refuse(std::string_view key, double value, double low, double high);

  const PolicySpec& spec_;
  std::vector<std::string> known_;
  std::string wrong_;
};

}  // namespace espalier
