// Random text and random steps: whatever comes in, the outcome is an error or a trace that prints
// and reads back.
#include <gtest/gtest.h>

#include "espalier/schedule/explain.h"
#include "espalier/schedule/internal/test_programs.h"
#include "espalier/schedule/nest.h"
#include "espalier/support/rng.h"

namespace espalier {
namespace {

constexpr std::string_view kLongTrace = R"(C: split w -> w.0 w.1 by 6
C: split co -> co.0 co.1 co.2 by 2 8
C: split ci -> ci.0 ci.1 by 32
C: reorder n h co.0 w.0 ci.0 kh kw ci.1 w.1 co.1 co.2
C: fuse n h -> n_h
C: cache_write at w.0 -> C.acc
C.acc: unroll w.1
C.acc: unroll co.1 max 4
C.acc: vectorize co.2
C.acc: registers
C.acc: prefetch ci.1 8
C: vectorize co.2.w
R: compute_after C w.0
C: store_at C w.0
C: parallel n_h
C.acc: pack_constant 1 layout [dim 3 outer 16, dim 0, dim 1, dim 2, dim 3 inner 16] -> W.pack
C.acc: cache_read 0 at ci.0 layout [kh, dim 2, ci.1] -> X.pack
)";

void expect_sound(const std::string& text, const Task& task) {
  const Result<Trace> trace = parse_trace(text, task);
  if (!trace.ok()) {
    EXPECT_FALSE(trace.error().message.empty()) << text;
    return;
  }
  const std::string printed = to_string(*trace, task);
  const Result<Trace> again = parse_trace(printed, task);
  ASSERT_TRUE(again.ok()) << text << "\n" << to_string(again.error());
  EXPECT_EQ(*again, *trace) << text;
}

TEST(TraceFuzz, EveryTruncationIsAnErrorOrATrace) {
  const Task task = task_of(kConvolution);
  for (size_t length = 0; length < kLongTrace.size(); ++length) {
    expect_sound(std::string(kLongTrace.substr(0, length)), task);
  }
}

void mutate(std::string& text, Rng& rng) {
  static constexpr std::string_view kPieces[] = {"->",
                                                 ":",
                                                 "\n",
                                                 " ",
                                                 "by",
                                                 "root",
                                                 "C.acc",
                                                 "C",
                                                 "ci",
                                                 "w.0",
                                                 "dim 1",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 "0",
                                                 "1",
                                                 "7",
                                                 "2147483647",
                                                 "-1",
                                                 "d0",
                                                 "#",
                                                 "split",
                                                 "cache_write at",
                                                 "\xff"};
  const size_t at = rng.below(text.size() + 1);
  switch (rng.below(4)) {
    case 0: text.insert(at, kPieces[rng.below(std::size(kPieces))]); break;
    case 1: text.erase(at, rng.below(12)); break;
    case 2: {  // a line again, somewhere else
      const size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
      const size_t from = newline == std::string::npos ? 0 : newline + 1;
      const std::string line = text.substr(from, text.find('\n', from) - from) + "\n";
      const size_t end = text.find('\n', rng.below(text.size() + 1));
      text.insert(end == std::string::npos ? 0 : end + 1, line);
      break;
    }
    default:
      if (at < text.size()) text[at] = static_cast<char>(rng.below(256));
  }
}

TEST(TraceFuzz, MutatedTextIsAnErrorOrATrace) {
  const uint64_t seed = 20240501;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Rng rng(seed);
  const Task task = task_of(kConvolution);
  for (int round = 0; round < 1000; ++round) {
    std::string text(kLongTrace);
    for (uint64_t edits = 1 + rng.below(3); edits > 0; --edits) mutate(text, rng);
    expect_sound(text, task);
  }
}

// Steps whose ids mostly exist, so that about one in six applies.
class RandomSteps {
 public:
  RandomSteps(const State& state, Rng& rng) : state_(state), rng_(rng) {}

  Step step() {
    const StageId s = stage(), t = stage();
    switch (rng_.below(15)) {
      case 0: return SplitStep{s, loop(s), {num(), num()}};
      case 1: return FuseStep{s, neighbours(s)};
      case 2: return ReorderStep{s, {loop(s), loop(s), loop(s)}};
      case 3: return annotate(s);
      case 4: return ComputeAtStep{s, t, loop(t)};
      case 5: return ComputeRootStep{s};
      case 6: return ComputeAfterStep{s, t, loop(t)};
      case 7: return rng_.chance(0.2) ? StoreAtStep{s} : StoreAtStep{s, t, loop(t)};
      case 8: return ShareStep{s, t};
      case 9: return InlineStep{s};
      case 10: return CacheWriteStep{s, rng_.chance(0.2) ? kNoLoop : loop(s)};
      case 11: return CacheReadStep{s, read(), rng_.chance(0.2) ? kNoLoop : loop(s), layout(s)};
      case 12: return PackConstantStep{s, read(), layout(s)};
      case 13: return RfactorStep{s, {loop(s)}};
      default: return PadStep{s, loop(s), num()};
    }
  }

 private:
  StageId stage() {
    const int n = state_.size();
    return static_cast<StageId>(rng_.chance(0.02) ? rng_.range(-1, n + 1) : rng_.range(0, n - 1));
  }
  LoopId loop(StageId s) {
    const bool known = s >= 0 && s < state_.size() && !state_.stage(s).order.empty();
    if (!known || rng_.chance(0.05)) return static_cast<LoopId>(rng_.range(-1, 12));
    return rng_.pick(state_.stage(s).order);
  }
  std::vector<LoopId> neighbours(StageId s) {
    if (s < 0 || s >= state_.size() || state_.stage(s).order.size() < 2) return {};
    const std::vector<LoopId>& order = state_.stage(s).order;
    const size_t at = rng_.below(order.size() - 1);
    return {order[at], order[at + 1]};
  }
  Num num() {
    static constexpr int64_t kValues[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 1024, 0, -3, INT32_MAX};
    return {kValues[rng_.below(rng_.chance(0.1) ? std::size(kValues) : 10)], -1};
  }
  int16_t read() { return static_cast<int16_t>(rng_.below(3)); }
  Step annotate(StageId s) {
    const Annotation a = kAnnotations[rng_.below(std::size(kAnnotations))];
    if (a == Annotation::NonTemporal || a == Annotation::Registers)
      return AnnotateStep{s, kNoLoop, a};
    return AnnotateStep{s, loop(s), a, a == Annotation::Prefetch ? Num{8, -1} : Num{}};
  }
  std::vector<LayoutEntry> layout(StageId s) {
    using K = LayoutEntry::Kind;
    std::vector<LayoutEntry> entries;
    const bool dims = rng_.chance(0.5);
    for (int16_t d = 0, n = static_cast<int16_t>(1 + rng_.below(4)); d < n; ++d) {
      const K kind = dims ? K::Dim : static_cast<K>(rng_.below(4));
      entries.push_back({kind, kind == K::Loop ? loop(s) : d, {}});
      if (entries.back().is_block()) entries.back().block = num();
    }
    rng_.shuffle(entries);
    return entries;
  }

  const State& state_;
  Rng& rng_;
};

TEST(TraceFuzz, RandomStepsPrintReadBackAndAreExplained) {
  const uint64_t seed = 7;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Rng rng(seed);
  const Task tasks[] = {task_of(kMatmul), task_of(kConvolution)};
  for (int round = 0; round < 400; ++round) {
    const Task& task = tasks[round % 2];
    State state = State::initial(task);
    for (int i = 0; i < 25; ++i) {
      const Step step = RandomSteps(state, rng).step();
      const State before = state;
      if (const auto rejection = state.apply(step)) {
        ASSERT_FALSE(reason(*rejection, before, step).empty());
        ASSERT_EQ(print_nest(state), print_nest(before));
      }
    }
    const std::string text = to_string(state.trace(), task);
    const Result<Trace> again = parse_trace(text, task);
    ASSERT_TRUE(again.ok()) << "round " << round << "\n" << text << to_string(again.error());
    ASSERT_EQ(*again, state.trace()) << "round " << round << "\n" << text;
    ASSERT_GE(code_size(state), 0);
  }
}

}  // namespace
}  // namespace espalier
