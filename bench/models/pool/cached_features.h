// Features of a pool's candidates: computed once, columns taken out at will.
#pragma once

#include <map>
#include <memory>
#include <regex>
#include <utility>
#include <vector>

#include "espalier/cost_model/cost_model.h"
#include "espalier/cost_model/feature_source.h"

namespace espalier::bench {

// Rows by task and candidate, with the margin behind the columns. Shared by all sources of a study.
using FeatureRows = std::map<std::pair<uint64_t, uint64_t>, std::vector<float>>;

// Both references must outlive it.
class CachedFeatures final : public FeatureSource {
 public:
  // Columns whose names match `without` (if it is not empty) are 0 in all rows.
  CachedFeatures(const FeatureSource& source, FeatureRows& rows, const std::string& without = "");

  std::span<const std::string> names() const override { return source_.names(); }
  void extract(const Task& task, std::span<const Candidate> candidates, int threads,
               std::span<float> values, std::span<float> margins) const override;
  size_t columns_left_out() const { return left_out_.size(); }

 private:
  const FeatureSource& source_;
  FeatureRows& rows_;
  std::vector<size_t> left_out_;
};

}  // namespace espalier::bench
