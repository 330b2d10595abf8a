#include "models/pool/cached_features.h"

#include <algorithm>

namespace espalier::bench {

CachedFeatures::CachedFeatures(const FeatureSource& source, FeatureRows& rows,
                               const std::string& without)
    : source_(source), rows_(rows) {
  if (without.empty()) return;
  const std::regex pattern(without);
  for (size_t j = 0; j < names().size(); ++j) {
    if (std::regex_match(names()[j], pattern)) left_out_.push_back(j);
  }
}

void CachedFeatures::extract(const Task& task, std::span<const Candidate> candidates, int threads,
                             std::span<float> values, std::span<float> margins) const {
  const size_t columns = names().size();
  const uint64_t key = task_key(task);
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::vector<float>& row = rows_[{key, candidates[i].hash()}];
    if (row.empty()) {
      row.resize(columns + 1);
      const std::span<float> all(row);
      source_.extract(task, candidates.subspan(i, 1), threads, all.first(columns), all.last(1));
    }
    const std::span<float> to = values.subspan(i * columns, columns);
    std::copy_n(row.begin(), columns, to.begin());
    for (size_t j : left_out_) to[j] = 0;
    margins[i] = row[columns];
  }
}

}  // namespace espalier::bench
