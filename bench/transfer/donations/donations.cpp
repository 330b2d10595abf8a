#include "transfer/donations/donations.h"

#include <algorithm>

namespace espalier::bench {

Result<Donations> Donations::open(const std::string& path) {
  Donations donations;
  ESP_TRY(Database database, Database::open(path));
  donations.database_ = std::make_unique<const Database>(std::move(database));
  donations.index_ = std::make_unique<const DonorIndex>(*donations.database_);
  for (const Donor& donor : donations.index_->donors()) {
    const size_t best = donor.schedules.front().record;
    auto task = donations.index_->task_of(donor, donations.database_->records()[best]);
    if (task) donations.all_.push_back({std::move(task), best});
  }
  std::sort(donations.all_.begin(), donations.all_.end(), [](const Donation& a, const Donation& b) {
    return a.task->workload < b.task->workload;
  });
  return donations;
}

Seeds seeds_of(const Donations& donations, const Donation& donation, const Task& task) {
  TransferOptions options;
  options.seeds = options.donors = donations.all().size();
  const TuningRecord* wanted = &donations.database().records()[donation.record];
  options.accept = [wanted](const TuningRecord& r) { return &r == wanted; };
  return transfer(donations.index(), task, options);
}

}  // namespace espalier::bench
