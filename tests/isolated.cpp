#include "isolated.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "espalier/support/check.h"

namespace espalier {
namespace {

// Where a failed check of this process leaves its message; set in children only.
SharedText* check_message = nullptr;

void keep_message(const CheckFailure& f) {
  if (check_message == nullptr) return;
  check_message->set(std::string("check failed: ") + f.file + ":" + std::to_string(f.line) + ": " +
                     f.condition + ": " + f.message);
}

}  // namespace

SharedBytes::SharedBytes(size_t bytes) : bytes_(bytes) {
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ESP_CHECK(data_ != MAP_FAILED, "no shared memory");
}
SharedBytes::~SharedBytes() { munmap(data_, bytes_); }

void SharedText::set(std::string_view s) {
  const size_t n = std::min(s.size(), sizeof text - 1);
  std::memcpy(text, s.data(), n);
  text[n] = '\0';
}

pid_t start_child(SharedText* message, const std::function<void()>& body) {
  const pid_t pid = fork();
  ESP_CHECK(pid >= 0, "fork failed");
  if (pid != 0) return pid;
  check_message = message;
  set_check_hook(keep_message);
  body();
  _exit(0);
}

namespace {

// Of a child that has not been waited for.
double cpu_seconds_of(pid_t pid) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

ChildTimer::ChildTimer(pid_t pid)
    : pid_(pid), cpu_seconds_(cpu_seconds_of(pid)), since_(std::chrono::steady_clock::now()) {}

bool ChildTimer::is_over(double seconds) const {
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - since_;
  return cpu_seconds_of(pid_) - cpu_seconds_ > seconds || waited.count() > 10 * seconds;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const int s = WTERMSIG(status);
    return "signal " + std::to_string(s) + " (" + strsignal(s) + ")";
  }
  if (WEXITSTATUS(status) == 0) return "";
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

Verdict compare_isolated(const FuzzCase& c, Depth depth, double seconds) {
  struct Shared {
    Activity activity;
    Verdict::Kind kind;
    SharedText text;
  };
  const SharedBytes memory(sizeof(Shared));
  auto* shared = new (memory.data()) Shared;
  const pid_t pid = start_child(&shared->text, [&] {
    const Verdict v = compare_evaluations(c, depth, &shared->activity);
    shared->kind = v.kind;
    if (v.kind == Verdict::Kind::Passed) return;
    shared->text.set(v.text);
  });
  const ChildTimer timer(pid);
  int status = 0;
  bool late = false;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (!late && timer.is_over(seconds)) {
      late = true;
      kill(pid, SIGKILL);
    }
    usleep(500);
  }
  const std::string end = describe_end(status);
  if (end.empty()) return {shared->kind, shared->activity, shared->text.get()};
  const std::string message = shared->text.get();
  return {Verdict::Kind::Failed, shared->activity,
          late ? "no end after " + std::to_string(static_cast<int>(seconds)) + " s"
               : end + (message.empty() ? "" : ": " + message)};
}

}  // namespace espalier
