// espalier: the library for people.
#include <unistd.h>

#include <algorithm>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "command_line/console.h"
#include "command_line/interrupt.h"
#include "espalier/codegen/llvm_version.h"
#include "espalier/support/target.h"
#include "espalier/support/version.h"
#include "verb.h"

namespace espalier::cli {
namespace {

std::vector<std::unique_ptr<Verb>> make_verbs() {
  std::vector<std::unique_ptr<Verb>> verbs;
  for (auto make : {make_tune_verb, make_run_verb, make_bench_verb, make_explain_verb,
                    make_transfer_verb, make_records_verb, make_compile_verb, make_worker_verb}) {
    verbs.push_back(make());
  }
  return verbs;
}

std::string version_text() {
  std::string text = "espalier " + std::string(version()) + "\n";
  text += "LLVM " + std::string(llvm_version()) + "\n";
  text += "build " + std::string(build_type()) + ", " + std::string(compiler()) + "\n";
  return text + "target " + to_string(host_target()) + "\n";
}

std::string help_text(const std::vector<std::unique_ptr<Verb>>& verbs) {
  std::string text =
      "espalier finds a fast schedule for a tensor program on this CPU and compiles it.\n"
      "\n"
      "Usage: espalier VERB [OPTIONS]\n"
      "\n";
  for (const auto& verb : verbs) {
    std::string line = "  " + std::string(verb->name());
    line.resize(14, ' ');
    text += line + std::string(verb->summary()) + "\n";
  }
  return text +
         "\n"
         "  espalier VERB --help    the options of a verb\n"
         "  espalier --version      versions, build type and this machine as a target\n"
         "\n"
         "Data goes to standard output, progress and warnings to standard error.\n"
         "Exit status: 0 good, 1 failed, 2 wrong usage, 130 interrupted.\n"
         "\n"
         "Example: espalier tune --workload matmul:m=512,n=512,k=512 --records mm.jsonl\n";
}

ExitCode fail(Console& console, const Error& error) {
  console.error(error);
  return exit_code(error);
}

ExitCode run_verb(Verb& verb, std::span<const char* const> arguments, Console& console) {
  Options options("espalier " + std::string(verb.name()), std::string(verb.summary()));
  verb.declare(options);
  const Result<bool> go_on = options.parse(arguments);
  if (!go_on.ok()) return fail(console, go_on.error());
  if (!*go_on) {
    console.print(options.help());
    return kGood;
  }
  const Result<ExitCode> result = verb.run(console);
  return result.ok() ? *result : fail(console, result.error());
}

ExitCode run(std::span<const char* const> arguments, Console& console) {
  const auto verbs = make_verbs();
  if (arguments.empty()) {
    write_to_stderr(help_text(verbs));
    return kWrongUsage;
  }
  const std::string word = arguments[0];
  if (word == "--help" || word == "-h" || word == "help") {
    console.print(help_text(verbs));
    return kGood;
  }
  if (word == "--version") {
    console.print(version_text());
    return kGood;
  }
  std::vector<std::string> names;
  for (const auto& verb : verbs) {
    if (verb->name() == word) {
      // The worker goes when its client goes, and its client handles the signals.
      if (word != "worker") exit_on_interrupt();
      return run_verb(*verb, arguments.subspan(1), console);
    }
    names.emplace_back(verb->name());
  }
  std::string expected;
  for (const std::string& name : names) expected += (expected.empty() ? "" : ", ") + name;
  const auto meant = nearest_name(word, names);
  return fail(console, usage_error("unknown verb '", word.substr(0, 60), "'; ",
                                   meant ? "did you mean '" + *meant + "'?"
                                         : "expected one of " + expected));
}

}  // namespace
}  // namespace espalier::cli

int main(int argc, char** argv) {
  using namespace espalier::cli;
  prepare_standard_streams();
  // Allocation fails by an exception that library code, built without them, could not pass on.
  std::set_new_handler([] {
    write_to_stderr("espalier: out of memory\n");
    _exit(kFailed);
  });
  Console console;
  ExitCode code = run({argv + std::min(argc, 1), argv + argc}, console);
  if (console.output_error() && code == kGood) {
    console.error(*console.output_error());
    code = kFailed;
  }
  return code;
}
