#include "fuzz_cli.h"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "espalier/codegen/pipeline.h"
#include "espalier/schedule/lower.h"
#include "espalier/support/target.h"
#include "fuzz_run.h"

namespace espalier {
namespace {

struct Arguments {
  FuzzOptions fuzz;
  std::optional<uint64_t> show;
  std::string replay;
  bool lowered = false;
};

std::optional<Depth> depth_of(std::string_view name) {
  if (name == "replay") return Depth::Replay;
  if (name == "lowered") return Depth::Lowered;
  if (name == "passes") return Depth::Passes;
  if (name == "machine") return Depth::MachineCode;
  return std::nullopt;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments a;
  a.fuzz.jobs = usable_cores();
  a.fuzz.seconds = 10;
  bool limited = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--no-shrink") {
      a.fuzz.shrink_seconds = 0;
      continue;
    }
    if (name == "--lowered") {
      a.lowered = true;
      continue;
    }
    if (i + 1 == argc) return std::nullopt;
    const std::string_view value = argv[++i];
    uint64_t number = 0;
    const bool is_number =
        std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc();
    if (name == "--replay") {
      a.replay = value;
    } else if (name == "--depth" && depth_of(value)) {
      a.fuzz.depth = *depth_of(value);
    } else if (!is_number) {
      return std::nullopt;
    } else if (name == "--seed") {
      a.fuzz.seed = number;
    } else if (name == "--first") {
      a.fuzz.first = number;
    } else if (name == "--cases") {
      a.fuzz.cases = static_cast<int64_t>(number);
      if (!limited) a.fuzz.seconds = 1e9;
    } else if (name == "--seconds") {
      a.fuzz.seconds = static_cast<double>(number);
      limited = true;
    } else if (name == "--jobs") {
      a.fuzz.jobs = static_cast<int>(number);
    } else if (name == "--failures") {
      a.fuzz.max_failures = number;
    } else if (name == "--show") {
      a.show = number;
    } else {
      return std::nullopt;
    }
  }
  return a;
}

int run_one(const FuzzCase& c, const Arguments& a) {
  std::printf("%s", to_string(c).c_str());
  std::fflush(stdout);
  if (a.lowered) {
    const Replayed state = replay(c.task, c.trace);
    if (state.ok()) {
      std::printf("\n%s\n", print_nest(state.state()).c_str());
      std::fflush(stdout);
      if (const auto lowered = lower(state.state())) {
        std::printf("%s%s\n", to_string(lowered->pack).c_str(), to_string(lowered->main).c_str());
        std::fflush(stdout);
        if (a.fuzz.depth >= Depth::Passes) {
          std::printf("%s\n", to_string(run_passes(lowered->main, c.task.target)).c_str());
          std::fflush(stdout);
        }
      }
    }
  }
  const Verdict v = compare_evaluations(c, a.fuzz.depth);
  static constexpr const char* kKinds[] = {"passed", "refused", "FAILED"};
  std::printf("%s", kKinds[static_cast<size_t>(v.kind)]);
  if (v.failed()) std::printf(" %s", std::string(name_of(v.activity)).c_str());
  std::printf(" %s\n", v.text.c_str());
  return v.failed() ? 1 : 0;
}

}  // namespace

int fuzz_cli(int argc, char** argv, CaseSource source) {
  std::optional<Arguments> a = parse(argc, argv);
  if (!a) {
    std::fprintf(stderr, "usage: see tests/fuzz_cli.h\n");
    return 2;
  }
  if (!a->replay.empty()) {
    std::ifstream file(a->replay);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Result<FuzzCase> c = parse_case(text);
    if (!c) {
      std::fprintf(stderr, "%s: %s\n", a->replay.c_str(), to_string(c.error()).c_str());
      return 2;
    }
    return run_one(*c, *a);
  }
  if (a->show) {
    Tally tally;
    return run_one(source(a->fuzz.seed, *a->show, tally, {}), *a);
  }
  a->fuzz.source = std::move(source);
  std::printf("seed %llu\n", static_cast<unsigned long long>(a->fuzz.seed));
  std::fflush(stdout);
  const FuzzReport report = run_fuzz(a->fuzz);
  std::printf("%s\n", to_string(report.tally).c_str());
  for (const FuzzFailure& f : report.failures) {
    std::printf("%s\n", to_string(f, a->fuzz.seed).c_str());
  }
  return report.failures.empty() ? 0 : 1;
}

}  // namespace espalier
