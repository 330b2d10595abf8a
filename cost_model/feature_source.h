// FeatureSource: candidates as rows of numbers, which learned models are trained on.
#pragma once

#include <span>
#include <string>

#include "espalier/schedule/candidate.h"

namespace espalier {

class FeatureSource {
 public:
  virtual ~FeatureSource() = default;

  // One name a column, each used once. A saved model is loaded only where the names are the same.
  virtual std::span<const std::string> names() const = 0;

  // Fills values[i * names().size() + j] with column j of candidates[i]; NaN says that the column
  // means nothing for the candidate. margins[i] receives an estimate of log(best time / time) up
  // to a constant of the task, from which a model starts (0 where the source has none), and is
  // NaN for a candidate that does not apply to the task, whose values are then all NaN.
  virtual void extract(const Task& task, std::span<const Candidate> candidates, int threads,
                       std::span<float> values, std::span<float> margins) const = 0;
};

}  // namespace espalier
