// What the measuring process and its client say to each other.
//
//   worker: Hello
//   client: Task                 worker: Ready, or Failure
//   client: Batch                worker: Progress ..., one Result a candidate, each as soon as
//   client: Interleave           worker: Progress ..., Times, or Failure
//
// Messages are frames (runtime/frame.h). The client sends only when the worker is idle, and closes
// its end to make the worker exit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/ir/dag.h"
#include "espalier/runtime/frame.h"
#include "espalier/runtime/measure.h"

namespace espalier {

/// Changes whenever a message does: client and worker must be of one kind.
inline constexpr uint64_t kWorkerProtocolVersion = 2;

enum class MessageKind : uint8_t {
  Hello = 1,
  Task,
  Ready,  // no payload
  Failure,
  Batch,
  Progress,
  Result,
  Interleave,
  Times,
};

struct HelloMessage {
  static constexpr MessageKind kKind = MessageKind::Hello;
  uint64_t version = kWorkerProtocolVersion;
  std::string program;  // version of the library, for the error when protocols differ
};

struct TaskMessage {
  static constexpr MessageKind kKind = MessageKind::Task;
  std::string dag;  // text
  uint64_t dag_hash = 0;
  std::string target;
  int64_t threads = 1;
  int64_t memory_fd = -1;  // inherited; holds inputs and reference as task_layout() says
  MeasureOptions options;  // without what is the client's business: program, interrupt
};

/// Why a task or an interleaved run was refused.
struct FailureMessage {
  static constexpr MessageKind kKind = MessageKind::Failure;
  std::string message;
};

struct BatchMessage {
  static constexpr MessageKind kKind = MessageKind::Batch;
  struct Item {
    uint64_t number = 0;  // of the candidate, in the client's count
    std::string trace;
  };
  double best_us = 0;
  std::vector<Item> items;
};

enum class WorkerPhase : uint8_t {
  Compile,  // started; several candidates may be in this phase at once
  Wait,     // compiled, waits for its turn
  Run,      // checked, then timed; one at a time
};

struct ProgressMessage {
  static constexpr MessageKind kKind = MessageKind::Progress;
  uint64_t number = 0;
  WorkerPhase phase = WorkerPhase::Compile;
};

struct ResultMessage {
  static constexpr MessageKind kKind = MessageKind::Result;
  uint64_t number = 0;
  MeasureResult result;
};

struct InterleaveMessage {
  static constexpr MessageKind kKind = MessageKind::Interleave;
  uint64_t seed = 0;  // of the order within each round
  int64_t rounds = 0;
  std::vector<std::string> traces;
};

struct TimesMessage {
  static constexpr MessageKind kKind = MessageKind::Times;
  std::vector<std::vector<double>> times_us;  // [candidate][round]
};

std::string encode(const HelloMessage& m);
std::string encode(const TaskMessage& m);
std::string encode(const FailureMessage& m);
std::string encode(const BatchMessage& m);
std::string encode(const ProgressMessage& m);
std::string encode(const ResultMessage& m);
std::string encode(const InterleaveMessage& m);
std::string encode(const TimesMessage& m);
/// The message that a payload holds; a Parse error if it is malformed.
template <class Message>
Result<Message> decode(std::string_view payload);

/// Where a task's arrays lie in the memory that client and worker share: byte offsets, multiples of
/// 64. Both sides work it out from the DAG.
struct TaskLayout {
  std::vector<int64_t> arguments;  // inputs, then constants, as they are
  std::vector<int64_t> values;     // one an output: f64 for floats, else the output's own type
  std::vector<int64_t> bounds;     // one an output: f64
  int64_t bytes = 0;
};
TaskLayout task_layout(const ComputeDag& dag);

}  // namespace espalier
