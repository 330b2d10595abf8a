#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "command_line/console.h"
#include "espalier/support/number.h"

namespace espalier::cli {
namespace {

constexpr double kLiveInterval = 0.1, kPlainInterval = 3;  // seconds

size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

}  // namespace

ProgressLine::ProgressLine(bool quiet, double seconds_limit, double flops)
    : quiet_(quiet),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      seconds_limit_(seconds_limit),
      flops_(flops) {}

std::string ProgressLine::text(const TuneProgress& p) const {
  std::string line = "[" + std::to_string(p.trial);
  if (p.trials > 0) line += "/" + std::to_string(p.trials);
  line += "]";
  if (p.best_us > 0) {
    line += " best " + format_fixed(p.best_us, 1) + " us";
    if (flops_ > 0) line += ", " + format_fixed(flops_ / p.best_us / 1e3, 1) + " GFLOP/s";
    if (p.default_us > 0) line += ", " + format_fixed(p.default_us / p.best_us, 2) + "x default";
  }
  line += " | failed " + std::to_string(p.failed) + " | " + format_fixed(p.seconds, 0) + " s";
  // What is left of the budget that ends first.
  double left = -1;
  if (p.trials > 0 && p.trial > 0) left = p.seconds / p.trial * (p.trials - p.trial);
  if (seconds_limit_ > 0) {
    const double of_limit = std::max(0.0, seconds_limit_ - p.seconds);
    left = left < 0 ? of_limit : std::min(left, of_limit);
  }
  if (left >= 0) line += ", " + format_fixed(left, 0) + " s left";
  if (p.from_records) line += " (from records)";
  return line;
}

void ProgressLine::draw(const std::string& line, bool stays) {
  if (!is_terminal_) {
    write_to_stderr(line + "\n");
    return;
  }
  // Back to the start of the line, and what the last one had beyond this one goes.
  write_to_stderr("\r" + line.substr(0, terminal_width() - 1) + "\x1b[K" + (stays ? "\n" : ""));
  line_is_open_ = !stays;
}

void ProgressLine::update(const TuneProgress& progress, const std::string& of) {
  if (quiet_) return;
  latest_ = text(progress) + of;
  const double interval = is_terminal_ ? kLiveInterval : kPlainInterval;
  if (progress.seconds - last_drawn_ < interval) return;
  last_drawn_ = progress.seconds;
  draw(*latest_, false);
  if (!is_terminal_) latest_.reset();
}

void ProgressLine::interject(const std::string& text) {
  if (line_is_open_) write_to_stderr("\r\x1b[K");
  write_to_stderr("warning: " + text + "\n");
  line_is_open_ = false;
}

void ProgressLine::finish() {
  if (latest_) draw(*latest_, true);
  latest_.reset();
}

}  // namespace espalier::cli
