// A verb of the command line: `espalier VERB ...`.
#pragma once

#include <memory>
#include <string_view>

#include "command_line/console.h"
#include "command_line/exit_code.h"
#include "command_line/options.h"

namespace espalier::cli {

class Verb {
 public:
  virtual ~Verb() = default;
  virtual std::string_view name() const = 0;
  /// A line for the list of verbs.
  virtual std::string_view summary() const = 0;
  /// Says which options there are and where their values go.
  virtual void declare(Options& options) = 0;
  /// Called once, after the options were read.
  virtual Result<ExitCode> run(Console& console) = 0;
};

/// One file each.
std::unique_ptr<Verb> make_tune_verb();
std::unique_ptr<Verb> make_run_verb();
std::unique_ptr<Verb> make_bench_verb();
std::unique_ptr<Verb> make_explain_verb();
std::unique_ptr<Verb> make_transfer_verb();
std::unique_ptr<Verb> make_records_verb();
std::unique_ptr<Verb> make_compile_verb();
std::unique_ptr<Verb> make_worker_verb();

}  // namespace espalier::cli
