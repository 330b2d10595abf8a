// The side of a contestant: a process that does a workload's work in rounds when it is told to.
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

struct Contestant {
  std::string name;  // in the names of the benchmarks
  Enter enter;
  double slack = 0;                                 // see Contest::check_outputs
  std::function<void(cli::Options&)> declare = {};  // further options
};

/// What `main` of a contestant does. Prepares, checks the result of the first call, writes a line
/// of JSON ({"detail": ...}, or {"absent": why}), then for every line on standard input runs a
/// round and answers with a line of Google Benchmark's JSON. Ends when the input does, or the
/// process that started it. What libraries print goes to standard error.
int run_contestant(int argc, char** argv, const Contestant& contestant);

}  // namespace espalier::bench
