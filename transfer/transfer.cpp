#include "espalier/transfer/transfer.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "espalier/cost_model/analyzer.h"
#include "espalier/search/slots.h"
#include "espalier/support/check.h"
#include "espalier/support/device_model.h"
#include "espalier/support/number.h"
#include "espalier/transfer/recall.h"

namespace espalier {
namespace {

// Sketches are looked for in the donor's space for so many donors at most: it takes milliseconds.
constexpr size_t kMostRecalled = 6;
constexpr size_t kSchedulesEach = 3;  // of a program
constexpr double kRepeated = 1;       // off the closeness for each seed of the same program before
// What a factor of e in the expected time is worth in closeness: chosen on kernels of networks, so
// that the first seed is seldom a bad one.
constexpr double kExpectation = 2;

double log_extent(const StageInfo& info, const std::vector<int>& axes) {
  double sum = 0;
  for (int a : axes) {
    sum += std::log2(static_cast<double>(std::max<int64_t>(1, axis_of(info, a).extent)));
  }
  return sum;
}

double distance_of(const DagMap& map, const ComputeDag& donor, const ComputeDag& target) {
  const StageMap* anchor = map.of_donor(map.donor_anchor);
  if (anchor == nullptr) return 0;
  double sum = 0;
  for (const AxisGroup& g : anchor->axes) {
    sum += std::abs(log_extent(donor.stage(anchor->donor), g.donor) -
                    log_extent(target.stage(anchor->target), g.target));
  }
  return sum;
}

// The closer the program and its extents the better, then the more the schedule was worth to the
// donor.
double closeness_of(const TransferSeed& seed) {
  static constexpr double kLevel[] = {0, 0, 0.5, 1, 2};
  double score = -kLevel[static_cast<size_t>(seed.map.level)] - 0.25 * seed.distance +
                 0.5 * std::log2(std::max(seed.gain, 0.25));
  for (const StepReport& s : seed.steps) {
    if (s.fate == StepFate::Dropped && s.reason != FateReason::OneThread) score -= 0.15;
  }
  return score;
}

class Carrier {
 public:
  Carrier(const DonorIndex& index, const Task& task, const TransferOptions& options)
      : index_(index), task_(task), options_(options), target_text_(to_string(task.target)) {}

  Seeds run() {
    for (const Donor* donor : index_.nearest(task_.dag, 4 * options_.donors)) {
      if (used_ == options_.donors || found_.size() >= options_.candidates) break;
      if (!options_.same_program && donor->dag_hash == task_.dag.hash()) continue;
      carry(*donor);
    }
    rank();
    return std::move(seeds_);
  }

 private:
  void decline(size_t record, std::variant<Mismatch, RetargetFailure, std::string> why,
               std::string text) {
    seeds_.declined.push_back({record, std::move(why), std::move(text)});
  }

  void carry(const Donor& donor) {
    std::vector<Donor::Schedule> schedules;
    for (const Donor::Schedule& s : donor.schedules) {
      const TuningRecord& r = index_.database().records()[s.record];
      if (!options_.accept || options_.accept(r)) schedules.push_back(s);
    }
    if (schedules.empty()) return;
    const Match m = match(donor.dag, task_.dag);
    if (!m || m.map().level > options_.widest) {
      if (!m) {
        decline(schedules[0].record, m.reason(), explain(m.reason(), donor.dag, task_.dag));
      } else {
        decline(schedules[0].record, std::string("level"),
                "it matches at " + std::string(name_of(m.map().level)) + " only");
      }
      return;
    }
    ++used_;
    // What was measured on a machine of the same kind comes first, else in the index's order.
    size_t carried = 0;
    for (int near = 3; near >= 0; --near) {
      for (const Donor::Schedule& s : schedules) {
        if (is_near(s.record) == near && carried++ < kSchedulesEach) carry(donor, s, m.map());
      }
    }
  }

  int is_near(size_t record) const {
    const TuningRecord& r = index_.database().records()[record];
    return (r.run.target == target_text_ ? 2 : 0) + (r.run.threads == task_.threads ? 1 : 0);
  }

  void carry(const Donor& donor, const Donor::Schedule& schedule, const DagMap& map) {
    const TuningRecord& record = index_.database().records()[schedule.record];
    const std::shared_ptr<const Task> from = index_.task_of(donor, record);
    if (!from) return decline(schedule.record, std::string("target"), "its target does not read");
    Result<Trace> trace = parse_trace(record.trace, *from);
    if (!trace.ok()) {
      return decline(schedule.record, std::string("trace"),
                     "its schedule no longer parses: " + trace.error().message);
    }
    TransferSeed base;
    base.record = schedule.record;
    base.donor = from;
    base.map = map;
    base.distance = distance_of(map, donor.dag, task_.dag);
    if (schedule.default_us > 0 && record.result.time_us > 0) {
      base.gain = schedule.default_us / record.result.time_us;
    }
    const bool verbatim = donor.dag_hash == task_.dag.hash() && is_near(schedule.record) == 3;
    bool groups = false;
    for (const StageMap& s : map.stages) {
      for (const AxisGroup& g : s.axes) groups = groups || g.target.size() > 1;
    }
    for (const bool fuse : {true, false}) {
      if (!fuse && !groups) break;
      RetargetOptions retargeting;
      retargeting.fuse_groups = fuse;
      RetargetResult moved = retarget(map, *from, *trace, task_, retargeting);
      if (!moved) {
        decline(schedule.record, moved.failure(), explain(moved.failure(), *from, *trace));
        continue;
      }
      Retargeted r = moved.take();
      TransferSeed seed = base;
      seed.road = verbatim ? SeedRoad::Verbatim : SeedRoad::Retargeted;
      seed.candidate = std::move(r.candidate);
      seed.steps = std::move(r.steps);
      seed.factors = std::move(r.factors);
      found_.push_back(std::move(seed));
    }
    if (verbatim || !options_.follow_decisions || recalled_ == kMostRecalled) return;
    ++recalled_;
    const SketchSpace donor_space(*from);
    const std::optional<Recalled> decided = recall(donor_space, *trace);
    if (!decided) return;
    if (!space_) space_.emplace(task_);
    std::optional<Followed> followed = follow(*decided, *from, map, *space_);
    if (!followed) return;
    TransferSeed seed = base;
    seed.road = SeedRoad::Decided;
    seed.candidate = std::move(followed->candidate);
    seed.script = std::move(followed->script);
    seed.factors = std::move(followed->factors);
    found_.push_back(std::move(seed));
  }

  // Of equal schedules the first stays. If the rules come to it as well, in their words: a search
  // can then vary its decisions.
  void merge_equal() {
    std::unordered_map<uint64_t, TransferSeed*> first;
    for (TransferSeed& s : found_) {
      TransferSeed*& kept = first[s.candidate.hash()];
      if (kept == nullptr) {
        kept = &s;
        continue;
      }
      if (kept->script.empty() && !s.script.empty()) {
        kept->candidate = std::move(s.candidate);
        kept->script = std::move(s.script);
        kept->factors = std::move(s.factors);
      }
      s.candidate = {};
    }
    std::erase_if(found_, [](const TransferSeed& s) { return !s.candidate.sketch; });
  }

  void rank() {
    // Replay is the judge, whatever made the candidate.
    std::erase_if(found_, [&](const TransferSeed& s) {
      const Replayed replayed = replay(task_, s.candidate);
      if (replayed.ok()) return false;
      decline(s.record, RetargetFailure{RetargetFailure::Kind::Rejected, replayed.rejection()},
              explain(replayed.rejection(), task_, s.candidate.trace()));
      return true;
    });
    merge_equal();
    for (TransferSeed& s : found_) s.closeness = closeness_of(s);
    expect();
    // What was measured for this very task needs no guess.
    const auto own = std::find_if(found_.begin(), found_.end(), [](const TransferSeed& s) {
      return s.road == SeedRoad::Verbatim;
    });
    if (own != found_.end() && options_.seeds > 0) take(&*own);
    while (seeds_.ranked.size() < std::min(options_.seeds, found_.size())) {
      take(next(seeds_.ranked.size() % 2 == 0 ? kExpectation : 0));
    }
  }

  void expect() {
    std::unique_ptr<CostModel> analyzer;
    if (options_.model == nullptr) analyzer = make_analyzer(data_sheet(task_.target));
    CostModel& model = analyzer ? *analyzer : *options_.model;
    std::vector<Candidate> candidates;
    for (const TransferSeed& s : found_) candidates.push_back(s.candidate);
    std::vector<float> scores(candidates.size(), 0);
    model.score(task_, candidates, scores);
    for (size_t i = 0; i < found_.size(); ++i) {
      found_[i].expected = static_cast<double>(scores[i]);
    }
  }

  // The best of those that are left. Several seeds of one program count less than the first of
  // another.
  TransferSeed* next(double expectation) {
    TransferSeed* best = nullptr;
    double best_score = 0;
    for (TransferSeed& s : found_) {
      if (!s.candidate.sketch) continue;  // taken
      double score = s.closeness - kRepeated * taken_of_[s.donor->dag.hash()];
      if (expectation > 0) score += expectation * s.expected;
      if (best != nullptr && score <= best_score) continue;
      best = &s;
      best_score = score;
    }
    return best;
  }

  void take(TransferSeed* seed) {
    ++taken_of_[seed->donor->dag.hash()];
    seeds_.origins.push_back(seed->describe(index_.database()));
    seeds_.ranked.push_back(std::move(*seed));
    seed->candidate = {};
  }

  const DonorIndex& index_;
  const Task& task_;
  const TransferOptions& options_;
  const std::string target_text_;
  std::optional<SketchSpace> space_;
  std::vector<TransferSeed> found_;
  std::unordered_map<uint64_t, int> taken_of_;  // seeds, by donor
  size_t used_ = 0, recalled_ = 0;
  Seeds seeds_;
};

}  // namespace

std::string_view name_of(SeedRoad road) {
  switch (road) {
    case SeedRoad::Verbatim: return "verbatim";
    case SeedRoad::Retargeted: return "retargeted";
    case SeedRoad::Decided: return "decided alike";
  }
  ESP_UNREACHABLE("seed road ", static_cast<int>(road));
}

std::string TransferSeed::describe(const Database& database) const {
  const TuningRecord& r = database.records()[record];
  const bool is_spec = r.run.workload.find('\n') == std::string::npos;
  return std::string(name_of(map.level)) + ", " + std::string(name_of(road)) + ", from " +
         (is_spec ? r.run.workload
                  : "a program of " + std::to_string(donor->dag.size()) + " stages") +
         ", trial " + std::to_string(r.trial) + " of policy " + r.run.policy + ", " +
         format_fixed(r.result.time_us, 1) + " us there";
}

Seeds::operator std::vector<Seed>() const {
  std::vector<Seed> seeds;
  for (size_t i = 0; i < ranked.size(); ++i)
    seeds.push_back({ranked[i].candidate, origins[i], ranked[i].script});
  return seeds;
}

Seeds transfer(const DonorIndex& index, const Task& task, const TransferOptions& options) {
  return Carrier(index, task, options).run();
}

Seeds transfer(const Database& database, const Task& task, const TransferOptions& options) {
  return transfer(DonorIndex(database), task, options);
}

}  // namespace espalier
