#include "conductor/suite.h"

#include <algorithm>
#include <filesystem>

#include "espalier/support/fd.h"
#include "espalier/support/json.h"

namespace espalier::bench {
namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;
constexpr const char* kBlanks = " \t\r\n\v\f";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

Result<Suite> from_network(std::string_view text, const std::string& name) {
  ESP_TRY(const Json json, parse_json(text));
  const Json* kernels = json.find("kernels");
  if (kernels == nullptr || !kernels->is_array()) {
    return make_error(ErrorCode::Parse, "expected a network, {\"network\": ..., \"kernels\": ",
                      "[{\"workload\": ..., \"count\": ...}]}, but there is no list 'kernels'");
  }
  Suite suite{json.string_or("network", name), {}};
  for (size_t i = 0; i < kernels->size(); ++i) {
    const Json& kernel = (*kernels)[i];
    const auto workload = kernel.get_string("workload");
    if (!workload.ok()) return with_note(workload.error(), "in kernel ", i, " of the network");
    suite.lines.push_back({*workload, std::max<int64_t>(1, kernel.int_or("count", 1))});
  }
  return suite;
}

Result<Suite> from_lines(std::string_view text, const std::string& name) {
  Suite suite{name, {}};
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, line.find('#')));
    if (!line.empty()) suite.lines.push_back({std::string(line), 1});
  }
  return suite;
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

}  // namespace

Result<Suite> parse_suite(std::string_view text, const std::string& name) {
  if (text.find('\0') != std::string_view::npos) {
    return make_error(ErrorCode::Parse, "expected a workload a line or a network's JSON, ",
                      "but this is no text");
  }
  const std::string_view start = trimmed(text);
  ESP_TRY(Suite suite, start.starts_with('{') ? from_network(text, name) : from_lines(text, name));
  if (suite.lines.empty()) return make_error(ErrorCode::Parse, "there is no workload in it");
  return suite;
}

std::string list_suites(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Result<Suite> read_suite(const std::string& name_or_path, const std::string& folder) {
  std::string path = name_or_path, name = name_or_path;
  const bool is_name = name_or_path.find('/') == std::string::npos;
  if (is_name && !is_file(path))
    path = folder + "/" + name_or_path + ".txt";
  else
    name = std::filesystem::path(path).stem().string();
  auto text = read_file(path, kMaxBytes);
  if (!text.ok()) {
    if (text.error().code != ErrorCode::NotFound || !is_name) return std::move(text).error();
    const std::string known = list_suites(folder);
    return make_error(ErrorCode::NotFound, "there is no suite and no file '", name_or_path, "'; ",
                      known.empty() ? "no suites lie in " + folder : "suites are " + known);
  }
  auto suite = parse_suite(*text, name);
  if (!suite.ok()) return with_note(std::move(suite).error(), "in the suite '", path, "'");
  return suite;
}

}  // namespace espalier::bench
