#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "espalier/cost_model/cost_model.h"
#include "espalier/cost_model/model_text.h"
#include "espalier/support/check.h"
#include "espalier/support/json.h"

namespace espalier {
namespace {

constexpr int64_t kVersion = 1;
constexpr double kFailed = std::numeric_limits<double>::infinity();

class RecordedModel final : public CostModel {
 public:
  std::string_view name() const override { return "recorded"; }

  void score(const Task& task, std::span<const Candidate> candidates,
             std::span<float> scores) override {
    ESP_CHECK(candidates.size() == scores.size(), "one score a candidate");
    const auto found = tasks_.find(task_key(task));
    for (size_t i = 0; i < candidates.size(); ++i) {
      scores[i] = found == tasks_.end() ? -std::numeric_limits<float>::infinity()
                                        : found->second.score(candidates[i].hash());
    }
  }

  void update(std::span<const MeasuredRow> rows) override {
    for (const MeasuredRow& row : rows) {
      tasks_[task_key(*row.task)].add(row.candidate.hash(), row.ok() ? row.time_us : kFailed);
    }
  }

  std::string save() const override {
    Json tasks = Json::object();
    for (const auto& [key, table] : tasks_) {
      Json times = Json::object();
      // A failure's infinity is written as null.
      for (const auto& [candidate, time] : table.times) times.set(hash_to_hex(candidate), time);
      tasks.set(hash_to_hex(key), std::move(times));
    }
    return Json::object({{"model", "recorded"}, {"version", kVersion}, {"tasks", std::move(tasks)}})
        .dump();
  }

  Result<void> load(std::string_view text) override {
    ESP_TRY(const Json json, parse_json(text));
    ESP_TRY_VOID(check_model_header(json, name(), kVersion));
    ESP_TRY(const Json tasks, json.get("tasks"));
    std::map<uint64_t, Table> read;
    for (const auto& [key_text, times] : tasks.members()) {
      ESP_TRY(const uint64_t key, parse_hash(key_text));
      for (const auto& [candidate_text, value] : times.members()) {
        ESP_TRY(const uint64_t candidate, parse_hash(candidate_text));
        double time = kFailed;
        if (!value.is_null()) {
          ESP_TRY(time, value.as_double());
        }
        read[key].add(candidate, time);
      }
    }
    tasks_ = std::move(read);
    return {};
  }

 private:
  struct Table {
    std::map<uint64_t, double> times;
    double best = kFailed;

    void add(uint64_t candidate, double time) {
      const auto [entry, inserted] = times.emplace(candidate, time);
      if (!inserted) entry->second = std::min(entry->second, time);
      best = std::min(best, time);
    }
    float score(uint64_t candidate) const {
      const auto entry = times.find(candidate);
      if (entry == times.end() || entry->second == kFailed) {
        return -std::numeric_limits<float>::infinity();
      }
      return static_cast<float>(std::log(best / entry->second));
    }
  };

  std::map<uint64_t, Table> tasks_;  // ordered, so that equal models save equal texts
};

}  // namespace

std::unique_ptr<CostModel> make_recorded_model() { return std::make_unique<RecordedModel>(); }

}  // namespace espalier
