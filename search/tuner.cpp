#include "espalier/search/tuner.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "espalier/search/database.h"
#include "espalier/search/default_schedule.h"
#include "espalier/search/slots.h"

namespace espalier {
namespace {

double system_clock_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

double median(std::vector<double> values) { return robust_centre(std::move(values)); }

// The policy of the options, and the name it goes by.
struct PolicyHandle {
  std::unique_ptr<SearchPolicy> owned;
  SearchPolicy* policy = nullptr;

  static Result<PolicyHandle> make(const TuneOptions& options) {
    PolicyHandle handle;
    if (options.custom_policy != nullptr) {
      handle.policy = options.custom_policy;
      return handle;
    }
    ESP_TRY(handle.owned, make_policy(options.policy));
    handle.policy = handle.owned.get();
    return handle;
  }
};

Result<void> check_options(const TuneOptions& options) {
  auto bad = [](const auto&... parts) { return make_error(ErrorCode::InvalidArgument, parts...); };
  if (options.trials < 0) return bad("'trials' must be at least 0, got ", options.trials);
  if (!(options.seconds >= 0)) return bad("'seconds' must be at least 0");
  if (options.search_threads < 1) {
    return bad("'search_threads' must be at least 1, got ", options.search_threads);
  }
  if (options.batch < 1) return bad("'batch' must be at least 1, got ", options.batch);
  if (options.final_rounds < 1) {
    return bad("'final_rounds' must be at least 1, got ", options.final_rounds);
  }
  return {};
}

class Tuner {
 public:
  Tuner(const Task& task, const TuneOptions& options, Measurer& measurer)
      : task_(task),
        options_(options),
        measurer_(measurer),
        space_(task, options.custom_rules),
        clock_(options.clock ? options.clock : system_clock_seconds),
        started_(clock_() - options.seconds_before) {}

  Result<TuneReport> run();

 private:
  double elapsed() const { return clock_() - started_; }
  bool interrupted() const {
    return options_.interrupt != nullptr && options_.interrupt->load(std::memory_order_relaxed);
  }
  void warn(const std::string& text) const {
    if (options_.log) options_.log(text);
  }
  SearchContext context() const {
    return {space_, Rng(options_.seed), history_, options_.search_threads, options_.trials};
  }

  Result<void> open_records();
  Result<void> search();
  int next_batch() const;
  std::vector<Proposal> ask_policy(int n);
  bool all_measured() const;
  Result<void> evaluate(std::vector<Proposal> proposals);
  TuningRecord make_record(int trial, const Proposal& proposal, const std::string& trace,
                           const MeasureResult& result) const;
  void count(const Observation& o, int trial, bool from_records);
  void attribute(double wall, std::span<const MeasureResult> results);
  Result<void> choose_winner();
  void measure_naive();
  Error nothing_ran() const;

  const Task& task_;
  const TuneOptions& options_;
  Measurer& measurer_;
  SketchSpace space_;
  std::function<double()> clock_;
  double started_;

  PolicyHandle policy_;
  RunKey key_;
  Database database_;
  std::unordered_map<std::string, size_t> answers_;  // trace text -> record of the same run
  bool has_final_ = false;                           // that run was finished before
  bool measured_ = false;                            // and something more was measured now
  History history_;
  std::vector<int> trial_of_;  // by observation
  double batch_seconds_ = 0;   // of the last batch, a candidate
  TuneReport report_;
};

Result<void> Tuner::open_records() {
  key_.workload = task_.workload.empty() ? to_string(task_.dag) : task_.workload;
  key_.dag_hash = task_.dag.hash();
  key_.target = to_string(task_.target);
  key_.threads = task_.threads;
  key_.policy = policy_.policy->name();
  key_.seed = options_.seed;
  key_.compiler = options_.compiler;
  key_.llvm = options_.llvm;
  key_.flush_cache = options_.flush_cache;
  if (options_.records.empty()) return {};
  ESP_TRY(database_, Database::open_for_append(options_.records));
  for (const std::string& w : database_.warnings()) warn(w);
  for (size_t i : database_.of_dag(key_.dag_hash)) {
    const TuningRecord& r = database_.records()[i];
    const bool same_run = r.run.target == key_.target && r.run.threads == key_.threads &&
                          r.run.policy == key_.policy && r.run.seed == key_.seed &&
                          r.run.compiler == key_.compiler && r.run.llvm == key_.llvm &&
                          r.run.flush_cache == key_.flush_cache;
    if (!same_run) continue;
    if (r.final) has_final_ = true;
    if (!r.final) answers_.emplace(r.trace, i);
  }
  return {};
}

Result<TuneReport> Tuner::run() {
  ESP_TRY_VOID(check_options(options_));
  ESP_TRY(policy_, PolicyHandle::make(options_));
  ESP_TRY_VOID(open_records());
  ESP_TRY_VOID(search());
  report_.trials = static_cast<int>(history_.observations().size());
  if (options_.trials == 0) report_.trials = 0;
  if (history_.best() == nullptr) {
    if (report_.stopped != StopReason::Interrupted) return nothing_ran();
  } else {
    ESP_TRY_VOID(choose_winner());
    if (!interrupted()) measure_naive();
  }
  report_.seconds = elapsed();
  PhaseSeconds& p = report_.seconds_by_phase;
  p.other = std::max(0.0, report_.seconds - p.sample - p.draft - p.features - p.score - p.fit -
                              p.compile - p.measure - p.verify);
  return std::move(report_);
}

// How many candidates the budget has room for now; 0: the budget is used up.
int Tuner::next_batch() const {
  int n =
      std::min(options_.batch, options_.trials - static_cast<int>(history_.observations().size()));
  if (options_.seconds > 0 && n > 0) {
    // The final comparison needs its share.
    const double reserve = std::min(0.15 * options_.seconds, 3.0);
    const double left = options_.seconds - reserve - elapsed();
    if (left <= 0) return 0;
    if (batch_seconds_ > 0) {
      n = std::min(n, std::max(0, static_cast<int>(left / batch_seconds_)));
    }
  }
  return std::max(n, 0);
}

// The first n of a whole batch, which is asked for even where the budget has room for less: a run
// with a larger budget then goes through the same proposals and finds them in the records.
std::vector<Proposal> Tuner::ask_policy(int n) {
  const double before = clock_();
  std::vector<Proposal> fresh;
  // A policy that repeats itself is asked again a few times, then taken to be at its end.
  for (int attempt = 0; attempt < 3 && fresh.empty(); ++attempt) {
    for (Proposal& p : policy_.policy->propose(context(), options_.batch)) {
      if (static_cast<int>(fresh.size()) == n) break;
      if (history_.propose(p.candidate.hash())) fresh.push_back(std::move(p));
    }
  }
  report_.seconds_by_phase.sample += clock_() - before;
  return fresh;
}

// Whether the whole space is small, and every candidate of it was proposed.
bool Tuner::all_measured() const {
  const auto all = enumerate_space(space_, kCountableSpace);
  return all && std::all_of(all->begin(), all->end(),
                            [&](const Candidate& c) { return history_.proposed(c.hash()); });
}

Result<void> Tuner::search() {
  std::vector<Proposal> first;
  auto add = [&](Candidate candidate, Provenance provenance) {
    if (history_.propose(candidate.hash())) {
      first.push_back({std::move(candidate), provenance, 0});
    }
  };
  add(space_.preferred()->candidate(), Provenance::Default);
  ESP_TRY_VOID(evaluate(std::move(first)));
  first.clear();
  for (const Seed& seed : options_.seeds) add(seed.candidate, Provenance::Transferred);
  const size_t room = static_cast<size_t>(std::max(options_.trials - 1, 0));
  if (first.size() > room) first.resize(room);
  if (!first.empty()) ESP_TRY_VOID(evaluate(std::move(first)));

  report_.stopped = StopReason::Trials;
  while (true) {
    if (interrupted()) {
      report_.stopped = StopReason::Interrupted;
      return {};
    }
    const bool trials_left = options_.trials > static_cast<int>(history_.observations().size());
    if (!trials_left) return {};
    const int n = next_batch();
    if (n == 0) {
      report_.stopped = StopReason::Seconds;
      return {};
    }
    std::vector<Proposal> batch = ask_policy(n);
    if (batch.empty()) {
      report_.stopped = all_measured() ? StopReason::Exhausted : StopReason::Converged;
      return {};
    }
    ESP_TRY_VOID(evaluate(std::move(batch)));
  }
}

TuningRecord Tuner::make_record(int trial, const Proposal& proposal, const std::string& trace,
                                const MeasureResult& result) const {
  TuningRecord record;
  record.run = key_;
  record.device = options_.device;
  record.trial = trial;
  record.provenance = proposal.provenance;
  record.parent = proposal.parent;
  record.candidate = proposal.candidate.hash();
  record.trace = trace;
  record.decisions = proposal.candidate.decisions;
  record.result = result;
  record.verified = result.ok();
  return record;
}

Result<void> Tuner::evaluate(std::vector<Proposal> proposals) {
  const int first_trial = static_cast<int>(history_.observations().size());
  std::vector<MeasureResult> results(proposals.size());
  std::vector<std::string> traces;
  std::vector<bool> answered(proposals.size(), false), dropped(proposals.size(), false);
  std::vector<Candidate> unknown;
  std::vector<size_t> unknown_at;
  for (size_t i = 0; i < proposals.size(); ++i) {
    traces.push_back(to_string(proposals[i].candidate.trace(), task_));
    const auto known = answers_.find(traces[i]);
    if (known != answers_.end()) {
      answered[i] = true;
      results[i] = database_.records()[known->second].result;
    } else {
      unknown.push_back(proposals[i].candidate);
      unknown_at.push_back(i);
    }
  }

  Result<void> written;
  if (!unknown.empty()) {
    measured_ = true;
    const double before = clock_();
    const Observation* best = history_.best();
    const double best_us = best == nullptr ? 0 : best->result.time_us;
    // Each result is on disk as soon as it is known: a kill loses the line in flight.
    auto keep = [&](size_t k, const MeasureResult& result) {
      const size_t i = unknown_at[k];
      // An interrupt reaches the measuring process too: its failures are not the candidate's.
      dropped[i] = interrupted() && !result.ok();
      if (dropped[i] || !written.ok()) return;
      written = database_.append(
          make_record(first_trial + static_cast<int>(i), proposals[i], traces[i], result));
    };
    const std::vector<MeasureResult> measured = measurer_.measure_each(unknown, best_us, keep);
    ESP_CHECK(measured.size() == unknown.size(), "a measurer gave ", measured.size(),
              " results for ", unknown.size(), " candidates");
    for (size_t k = 0; k < measured.size(); ++k) results[unknown_at[k]] = measured[k];
    const double wall = clock_() - before;
    batch_seconds_ = wall / static_cast<double>(unknown.size());
    attribute(wall, measured);
    if (!written.ok()) {
      return with_note(std::move(written).error(), "while recording trial ", first_trial,
                       " or one soon after it; what was recorded before is whole");
    }
  }

  std::vector<Observation> batch;
  for (size_t i = 0; i < proposals.size(); ++i) {
    if (dropped[i]) continue;
    Observation o{std::move(proposals[i]), 0, std::move(results[i])};
    o.hash = o.proposal.candidate.hash();
    count(o, first_trial + static_cast<int>(i), answered[i]);
    history_.observe(o);
    batch.push_back(std::move(o));
  }
  policy_.policy->observe(context(), batch);
  return {};
}

void Tuner::count(const Observation& o, int trial, bool from_records) {
  trial_of_.push_back(trial);
  switch (o.result.status) {
    case MeasureStatus::Ok: break;
    case MeasureStatus::CompileError: ++report_.failed.compile; break;
    case MeasureStatus::RunError: ++report_.failed.run; break;
    case MeasureStatus::Timeout: ++report_.failed.timeout; break;
    case MeasureStatus::Wrong: ++report_.failed.wrong; break;
  }
  const double now = elapsed();
  if (o.proposal.provenance == Provenance::Default && o.result.ok()) {
    report_.default_us = o.result.time_us;
  }
  const bool better = o.result.ok() && (report_.best_us == 0 || o.result.time_us < report_.best_us);
  if (better) {
    report_.best_us = o.result.time_us;
    report_.curve.push_back({trial + 1, now, o.result.time_us});
  }
  if (options_.progress) {
    options_.progress({trial + 1, options_.trials, now, report_.best_us,
                       report_.default_us.value_or(0), report_.failed.total(), from_records, &o});
  }
}

// The measurer compiles on several cores and times on one, so its phases are shares of the wall
// time in proportion to what the candidates took.
void Tuner::attribute(double wall, std::span<const MeasureResult> results) {
  double compile = 0, check = 0;
  for (const MeasureResult& r : results) {
    compile += r.compile_ms / 1000;
    check += r.check_ms / 1000;
  }
  const double scale = compile + check > wall ? wall / (compile + check) : 1;
  PhaseSeconds& p = report_.seconds_by_phase;
  p.compile += compile * scale;
  p.verify += check * scale;
  p.measure += wall - (compile + check) * scale;
}

Result<void> Tuner::choose_winner() {
  const std::vector<Observation>& all = history_.observations();
  std::vector<size_t> ranked;
  std::optional<size_t> initial;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].result.ok()) continue;
    ranked.push_back(i);
    if (all[i].proposal.provenance == Provenance::Default) initial = i;
  }
  std::sort(ranked.begin(), ranked.end(), [&](size_t a, size_t b) {
    return std::pair(all[a].result.time_us, a) < std::pair(all[b].result.time_us, b);
  });
  ranked.resize(std::min(ranked.size(), static_cast<size_t>(std::max(options_.finalists, 1))));
  if (initial && std::find(ranked.begin(), ranked.end(), *initial) == ranked.end()) {
    ranked.push_back(*initial);
  }

  std::vector<Candidate> finalists;
  for (size_t i : ranked) finalists.push_back(all[i].proposal.candidate);
  // Times by round; those of the search, one round, where there is no comparison.
  bool compared = false;
  std::vector<std::vector<double>> times;
  for (size_t i : ranked) times.push_back({all[i].result.time_us});
  if (!interrupted()) {
    const double before = clock_();
    Result<std::vector<std::vector<double>>> timed =
        measurer_.interleave(finalists, options_.final_rounds);
    report_.seconds_by_phase.measure += clock_() - before;
    compared = timed.ok();
    if (compared) {
      times = std::move(*timed);
    } else {
      warn("the final comparison failed, so the times of the search decide: " +
           timed.error().message);
    }
  }

  size_t winner = 0, initial_at = ranked.size();
  for (size_t k = 0; k < ranked.size(); ++k) {
    if (initial && ranked[k] == *initial) initial_at = k;
    if (median(times[k]) < median(times[winner])) winner = k;
  }
  report_.default_us.reset();
  if (initial_at < ranked.size()) {
    report_.default_us = median(times[initial_at]);
    // Faster than the default schedule round by round, or the default it is.
    std::vector<double> ratios;
    for (size_t r = 0; r < times[winner].size(); ++r) {
      ratios.push_back(times[winner][r] / times[initial_at][r]);
    }
    if (median(std::move(ratios)) >= 1) winner = initial_at;
  }

  const Observation& best = all[ranked[winner]];
  report_.best = best.proposal.candidate;
  report_.best_us = median(times[winner]);
  report_.best_gflops = task_.dag.flops() / report_.best_us / 1e3;
  report_.max_error = best.result.max_error;
  report_.verified = true;
  report_.record = make_record(trial_of_[ranked[winner]], best.proposal,
                               to_string(best.proposal.candidate.trace(), task_), best.result);
  if (!compared) return {};
  // Who looks the task up later finds the one that won, not the one whose search time was luckiest.
  report_.record.final = true;
  report_.record.result.times_us = times[winner];
  report_.record.result.time_us = report_.best_us;
  // A run that found all its answers in the file leaves the file as it is.
  if (options_.records.empty() || (has_final_ && !measured_)) return {};
  Result<void> written = database_.append(report_.record);
  if (!written.ok()) return with_note(std::move(written).error(), "while recording the winner");
  return {};
}

void Tuner::measure_naive() {
  // Untiled code does some 10^9 operations a second: what would take more than two seconds is not
  // waited for, nor what the budget has no room for.
  constexpr double kOperationsPerSecond = 1e9;
  const double expected = task_.dag.flops() / kOperationsPerSecond;
  if (!options_.measure_naive || expected > 2) return;
  if (options_.seconds > 0 && elapsed() + 3 * expected > options_.seconds) return;
  const Candidate naive = naive_candidate(task_);
  const double before = clock_();
  // Told the best time, the measurer gives up after the first batch, which is all that is needed.
  const std::vector<MeasureResult> result =
      measurer_.measure(std::span(&naive, 1), report_.best_us);
  report_.seconds_by_phase.measure += clock_() - before;
  if (result.size() == 1 && result[0].ok() && result[0].time_us <= 2e6) {
    report_.naive_us = result[0].time_us;
  }
}

Error Tuner::nothing_ran() const {
  Error error = make_error(ErrorCode::NotFound, "none of ", history_.observations().size(),
                           " candidates ran right");
  std::vector<MeasureStatus> told;
  for (const Observation& o : history_.observations()) {
    if (std::find(told.begin(), told.end(), o.result.status) != told.end()) continue;
    told.push_back(o.result.status);
    error.notes.push_back(detail::concat("first failure of the kind '", name_of(o.result.status),
                                         "': ", o.result.error));
  }
  return error;
}

}  // namespace

std::string_view name_of(StopReason r) {
  switch (r) {
    case StopReason::Trials: return "trials";
    case StopReason::Seconds: return "seconds";
    case StopReason::Converged: return "converged";
    case StopReason::Exhausted: return "exhausted";
    case StopReason::Interrupted: return "interrupted";
  }
  ESP_UNREACHABLE();
}

Result<TuneReport> tune(const Task& task, const TuneOptions& options, Measurer& measurer) {
  return Tuner(task, options, measurer).run();
}

Result<std::vector<Proposal>> propose(const Task& task, int n, const TuneOptions& options) {
  ESP_TRY_VOID(check_options(options));
  ESP_TRY(const PolicyHandle policy, PolicyHandle::make(options));
  const SketchSpace space(task, options.custom_rules);
  History history;
  std::vector<Proposal> proposals;
  auto add = [&](Proposal p) {
    if (static_cast<int>(proposals.size()) < n && history.propose(p.candidate.hash())) {
      proposals.push_back(std::move(p));
    }
  };
  add({space.preferred()->candidate(), Provenance::Default, 0});
  for (const Seed& seed : options.seeds) add({seed.candidate, Provenance::Transferred, 0});
  while (static_cast<int>(proposals.size()) < n) {
    const size_t before = proposals.size();
    const SearchContext context{space, Rng(options.seed), history, options.search_threads,
                                options.trials};
    for (Proposal& p : policy.policy->propose(context, options.batch)) add(std::move(p));
    if (proposals.size() == before) break;
  }
  return proposals;
}

}  // namespace espalier
