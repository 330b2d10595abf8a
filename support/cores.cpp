// How many cores this process may use.

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "espalier/support/fd.h"
#include "espalier/support/number.h"
#include "espalier/support/target.h"

namespace espalier {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return text;
}

int affinity_cores() {
  // A machine may have more cores than the usual mask holds; the call says so by EINVAL.
  for (int capacity = 1024; capacity <= 1 << 18; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(capacity));
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(capacity));
    CPU_ZERO_S(bytes, set);
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

// Cores that a quota of a period amounts to, or infinity.
double quota_cores(std::string_view quota, std::string_view period) {
  const double time = parse_double(trim(quota)).value_or(-1);
  const double per = parse_double(trim(period)).value_or(0);
  return time > 0 && per > 0 ? time / per : HUGE_VAL;
}

// The least quota on the way from this process's control group to the root; in a container the path
// may not be visible under the mount, whose root then is the group itself.
double cgroup_cores() {
  double least = HUGE_VAL;
  const std::string groups = read_file("/proc/self/cgroup").value_or("");
  std::string_view rest = groups;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && controllers.find("cpu") == line.npos) continue;
    std::string path(line.substr(second + 1));
    while (true) {
      if (path == "/") path.clear();
      if (unified) {
        const std::string max = read_file("/sys/fs/cgroup" + path + "/cpu.max").value_or("");
        const size_t blank = max.find(' ');
        if (blank != max.npos) {
          least = std::min(least, quota_cores(max.substr(0, blank), max.substr(blank + 1)));
        }
      } else {
        const std::string folder = "/sys/fs/cgroup/cpu" + path;
        least = std::min(least, quota_cores(read_file(folder + "/cpu.cfs_quota_us").value_or(""),
                                            read_file(folder + "/cpu.cfs_period_us").value_or("")));
      }
      if (path.empty()) break;
      path.erase(path.rfind('/') == path.npos ? 0 : path.rfind('/'));
    }
  }
  return least;
}

}  // namespace

int usable_cores() {
  const int cores = affinity_cores();
  const double quota = std::ceil(cgroup_cores());
  return quota < cores ? std::max(1, static_cast<int>(quota)) : cores;
}

}  // namespace espalier
