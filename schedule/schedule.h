// Schedule: a schedule written by hand, step by step, in C++.
//
//   Schedule s(dag);
//   auto [io, ii] = s.split(s.loop(C, "i"), 6);
//   StageHandle acc = s.cache_write(io);
//   s.unroll({acc, "i.1"});
//   State state = s.finish().value();
//
// Each method is one step (docs/steps.md). Stages and loops go by handle or by name. The first step
// that does not apply, or name that is not there, stays as the error that finish() returns;
// whatever comes after it does nothing.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include "espalier/ir/tensor.h"
#include "espalier/schedule/state.h"

namespace espalier {

struct StageHandle {
  StageId id = kNoStage;
};
// Steps that move loops to another stage keep their ids: Schedule::loop(stage, handle) is the same
// loop there.
struct LoopHandle {
  StageId stage = kNoStage;
  LoopId id = kNoLoop;
};

// A stage as an argument: a handle, a name ("C", "C.acc"), or the tensor it computes.
class StageRef {
 public:
  StageRef(StageHandle h) : id_(h.id) {}
  StageRef(std::string_view name) : name_(name) {}
  StageRef(const char* name) : name_(name) {}
  StageRef(const std::string& name) : name_(name) {}
  StageRef(const Tensor& tensor);

 private:
  friend class Schedule;
  StageId id_ = kNoStage;
  std::string name_;  // empty: by id
};

// A loop as an argument: a handle, or a stage and the loop's name in it: {"C", "j.0"}.
class LoopRef {
 public:
  LoopRef(LoopHandle h) : stage_(StageHandle{h.stage}), id_(h.id) {}
  LoopRef(StageRef stage, std::string_view name) : stage_(std::move(stage)), name_(name) {}

 private:
  friend class Schedule;
  StageRef stage_;
  LoopId id_ = kNoLoop;
  std::string name_;
};

// An entry of the layout of a packed copy: a loop, or a dimension of what is copied.
class LayoutRef {
 public:
  LayoutRef(LoopRef loop) : loop_(std::move(loop)) {}
  LayoutRef(LoopHandle loop) : loop_(loop) {}
  static LayoutRef dim(int d) { return {LayoutEntry::Kind::Dim, d, 0}; }
  static LayoutRef outer(int d, int64_t block) { return {LayoutEntry::Kind::DimOuter, d, block}; }
  static LayoutRef inner(int d, int64_t block) { return {LayoutEntry::Kind::DimInner, d, block}; }

 private:
  friend class Schedule;
  LayoutRef(LayoutEntry::Kind kind, int d, int64_t block)
      : loop_(LoopHandle{}), entry_{kind, static_cast<int16_t>(d), Num{block}} {}
  LoopRef loop_;
  LayoutEntry entry_;
};

class Schedule {
 public:
  using Loops = std::initializer_list<LoopRef>;
  using Layout = std::initializer_list<LayoutRef>;

  explicit Schedule(const Task& task) : state_(State::initial(task)) {}
  // For this machine, on one thread.
  explicit Schedule(const ComputeDag& dag);

  StageHandle stage(const StageRef& s);
  LoopHandle loop(const StageRef& s, std::string_view name);
  LoopHandle loop(const StageRef& s, LoopHandle same);

  // The outer loop, then one for each factor. Factors are whole numbers, outermost first.
  template <class... Factors>
  std::array<LoopHandle, sizeof...(Factors) + 1> split(const LoopRef& l, Factors... factors) {
    std::array<LoopHandle, sizeof...(Factors) + 1> parts;
    split_into(l, {Num{static_cast<int64_t>(factors)}...}, parts.data());
    return parts;
  }
  LoopHandle fuse(Loops loops);
  void reorder(Loops order);
  void pad(const LoopRef& axis, int64_t multiple);

  void parallel(const LoopRef& l);
  void vectorize(const LoopRef& l);
  void unroll(const LoopRef& l, int64_t max = 0);  // 0: whatever the extent
  void prefetch(const LoopRef& l, int64_t distance);
  void partition(const LoopRef& l);
  void registers(const StageRef& s);
  void non_temporal(const StageRef& s);

  void compute_at(const StageRef& s, const LoopRef& at);
  void compute_root(const StageRef& s);
  void compute_after(const StageRef& s, const LoopRef& at);
  void store_at(const StageRef& s, const LoopRef& at);
  void store_at_root(const StageRef& s);
  void share(const StageRef& s, const StageRef& with);
  void inline_stage(const StageRef& s);

  // Stages that steps make: accumulators, copies of what read number `read` of a stage needs, and
  // partial results.
  StageHandle cache_write(const LoopRef& at);
  StageHandle cache_write_at_root(const StageRef& s);
  StageHandle cache_read(int read, const LoopRef& at, Layout layout);
  StageHandle cache_read_at_root(const StageRef& s, int read, Layout layout);
  StageHandle pack_constant(const StageRef& s, int read, Layout layout);
  StageHandle rfactor(Loops loops);

  // The state so far.
  const State& state() const { return state_; }
  // The state that all steps made, or the first error: which step it was, why it does not apply and
  // the nest it met.
  Result<State> finish() const;

 private:
  StageId find(const StageRef& s);
  LoopHandle find(const LoopRef& l);
  std::vector<LoopId> find(Loops loops, StageId* stage);
  std::vector<LayoutEntry> find(StageId of, Layout layout);
  void annotate(const LoopRef& l, Annotation a, int64_t arg = 0);
  void split_into(const LoopRef& l, std::vector<Num> factors, LoopHandle* parts);
  // False when it does not apply or nothing does any more.
  bool apply(const Step& step);
  StageHandle make_stage(const Step& step);
  void fail(Error error);

  State state_;
  std::optional<Error> error_;
};

}  // namespace espalier
