// The definition's loops, output axes in order and then reductions as declared, written as C and
// compiled by clang: what one has without any tensor compiler. One thread, whatever is asked for.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "contest/c_source.h"
#include "contest/contestant.h"
#include "espalier/schedule/lower.h"
#include "espalier/search/default_schedule.h"
#include "espalier/support/fd.h"

namespace espalier::bench {
namespace {

constexpr const char* kCompiler = "clang-19";

// A folder that goes when this object does.
class Scratch {
 public:
  static Result<Scratch> make() {
    std::error_code error;
    const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
    Scratch scratch((error ? std::filesystem::path("/tmp") : temporary) / "espalier-naive-XXXXXX");
    if (mkdtemp(scratch.path_.data()) == nullptr) {
      const int reason = errno;
      const std::string path = std::exchange(scratch.path_, "");
      return system_error(reason, "make the folder", path);
    }
    return scratch;
  }
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  explicit Scratch(const std::filesystem::path& path) : path_(path.string()) {}
  std::string path_;
};

// Runs a program to its end; it ends with this process.
Result<void> run_program(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) return system_error(errno, "start", words[0]);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    return make_error(ErrorCode::Unsupported, words[0], " is not installed");
  }
  if (status != 0) return make_error(ErrorCode::Internal, words[0], " failed");
  return {};
}

using Function = void (*)(void* const* arguments);

Result<Entry> enter(const Contest& contest) {
  Replayed replayed = replay(contest.task(), naive_candidate(contest.task()));
  if (!replayed.ok()) return make_error(ErrorCode::Internal, "there is no naive schedule");
  ESP_TRY(const LoweredKernel lowered, lower(replayed.state()));
  ESP_TRY(const std::string source, c_source(lowered.main));
  void* library = nullptr;
  const bool wide = contest.task().target.vector_bits >= 512;
  const std::string machine = wide ? "-march=native" : "-march=x86-64-v3";
  {
    ESP_TRY(const Scratch scratch, Scratch::make());
    const std::string from = scratch.file("kernel.c"), to = scratch.file("kernel.so");
    ESP_TRY_VOID(write_file(from, source));
    ESP_TRY_VOID(run_program({kCompiler, "-O3", machine, "-ffast-math", "-std=c11", "-fPIC",
                              "-shared", "-o", to, from, "-lm"}));
    library = dlopen(to.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return make_error(ErrorCode::Internal, dlerror());
  }
  const auto function = reinterpret_cast<Function>(dlsym(library, "espalier_kernel"));
  if (function == nullptr) return make_error(ErrorCode::Internal, dlerror());
  const auto arguments = std::make_shared<std::vector<void*>>();
  for (const auto* views : {&contest.inputs(), &contest.constants(), &contest.outputs()}) {
    for (const ArrayView& view : *views) arguments->push_back(view.data);
  }
  return Entry{[function, arguments] { function(arguments->data()); },
               std::string(kCompiler) + " -O3 " + machine + " -ffast-math"};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier::bench;
  return run_contestant(argc, argv, {.name = "naive", .enter = enter, .slack = 1e-4});
}
