// Text tables for people.
#pragma once

#include <string>
#include <vector>

namespace espalier::cli {

/// A number in three digits, for people: "0.000148".
std::string rounded(double value);

/// Rows of cells, the first row being the heading. Columns are as wide as they need to be; those
/// named in `right` are flush right.
class Table {
 public:
  explicit Table(std::vector<std::string> heading, std::vector<size_t> right = {})
      : rows_{std::move(heading)}, right_(std::move(right)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> right_;
};

}  // namespace espalier::cli
