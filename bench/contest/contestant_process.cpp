#include "contest/contestant_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "espalier/support/json.h"
#include "espalier/support/number.h"

extern char** environ;

namespace espalier::bench {
namespace {

constexpr int kTimeoutMs = 120'000;

// The parent's environment with some variables replaced.
std::vector<std::string> merged(const Environment& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : changes) {
      replaced |= text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=';
    }
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : changes) all.push_back(name + "=" + value);
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
    : pid_(std::exchange(other.pid_, -1)),
      to_(std::move(other.to_)),
      from_(std::move(other.from_)),
      program_(std::move(other.program_)),
      detail_(std::move(other.detail_)) {}

ContestantProcess::~ContestantProcess() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Result<ContestantProcess> ContestantProcess::start(const std::string& program,
                                                   const std::vector<std::string>& arguments,
                                                   const Environment& environment) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0) return system_error(errno, "open", "pipe");
  UniqueFd to_read(to[0]), to_write(to[1]);
  if (pipe2(from, O_CLOEXEC) != 0) return system_error(errno, "open", "pipe");
  UniqueFd from_read(from[0]), from_write(from[1]);

  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = merged(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from_write.get(), STDOUT_FILENO);
  ContestantProcess process;
  process.program_ = program;
  const int error = posix_spawn(&process.pid_, program.c_str(), &actions, nullptr,
                                pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    process.pid_ = -1;
    return system_error(error, "start", program);
  }
  process.to_ = std::move(to_write);
  process.from_ = std::move(from_read);
  from_write.reset();

  ESP_TRY(const std::string line, process.read_line());
  ESP_TRY(const Json hello, parse_json(line));
  if (hello.contains("unsupported")) {
    return Error{ErrorCode::Unsupported, hello.string_or("unsupported", "")};
  }
  if (hello.contains("error")) {
    return make_error(ErrorCode::Internal, program, ": ", hello.string_or("error", ""));
  }
  process.detail_ = hello.string_or("detail", "");
  kill(process.pid_, SIGSTOP);
  return process;
}

Result<std::string> ContestantProcess::read_line() {
  std::string line;
  for (;;) {
    pollfd wait{from_.get(), POLLIN, 0};
    const int ready = poll(&wait, 1, kTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return make_error(ErrorCode::Resource, program_, ": no answer for two minutes");
    char c = 0;
    const ssize_t got = read(from_.get(), &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return make_error(ErrorCode::Internal, program_, ": ended unexpectedly");
    if (c == '\n') return line;
    line += c;
  }
}

Result<double> ContestantProcess::batch() {
  kill(pid_, SIGCONT);
  ESP_TRY_VOID(write_all(to_.get(), "batch\n", program_));
  ESP_TRY(const std::string line, read_line());
  kill(pid_, SIGSTOP);
  return parse_double(line);
}

}  // namespace espalier::bench
