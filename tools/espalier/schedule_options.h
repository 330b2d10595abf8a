// --records, --line and --trace: which schedule a verb works with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "command_line/console.h"
#include "command_line/options.h"
#include "espalier/search/lookup.h"

namespace espalier::cli {

struct ChosenSchedule {
  State state;
  std::string_view lookup;  // "exact", "compatible", "transferred", "default", "line", or "given"
  std::optional<TuningRecord> record;
};

class ScheduleOptions {
 public:
  void declare(Options& options);
  /// Notes of the look-up go to the console. Errors: options that contradict each other, a
  /// file that is no record file, a line that is no record of the workload, a trace that does not
  /// parse or apply.
  Result<ChosenSchedule> choose(const Task& task, Console& console) const;

 private:
  std::optional<std::string> records_, trace_;
  std::optional<int64_t> line_;
};

/// A sentence on where the schedule comes from: "look-up: exact (trial 12, 143.1 us)".
std::string describe(const ChosenSchedule& chosen);

}  // namespace espalier::cli
