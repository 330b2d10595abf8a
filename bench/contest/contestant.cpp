#include "contest/contestant.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "command_line/console.h"
#include "command_line/exit_code.h"
#include "espalier/runtime/call_timer.h"
#include "espalier/runtime/reference.h"
#include "espalier/search/default_schedule.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"

namespace espalier::bench {
namespace {

struct Arguments {
  std::string workload, target = "host";
  int64_t threads = 1;
  std::optional<double> batch_ms;
};

Result<void> answer(const std::string& line) {
  return write_all(STDOUT_FILENO, line + "\n", "standard output");
}

// False at the end of the input.
bool read_line() {
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) == 1) {
    if (c == '\n') return true;
  }
  return false;
}

Result<void> compete(const Arguments& arguments, const Enter& enter) {
  ESP_TRY(const Target target, parse_target(arguments.target));
  ESP_TRY(const Contest contest,
          Contest::make(arguments.workload, target, static_cast<int>(arguments.threads)));
  ESP_TRY(const Entry entry, enter(contest));
  {
    ESP_TRY(const Reference reference,
            make_reference(contest.task(), contest.arguments(), default_candidate));
    entry.call();
    const CheckResult checked = check(reference, contest.outputs());
    if (!checked.ok) return make_error(ErrorCode::Internal, "wrong result: ", checked.message);
  }
  CallTimer timer(entry.call, arguments.batch_ms.value_or(20));
  timer.warm_up();
  ESP_TRY_VOID(answer(Json::object({{"detail", entry.detail}}).dump()));
  while (read_line()) {
    entry.call();  // what others did to the caches meanwhile is not timed
    ESP_TRY_VOID(answer(format_double(timer.batch())));
  }
  return {};
}

}  // namespace

int run_contestant(int argc, char** argv, const Enter& enter,
                   const std::function<void(cli::Options&)>& declare) {
  cli::prepare_standard_streams();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Arguments arguments;
  cli::Options options(argv[0], "A contestant: started by bench/compare.");
  options.text("--workload", arguments.workload, "SPEC", "what to do");
  options.text("--target", arguments.target, "TEXT", "machine to make code for");
  options.integer("--threads", arguments.threads, 1, 1024, "threads that take part");
  options.positive("--batch-ms", arguments.batch_ms, "MS", "duration of a batch (20)");
  if (declare) declare(options);
  const Result<bool> parsed = options.parse({argv + 1, argv + argc});
  if (!parsed.ok() || !*parsed) {
    cli::write_to_stderr(parsed.ok() ? options.help() : to_string(parsed.error()) + "\n");
    return parsed.ok() ? cli::kGood : cli::kWrongUsage;
  }
  const Result<void> done = compete(arguments, enter);
  if (done.ok()) return cli::kGood;
  const bool unsupported = done.error().code == ErrorCode::Unsupported;
  (void)answer(
      Json::object({{unsupported ? "unsupported" : "error", to_string(done.error())}}).dump());
  return cli::kFailed;
}

}  // namespace espalier::bench
