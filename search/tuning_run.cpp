#include "espalier/search/tuning_run.h"

#include <algorithm>
#include <chrono>

#include "espalier/search/default_schedule.h"
#include "espalier/search/parts.h"
#include "espalier/search/race.h"
#include "espalier/search/slots.h"

namespace espalier {
namespace {

double system_clock_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

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
  if (options.custom_policy == nullptr) ESP_TRY_VOID(check_policy(options.policy));
  return {};
}

TuningRun::TuningRun(const Task& task, const TuneOptions& options, Measurer& measurer)
    : task_(task),
      options_(options),
      measurer_(measurer),
      space_(task, options.custom_rules),
      clock_(options.clock ? options.clock : system_clock_seconds),
      started_(clock_() - options.seconds_before) {}

Result<std::unique_ptr<TuningRun>> TuningRun::make(const Task& task, const TuneOptions& options,
                                                   Measurer& measurer) {
  ESP_TRY_VOID(check_options(options));
  std::unique_ptr<TuningRun> run(new TuningRun(task, options, measurer));
  run->policy_ = options.custom_policy;
  if (run->policy_ == nullptr) {
    ESP_TRY(const PolicyParts parts,
            complete_parts(options.parts, task, options.policy, options.search_threads,
                           {run->clock_, &run->report_.seconds_by_phase}));
    ESP_TRY(run->owned_policy_, make_policy(options.policy, parts));
    run->policy_ = run->owned_policy_.get();
  }
  ESP_TRY_VOID(run->open_records());
  return run;
}

double TuningRun::models_seconds() const {
  const PhaseSeconds& p = report_.seconds_by_phase;
  return p.draft + p.features + p.score + p.fit;
}

Result<void> TuningRun::open_records() {
  key_.workload = task_.workload.empty() ? to_string(task_.dag) : task_.workload;
  key_.dag_hash = task_.dag.hash();
  key_.target = to_string(task_.target);
  key_.threads = task_.threads;
  key_.policy = policy_->name();
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

// The first n of a whole batch, which is asked for even where the budget has room for less: a run
// with a larger budget then goes through the same proposals and finds them in the records.
std::vector<Proposal> TuningRun::ask_policy(int n) {
  const double before = clock_();
  const double in_models = models_seconds();
  std::vector<Proposal> fresh;
  // A policy that repeats itself is asked again a few times, then taken to be at its end.
  for (int attempt = 0; attempt < 3 && fresh.empty(); ++attempt) {
    for (Proposal& p : policy_->propose(context(), options_.batch)) {
      if (static_cast<int>(fresh.size()) == n) break;
      if (history_.propose(p.candidate.hash())) fresh.push_back(std::move(p));
    }
  }
  report_.seconds_by_phase.sample += clock_() - before - (models_seconds() - in_models);
  return fresh;
}

// Whether the whole space is small, and every candidate of it was proposed.
bool TuningRun::all_measured() const {
  const auto all = enumerate_space(space_, kCountableSpace);
  return all && std::all_of(all->begin(), all->end(),
                            [&](const Candidate& c) { return history_.proposed(c.hash()); });
}

Result<void> TuningRun::start(int trials) {
  std::vector<Proposal> first;
  auto add = [&](Candidate candidate, Provenance provenance) {
    if (history_.propose(candidate.hash())) {
      first.push_back({std::move(candidate), provenance, 0});
    }
  };
  add(space_.preferred()->candidate(), Provenance::Default);
  ESP_TRY_VOID(evaluate(std::move(first)));
  first.clear();
  know_seeds(space_, options_.seeds);
  for (const Seed& seed : options_.seeds) add(seed.candidate, Provenance::Transferred);
  const size_t room = static_cast<size_t>(std::max(trials - 1, 0));
  if (first.size() > room) first.resize(room);
  if (first.empty()) return {};
  return evaluate(std::move(first));
}

Result<bool> TuningRun::advance(int trials) {
  std::vector<Proposal> batch = ask_policy(trials);
  if (batch.empty()) return false;
  ESP_TRY_VOID(evaluate(std::move(batch)));
  return true;
}

Result<TuneReport> TuningRun::finish(StopReason why) {
  const bool ended = why == StopReason::Converged && all_measured();
  report_.stopped = ended ? StopReason::Exhausted : why;
  report_.trials = trials();
  if (history_.best() == nullptr) {
    if (report_.stopped != StopReason::Interrupted) return nothing_ran();
  } else {
    ESP_TRY_VOID(choose_winner());
    if (!interrupted()) measure_naive();
    if (interrupted()) report_.stopped = StopReason::Interrupted;
  }
  report_.seconds = elapsed();
  PhaseSeconds& p = report_.seconds_by_phase;
  p.other = 0;
  p.other = std::max(0.0, report_.seconds - p.total());
  return std::move(report_);
}

TuningRecord TuningRun::make_record(int trial, const Proposal& proposal, const std::string& trace,
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

Result<void> TuningRun::evaluate(std::vector<Proposal> proposals) {
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
      // What an interrupt cut short says nothing about the candidate.
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
  policy_->observe(context(), batch);
  return {};
}

void TuningRun::count(const Observation& o, int trial, bool from_records) {
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
void TuningRun::attribute(double wall, std::span<const MeasureResult> results) {
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

Result<void> TuningRun::choose_winner() {
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
  // Noise does not bridge more than a few percent.
  auto is_far = [&](size_t i) {
    return all[i].result.time_us > 1.05 * all[ranked[0]].result.time_us;
  };
  size_t leaders = std::min(ranked.size(), static_cast<size_t>(std::max(options_.finalists, 1)));
  while (leaders > 1 && is_far(ranked[leaders - 1])) --leaders;
  ranked.resize(leaders);
  if (initial && std::find(ranked.begin(), ranked.end(), *initial) == ranked.end()) {
    ranked.push_back(*initial);
  }

  std::vector<Candidate> finalists;
  std::optional<size_t> initial_at;
  for (size_t k = 0; k < ranked.size(); ++k) {
    finalists.push_back(all[ranked[k]].proposal.candidate);
    if (initial && ranked[k] == *initial) initial_at = k;
  }
  // Where there is no comparison, the times of the search decide.
  RaceResult result;
  for (size_t i : ranked) result.times.push_back({all[i].result.time_us});
  bool compared = false;
  if (!interrupted()) {
    const double before = clock_();
    Result<RaceResult> raced = race(measurer_, finalists, initial_at, options_.final_rounds);
    report_.seconds_by_phase.measure += clock_() - before;
    compared = raced.ok();
    if (compared) {
      result = std::move(*raced);
    } else if (!interrupted()) {
      warn("the final comparison failed, so the times of the search decide: " +
           raced.error().message);
    }
  }
  const size_t winner = result.winner;
  report_.default_us.reset();
  if (initial_at) report_.default_us = robust_centre(result.times[*initial_at]);

  const Observation& best = all[ranked[winner]];
  report_.best = best.proposal.candidate;
  report_.best_us = robust_centre(result.times[winner]);
  report_.best_gflops = task_.dag.flops() / report_.best_us / 1e3;
  report_.max_error = best.result.max_error;
  report_.verified = true;
  report_.record = make_record(trial_of_[ranked[winner]], best.proposal,
                               to_string(best.proposal.candidate.trace(), task_), best.result);
  if (!compared) return {};
  // Who looks the task up later finds the one that won, not the one whose search time was luckiest.
  report_.record.final = true;
  report_.record.result.times_us = result.times[winner];
  report_.record.result.time_us = report_.best_us;
  // A run that found all its answers in the file leaves the file as it is.
  if (options_.records.empty() || (has_final_ && !measured_)) return {};
  Result<void> written = database_.append(report_.record);
  if (!written.ok()) return with_note(std::move(written).error(), "while recording the winner");
  return {};
}

void TuningRun::measure_naive() {
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

Error TuningRun::nothing_ran() const {
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

}  // namespace espalier
