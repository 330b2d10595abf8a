// race_seeds: what schedules that were carried over are worth, beside the default schedule and what
// tuning found, in one interleaved run.
//
//   race_seeds --workload SPEC [--target TEXT] [--threads N] [--rounds R] [--own-program]
//              [--ladder N] [--seed S] [--base FILE] records.jsonl
//
// All seeds that transfer() makes from the records of other programs (--own-program: from those of
// this program for other targets or threads) are timed as a search does; then race the default
// schedule, the tuned one, the first seeds by rank and the fastest. --ladder N adds the method of
// the transfer-tuning paper with N donors, and the steps from there to ours. Prints a line of JSON;
// speeds are medians over rounds of the default schedule's time over one's own.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "command_line/console.h"
#include "command_line/exit_code.h"
#include "command_line/options.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/runtime/inputs.h"
#include "espalier/runtime/worker_client.h"
#include "espalier/runtime/worker_server.h"
#include "espalier/search/default_schedule.h"
#include "espalier/search/parts.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"
#include "transfer/donations/ladder.h"

namespace espalier::bench {
namespace {

struct Settings {
  std::string workload, target = "host", base;
  std::vector<std::string> files;
  int64_t threads = 1, rounds = 7, ladder = 0, seed = 1;
  bool own_program = false;
};

constexpr size_t kMostSeeds = 64;
constexpr size_t kTop = 4;         // by rank
constexpr size_t kFastest = 8;     // of all seeds, by their first times
constexpr size_t kFewFastest = 6;  // of a rung

// Measures each schedule once, however often it is asked for.
class Track {
 public:
  static Result<Track> make(const Task& task, MeasureOptions options,
                            const std::vector<Array>& arguments, const Reference& reference) {
    Track track;
    options.worker = std::filesystem::read_symlink("/proc/self/exe").string();
    ESP_TRY(track.measurer_, WorkerMeasurer::make(task, options, arguments, reference));
    return track;
  }

  const MeasureResult& of(const Candidate& candidate) {
    auto [at, fresh] = results_.try_emplace(candidate.hash());
    if (fresh) {
      at->second = measurer_->measure(std::span(&candidate, 1), best_us_)[0];
      const bool better = at->second.ok() && (best_us_ == 0 || at->second.time_us < best_us_);
      if (better) best_us_ = at->second.time_us;
    }
    return at->second;
  }

  // The fastest `n` of those that run right, the best first.
  std::vector<Candidate> fastest(const std::vector<Candidate>& candidates, size_t n) {
    std::vector<Candidate> good;
    for (const Candidate& c : candidates) {
      if (of(c).ok()) good.push_back(c);
    }
    std::sort(good.begin(), good.end(), [&](const Candidate& a, const Candidate& b) {
      return std::pair(of(a).time_us, a.hash()) < std::pair(of(b).time_us, b.hash());
    });
    if (good.size() > n) good.resize(n);
    return good;
  }

  // Speeds over the first one.
  Result<std::map<uint64_t, double>> race(const std::vector<Candidate>& candidates, int rounds) {
    ESP_TRY(const auto times, measurer_->interleave(candidates, rounds));
    std::map<uint64_t, double> speeds;
    for (size_t i = 0; i < candidates.size(); ++i) {
      std::vector<double> ratios;
      for (size_t r = 0; r < times[i].size(); ++r) ratios.push_back(times[0][r] / times[i][r]);
      speeds[candidates[i].hash()] = robust_centre(std::move(ratios));
    }
    return speeds;
  }

 private:
  std::unique_ptr<WorkerMeasurer> measurer_;
  std::map<uint64_t, MeasureResult> results_;
  double best_us_ = 0;
};

class Race {
 public:
  Race(const Settings& settings, const Donations& donations, Task task)
      : settings_(settings), donations_(donations), task_(std::move(task)) {}

  Result<Json> run() {
    const std::vector<Array> arguments = make_inputs(task_.dag, 0);
    ESP_TRY(const Reference reference, make_reference(task_, arguments, default_candidate));
    ESP_TRY(track_, Track::make(task_, MeasureOptions(), arguments, reference));
    const Candidate plain = default_candidate(task_);
    if (!track_->of(plain).ok()) {
      return make_error(ErrorCode::Internal,
                        "the default schedule fails: ", track_->of(plain).error);
    }
    enter(plain);
    ESP_TRY(const std::optional<Candidate> tuned, tuned_schedule());
    if (tuned && track_->of(*tuned).ok()) enter(*tuned);

    const Seeds seeds = seeds_for([&](const TuningRecord&) { return true; }, kMostSeeds);
    std::vector<Candidate> all;
    for (const TransferSeed& s : seeds.ranked) all.push_back(s.candidate);
    for (size_t i = 0; i < std::min(all.size(), kTop); ++i) enter(all[i]);
    for (const Candidate& c : track_->fastest(all, kFastest)) enter(c);

    std::optional<Ladder> ladder;
    std::optional<Track> once;
    if (settings_.ladder > 0) {
      ladder = climb(donations_, task_, static_cast<size_t>(settings_.ladder),
                     static_cast<uint64_t>(settings_.seed));
      MeasureOptions one_call;
      one_call.repeats = one_call.leader_repeats = 1;
      one_call.min_batch_ms = 1e-3;
      ESP_TRY(once, Track::make(task_, one_call, arguments, reference));
      for (const Rung* rung : {&ladder->paper, &ladder->map, &ladder->refit}) {
        for (const Candidate& c : once->fastest(rung->candidates, 1)) enter(c);
      }
      for (const Candidate& c : track_->fastest(ladder->refit.candidates, kFewFastest)) enter(c);
      for (const TransferSeed& s : ranked_of(*ladder).ranked) enter(s.candidate);
    }

    std::erase_if(racing_, [&](const Candidate& c) { return !track_->of(c).ok(); });
    ESP_TRY(speeds_, track_->race(racing_, static_cast<int>(settings_.rounds)));
    Json line = Json::object({{"workload", task_.workload},
                              {"target", to_string(task_.target)},
                              {"threads", task_.threads},
                              {"default_us", track_->of(plain).time_us},
                              {"tuned", tuned ? speed_of(*tuned) : Json()}});
    ESP_TRY(Json of_seeds, report(seeds, all));
    line.set("seeds", std::move(of_seeds));
    if (ladder) line.set("ladder", report(*ladder, *once, plain));
    return line;
  }

 private:
  void enter(const Candidate& candidate) {
    if (entered_.insert(candidate.hash()).second) racing_.push_back(candidate);
  }

  Json speed_of(const Candidate& candidate) const {
    const auto at = speeds_.find(candidate.hash());
    return at == speeds_.end() ? Json() : Json(at->second);
  }

  bool is_own(const TuningRecord& r) const {
    return r.run.dag_hash == task_.dag.hash() && r.run.target == to_string(task_.target) &&
           r.run.threads == task_.threads;
  }

  // What tuning found for this very task.
  Result<std::optional<Candidate>> tuned_schedule() const {
    const TuningRecord* best = nullptr;
    for (size_t i : donations_.database().of_dag(task_.dag.hash())) {
      const TuningRecord& r = donations_.database().records()[i];
      if (is_usable(r) && is_own(r) && (best == nullptr || is_preferred(r, *best))) best = &r;
    }
    if (best == nullptr) return std::optional<Candidate>();
    ESP_TRY(Trace trace, parse_trace(best->trace, task_));
    return std::optional<Candidate>(make_candidate(std::move(trace)));
  }

  Seeds seeds_for(const std::function<bool(const TuningRecord&)>& accept, size_t n) const {
    TransferOptions options;
    options.seeds = n;
    options.accept = [&](const TuningRecord& r) {
      const bool same = r.run.dag_hash == task_.dag.hash();
      return same == settings_.own_program && !is_own(r) && accept(r);
    };
    return transfer(donations_.index(), task_, options);
  }

  Seeds ranked_of(const Ladder& ladder) const {
    std::set<uint64_t> donors;
    for (const Donation& d : ladder.donors) donors.insert(d.task->dag.hash());
    return seeds_for([&](const TuningRecord& r) { return donors.contains(r.run.dag_hash); }, kTop);
  }

  Result<Json> report(const Seeds& seeds, const std::vector<Candidate>& all) {
    std::vector<float> learned(all.size());
    if (!settings_.base.empty()) {
      PolicyParts parts;
      ESP_TRY(parts.base, read_file(settings_.base));
      ESP_TRY(parts, complete_parts(std::move(parts), task_, "auto", 1));
      parts.verifier->score(task_, all, learned);
    }
    Json rows = Json::array();
    for (size_t i = 0; i < all.size(); ++i) {
      const TransferSeed& s = seeds.ranked[i];
      const MeasureResult& r = track_->of(all[i]);
      int mended = 0, dropped = 0, added = 0;
      for (const StepReport& step : s.steps) {
        mended += step.fate == StepFate::Mended ? 1 : 0;
        dropped += step.fate == StepFate::Dropped ? 1 : 0;
        added += step.fate == StepFate::Added ? 1 : 0;
      }
      Json row = Json::object({{"level", static_cast<int>(s.map.level)},
                               {"road", name_of(s.road)},
                               {"donor", s.donor->workload},
                               {"closeness", s.closeness},
                               {"analyzer", s.expected},
                               {"learned", learned[i]},
                               {"distance", s.distance},
                               {"gain", s.gain},
                               {"mended", mended},
                               {"dropped", dropped},
                               {"added", added},
                               {"status", name_of(r.status)},
                               {"time_us", r.time_us},
                               {"speed", speed_of(all[i])}});
      if (!r.ok()) {
        row.set("error", r.error).set("trace", to_string(all[i].trace(), task_));
      }
      rows.push(std::move(row));
    }
    return rows;
  }

  // A rung: of its schedules, the one that a single call found to be the fastest.
  Json report(const Rung& rung, Track& once) {
    int wrong = 0, failed = 0;
    for (const Candidate& c : rung.candidates) {
      const MeasureStatus status = once.of(c).status;
      wrong += status == MeasureStatus::Wrong ? 1 : 0;
      failed += status != MeasureStatus::Ok && status != MeasureStatus::Wrong ? 1 : 0;
    }
    const std::vector<Candidate> chosen = once.fastest(rung.candidates, 1);
    return Json::object(
        {{"distinct", rung.candidates.size()},
         {"does_not_apply", rung.invalid},
         {"failed", failed},
         {"wrong", wrong},
         {"us_of_one_call", chosen.empty() ? Json() : Json(once.of(chosen[0]).time_us)},
         {"speed", chosen.empty() ? Json() : speed_of(chosen[0])}});
  }

  Json report(const Ladder& ladder, Track& once, const Candidate& plain) {
    double robust = 1;
    for (const Candidate& c : track_->fastest(ladder.refit.candidates, kFewFastest)) {
      robust = std::max(robust, speed_of(c).as_double().value_or(0));
    }
    double ranked = 1;
    for (const TransferSeed& s : ranked_of(ladder).ranked) {
      ranked = std::max(ranked, speed_of(s.candidate).as_double().value_or(0));
    }
    return Json::object({{"in_class", ladder.in_class},
                         {"donors", ladder.donors.size()},
                         {"paper", report(ladder.paper, once)},
                         {"map", report(ladder.map, once)},
                         {"refit", report(ladder.refit, once)},
                         {"default_us_of_one_call", once.of(plain).time_us},
                         {"robust", robust},
                         {"ranked", ranked}});
  }

  const Settings& settings_;
  const Donations& donations_;
  const Task task_;
  std::optional<Track> track_;
  std::vector<Candidate> racing_;  // the default schedule first
  std::set<uint64_t> entered_;
  std::map<uint64_t, double> speeds_;
};

Result<void> run(const Settings& settings, cli::Console& console) {
  ESP_TRY(const Donations donations, Donations::open(settings.files[0]));
  Task task;
  ESP_TRY(const Workload parsed, parse_workload(settings.workload));
  task.workload = to_string(parsed);
  ESP_TRY(task.dag, make_workload(parsed));
  ESP_TRY(task.target, parse_target(settings.target));
  task.threads = static_cast<int>(settings.threads);
  ESP_TRY(const Json line, Race(settings, donations, std::move(task)).run());
  console.print(line.dump() + "\n");
  return {};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  // The measurer starts this program again.
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return run_worker(0, 1);
  cli::prepare_standard_streams();
  cli::Console console;
  bench::Settings settings;
  cli::Options options("race_seeds", "what schedules that were carried over are worth");
  options.text("--workload", settings.workload, "SPEC", "whose they are to be");
  options.text("--target", settings.target, "TEXT", "machine to make code for (host)");
  options.integer("--threads", settings.threads, 1, 4096, "of the kernels (1)");
  options.integer("--rounds", settings.rounds, 1, 1000, "of the race (7)");
  options.integer("--ladder", settings.ladder, 0, 100000,
                  "donors for the paper's method; 0: without it (0)");
  options.integer("--seed", settings.seed, 0, INT64_MAX, "of the draw of those donors (1)");
  options.text("--base", settings.base, "FILE", "a saved model whose scores are to be printed");
  options.flag("--own-program", settings.own_program,
               "from records of the same workload for other targets or threads");
  options.positionals("records.jsonl", settings.files, "a file of tuning records");
  const auto parsed = options.parse({argv + 1, static_cast<size_t>(argc - 1)});
  if (parsed.ok() && !*parsed) {
    console.print(options.help());
    return cli::kGood;
  }
  Result<void> done = parsed.ok() ? Result<void>() : Result<void>(parsed.error());
  if (parsed.ok()) {
    done = settings.files.size() != 1 || settings.workload.empty()
               ? cli::usage_error("expected --workload SPEC and one file of records")
               : bench::run(settings, console);
  }
  if (done.ok()) return cli::kGood;
  console.error(done.error());
  return cli::exit_code(done.error());
}
