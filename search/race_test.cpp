#include "espalier/search/race.h"

#include "espalier/search/test_support.h"

namespace espalier {
namespace {

// Candidates by number, timed by a function of number and round.
class RoundTimes final : public Measurer {
 public:
  explicit RoundTimes(std::function<double(int, int)> time) : time_(std::move(time)) {}
  std::vector<MeasureResult> measure(std::span<const Candidate> batch, double) override {
    return std::vector<MeasureResult>(batch.size());
  }
  Result<std::vector<std::vector<double>>> interleave(std::span<const Candidate> candidates,
                                                      int rounds) override {
    std::vector<std::vector<double>> times(candidates.size());
    for (int r = 0; r < rounds; ++r, ++round_) {
      for (size_t k = 0; k < candidates.size(); ++k) {
        times[k].push_back(time_(candidates[k].decisions[0], round_));
        ++timed;
      }
    }
    return times;
  }
  int timed = 0;

 private:
  std::function<double(int, int)> time_;
  int round_ = 0;
};

std::vector<Candidate> numbered(int count) {
  auto sketch = std::make_shared<Sketch>();
  std::vector<Candidate> all;
  for (int i = 0; i < count; ++i) all.push_back({sketch, {i}});
  return all;
}

TEST(Race, TheFastestWins) {
  RoundTimes m([](int c, int) { return c == 2 ? 90.0 : 100.0; });
  EXPECT_EQ(race(m, numbered(5), 0, 15)->winner, 2u);
}

TEST(Race, WhatIsClearlySlowerIsNotTimedToTheEnd) {
  RoundTimes m([](int c, int) { return c == 2 ? 90.0 : 100.0; });
  const RaceResult result = race(m, numbered(8), 0, 15).value();
  EXPECT_EQ(m.timed, 8 * 5 + 2 * 10);  // the winner and the initial one go on
  EXPECT_EQ(result.times[2].size(), 15u);
  EXPECT_EQ(result.times[0].size(), 15u);
  EXPECT_EQ(result.times[1].size(), 5u);
}

TEST(Race, ALuckyStartDoesNotDecide) {
  // Number 1 is faster for the first rounds and slower from then on.
  RoundTimes m([](int c, int round) { return c == 1 ? (round < 5 ? 99.0 : 103.0) : 100.0; });
  EXPECT_NE(race(m, numbered(4), 0, 15)->winner, 1u);
}

TEST(Race, ADriftOfTheMachineFavoursNobody) {
  RoundTimes m([](int c, int round) { return (c == 3 ? 98.0 : 100.0) * (1 + 0.2 * round); });
  EXPECT_EQ(race(m, numbered(6), 0, 15)->winner, 3u);
}

TEST(Race, TheInitialOneWinsWhereNobodyIsFaster) {
  RoundTimes m([](int, int) { return 100.0; });
  EXPECT_EQ(race(m, numbered(4), 2, 15)->winner, 2u);
}

TEST(Race, OneCandidateIsTimedAllTheSame) {
  RoundTimes m([](int, int) { return 100.0; });
  EXPECT_EQ(race(m, numbered(1), 0, 9)->times[0].size(), 9u);
}

}  // namespace
}  // namespace espalier
