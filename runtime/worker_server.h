// The measuring process: what `espalier worker` runs.
#pragma once

#include "espalier/runtime/worker_hooks.h"

namespace espalier {

/// Reads messages (runtime/worker_protocol.h) from one descriptor and answers on the other until
/// the first is closed or the parent process dies, upon which the process exits, whatever a
/// candidate is doing. Returns the process's exit status: 0, or 1 if the other side sent nonsense,
/// which standard error then tells. `hooks` may be null.
///
/// Takes over the process: ignores SIGPIPE, and points standard output at standard error if answers
/// go there, so that nothing else gets between them.
int run_worker(int in_fd, int out_fd, WorkerHooks* hooks = nullptr);

}  // namespace espalier
