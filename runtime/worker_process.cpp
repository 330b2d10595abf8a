#include "espalier/runtime/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "espalier/support/number.h"

extern char** environ;

namespace espalier {
namespace {

constexpr size_t kErrorTextBytes = 4096;

// The same descriptor under a number that the child's 0 to 3 cannot collide with.
Result<UniqueFd> out_of_the_way(UniqueFd fd) {
  UniqueFd moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, WorkerProcess::kInheritedFd + 1));
  if (!moved) return system_error(errno, "duplicate", "descriptor");
  return moved;
}

struct Pair {
  UniqueFd ours, theirs;
};

Result<Pair> make_socket_pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return system_error(errno, "open", "socket");
  }
  Pair pair{UniqueFd(fds[0]), UniqueFd(fds[1])};
  ESP_TRY(pair.ours, out_of_the_way(std::move(pair.ours)));
  ESP_TRY(pair.theirs, out_of_the_way(std::move(pair.theirs)));
  return pair;
}

Result<Pair> make_error_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return system_error(errno, "open", "pipe");
  Pair pair{UniqueFd(fds[0]), UniqueFd(fds[1])};
  ESP_TRY(pair.ours, out_of_the_way(std::move(pair.ours)));
  ESP_TRY(pair.theirs, out_of_the_way(std::move(pair.theirs)));
  fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK);
  return pair;
}

// What posix_spawn takes, freed in any case.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  int give(int fd, int as) { return posix_spawn_file_actions_adddup2(&actions_, fd, as); }

  // No signal blocked or ignored that the parent blocks or ignores; a process group of its own.
  void set_clean_signals() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }

  // Closes what the host process leaves open in its children.
  void close_from(int fd) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions_, fd);
#else
    static_cast<void>(fd);
#endif
  }

  int spawn(pid_t& pid, const char* program, char** argv) {
    // A name without a slash is looked for in PATH, as a shell does that starts us.
    return posix_spawnp(&pid, program, &actions_, &attributes_, argv, environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::string name_of_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* text = sigdescr_np(signal);
  if (name == nullptr || text == nullptr) return "signal " + std::to_string(signal);
  return "SIG" + std::string(name) + " (" + text + ")";
}

// The last lines, without blanks around them.
std::string tail(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.size() > 800) {
    text.remove_prefix(text.size() - 800);
    text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  }
  return std::string(text);
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(const std::string& program,
                                           const std::vector<std::string>& arguments,
                                           int inherited_fd) {
  ESP_TRY(Pair socket, make_socket_pair());
  ESP_TRY(Pair errors, make_error_pipe());
  SpawnPlan plan;
  plan.set_clean_signals();
  plan.give(socket.theirs.get(), 0);
  plan.give(socket.theirs.get(), 1);
  plan.give(errors.theirs.get(), 2);
  // Under its own number already, duplicating it onto itself clears its close-on-exec flag.
  if (inherited_fd >= 0) plan.give(inherited_fd, kInheritedFd);
  plan.close_from(inherited_fd >= 0 ? kInheritedFd + 1 : kInheritedFd);

  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  WorkerProcess worker;
  const int error = plan.spawn(worker.pid_, program.c_str(), argv.data());
  if (error != 0) {
    worker.pid_ = -1;
    return system_error(error, "start the worker", program);
  }
  worker.socket_ = std::move(socket.ours);
  worker.errors_ = std::move(errors.ours);
  return worker;
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      errors_(std::move(other.errors_)),
      frames_(std::move(other.frames_)),
      error_text_(std::move(other.error_text_)) {}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(socket_, other.socket_);
  std::swap(errors_, other.errors_);
  std::swap(frames_, other.frames_);
  std::swap(error_text_, other.error_text_);
  return *this;
}

WorkerProcess::~WorkerProcess() { kill(); }

bool WorkerProcess::send(const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::send(socket_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// Takes what has arrived; false at the end.
bool WorkerProcess::receive() {
  char bytes[1 << 16];
  const ssize_t n = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (n > 0) frames_.append({bytes, static_cast<size_t>(n)});
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

void WorkerProcess::collect_errors() {
  char bytes[4096];
  for (;;) {
    const ssize_t n = read(errors_.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errors_.reset();
    if (n <= 0) return;
    error_text_.append(bytes, static_cast<size_t>(n));
    if (error_text_.size() > kErrorTextBytes) {
      error_text_.erase(0, error_text_.size() - kErrorTextBytes);
    }
  }
}

WorkerProcess::Event WorkerProcess::wait(double seconds, Frame& frame) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(std::max(seconds, 0.0)));
  bool open = true;
  for (;;) {
    auto next = frames_.next();
    if (!next.ok()) return Event::Closed;
    if (next->has_value()) {
      frame = std::move(**next);
      return Event::Frame;
    }
    if (!open) return Event::Closed;
    const double left = std::chrono::duration<double, std::milli>(end - Clock::now()).count();
    if (left <= 0) return Event::Timeout;
    // A descriptor of -1 (standard error that was closed) is left out by poll.
    pollfd waits[2] = {{socket_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}};
    const int ready = poll(waits, 2, static_cast<int>(std::ceil(std::min(left, 1e6))));
    if (ready < 0 && errno != EINTR) return Event::Closed;
    if (ready <= 0) continue;
    if (waits[1].revents != 0) collect_errors();
    if (waits[0].revents != 0) open = receive();
  }
}

int64_t WorkerProcess::private_bytes() const {
  // Pages: total, resident, shared, ...
  const auto text = read_file("/proc/" + std::to_string(pid_) + "/statm");
  if (!text.ok()) return 0;
  long long total = 0, resident = 0, shared = 0;
  if (sscanf(text->c_str(), "%lld %lld %lld", &total, &resident, &shared) != 3) return 0;
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

namespace {

// What follows the name in /proc/.../stat, which may hold anything: the state, and so on.
std::string_view after_name(const std::string& stat) {
  const size_t at = stat.rfind(") ");
  return at == std::string::npos ? std::string_view() : std::string_view(stat).substr(at + 2);
}

}  // namespace

double WorkerProcess::cpu_seconds() const {
  const auto stat = read_file("/proc/" + std::to_string(pid_) + "/stat");
  unsigned long long user = 0, system = 0;
  if (!stat.ok() ||
      sscanf(std::string(after_name(*stat)).c_str(),
             "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2) {
    return 0;
  }
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

bool WorkerProcess::is_held_up() const {
  const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
  std::error_code error;
  for (std::filesystem::directory_iterator at(tasks, error), end; !error && at != end;
       at.increment(error)) {
    const auto stat = read_file(at->path().string() + "/stat");
    const std::string_view rest = stat.ok() ? after_name(*stat) : std::string_view();
    if (rest.starts_with('R') || rest.starts_with('T')) return true;
  }
  return false;
}

pid_t WorkerProcess::reap(int& status, int options) {
  pid_t reaped = 0;
  do {
    reaped = waitpid(pid_, &status, options);
  } while (reaped < 0 && errno == EINTR);
  return reaped;
}

void WorkerProcess::kill() {
  if (pid_ <= 0) return;
  int status = 0;
  ::kill(pid_, SIGKILL);
  reap(status, 0);
  pid_ = -1;
  socket_.reset();
  errors_.reset();
}

WorkerProcess::End WorkerProcess::finish() {
  if (pid_ <= 0) return {"was not running", 0};
  // Its end of the socket is closed a moment before its fate is known.
  int status = 0;
  pid_t reaped = 0;
  for (int i = 0; i < 100 && reaped == 0; ++i) {
    reaped = reap(status, WNOHANG);
    if (reaped == 0) poll(nullptr, 0, 1);
  }
  if (errors_) collect_errors();
  if (reaped == 0) {
    kill();
    return {"sent something that is no message", 0};
  }
  pid_ = -1;
  socket_.reset();
  errors_.reset();

  End end{"ended", 0};  // reaped by somebody else in this process
  if (reaped > 0 && WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
    end.how = "was killed by " + name_of_signal(end.signal);
  } else if (reaped > 0 && WIFEXITED(status)) {
    end.how = "exited with status " + std::to_string(WEXITSTATUS(status));
  }
  const std::string text = tail(error_text_);
  if (!text.empty()) end.how += "; it wrote: " + text;
  return end;
}

}  // namespace espalier
