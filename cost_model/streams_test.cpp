// What the closed forms say that each loop touches, against a trace of the lowered code.
#include "espalier/cost_model/streams.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "espalier/cost_model/test_trace.h"
#include "espalier/ir/ops/workload.h"
#include "espalier/schedule/lower.h"
#include "espalier/schedule/text.h"

namespace espalier {
namespace {

struct Case {
  const char* name;
  const char* workload;
  const char* trace;
  // Whole: all runs of a loop are of one length. Tails: the last ones are shorter. Padded: some
  // terms are absent, too, and boxes may hold more than what is touched.
  enum Kind { kWhole, kTails, kPadded } kind = kWhole;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class Streams : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    task_.workload = GetParam().workload;
    task_.dag = load_workload(task_.workload).value();
    task_.target = parse_target("x86_64 features=+avx2,+fma").value();
    const Trace trace = parse_trace(GetParam().trace, task_).value();
    const Replayed replayed = replay(task_, trace);
    ASSERT_TRUE(replayed.ok()) << explain(replayed.rejection(), task_, trace);
    state_ = replayed.state();
    nests_ = find_streams(*state_, shape_of(*state_));
    record();
  }

  // Touched elements by statement (name of the buffer written), buffer touched, number of path
  // loops that stand still, and the values of those.
  using Values = std::vector<int64_t>;
  struct Touched {
    std::map<Values, std::set<int64_t>> elements;
  };
  std::map<std::tuple<StageId, std::string, size_t>, Touched> touched_;
  std::map<StageId, int64_t> stores_, own_loads_;  // of each statement to its own buffer

  void record() {
    AccessTrace trace([&](const AccessTrace::Event& e) {
      for (const StageNest& nest : nests_) {
        if (state_->stage_name(nest.stage) != e.written->name) continue;
        // The nest of the loops by name, outermost first; those of one iteration are gone.
        Values values;
        size_t at = 0;
        for (const PathLoop& l : nest.path) {
          const std::string name = state_->loop_name(l.stage, l.loop);
          const bool here = at < e.loops.size() && e.loops[at].first->name == name;
          values.push_back(here ? e.loops[at].second : 0);
          at += here;
        }
        (e.store ? stores_ : own_loads_)[nest.stage] += e.buffer.get() == e.written.get();
        for (size_t p = 0; p <= nest.path.size(); ++p) {
          const Values outer(values.begin(), values.begin() + static_cast<ptrdiff_t>(p));
          touched_[{nest.stage, e.buffer->name, p}].elements[outer].insert(e.offset);
        }
      }
    });
    const LoweredKernel lowered = lower(*state_).value();
    trace.run(lowered.main.body);
  }

  Task task_;
  std::optional<State> state_;
  std::vector<StageNest> nests_;
};

class CompleteStreams : public Streams {};  // no term is absent
class WholeStreams : public Streams {};     // no run is shorter than others

TEST_P(Streams, TouchWhatTheCodeTouches) {
  int compared = 0;
  for (const StageNest& nest : nests_) {
    for (const Stream& s : nest.streams) {
      const std::string buffer = state_->stage_name(s.buffer);
      for (size_t p = 0; p <= nest.path.size(); ++p) {
        const Touched& touched = touched_[{nest.stage, buffer, p}];
        size_t elements = 0, lines = 0;
        for (const auto& [outer, offsets] : touched.elements) {
          std::set<int64_t> of_lines;
          for (int64_t o : offsets) of_lines.insert(o * s.element_bytes / 64);
          elements = std::max(elements, offsets.size());
          lines = std::max(lines, of_lines.size());
        }
        const std::string where = state_->stage_name(nest.stage) + " on " + buffer + " inside " +
                                  std::to_string(p) + " loops";
        const double said = s.elements[p].number(), said_lines = s.lines[p].number();
        if (GetParam().kind != Case::kPadded) {
          EXPECT_EQ(said, static_cast<double>(elements)) << where;
        } else {
          EXPECT_GE(said, static_cast<double>(elements)) << where;
          EXPECT_LE(said, 1.6 * static_cast<double>(elements) + 2) << where;
        }
        // A run that begins within a line may touch one more than its length says.
        EXPECT_GE(said_lines, 0.5 * static_cast<double>(lines)) << where;
        EXPECT_LE(said_lines, 1.6 * static_cast<double>(lines) + 2) << where;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 8);
}

TEST_P(CompleteStreams, LoopsMultiplyToTheRunsOfTheStatement) {
  for (const StageNest& nest : nests_) {
    Quantity runs = 1;
    for (const PathLoop& l : nest.path) runs *= l.effective;
    // A sum writes its identity besides; a write-back only adds from its second block on.
    const bool sums =
        state_->stage(nest.stage).role != StageRole::WriteBack && own_loads_[nest.stage] > 0;
    const int64_t counted = sums ? own_loads_[nest.stage] : stores_[nest.stage];
    if (GetParam().kind == Case::kWhole) {
      EXPECT_EQ(runs.number(), static_cast<double>(counted)) << state_->stage_name(nest.stage);
    } else {
      // Attached stages are charged for whole regions.
      EXPECT_GE(runs.number(), 0.999 * static_cast<double>(counted));
      EXPECT_LE(runs.number(), 1.5 * static_cast<double>(counted));
    }
  }
}

// (shorter runs touch less)
TEST_P(WholeStreams, DependOnTheLoopsThatMoveThem) {
  for (const StageNest& nest : nests_) {
    for (const Stream& s : nest.streams) {
      const std::string buffer = state_->stage_name(s.buffer);
      for (size_t p = 0; p < nest.path.size(); ++p) {
        // With the loop standing still, all iterations of it touch the same.
        bool moves = false;
        const auto& inside = touched_[{nest.stage, buffer, p + 1}].elements;
        const auto& outside = touched_[{nest.stage, buffer, p}].elements;
        for (const auto& [outer, offsets] : inside) {
          const Values around(outer.begin(), outer.end() - 1);
          moves = moves || offsets != outside.at(around);
        }
        if (moves) {
          EXPECT_TRUE(s.depends[p])
              << state_->stage_name(nest.stage) << " on " << buffer << " loop " << p;
        }
      }
    }
  }
}

constexpr const char* kPacked = R"(
Y: split j -> j.0 j.1 j.2 by 2 16
Y: split i -> i.0 i.1 i.2 by 2 6
Y: split k -> k.0 k.1 by 8
Y: reorder j.0 k.0 i.0 j.1 i.1 k.1 i.2 j.2
Y: cache_read 1 at k.0 layout [j.1, k.1, j.2] -> B.pack
Y: cache_read 0 at i.0 layout [i.1, k.1, i.2] -> A.pack
Y: cache_write at i.1 -> Y.acc
)";
constexpr const char* kPackedOnce = R"(
Y: split j -> j.0 j.1 by 16
Y: split i -> i.0 i.1 by 6
Y: reorder i.0 j.0 k i.1 j.1
Y: cache_read 1 at root layout [dim 1 outer 16, dim 0, dim 1 inner 16] -> B.pack
Y: cache_write at j.0 -> Y.acc
)";
constexpr const char* kConvolution = R"(
after_bias: inline
Y: split co -> co.0 co.1 by 32
Y: split w -> w.0 w.1 by 7
Y: reorder n h co.0 w.0 w.1 co.1
conv: compute_at Y w.0
conv: reorder n h kh kw ci w co
)";

std::vector<Case> cases(std::vector<Case::Kind> kinds) {
  std::vector<Case> all = {
      Case{"plain", "matmul:m=12,n=32,k=16", ""},
      Case{"tiled", "matmul:m=24,n=64,k=16",
           "Y: split i -> i.0 i.1 by 6\nY: split j -> j.0 j.1 by 16\n"
           "Y: reorder i.0 j.0 k i.1 j.1\nY: cache_write at j.0 -> Y.acc\n"},
      Case{"tails", "matmul:m=23,n=37,k=7",
           "Y: split i -> i.0 i.1 by 6\nY: split j -> j.0 j.1 by 16\n"
           "Y: reorder i.0 j.0 k i.1 j.1\nY: cache_write at j.0 -> Y.acc\n",
           Case::kTails},
      Case{"packed", "matmul:m=12,n=64,k=16", kPacked},
      Case{"packed_once", "matmul:m=12,n=64,k=16", kPackedOnce},
      Case{"packed_tails", "matmul:m=23,n=57,k=11", kPacked, Case::kTails},
      Case{"convolution", "conv2d:n=1,h=5,w=16,ci=4,co=32,k=3,epilogue=bias+relu", kConvolution},
      Case{"fused", "elementwise:op=relu,shape=6x10x16",
           "Y: fuse i j -> i_j\nY: split i_j -> i_j.0 i_j.1 by 5\n"},
      Case{"transposed", "transpose:shape=24x40,perm=1x0",
           "Y: split i -> i.0 i.1 by 8\nY: split j -> j.0 j.1 by 8\nY: reorder i.0 j.0 i.1 j.1\n"},
      Case{"pool", "max_pool2d:n=1,h=12,w=12,c=16,k=2,s=2", ""},
      Case{"padded", "conv2d:n=1,h=4,w=8,ci=4,co=16,k=3,p=1",
           "Y: split w -> w.0 w.1 by 4\nY: reorder n h w.0 kh kw ci w.1 co\n", Case::kPadded}};
  std::erase_if(all, [&](const Case& c) {
    return std::find(kinds.begin(), kinds.end(), c.kind) == kinds.end();
  });
  return all;
}
std::string name_of_case(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Schedules, Streams,
                         ::testing::ValuesIn(cases({Case::kWhole, Case::kTails, Case::kPadded})),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Schedules, CompleteStreams,
                         ::testing::ValuesIn(cases({Case::kWhole, Case::kTails})), name_of_case);
INSTANTIATE_TEST_SUITE_P(Schedules, WholeStreams, ::testing::ValuesIn(cases({Case::kWhole})),
                         name_of_case);

}  // namespace
}  // namespace espalier
