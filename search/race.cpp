#include "espalier/search/race.h"

#include <algorithm>

#include "espalier/support/check.h"

namespace espalier {
namespace {

constexpr int kFirstRounds = 5;
constexpr size_t kSurvivors = 3;  // at most, the initial one aside
// Slower than the leader by more than this in the middle is out: noise does not bridge it.
constexpr double kClear = 1.02;

// The median over rounds that both were in of time over time.
double ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t r = 0; r < std::min(a.size(), b.size()); ++r) ratios.push_back(a[r] / b[r]);
  return robust_centre(std::move(ratios));
}

size_t fastest_of(const std::vector<std::vector<double>>& times, std::span<const size_t> among) {
  size_t best = among[0];
  for (size_t c : among) {
    if (robust_centre(times[c]) < robust_centre(times[best])) best = c;
  }
  return best;
}

}  // namespace

Result<RaceResult> race(Measurer& measurer, std::span<const Candidate> candidates,
                        std::optional<size_t> initial, int rounds) {
  ESP_CHECK(!candidates.empty(), "a race without candidates");
  RaceResult result;
  const int first = std::min(rounds, candidates.size() > 2 ? kFirstRounds : rounds);
  ESP_TRY(result.times, measurer.interleave(candidates, first));

  std::vector<size_t> left(candidates.size());
  for (size_t c = 0; c < left.size(); ++c) left[c] = c;
  if (first < rounds) {
    const std::vector<double>& leader = result.times[fastest_of(result.times, left)];
    std::vector<std::pair<double, size_t>> ranked;
    for (size_t c : left) {
      if (c != initial) ranked.push_back({ratio(result.times[c], leader), c});
    }
    std::sort(ranked.begin(), ranked.end());
    left.clear();
    for (const auto& [slower, c] : ranked) {
      if (left.size() < kSurvivors && slower < kClear) left.push_back(c);
    }
    if (initial) left.push_back(*initial);
    std::vector<Candidate> again;
    for (size_t c : left) again.push_back(candidates[c]);
    ESP_TRY(const auto more, measurer.interleave(again, rounds - first));
    for (size_t k = 0; k < left.size(); ++k) {
      std::vector<double>& all = result.times[left[k]];
      all.insert(all.end(), more[k].begin(), more[k].end());
    }
  }
  result.winner = fastest_of(result.times, left);
  // Faster than the initial one round by round, or that it is.
  if (initial && ratio(result.times[result.winner], result.times[*initial]) >= 1) {
    result.winner = *initial;
  }
  return result;
}

}  // namespace espalier
