// espalier tune: searches for a fast schedule.
#include <unistd.h>

#include <chrono>
#include <climits>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <system_error>
#include <thread>

#include "command_line/interrupt.h"
#include "espalier/codegen/llvm_version.h"
#include "espalier/runtime/call_timer.h"
#include "espalier/runtime/worker_client.h"
#include "espalier/search/database.h"
#include "espalier/search/default_schedule.h"
#include "espalier/search/parts.h"
#include "espalier/search/tune_network.h"
#include "espalier/support/hash.h"
#include "espalier/support/json.h"
#include "espalier/support/version.h"
#include "espalier/transfer/paper_policy.h"
#include "espalier/transfer/transfer.h"
#include "progress.h"
#include "task_options.h"
#include "tune_report.h"
#include "verb.h"

namespace espalier::cli {
namespace {

// This program, which is its own measuring process. The link itself works too, should the file have
// been replaced meanwhile.
std::string own_program() {
  constexpr const char* kLink = "/proc/self/exe";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(kLink, error);
  return !error && access(path.c_str(), X_OK) == 0 ? path.string() : kLink;
}

// Trained by bench/models/train_base; below build/<preset> as below an installation's prefix.
std::string base_model() {
  const std::filesystem::path prefix =
      std::filesystem::path(own_program()).parent_path().parent_path();
  return (prefix / "share/espalier/models/base.json").string();
}

std::string as_text(const std::vector<Proposal>& proposals, const Task& task) {
  std::string text;
  for (size_t i = 0; i < proposals.size(); ++i) {
    const Proposal& p = proposals[i];
    text += "# " + std::to_string(i) + " " + hash_to_hex(p.candidate.hash()) + " " +
            std::string(name_of(p.provenance)) + "\n" + to_string(p.candidate.trace(), task) + "\n";
  }
  return text;
}

std::string as_json(const std::vector<Proposal>& proposals, const Task& task) {
  Json all = Json::array();
  for (const Proposal& p : proposals) {
    all.push(Json::object({{"candidate", hash_to_hex(p.candidate.hash())},
                           {"provenance", name_of(p.provenance)},
                           {"decisions", p.candidate.decisions},
                           {"trace", to_string(p.candidate.trace(), task)}}));
  }
  return Json::object({{"proposals", std::move(all)}}).dump() + "\n";
}

// The first failure of each kind, which stands for the others in what people read.
class FailureNotes {
 public:
  void add(const MeasureResult& result) {
    if (!result.ok()) first_.try_emplace(result.status, result.error);
  }
  void print() const {
    for (const auto& [status, error] : first_) {
      write_to_stderr("first failure of kind '" + std::string(name_of(status)) + "': " + error +
                      "\n");
    }
  }

 private:
  std::map<MeasureStatus, std::string> first_;
};

// The policy that is about records of other workloads, and so is none of search/policy.h.
constexpr const char* kPaper = "paper";

// The records of --seeds-from.
class SeedSource {
 public:
  static Result<SeedSource> open(const std::string& path, Console& console) {
    SeedSource source;
    ESP_TRY(Database database, Database::open(path));
    for (const std::string& warning : database.warnings()) console.warn(warning);
    source.database_ = std::make_unique<const Database>(std::move(database));
    source.index_ = std::make_unique<const DonorIndex>(*source.database_);
    return source;
  }

  const DonorIndex& index() const { return *index_; }
  std::vector<Seed> seeds(const Task& task) const { return transfer(*index_, task); }

 private:
  std::unique_ptr<const Database> database_;
  std::unique_ptr<const DonorIndex> index_;
};

class TuneVerb final : public Verb {
 public:
  std::string_view name() const override { return "tune"; }
  std::string_view summary() const override {
    return "search for the fastest schedule of a workload";
  }

  void declare(Options& options) override {
    task_.declare(options);
    options.integer("--trials", trials_, 0, INT_MAX,
                    "candidates to measure; 0: the default schedule alone (200; for a network "
                    "64 a kernel, together)");
    options.positive("--seconds", seconds_, "S", "of wall time, all included (no limit)");
    options.text(
        "--policy", policy_, "NAME",
        "auto|random|ansor|evolutionary|draft_verify|descent, perhaps with settings (auto); "
        "paper with --seeds-from");
    options.integer("--seed", seed_, 0, INT64_MAX, "of the search");
    options.text("--records", records_, "FILE", "append results, and resume from them");
    options.text("--seeds-from", seeds_from_, "FILE",
                 "measure first what these records of other workloads say about this one");
    options.text("--network", network_, "FILE",
                 "tune the kernels of a network together, each as long as it pays");
    options.integer("--propose", propose_, 1, 1000000,
                    "print the first N candidates, measure none");
    options.integer("--search-threads", search_threads_, 1, 1024,
                    "threads of the search itself, which change nothing but its speed");
    options.text("--model", model_, "FILE",
                 "start from what a saved model has learnt; 'none': from nothing (the one that "
                 "comes with the program)");
    options.text("--save-model", save_model_, "FILE", "what the model has learnt in the end");
    options.flag("--flush-cache", flush_cache_, "measure with cold caches");
    options.flag("--json", json_, "one JSON object on standard output");
    options.flag("--quiet", quiet_, "no progress on standard error");
  }

  Result<ExitCode> run(Console& console) override {
    console.quiet = quiet_;
    const bool paper = policy_ == kPaper;
    if (paper && (!seeds_from_ || network_)) {
      return usage_error("--policy paper replays schedules of other workloads on one; say with ",
                         "--seeds-from which records they are in, and name one --workload");
    }
    if (const auto policy = check_policy(policy_); !paper && !policy.ok()) {
      return usage_error(with_note(policy.error(), "in --policy"));
    }
    if (paper && (model_ || save_model_)) {
      return usage_error("--policy paper has no model for --model and --save-model");
    }
    if (seeds_from_) {
      ESP_TRY(source_, SeedSource::open(*seeds_from_, console));
    }
    if (network_) return search_network(console);
    ESP_TRY(const Task task, task_.make_task());
    TuneOptions options = tune_options();
    std::unique_ptr<PaperPolicy> replaying;
    if (paper) {
      replaying = std::make_unique<PaperPolicy>(source_->index());
      options.custom_policy = replaying.get();
    } else if (source_) {
      options.seeds = source_->seeds(task);
      console.note("seeds: " + std::to_string(options.seeds.size()) + " from " +
                   std::to_string(source_->index().donors().size()) + " workloads" +
                   (options.seeds.empty() ? "" : "; first: " + options.seeds[0].origin));
    }
    return propose_ ? print_proposals(task, std::move(options), console)
                    : search(task, std::move(options), console);
  }

 private:
  TuneOptions tune_options() const {
    TuneOptions options;
    options.trials = static_cast<int>(trials_.value_or(kTrials));
    options.seconds = seconds_.value_or(0);
    options.seed = static_cast<uint64_t>(seed_);
    options.policy = policy_;
    options.search_threads = static_cast<int>(search_threads_);
    options.records = records_;
    options.flush_cache = flush_cache_;
    options.device = host_cpu_fingerprint();
    options.compiler = version();
    options.llvm = llvm_version();
    return options;
  }

  Result<ExitCode> print_proposals(const Task& task, TuneOptions options, Console& console) const {
    ESP_TRY(options.parts, make_parts(task, console));
    ESP_TRY(const std::vector<Proposal> proposals,
            propose(task, static_cast<int>(*propose_), options));
    console.print(json_ ? as_json(proposals, task) : as_text(proposals, task));
    return kGood;
  }

  // What can be known before anything is computed.
  Result<void> check_before_search(const Target& target) const {
    if (!target.runs_on(host_target())) {
      return make_error(ErrorCode::Unsupported, "candidates are measured on this machine, which ",
                        "cannot run code for target '", to_string(target),
                        "'; leave out --target or name what it has");
    }
    // A file that cannot be used is no reason to make a reference first.
    return records_.empty() ? Result<void>() : as_void(Database::open_for_append(records_));
  }

  Result<std::unique_ptr<Measurer>> make_measurer(const Task& task,
                                                  const std::atomic<bool>& interrupt) const {
    // Reference and bounds in f64 beside each output, and several copies of the inputs.
    ESP_TRY_VOID(check_memory(task.dag, 8));
    MeasureOptions measuring;
    measuring.worker = own_program();
    measuring.flush_cache = flush_cache_;
    measuring.interrupt = &interrupt;
    ESP_TRY(auto measurer, WorkerMeasurer::make(task, measuring, default_candidate));
    return std::unique_ptr<Measurer>(std::move(measurer));
  }

  // The models of a task, of which the one that learns starts from --model.
  Result<PolicyParts> make_parts(const Task& task, Console& console) const {
    const bool by_default = !model_ && starts_from_base(policy_);
    PolicyParts parts;
    if (model_ != "none" && (model_ || by_default)) {
      const std::string path = model_.value_or(base_model());
      Result<std::string> text = read_file(path);
      if (text.ok() && text->empty()) {
        text = make_error(ErrorCode::Parse, "'", path, "' is empty; expected a saved model");
      }
      const Result<PolicyParts> whole = text.ok() ? whole_parts(*text, task) : text.error();
      if (whole.ok()) {
        parts.base = *text;
      } else if (by_default) {
        console.note("the search starts without the model that comes with the program: " +
                     whole.error().message);
      } else {
        return text.ok() ? with_note(whole.error(), "in ", path) : whole.error();
      }
    }
    return save_model_ ? whole_parts(parts.base, task) : parts;
  }

  Result<PolicyParts> whole_parts(const std::string& base, const Task& task) const {
    PolicyParts parts;
    parts.base = base;
    return complete_parts(std::move(parts), task, policy_, static_cast<int>(search_threads_));
  }

  // The reference of a large task takes seconds and knows no interrupt, so somebody else makes it
  // and this thread looks out for one. Nothing: it came, and that thread still works with what it
  // was given; the process can only be left as it is.
  std::optional<Result<std::unique_ptr<Measurer>>> make_measurer_or_leave(
      const Task& task, const std::atomic<bool>& interrupt) const {
    std::packaged_task<Result<std::unique_ptr<Measurer>>()> making(
        [this, &task, &interrupt] { return make_measurer(task, interrupt); });
    auto made = making.get_future();
    std::thread maker;
    try {
      maker = std::thread(std::move(making));
    } catch (const std::system_error& error) {
      return make_error(ErrorCode::Resource, "cannot start a thread: ", error.what());
    }
    while (made.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
      if (!interrupt) continue;
      maker.detach();
      return std::nullopt;
    }
    maker.join();
    return made.get();
  }

  Result<ExitCode> search(const Task& task, TuneOptions options, Console& console) const {
    const double start_us = now_us();
    // From here on an interrupt is answered with a report.
    options.interrupt = &flag_on_interrupt();
    ESP_TRY_VOID(check_before_search(task.target));
    ESP_TRY(options.parts, make_parts(task, console));
    const TuneRequest request{task_.workload(), policy_, records_, options.seed};
    auto made = make_measurer_or_leave(task, *options.interrupt);
    if (!made) {
      TuneReport nothing;
      nothing.stopped = StopReason::Interrupted;
      nothing.seconds = (now_us() - start_us) / 1e6;
      print(console, task, request, nothing);
      _exit(kInterrupted);
    }
    ESP_TRY(const auto measurer, *std::move(made));

    ProgressLine line(quiet_, options.seconds, task.dag.flops());
    FailureNotes failures;
    options.progress = [&](const TuneProgress& progress) {
      failures.add(progress.last->result);
      line.update(progress);
    };
    options.log = [&](const std::string& text) { line.interject(text); };
    options.seconds_before = (now_us() - start_us) / 1e6;
    const Result<TuneReport> report = tune(task, options, *measurer);
    line.finish();
    if (!report.ok()) return report.error();
    if (!quiet_) failures.print();
    if (save_model_) ESP_TRY_VOID(write_file(*save_model_, options.parts.verifier->save()));

    print(console, task, request, *report);
    return report->stopped == StopReason::Interrupted ? kInterrupted : kGood;
  }

  Result<ExitCode> search_network(Console& console) const {
    const double start_us = now_us();
    if (!task_.workload().empty())
      return usage_error("--network and --workload exclude each other");
    if (propose_) return usage_error("--propose needs one --workload");
    if (save_model_) return usage_error("--save-model needs one --workload");
    ESP_TRY(const Target target, task_.make_target());
    ESP_TRY_VOID(check_before_search(target));
    ESP_TRY(const Network network, load_network(*network_, target, task_.threads()));

    NetworkOptions options;
    options.each = tune_options();
    options.each.interrupt = &flag_on_interrupt();
    if (trials_) options.trials = static_cast<int>(*trials_);
    options.seconds = seconds_.value_or(0);
    options.parts = [&](const Task& task) { return make_parts(task, console); };
    if (source_) options.seeds = [this](const Task& task) { return source_->seeds(task); };
    FailureNotes failures;
    ProgressLine line(quiet_, options.seconds, 0);
    options.progress = [&](size_t task, const TuneProgress& progress) {
      failures.add(progress.last->result);
      line.update(progress, " | kernel " + std::to_string(task + 1) + " of " +
                                std::to_string(network.tasks.size()));
    };
    options.each.log = [&](const std::string& text) { line.interject(text); };
    options.each.seconds_before = (now_us() - start_us) / 1e6;
    const Result<NetworkReport> report = tune_network(network, options, [&](const Task& task) {
      return make_measurer(task, *options.each.interrupt);
    });
    line.finish();
    if (!report.ok()) return report.error();
    if (!quiet_) failures.print();

    const TuneRequest request{"", policy_, records_, options.each.seed};
    console.print(json_ ? cli::as_json(network, request, *report)
                        : cli::as_text(network, request, *report));
    return report->stopped == StopReason::Interrupted ? kInterrupted : kGood;
  }

  void print(Console& console, const Task& task, const TuneRequest& request,
             const TuneReport& report) const {
    console.print(json_ ? cli::as_json(task, request, report)
                        : cli::as_text(task, request, report));
  }

  template <class T>
  static Result<void> as_void(const Result<T>& result) {
    return result.ok() ? Result<void>() : result.error();
  }

  TaskOptions task_;
  static constexpr int kTrials = 200;

  int64_t seed_ = 0, search_threads_ = default_threads();
  std::optional<int64_t> trials_, propose_;
  std::optional<double> seconds_;
  std::string policy_ = "auto", records_;
  std::optional<std::string> seeds_from_, network_, model_, save_model_;
  bool flush_cache_ = false, json_ = false, quiet_ = false;
  std::optional<SeedSource> source_;
};

}  // namespace

std::unique_ptr<Verb> make_tune_verb() { return std::make_unique<TuneVerb>(); }

}  // namespace espalier::cli
