// The side of a contestant: a process that does a workload's work in batches when it is told to.
#pragma once

#include <functional>
#include <string>

#include "command_line/options.h"
#include "contest/contest.h"

namespace espalier::bench {

/// A way to do the work.
struct Entry {
  std::function<void()> call;
  std::string detail;  // which implementation it is, for people
};
/// Gets ready for a contest. The error Unsupported says that this contestant cannot do the
/// workload.
using Enter = std::function<Result<Entry>(const Contest&)>;

/// What `main` of a contestant does. Prepares, checks the result of the first call against the
/// task's reference, writes a line of JSON ({"detail": ...}, {"unsupported": why} or {"error":
/// what}), then for every line on standard input runs a batch and answers with microseconds a call.
/// Ends when the input does, or the process that started it.
int run_contestant(int argc, char** argv, const Enter& enter,
                   const std::function<void(cli::Options&)>& declare = {});

}  // namespace espalier::bench
