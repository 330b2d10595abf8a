#include "conductor/contestant_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

extern char** environ;

namespace espalier::bench {
namespace {

constexpr int kTimeoutMs = 300'000;
constexpr int kLookMs = 100;  // between looks at the interrupt flag

std::vector<std::string> variables(const Environment& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool dropped =
        std::any_of(changes.without.begin(), changes.without.end(),
                    [&](const std::string& start) { return name.starts_with(start); }) ||
        std::any_of(changes.with.begin(), changes.with.end(),
                    [&](const auto& set) { return name == set.first; });
    if (!dropped) all.emplace_back(text);
  }
  for (const auto& [name, value] : changes.with) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

ContestantProcess::ContestantProcess(ContestantProcess&& other) noexcept
    : interrupt_(other.interrupt_),
      pid_(std::exchange(other.pid_, -1)),
      to_(std::move(other.to_)),
      from_(std::move(other.from_)),
      unread_(std::move(other.unread_)),
      detail_(std::move(other.detail_)) {}

ContestantProcess::~ContestantProcess() {
  if (pid_ < 0) return;
  kill(-pid_, SIGKILL);  // its group: compilers that it started too
  waitpid(pid_, nullptr, 0);
}

Result<ContestantProcess> ContestantProcess::start(const std::string& program,
                                                   const std::vector<std::string>& arguments,
                                                   const Environment& environment,
                                                   const std::atomic<bool>& interrupt) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0) return system_error(errno, "open", "pipe");
  UniqueFd to_read(to[0]), to_write(to[1]);
  if (pipe2(from, O_CLOEXEC) != 0) return system_error(errno, "open", "pipe");
  UniqueFd from_read(from[0]), from_write(from[1]);

  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> settings = variables(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from_write.get(), STDOUT_FILENO);
  // A group of its own: Ctrl-C is for the conductor, which ends its contestants in order.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  ContestantProcess process(interrupt);
  const int error = posix_spawn(&process.pid_, program.c_str(), &actions, &attributes,
                                pointers(words).data(), pointers(settings).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    process.pid_ = -1;
    return system_error(error, "start", program);
  }
  process.to_ = std::move(to_write);
  process.from_ = std::move(from_read);
  from_write.reset();

  ESP_TRY(const Json hello, process.read_answer());
  if (hello.contains("absent")) {
    return Error{ErrorCode::Unsupported, hello.string_or("absent", "")};
  }
  process.detail_ = hello.string_or("detail", "");
  kill(-process.pid_, SIGSTOP);
  return process;
}

Result<Json> ContestantProcess::read_answer() {
  for (int waited_ms = 0;;) {
    const size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return parse_json(line);
    }
    pollfd wait{from_.get(), POLLIN, 0};
    const int ready = poll(&wait, 1, kLookMs);
    if (*interrupt_) return make_error(ErrorCode::Interrupted, "interrupted");
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      waited_ms += kLookMs;
      if (waited_ms < kTimeoutMs) continue;
      return make_error(ErrorCode::Internal, "gave no answer for ", kTimeoutMs / 60'000,
                        " minutes");
    }
    char buffer[4096];
    const ssize_t got = read(from_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return breakdown();
    unread_.append(buffer, static_cast<size_t>(got));
  }
}

Error ContestantProcess::breakdown() {
  int status = 0;
  kill(-pid_, SIGKILL);  // it closed its output; if it lives, it is of no use
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    return make_error(ErrorCode::Internal, "its process ended with signal ", WTERMSIG(status), " (",
                      sigdescr_np(WTERMSIG(status)), ")");
  }
  return make_error(ErrorCode::Internal, "its process ended with status ", WEXITSTATUS(status));
}

Result<Json> ContestantProcess::round() {
  if (pid_ < 0) return make_error(ErrorCode::Internal, "its process has ended");
  kill(-pid_, SIGCONT);
  if (!write_all(to_.get(), "round\n", "contestant").ok()) return breakdown();
  Result<Json> answer = read_answer();
  if (pid_ >= 0) kill(-pid_, SIGSTOP);
  return answer;
}

}  // namespace espalier::bench
