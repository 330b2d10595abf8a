#include "espalier/cost_model/analyzer.h"

#include <cmath>
#include <limits>

#include "espalier/cost_model/model_text.h"
#include "espalier/cost_model/sketch_formulas.h"
#include "espalier/support/json.h"

namespace espalier {
namespace {

constexpr int64_t kVersion = 1;

class Analyzer final : public CostModel {
 public:
  explicit Analyzer(const DeviceModel& device)
      : formulas_(1, [device](const State& state, const Shape& shape, std::vector<Quantity>& out) {
          out.push_back(cost_of(state, shape, device).cycles);
        }) {}

  std::string_view name() const override { return "analyzer"; }

  void score(const Task& task, std::span<const Candidate> candidates,
             std::span<float> scores) override {
    std::vector<double> cycles(candidates.size());
    formulas_.evaluate(task, candidates, 1, cycles);
    for (size_t i = 0; i < cycles.size(); ++i) {
      scores[i] = std::isnan(cycles[i]) ? -std::numeric_limits<float>::infinity()
                                        : static_cast<float>(-std::log(std::max(cycles[i], 1.0)));
    }
  }

  void update(std::span<const MeasuredRow>) override {}

  std::string save() const override {
    return Json::object({{"model", "analyzer"}, {"version", kVersion}}).dump();
  }
  Result<void> load(std::string_view text) override {
    ESP_TRY(const Json json, parse_json(text));
    return check_model_header(json, name(), kVersion);
  }

 private:
  const SketchFormulas formulas_;
};

}  // namespace

std::unique_ptr<CostModel> make_analyzer(const DeviceModel& device) {
  return std::make_unique<Analyzer>(device);
}

}  // namespace espalier
