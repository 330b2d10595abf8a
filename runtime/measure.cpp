#include "espalier/runtime/measure.h"

#include <algorithm>

namespace espalier {

std::string_view name_of(MeasureStatus s) {
  switch (s) {
    case MeasureStatus::Ok: return "ok";
    case MeasureStatus::CompileError: return "compile";
    case MeasureStatus::RunError: return "run";
    case MeasureStatus::Timeout: return "timeout";
    case MeasureStatus::Wrong: return "wrong";
  }
  ESP_UNREACHABLE();
}

double robust_centre(std::vector<double> times) {
  if (times.empty()) return 0;
  const size_t middle = times.size() / 2;
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(middle), times.end());
  const double upper = times[middle];
  if (times.size() % 2 == 1) return upper;
  return (upper +
          *std::max_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(middle))) /
         2;
}

}  // namespace espalier
