#include "contest/contestant.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <exception>

#include "command_line/console.h"
#include "command_line/exit_code.h"
#include "contest/rounds.h"
#include "contest/traffic.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"

namespace espalier::bench {
namespace {

struct Arguments {
  std::string workload, target = "host", name;
  int64_t threads = 1, conductor = 0;
  std::optional<double> batch_ms;
};

// False at the end of the input.
bool read_line() {
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) == 1) {
    if (c == '\n') return true;
  }
  return false;
}

class Answers {
 public:
  // Takes standard output away from everybody else.
  Answers() : fd_(dup(STDOUT_FILENO)) { dup2(STDERR_FILENO, STDOUT_FILENO); }
  Result<void> write(const Json& json) const {
    return write_all(fd_.get(), json.dump() + "\n", "the conductor");
  }

 private:
  UniqueFd fd_;
};

Result<void> compete(const Arguments& arguments, const Contestant& contestant,
                     const Answers& answers) {
  ESP_TRY(const Target target, parse_target(arguments.target));
  ESP_TRY(const Contest contest,
          Contest::make(arguments.workload, target, static_cast<int>(arguments.threads)));
  ESP_TRY(const Entry entry, contestant.enter(contest));
  entry.call();
  ESP_TRY_VOID(contest.check_outputs(contestant.slack));
  const std::string& name = arguments.name.empty() ? contestant.name : arguments.name;
  const ComputeDag& dag = contest.task().dag;
  Rounds rounds(name + "/" + contest.task().workload, entry.detail, entry.call, dag.flops(),
                traffic_bytes(dag), arguments.batch_ms.value_or(20));
  ESP_TRY_VOID(rounds.calibrate());
  ESP_TRY_VOID(answers.write(Json::object({{"detail", entry.detail}})));
  while (read_line()) {
    entry.call();  // what others did to the caches meanwhile is not timed
    ESP_TRY(const Json json, rounds.run());
    ESP_TRY_VOID(answers.write(json));
  }
  return {};
}

}  // namespace

int run_contestant(int argc, char** argv, const Contestant& contestant) {
  cli::prepare_standard_streams();
  const Answers answers;
  Arguments arguments;
  cli::Options options(argv[0], "A contestant of 'espalier bench', which starts it.");
  options.text("--workload", arguments.workload, "SPEC", "what to do");
  options.text("--target", arguments.target, "TEXT", "machine to make code for");
  options.text("--name", arguments.name, "TEXT", "in the names of the benchmarks");
  options.integer("--threads", arguments.threads, 1, 1024, "threads that take part");
  options.integer("--conductor", arguments.conductor, 0, INT64_MAX, "process to end with");
  options.positive("--batch-ms", arguments.batch_ms, "MS", "least duration of a round (20)");
  if (contestant.declare) contestant.declare(options);
  const Result<bool> parsed = options.parse({argv + 1, argv + argc});
  if (!parsed.ok() || !*parsed) {
    cli::write_to_stderr(parsed.ok() ? options.help() : to_string(parsed.error()) + "\n");
    return parsed.ok() ? cli::kGood : cli::kWrongUsage;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (arguments.conductor != 0 && getppid() != arguments.conductor) return cli::kFailed;
  // Libraries throw where they find out late that they cannot.
  Result<void> done = {};
  try {
    done = compete(arguments, contestant, answers);
  } catch (const std::exception& error) {
    done = make_error(ErrorCode::Internal, "it threw: ", error.what());
  }
  if (done.ok()) return cli::kGood;
  (void)answers.write(Json::object({{"absent", done.error().message}}));
  return cli::kFailed;
}

}  // namespace espalier::bench
