#include "espalier/transfer/transferred_lookup.h"

namespace espalier {

Result<Lookup> look_up_or_transfer(const Database& database, const Task& task,
                                   const std::function<Candidate(const Task&)>& default_schedule,
                                   const TransferOptions& options) {
  ESP_TRY(Lookup found, look_up(database, task, default_schedule));
  if (found.level != LookupLevel::Default || database.records().empty()) return found;
  const Seeds seeds = transfer(database, task, options);
  if (seeds.ranked.empty()) return found;
  const TransferSeed& best = seeds.ranked.front();
  Replayed replayed = replay(task, best.candidate);
  if (!replayed.ok()) return found;
  found.level = LookupLevel::Transferred;
  found.state = replayed.take();
  found.record = &database.records()[best.record];
  found.notes.push_back("carried over, not measured here: " + seeds.origins.front());
  return found;
}

}  // namespace espalier
