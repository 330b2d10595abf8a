// espalier worker: the process that candidates run in.
#include <unistd.h>

#include "espalier/runtime/worker_server.h"
#include "verb.h"

namespace espalier::cli {
namespace {

class WorkerVerb final : public Verb {
 public:
  std::string_view name() const override { return "worker"; }
  std::string_view summary() const override {
    return "measure candidates for another process (started by tune)";
  }

  void declare(Options& options) override {
    options.footer(
        "Reads messages on standard input and answers on standard output until the input closes.");
  }

  Result<ExitCode> run(Console&) override {
    if (isatty(STDIN_FILENO)) {
      return usage_error("worker: expected messages from 'espalier tune' on standard input, which ",
                         "is a terminal; there is nothing to do here for people");
    }
    return static_cast<ExitCode>(run_worker(STDIN_FILENO, STDOUT_FILENO));
  }
};

}  // namespace

std::unique_ptr<Verb> make_worker_verb() { return std::make_unique<WorkerVerb>(); }

}  // namespace espalier::cli
