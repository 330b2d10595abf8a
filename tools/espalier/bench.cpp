// espalier bench: a suite of workloads beside other libraries.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "command_line/interrupt.h"
#include "conductor/report.h"
#include "conductor/suite.h"
#include "espalier/search/database.h"
#include "espalier/support/fd.h"
#include "task_options.h"
#include "verb.h"

namespace espalier::cli {
namespace {

using bench::Report;
using bench::Row;
using bench::Suite;

class BenchVerb final : public Verb {
 public:
  std::string_view name() const override { return "bench"; }
  std::string_view summary() const override { return "time a suite beside other libraries"; }

  void declare(Options& options) override {
    options.text("--suite", suite_, "NAME|FILE",
                 "one of the project's suites (" + bench::list_suites(folders_.suites) +
                     "), a file with a workload a line, or a network's JSON");
    options.texts("-w,--workload", workloads_, "SPEC|FILE",
                  "op:key=value,... or a file with the text of a DAG; may be repeated");
    options.text("--records", records_, "FILE", "take the best known schedules from these records");
    options.text("--peers", peers_, "LIST", "of onednn, openblas, eigen; or none (" + peers_ + ")");
    options.integer("--rounds", rounds_, 1, 100000, "each with all contestants, in random order");
    options.text("--target", target_, "TEXT",
                 "machine to make code for (host); avx2 holds everybody to AVX2");
    options.integer("--threads", threads_, 1, 1024, "of every contestant");
    options.flag("--naive", naive_, "also time the definition's loops, compiled by clang from C");
    options.positive("--batch-ms", batch_ms_, "MS",
                     "least duration of a round, of at most 60000 (20)", 60e3);
    options.integer("--seed", seed_, 0, INT64_MAX, "of the order");
    options.optional_text("--json", json_, "-", "[FILE]",
                          "Google Benchmark's JSON and a summary, to a file or standard output");
    options.flag("--quiet", quiet_, "no progress on standard error");
  }

  Result<ExitCode> run(Console& console) override {
    console.quiet = quiet_;
    const std::atomic<bool>& interrupt = flag_on_interrupt();
    Report report;
    ESP_TRY(report.options, race_options(console));
    ESP_TRY(const Suite suite, lines());
    report.suite = suite.name;
    ESP_TRY_VOID(check_json());

    bench::Race race(report.options, interrupt);
    for (const Suite::Line& line : suite.lines) {
      auto row = run_line(race, line.workload);
      if (!row.ok() && row.error().code == ErrorCode::Interrupted) {
        report.interrupted = true;
        break;
      }
      if (!row.ok()) return std::move(row).error();
      row->count = line.count;
      console.note("[" + std::to_string(report.rows.size() + 1) + "/" +
                   std::to_string(suite.lines.size()) + "] " + row->workload + ": " +
                   as_line(*row));
      report.rows.push_back(*std::move(row));
    }
    ESP_TRY_VOID(deliver(report, console));
    if (report.interrupted) return kInterrupted;
    for (const Row& row : report.rows) {
      if (row.failure.empty()) return kGood;
    }
    return make_error(ErrorCode::Unsupported, "none of the ", report.rows.size(),
                      " workloads could be done; the first: ", report.rows[0].failure);
  }

 private:
  Result<bench::RaceOptions> race_options(Console& console) const {
    bench::RaceOptions options;
    auto target = parse_target(target_);
    if (!target.ok()) return usage_error(with_note(std::move(target).error(), "in --target"));
    options.target = *std::move(target);
    if (!options.target.runs_on(host_target())) {
      return make_error(ErrorCode::Unsupported, "kernels are timed on this machine, which cannot ",
                        "run code for target '", to_string(options.target),
                        "'; leave out --target or name what it has");
    }
    ESP_TRY(options.peers, peers());
    options.threads = static_cast<int>(threads_);
    options.rounds = rounds_;
    options.batch_ms = batch_ms_.value_or(20);
    options.seed = static_cast<uint64_t>(seed_);
    options.records = records_;
    options.naive = naive_;
    options.folders = folders_;
    if (!records_.empty()) {
      ESP_TRY(const Database database, Database::open(records_));
      for (const std::string& warning : database.warnings()) console.warn(warning);
    }
    return options;
  }

  Result<std::vector<std::string>> peers() const {
    std::vector<std::string> chosen;
    if (peers_ == "none") return chosen;
    for (size_t begin = 0; begin <= peers_.size();) {
      const size_t end = std::min(peers_.find(',', begin), peers_.size());
      const std::string peer = peers_.substr(begin, end - begin);
      const auto& known = bench::known_peers();
      if (std::find(known.begin(), known.end(), peer) == known.end()) {
        return usage_error("--peers: there is no peer '", peer.substr(0, 60),
                           "'; expected a list of onednn, openblas and eigen, or none");
      }
      if (std::find(chosen.begin(), chosen.end(), peer) == chosen.end()) chosen.push_back(peer);
      begin = end + 1;
    }
    return chosen;
  }

  // What was asked for: a mistake on the command line is wrong usage, one in a suite is a row.
  Result<Suite> lines() const {
    Suite suite;
    if (!suite_.empty()) {
      ESP_TRY(suite, bench::read_suite(suite_, folders_.suites));
    }
    for (const std::string& workload : workloads_) {
      if (auto dag = dag_of_option(workload); !dag.ok()) return std::move(dag).error();
      suite.lines.push_back({workload, 1});
    }
    if (suite.lines.empty()) {
      return usage_error("there is nothing to do; expected --suite (",
                         bench::list_suites(folders_.suites), ", or a file) or --workload");
    }
    return suite;
  }

  static Result<Row> run_line(bench::Race& race, const std::string& workload) {
    Row undone;
    undone.workload = workload;
    const auto dag = dag_of_option(workload);
    // A reference in f64, its bounds and the widened ones beside each output.
    const Result<void> fits = dag.ok() ? check_memory(*dag, 12) : Result<void>(dag.error());
    if (!fits.ok()) {
      undone.failure = fits.error().message;
      return undone;
    }
    return race.run(workload);
  }

  // A file that cannot be written is no reason to measure first.
  Result<void> check_json() const {
    if (json_.empty() || json_ == "-") return {};
    const std::filesystem::path path = json_;
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return system_error(EISDIR, "write", json_);
    if (access(folder.c_str(), W_OK) != 0) return system_error(errno, "write", json_);
    return {};
  }

  Result<void> deliver(const Report& report, Console& console) const {
    if (json_.empty()) {
      console.print(as_text(report));
    } else if (json_ == "-") {
      console.print(as_json(report).dump() + "\n");
    } else {
      return write_file(json_, as_json(report).dump_pretty() + "\n");
    }
    return {};
  }

  const bench::Folders folders_ = bench::find_folders();
  std::string suite_, records_, target_ = "host", peers_ = "onednn,openblas,eigen", json_;
  std::vector<std::string> workloads_;
  int64_t threads_ = default_threads(), rounds_ = 15, seed_ = 0;
  std::optional<double> batch_ms_;
  bool naive_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_bench_verb() { return std::make_unique<BenchVerb>(); }

}  // namespace espalier::cli
