// transfer(): schedules for a task from the records of others.
//
//   Database db = Database::open("matmul.jsonl").value();
//   Seeds seeds = transfer(db, task);
//   tune(task, {.trials = 32, .seeds = seeds}, measurer);
//
// match (transfer/match.h) finds how a measured program stands for the task, retarget
// (transfer/retarget.h) rewrites its schedule and refit (transfer/refit.h) its numbers; for
// schedules that the sketch rules made, the same decisions are taken for the task as well
// (transfer/recall.h). What is left replays; measuring decides.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "espalier/cost_model/cost_model.h"
#include "espalier/search/policy.h"
#include "espalier/transfer/donor_index.h"
#include "espalier/transfer/match.h"
#include "espalier/transfer/retarget.h"

namespace espalier {

struct TransferOptions {
  size_t seeds = 8;          // to keep, the best first
  size_t donors = 12;        // programs to take schedules from, the nearest
  size_t candidates = 64;    // to carry over before they are ranked
  bool same_program = true;  // records of the task's own program count too
  MatchLevel widest = MatchLevel::Role;
  bool follow_decisions = true;  // also take the donor's structural decisions anew
  CostModel* model = nullptr;    // what is expected of a schedule; null: the analyzer
  // Which records may be used; empty: all.
  std::function<bool(const TuningRecord&)> accept;
};

// How a seed came about.
enum class SeedRoad : uint8_t {
  Verbatim,    // the record's own schedule, for the same program, machine and threads
  Retargeted,  // its steps, rewritten
  Decided,     // its decisions, taken again
};
std::string_view name_of(SeedRoad road);

struct TransferSeed {
  Candidate candidate;
  SeedRoad road = SeedRoad::Retargeted;
  size_t record = 0;                  // in the database
  std::shared_ptr<const Task> donor;  // what was measured there
  DagMap map;
  double distance = 0;                // of the extents that stand for one another, in powers of two
  double gain = 1;                    // of the donor's schedule over its default one; 1: not known
  double closeness = 0;               // by level, extents, gain and what was dropped
  double expected = 0;                // by the model
  std::vector<int> script;            // Decided: see Seed
  std::vector<StepReport> steps;      // Retargeted
  std::vector<FactorReport> factors;  // Retargeted and Decided

  // "transferred (L1 extents, retargeted) from conv2d:... trial 12, 143.1 us".
  std::string describe(const Database& database) const;
};

// A record that gave no seed, and why.
struct Declined {
  size_t record = 0;
  std::variant<Mismatch, RetargetFailure, std::string> why;
  std::string text;  // the reason in words
};

struct Seeds {
  // Best first: alternately by closeness and expectation together and by closeness alone, so that
  // no one error spoils the first few. All replay, and no two are the same schedule.
  std::vector<TransferSeed> ranked;
  std::vector<Declined> declined;
  std::vector<std::string> origins;  // of the ranked ones, for people

  operator std::vector<Seed>() const;
};

Seeds transfer(const DonorIndex& index, const Task& task, const TransferOptions& options = {});
Seeds transfer(const Database& database, const Task& task, const TransferOptions& options = {});

}  // namespace espalier
