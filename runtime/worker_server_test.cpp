#include "espalier/runtime/worker_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "espalier/runtime/worker_process.h"
#include "espalier/runtime/worker_protocol.h"

namespace espalier {
namespace {

using ::testing::HasSubstr;

WorkerProcess start_worker() {
  const std::string tool = ESPALIER_TOOL_PATH;
  const std::string program = tool.substr(0, tool.rfind('/') + 1) + "fault_worker";
  WorkerProcess process = WorkerProcess::start(program, {"worker"}, -1).value();
  Frame frame;
  EXPECT_EQ(process.wait(60, frame), WorkerProcess::Event::Frame);
  EXPECT_EQ(frame.kind, static_cast<uint8_t>(MessageKind::Hello));
  EXPECT_EQ(decode<HelloMessage>(frame.payload).value().version, kWorkerProtocolVersion);
  return process;
}

// What the worker says before it ends, upon this message.
std::string last_words(MessageKind kind, const std::string& payload) {
  WorkerProcess process = start_worker();
  EXPECT_TRUE(process.send(encode_frame(static_cast<uint8_t>(kind), payload)));
  Frame frame;
  EXPECT_EQ(process.wait(60, frame), WorkerProcess::Event::Closed);
  return process.finish().how;
}

// Why the worker refuses a task.
std::string refusal(const TaskMessage& task) {
  WorkerProcess process = start_worker();
  EXPECT_TRUE(process.send(encode_frame(static_cast<uint8_t>(MessageKind::Task), encode(task))));
  Frame frame;
  EXPECT_EQ(process.wait(60, frame), WorkerProcess::Event::Frame);
  EXPECT_EQ(frame.kind, static_cast<uint8_t>(MessageKind::Failure));
  return decode<FailureMessage>(frame.payload).value().message;
}

TEST(WorkerServer, AnUnknownMessageEndsIt) {
  EXPECT_THAT(last_words(static_cast<MessageKind>(200), ""), HasSubstr("a message of kind 200"));
}

TEST(WorkerServer, AMalformedMessageEndsIt) {
  EXPECT_THAT(last_words(MessageKind::Task, "abc"), HasSubstr("shorter than"));
}

TEST(WorkerServer, ABatchWithoutATaskEndsIt) {
  EXPECT_THAT(last_words(MessageKind::Batch, encode(BatchMessage{})),
              HasSubstr("not expected here"));
}

TEST(WorkerServer, ATaskThatCannotBeReadIsRefused) {
  EXPECT_THAT(refusal({"nonsense", 0, "host", 1, 3, {}}), HasSubstr("line 1"));
}

TEST(WorkerServer, ATaskWithoutSharedMemoryIsRefused) {
  const Tensor x = placeholder("X", {4});
  const Tensor y = compute("Y", {4}, [&](Var i) { return x(i) + 1.0f; });
  const ComputeDag dag = ComputeDag::make({y}).value();
  const std::string text = to_string(dag);
  EXPECT_THAT(refusal({text, dag.hash(), "host", 1, 77, {}}), HasSubstr("cannot map"));
  EXPECT_THAT(refusal({text, dag.hash() + 1, "host", 1, 77, {}}),
              HasSubstr("does not read back the same"));
}

}  // namespace
}  // namespace espalier
