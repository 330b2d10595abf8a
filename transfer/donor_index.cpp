#include "espalier/transfer/donor_index.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

#include "espalier/ir/ops/workload.h"
#include "espalier/transfer/match.h"
#include "espalier/transfer/roles.h"

namespace espalier {
namespace {

constexpr size_t kSchedulesEach = 3;  // for each target and number of threads

Result<ComputeDag> dag_of(const std::string& workload) {
  if (workload.find('\n') != std::string::npos) return parse_dag(workload);
  ESP_TRY(const Workload parsed, parse_workload(workload));
  return make_workload(parsed);
}

}  // namespace

Outline outline_of(const ComputeDag& dag) {
  Outline outline;
  outline.family = family_of(dag);
  const int anchor = anchor_of(dag);
  if (anchor < 0) return outline;
  for (const AxisRole& role : roles_of(dag, anchor)) {
    const size_t reads = std::min<size_t>(2, static_cast<size_t>(std::popcount(role.reads)));
    const size_t at = (((role.reduce ? 1u : 0u) * 2 + (role.window ? 1u : 0u)) * 3 + reads) * 2 +
                      (role.contiguous ? 1u : 0u);
    outline.log_extent[at] += std::log2(static_cast<float>(std::max<int64_t>(role.extent, 1)));
  }
  return outline;
}

double distance(const Outline& a, const Outline& b) {
  float sum = 0;
  for (size_t i = 0; i < a.log_extent.size(); ++i) {
    sum += std::abs(a.log_extent[i] - b.log_extent[i]);
  }
  return static_cast<double>(sum);
}

DonorIndex::DonorIndex(const Database& database) : database_(&database) {
  struct Group {
    std::vector<size_t> records;
    double default_us = 0;
  };
  // By program, then by machine and threads.
  std::map<uint64_t, std::map<std::pair<std::string_view, int>, Group>> groups;
  const std::vector<TuningRecord>& records = database.records();
  for (size_t i = 0; i < records.size(); ++i) {
    const TuningRecord& r = records[i];
    if (!is_usable(r)) continue;
    Group& group = groups[r.run.dag_hash][{r.run.target, r.run.threads}];
    if (r.provenance == Provenance::Default && !r.final) group.default_us = r.result.time_us;
    group.records.push_back(i);
  }
  for (auto& [hash, machines] : groups) {
    const TuningRecord& any = records[machines.begin()->second.records[0]];
    Result<ComputeDag> dag = dag_of(any.run.workload);
    if (!dag.ok() || dag->hash() != hash) {
      for (const auto& [machine, group] : machines) left_out_ += group.records.size();
      continue;
    }
    Donor donor;
    donor.dag_hash = hash;
    donor.workload = any.run.workload;
    donor.dag = *std::move(dag);
    donor.outline = outline_of(donor.dag);
    for (auto& [machine, group] : machines) {
      const size_t few = std::min(group.records.size(), 4 * kSchedulesEach);
      std::partial_sort(group.records.begin(),
                        group.records.begin() + static_cast<std::ptrdiff_t>(few),
                        group.records.end(), [&](size_t a, size_t b) {
                          if (is_preferred(records[a], records[b])) return true;
                          if (is_preferred(records[b], records[a])) return false;
                          return a < b;
                        });
      std::vector<uint64_t> taken;
      for (size_t k = 0; k < few && taken.size() < kSchedulesEach; ++k) {
        const TuningRecord& r = records[group.records[k]];
        if (std::find(taken.begin(), taken.end(), r.candidate) != taken.end()) continue;
        taken.push_back(r.candidate);
        donor.schedules.push_back({group.records[k], group.default_us});
      }
      targets_.try_emplace(std::string(machine.first));
    }
    donors_.push_back(std::move(donor));
  }
  for (auto at = targets_.begin(); at != targets_.end();) {
    Result<Target> parsed = parse_target(at->first);
    if (parsed.ok()) {
      at->second = *std::move(parsed);
      ++at;
    } else {
      at = targets_.erase(at);
    }
  }
}

std::vector<const Donor*> DonorIndex::nearest(const ComputeDag& dag, size_t n) const {
  const Outline wanted = outline_of(dag);
  std::vector<std::pair<float, const Donor*>> all;
  for (const Donor& donor : donors_) {
    if (donor.outline.family != wanted.family) continue;
    all.push_back({static_cast<float>(distance(donor.outline, wanted)), &donor});
  }
  n = std::min(n, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n), all.end(),
                    [](const auto& a, const auto& b) {
                      return std::tie(a.first, a.second->dag_hash) <
                             std::tie(b.first, b.second->dag_hash);
                    });
  std::vector<const Donor*> nearest;
  for (size_t i = 0; i < n; ++i) nearest.push_back(all[i].second);
  return nearest;
}

std::shared_ptr<const Task> DonorIndex::task_of(const Donor& donor,
                                                const TuningRecord& record) const {
  const auto target = targets_.find(record.run.target);
  if (target == targets_.end()) return nullptr;
  const bool is_spec = donor.workload.find('\n') == std::string::npos;
  return std::make_shared<const Task>(Task{donor.dag, target->second, record.run.threads,
                                           is_spec ? donor.workload : std::string()});
}

}  // namespace espalier
