// A verb of the command line: `espalier VERB ...`.
#pragma once

#include <memory>
#include <string_view>

#include "console.h"
#include "espalier/support/result.h"
#include "options.h"

namespace espalier::cli {

/// What the process ends with.
enum ExitCode { kGood = 0, kFailed = 1, kWrongUsage = 2, kInterrupted = 130 };

/// An error that the caller of the program made, and could have known from --help.
inline Error usage_error(Error error) {
  error.code = ErrorCode::InvalidArgument;
  return error;
}
template <class... Parts>
Error usage_error(const Parts&... parts) {
  return make_error(ErrorCode::InvalidArgument, parts...);
}

inline ExitCode exit_code(const Error& error) {
  if (error.code == ErrorCode::Interrupted) return kInterrupted;
  return error.code == ErrorCode::InvalidArgument ? kWrongUsage : kFailed;
}

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
