#include <utility>

#include "espalier/cost_model/cost_model.h"
#include "espalier/cost_model/model_text.h"
#include "espalier/support/check.h"
#include "espalier/support/json.h"

namespace espalier {
namespace {

constexpr int64_t kVersion = 1;

class RandomModel final : public CostModel {
 public:
  explicit RandomModel(uint64_t seed) : seed_(seed) {}

  std::string_view name() const override { return "random"; }

  void score(const Task& task, std::span<const Candidate> candidates,
             std::span<float> scores) override {
    ESP_CHECK(candidates.size() == scores.size(), "one score a candidate");
    const uint64_t base = hash_combine(seed_, task_key(task));
    for (size_t i = 0; i < candidates.size(); ++i) {
      scores[i] = static_cast<float>(hash_combine(base, candidates[i].hash()) >> 40) * 0x1p-24F;
    }
  }

  void update(std::span<const MeasuredRow>) override {}

  std::string save() const override {
    // As text: JSON integers are signed.
    return Json::object({{"model", "random"}, {"version", kVersion}, {"seed", hash_to_hex(seed_)}})
        .dump();
  }

  Result<void> load(std::string_view text) override {
    ESP_TRY(const Json json, parse_json(text));
    ESP_TRY_VOID(check_model_header(json, name(), kVersion));
    ESP_TRY(const std::string seed, json.get_string("seed"));
    ESP_TRY(seed_, parse_hash(seed));
    return {};
  }

 private:
  uint64_t seed_;
};

}  // namespace

std::unique_ptr<CostModel> make_random_model(uint64_t seed) {
  return std::make_unique<RandomModel>(seed);
}

}  // namespace espalier
