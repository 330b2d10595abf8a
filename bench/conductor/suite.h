// Suites: lists of workloads, as text or as a network's JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/support/result.h"

namespace espalier::bench {

struct Suite {
  struct Line {
    std::string workload;
    int64_t count = 1;  // how often a network runs it
  };
  std::string name;
  std::vector<Line> lines;
};

/// A workload a line, with `#` comments; or {"network": ..., "kernels": [{"workload": SPEC,
/// "count": N}, ...]}. Whether the workloads make sense is not looked at. Errors: JSON of another
/// form, text that is no text, nothing in it.
Result<Suite> parse_suite(std::string_view text, const std::string& name);

/// A suite of the project by name (NAME.txt in `folder`), or a file.
Result<Suite> read_suite(const std::string& name_or_path, const std::string& folder);

/// The names of the suites in a folder, in order, joined by ", ".
std::string list_suites(const std::string& folder);

}  // namespace espalier::bench
