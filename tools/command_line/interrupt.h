// Ctrl-C, termination and hang-up.
#pragma once

#include <atomic>

namespace espalier::cli {

/// From now on those signals end the process with status 130 at once. A signal that was ignored
/// when the process started (nohup, a background job) stays ignored.
void exit_on_interrupt();

/// From now on the first of those signals sets the flag that is returned, so that work in hand can
/// be put away, and the second ends the process as above.
const std::atomic<bool>& flag_on_interrupt();

}  // namespace espalier::cli
