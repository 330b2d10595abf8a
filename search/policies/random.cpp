#include "espalier/search/policies/policies.h"
#include "espalier/search/policies/sampler.h"

namespace espalier {
namespace {

class RandomPolicy final : public SearchPolicy {
 public:
  std::string_view name() const override { return "random"; }

  std::vector<Proposal> propose(const SearchContext& context, int n) override {
    std::unordered_set<uint64_t> taken;
    return sampler_.draw(context, n, [](uint64_t) { return Sampler::Bias{}; }, &taken);
  }

  void observe(const SearchContext&, std::span<const Observation>) override {}

 private:
  Sampler sampler_{0};
};

}  // namespace

Result<std::unique_ptr<SearchPolicy>> make_random_policy(const PolicySpec& spec) {
  ESP_TRY_VOID(SettingReader(spec).finish());
  return std::unique_ptr<SearchPolicy>(std::make_unique<RandomPolicy>());
}

}  // namespace espalier
