// Where the time of a search goes.
#pragma once

namespace espalier {

// Wall time by what it went to, in seconds.
struct PhaseSeconds {
  double sample = 0, draft = 0, features = 0, score = 0, fit = 0;  // proposing
  double compile = 0, measure = 0, verify = 0;                     // the measurer's
  double other = 0;

  double exploring() const { return sample + draft + features + score + fit; }
  PhaseSeconds& operator+=(const PhaseSeconds& o) {
    sample += o.sample, draft += o.draft, features += o.features, score += o.score, fit += o.fit;
    compile += o.compile, measure += o.measure, verify += o.verify, other += o.other;
    return *this;
  }

  double total() const { return exploring() + compile + measure + verify + other; }
};

}  // namespace espalier
