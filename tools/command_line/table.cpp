#include "command_line/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace espalier::cli {

std::string rounded(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 3);
  return std::string(text, end.ptr);
}

std::string Table::text() const {
  std::vector<size_t> widths(rows_[0].size(), 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(widths[c] - row[c].size(), ' ');
      const bool flush_right = std::find(right_.begin(), right_.end(), c) != right_.end();
      line += (c == 0 ? "" : "  ") + (flush_right ? blanks + row[c] : row[c] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace espalier::cli
