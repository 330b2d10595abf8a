#include "transfer/donations/ladder.h"

#include <algorithm>

#include "espalier/search/slots.h"
#include "espalier/support/rng.h"
#include "espalier/transfer/paper_policy.h"

namespace espalier::bench {
namespace {

void put(const Task& task, Candidate candidate, Rung* rung) {
  if (!replay(task, candidate).ok()) {
    ++rung->invalid;
    return;
  }
  const bool known = std::any_of(rung->candidates.begin(), rung->candidates.end(),
                                 [&](const Candidate& c) { return c.hash() == candidate.hash(); });
  if (!known) rung->candidates.push_back(std::move(candidate));
}

}  // namespace

Ladder climb(const Donations& donations, const Task& task, size_t most, uint64_t seed) {
  Ladder ladder;
  const uint64_t wanted = operator_class(task.dag);
  for (const Donation& d : donations.all()) {
    const ComputeDag& dag = d.task->dag;
    if (dag.hash() != task.dag.hash() && operator_class(dag) == wanted) ladder.donors.push_back(d);
  }
  ladder.in_class = ladder.donors.size();
  Rng(seed).fork(task.dag.hash()).shuffle(ladder.donors);
  if (ladder.donors.size() > most) ladder.donors.resize(most);
  for (const Donation& d : ladder.donors) {
    const Result<Trace> trace =
        parse_trace(donations.database().records()[d.record].trace, *d.task);
    const Match m = match(d.task->dag, task.dag);
    if (!trace.ok()) continue;
    put(task, make_candidate(*trace), &ladder.paper);
    for (const bool refit : {false, true}) {
      Rung& rung = refit ? ladder.refit : ladder.map;
      RetargetOptions options;
      options.refit = refit;
      RetargetResult moved =
          m ? retarget(m.map(), *d.task, *trace, task, options)
            : RetargetResult(RetargetFailure{RetargetFailure::Kind::Rejected, {}});
      moved ? put(task, moved.take().candidate, &rung) : void(++rung.invalid);
    }
  }
  return ladder;
}

}  // namespace espalier::bench
