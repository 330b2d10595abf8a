// What the programs about models have in common: options, errors and exit codes.
#pragma once

#include <functional>
#include <iostream>
#include <span>

#include "command_line/exit_code.h"
#include "command_line/options.h"
#include "espalier/support/result.h"

namespace espalier::bench {

// Parses, runs what the program is for, and says what was wrong; returns the exit code.
inline int run_program(cli::Options& options, int argc, char** argv,
                       const std::function<Result<void>()>& run) {
  const Result<bool> go_on = options.parse(std::span<const char* const>(argv + 1, argv + argc));
  if (!go_on.ok()) {
    std::cerr << go_on.error().message << "\n";
    return cli::kWrongUsage;
  }
  if (!*go_on) {
    std::cout << options.help();
    return cli::kGood;
  }
  const Result<void> done = run();
  if (done.ok()) return cli::kGood;
  std::cerr << done.error().message << "\n";
  return cli::exit_code(done.error());
}

}  // namespace espalier::bench
