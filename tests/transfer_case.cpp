// Schedules that were carried over from another program, as cases of differential testing.
#include <string>

#include "espalier/ir/ops/workload.h"
#include "espalier/search/slots.h"
#include "espalier/transfer/match.h"
#include "espalier/transfer/recall.h"
#include "espalier/transfer/retarget.h"
#include "fuzz_case.h"
#include "random_dag.h"
#include "random_schedule.h"
#include "remade_dag.h"
#include "tally.h"

namespace espalier {
namespace {

constexpr int64_t kWork = 6000;
constexpr double kMostIterations = 2e6;

Target draw_machine(Rng& rng) {
  const Target host = host_target();
  return host.arch != "x86_64" || rng.chance(0.6) ? host : restrict_to_avx2(host);
}

int64_t draw_extent(Rng& rng, int64_t most) {
  static constexpr int64_t kAwkward[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33};
  int64_t e = kAwkward[rng.below(std::size(kAwkward))];
  return std::min(e, most);
}

// An operator of the library with random extents; which one, `kind` says.
std::string draw_spec(Rng& rng, int kind) {
  auto n = [&](int64_t most) { return std::to_string(draw_extent(rng, most)); };
  auto pick = [&](std::initializer_list<const char*> all) {
    return std::string(*(all.begin() + rng.below(all.size())));
  };
  const std::string epilogue =
      rng.chance(0.4) ? "" : ",epilogue=" + pick({"relu", "bias", "bias+relu", "bias+add+relu"});
  const std::string constant = rng.chance(0.5) ? ",weights=constant" : "";
  auto window = [&](const std::string& channels) {
    const std::string k = pick({"1", "3", "3", "2"});
    return "n=" + pick({"1", "1", "2"}) + ",h=" + std::to_string(3 + draw_extent(rng, 9)) +
           ",w=" + std::to_string(3 + draw_extent(rng, 9)) + channels + ",k=" + k +
           ",s=" + pick({"1", "1", "2"}) + (k == "3" ? ",p=" + pick({"0", "1"}) : "");
  };
  switch (kind) {
    case 0:
      return "matmul:m=" + n(33) + ",n=" + n(33) + ",k=" + n(17) +
             (constant.empty() && rng.chance(0.3) ? ",ta=1" : "") +
             (rng.chance(0.3) ? ",tb=1" : "") + constant + epilogue;
    case 1: return "conv2d:" + window(",ci=" + n(8) + ",co=" + n(17)) + epilogue;
    case 2: return "batch_matmul:b=" + n(3) + ",m=" + n(17) + ",n=" + n(17) + ",k=" + n(16);
    case 3:
      return "conv1d:n=1,l=" + std::to_string(3 + draw_extent(rng, 16)) + ",ci=" + n(8) +
             ",co=" + n(17) + ",k=" + pick({"1", "3"}) + epilogue;
    case 4: return "depthwise_conv2d:" + window(",c=" + n(17)) + epilogue;
    case 5: return "max_pool2d:" + window(",c=" + n(17));
    case 6: return "softmax:rows=" + n(17) + ",cols=" + n(33);
    case 7: return "layer_norm:rows=" + n(17) + ",cols=" + n(33);
    default: return "global_avg_pool2d:n=1,h=" + n(9) + ",w=" + n(9) + ",c=" + n(33);
  }
}

struct Pair {
  ComputeDag donor, target;
  bool exact = false, absent_terms = false;
};

Pair draw_pair(Rng& rng) {
  Pair pair;
  const double which = rng.uniform();
  if (which < 0.45) {
    // Kinds that may stand for one another lie side by side.
    static constexpr int kGroups[][2] = {{0, 3}, {0, 3}, {4, 5}, {6, 7}, {8, 8}};
    const auto& group = kGroups[rng.below(std::size(kGroups))];
    auto draw = [&] {
      while (true) {
        const Result<ComputeDag> dag = make_workload(
            parse_workload(draw_spec(rng, static_cast<int>(rng.range(group[0], group[1]))))
                .value());
        if (dag.ok()) return *dag;
      }
    };
    pair.donor = draw();
    pair.target = draw();
    pair.absent_terms = true;
    return pair;
  }
  Rng again = rng.fork(1);
  RandomDag random = random_dag(again, rng.range(8, kWork));
  pair.donor = random.dag;
  if (which < 0.75) {
    Rng once_more = rng.fork(1);
    random = random_dag(once_more, rng.range(8, kWork));
    pair.target = random.dag;
  } else {
    pair.target = remade(random.dag, rng, {rng.chance(0.8), rng.chance(0.6)});
  }
  if (rng.chance(0.2)) std::swap(pair.donor, pair.target);
  pair.exact = false;
  pair.absent_terms = true;
  return pair;
}

}  // namespace

FuzzCase draw_transfer(uint64_t seed, uint64_t number, Tally& tally,
                       const std::function<void(const std::string&)>& announce) {
  Rng rng = Rng(seed).fork(number);
  FuzzCase c;
  Task donor;
  DagMap map;
  for (int attempt = 0;; ++attempt) {
    const Pair pair = draw_pair(rng);
    donor.dag = pair.donor;
    c.task.dag = pair.target;
    const Match m = match(pair.donor, pair.target);
    if (m) {
      map = m.map();
      break;
    }
    ++tally.undrawn;
    if (attempt < 4) continue;
    c.task.dag = donor.dag;
    map = identity_map(donor.dag);
    break;
  }
  donor.target = draw_machine(rng);
  donor.threads = static_cast<int>(rng.range(1, 3));
  c.task.target = draw_machine(rng);
  c.task.threads = static_cast<int>(rng.range(1, 3));
  c.data_seed = rng.next() >> 16;
  const std::string about = to_string(c) + "# donor:\n" + to_string(donor.dag);
  if (announce) announce(about);

  Trace trace;
  const bool by_rule = rng.chance(0.5);
  const SketchSpace space(donor);
  if (by_rule) {
    StructurePtr structure = space.draw(rng, rng.uniform());
    if (!structure) structure = space.preferred();
    const std::optional<Candidate> drawn = draw_numbers(donor, *structure, rng, rng.uniform());
    trace = drawn ? drawn->trace() : structure->candidate().trace();
  } else {
    DrawOptions options;
    options.pad = rng.chance(0.2);
    Tally of_donor;
    trace = random_schedule(rng, donor, options, of_donor).trace();
  }
  if (announce) announce(about + "# donor's trace:\n" + to_string(trace, donor));

  Candidate candidate = make_candidate({});
  if (by_rule && rng.chance(0.25)) {
    const SketchSpace target_space(c.task);
    const std::optional<Recalled> recalled = recall(space, trace);
    const std::optional<Followed> followed =
        recalled ? follow(*recalled, donor, map, target_space) : std::nullopt;
    followed ? void(candidate = followed->candidate) : void(++tally.undrawn);
  } else {
    RetargetOptions options;
    options.refit = rng.chance(0.8);
    options.fuse_groups = rng.chance(0.5);
    RetargetResult moved = retarget(map, donor, trace, c.task, options);
    moved ? void(candidate = moved.value().candidate) : void(++tally.undrawn);
  }
  c.trace = candidate.trace();
  // A walk over the donor's steps leaves what applies; it must apply.
  const Replayed replayed = replay(c.task, c.trace);
  if (replayed.ok() && iterations(replayed.state()) > kMostIterations) {
    ++tally.undrawn;
    c.trace = {};
  }
  for (const Step& step : c.trace) ++tally.applied[static_cast<size_t>(kind_of(step))];
  return c;
}

}  // namespace espalier
