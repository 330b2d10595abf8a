// How a search is going, on standard error.
#pragma once

#include <optional>
#include <string>

#include "espalier/search/tune_options.h"

namespace espalier::cli {

/// One live line on a terminal, which is redrawn at most ten times a second; elsewhere a plain line
/// every few seconds. Silent when quiet.
class ProgressLine {
 public:
  /// `flops` of a call, for the rate; 0: no rate is shown.
  ProgressLine(bool quiet, double seconds_limit, double flops);
  /// After each candidate. `of` says what it is one of, where there are several tasks.
  void update(const TuneProgress& progress, const std::string& of = "");
  /// A line of its own amid the progress: a warning.
  void interject(const std::string& text);
  /// The last state as a line that stays.
  void finish();

 private:
  std::string text(const TuneProgress& progress) const;
  void draw(const std::string& line, bool stays);

  bool quiet_, is_terminal_;
  double seconds_limit_, flops_;
  double last_drawn_ = -1e9;  // in the search's seconds
  bool line_is_open_ = false;
  std::optional<std::string> latest_;  // not drawn yet
};

}  // namespace espalier::cli
