// A measuring process that misbehaves on demand: `fault_worker worker [--plant-fault
// KIND@NUMBER]...` makes the candidate of that number (counted by the client from 0)
//   crash            write to the null page while it runs
//   crash-compile    the same while it is compiled
//   crash-once       the same, but only in a process that was given more than this candidate
//   trap             execute an undefined instruction
//   exit             end the process with status 3
//   hang             run for ever
//   hang-compile     compile for ever
//   memory           allocate and touch memory without end
//   wrong            change an element of its first output
//   outside          write a byte past the end of its first output
//   far-outside      write a page past the end of its first output

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/ir/scalar_ops.h"
#include "espalier/runtime/worker_server.h"

namespace {

using namespace espalier;

constexpr std::string_view kKinds[] = {"crash", "crash-compile", "crash-once",   "trap",
                                       "exit",  "hang",          "hang-compile", "memory",
                                       "wrong", "outside",       "far-outside"};

[[noreturn]] void crash() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
  abort();  // a sanitizer may let the write pass
}

[[noreturn]] void hang() {
  for (;;) usleep(100000);
}

[[noreturn]] void eat_memory() {
  constexpr size_t kPiece = size_t{16} << 20;
  for (;;) {
    void* const piece = malloc(kPiece);
    if (piece == nullptr) hang();
    for (size_t at = 0; at < kPiece; at += 4096) static_cast<volatile char*>(piece)[at] = 1;
    usleep(2000);
  }
}

void change_element(const ArrayView& output) {
  const auto bits = load_scalar(output.dtype, output.data);
  store_scalar(output.dtype, output.data,
               bits_from_double(output.dtype, double_from_bits(output.dtype, bits) + 1));
}

class PlantedFaults final : public WorkerHooks {
 public:
  bool plant(std::string_view spec) {
    const size_t at = spec.find('@');
    if (at == std::string_view::npos) return false;
    const std::string_view kind = spec.substr(0, at);
    if (std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds)) return false;
    faults_[strtoull(spec.data() + at + 1, nullptr, 10)] = kind;
    return true;
  }

  void before_compile(uint64_t number) override {
    ++seen_;
    const std::string_view kind = kind_of(number);
    if (kind == "crash-compile") crash();
    if (kind == "hang-compile") hang();
  }
  void before_run(uint64_t number) override {
    const std::string_view kind = kind_of(number);
    if (kind == "crash" || (kind == "crash-once" && seen_ > 1)) crash();
    if (kind == "trap") __builtin_trap();
    if (kind == "exit") _exit(3);
    if (kind == "hang") hang();
    if (kind == "memory") eat_memory();
  }
  void after_run(uint64_t number, std::span<const ArrayView> outputs) override {
    const std::string_view kind = kind_of(number);
    if (kind == "wrong") change_element(outputs[0]);
    if (kind != "outside" && kind != "far-outside") return;
    const auto end = outputs[0].address_range().second;
    auto* stray = reinterpret_cast<volatile char*>(end + (kind == "outside" ? 0 : 4096));
    *stray = 1;
  }

 private:
  std::string_view kind_of(uint64_t number) const {
    const auto at = faults_.find(number);
    return at == faults_.end() ? std::string_view() : at->second;
  }

  std::map<uint64_t, std::string_view> faults_;
  std::atomic<int> seen_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  PlantedFaults faults;
  bool good = argc >= 2 && std::string_view(argv[1]) == "worker" && argc % 2 == 0;
  for (int i = 2; good && i < argc; i += 2) {
    good = std::string_view(argv[i]) == "--plant-fault" && faults.plant(argv[i + 1]);
  }
  if (!good) {
    fputs("usage: fault_worker worker [--plant-fault KIND@NUMBER]...\n", stderr);
    return 2;
  }
  return run_worker(STDIN_FILENO, STDOUT_FILENO, &faults);
}
