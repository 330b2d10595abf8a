#include "command_line/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "command_line/exit_code.h"

namespace espalier::cli {
namespace {

// A signal handler can reach nothing else.
std::atomic<bool> interrupted{false};
std::atomic<bool> flag_only{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  if (!flag_only || interrupted.exchange(true)) _exit(kInterrupted);
}

}  // namespace

void exit_on_interrupt() {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

const std::atomic<bool>& flag_on_interrupt() {
  flag_only = true;
  return interrupted;
}

}  // namespace espalier::cli
