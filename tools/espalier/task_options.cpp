#include "task_options.h"

#include <sys/stat.h>

#include <charconv>

#include "espalier/ir/ops/workload.h"
#include "espalier/support/fd.h"
#include "espalier/support/number.h"
#include "verb.h"

namespace espalier::cli {
namespace {

constexpr int64_t kMaxThreads = 1024;

enum class PathKind { Nothing, File, Other };
PathKind kind_of(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return PathKind::Nothing;
  return S_ISREG(status.st_mode) ? PathKind::File : PathKind::Other;
}

// Bytes that processes may still take without swapping, as the kernel and our control group see
// it; nothing if neither tells.
std::optional<double> available_memory() {
  std::optional<double> least;
  auto take = [&](double bytes) { least = least ? std::min(*least, bytes) : bytes; };
  if (const auto text = read_file("/proc/meminfo", 1 << 16); text.ok()) {
    const size_t at = text->find("MemAvailable:");
    if (at != std::string::npos) {
      const char* begin = text->data() + at + 13;
      while (*begin == ' ') ++begin;
      double kib = 0;
      if (std::from_chars(begin, text->data() + text->size(), kib).ec == std::errc()) {
        take(kib * 1024);
      }
    }
  }
  const auto limit = read_file("/sys/fs/cgroup/memory.max", 64);
  const auto used = read_file("/sys/fs/cgroup/memory.current", 64);
  if (limit.ok() && used.ok()) {
    auto number = [](std::string text) {
      while (!text.empty() && text.back() == '\n') text.pop_back();
      return parse_double(text);
    };
    const auto most = number(*limit), now = number(*used);
    // What is used includes caches, which can be given up: a limit, not what is left of it.
    if (most.ok() && now.ok()) take(*most);
  }
  return least;
}

}  // namespace

int default_threads() { return usable_cores(); }

void TaskOptions::declare(Options& options) {
  options.text("-w,--workload", workload_, "SPEC|FILE",
               "op:key=value,... or a file with the text of a DAG");
  options.text("--target", target_, "TEXT", "machine to make code for (host)");
  options.integer("--threads", threads_, 1, kMaxThreads,
                  "threads of the kernel (what this process may use: " +
                      std::to_string(default_threads()) + ")");
}

Result<Target> TaskOptions::make_target() const {
  auto target = parse_target(target_);
  if (!target.ok()) return usage_error(with_note(std::move(target).error(), "in --target"));
  return target;
}

int TaskOptions::threads() const {
  return threads_ ? static_cast<int>(*threads_) : default_threads();
}

Result<Task> TaskOptions::make_task() const {
  if (workload_.empty()) {
    return usage_error("--workload is missing; expected for instance --workload ",
                       "matmul:m=512,n=512,k=512");
  }
  Task task;
  ESP_TRY(task.target, make_target());
  task.threads = threads();

  ESP_TRY(task.dag, dag_of_option(workload_));
  if (const auto spec = parse_workload(workload_); spec.ok()) task.workload = to_string(*spec);
  return task;
}

Result<ComputeDag> dag_of_option(const std::string& workload) {
  // As load_workload sees it: what starts with an operator's name is a spec.
  const PathKind path = parse_workload(workload).ok() ? PathKind::Nothing : kind_of(workload);
  if (path == PathKind::Other) {
    return usage_error("--workload: expected op:key=value,... or a file with the text of a DAG; '",
                       workload, "' is a folder, device or pipe");
  }
  auto dag = load_workload(workload);
  if (!dag.ok() && path != PathKind::File) return usage_error(std::move(dag).error());
  return dag;
}

Result<Task> task_of_workload(const std::string& workload, const Target& target, int threads) {
  Task task;
  task.target = target;
  task.threads = threads;
  if (workload.find('\n') != std::string::npos) {
    ESP_TRY(task.dag, parse_dag(workload));
  } else {
    ESP_TRY(const Workload parsed, parse_workload(workload));
    ESP_TRY(task.dag, make_workload(parsed));
    task.workload = to_string(parsed);
  }
  return task;
}

Result<void> check_memory(const ComputeDag& dag, double extra_per_output) {
  double needed = 0;
  for (const StageInfo& stage : dag.stages()) {
    double bytes = bytes_of(stage.tensor->dtype);
    for (int64_t extent : stage.tensor->shape) bytes *= static_cast<double>(extent);
    if (!stage.is_compute()) needed += bytes;
    if (stage.is_output) needed += bytes * (1 + extra_per_output);
  }
  const std::optional<double> available = available_memory();
  if (!available || needed <= *available) return {};
  constexpr double kGiB = 1 << 30;
  return make_error(ErrorCode::Resource, "the arrays of this workload take ",
                    format_fixed(needed / kGiB, 1), " GiB, and ",
                    format_fixed(*available / kGiB, 1),
                    " GiB of memory are left; choose smaller extents");
}

}  // namespace espalier::cli
