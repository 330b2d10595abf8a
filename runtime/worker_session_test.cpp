#include "espalier/runtime/worker_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A program that sends these bytes and then waits.
Result<WorkerSession> start_with_greeting(const std::string& bytes) {
  const std::string path = testing::TempDir() + "greeting." + std::to_string(getpid());
  std::ofstream(path, std::ios::binary) << bytes;
  auto session = WorkerSession::start("/bin/sh", {"-c", "cat " + path + "; exec cat"}, {}, -1);
  unlink(path.c_str());
  return session;
}

template <class Message>
std::string framed(const Message& message) {
  return encode_frame(static_cast<uint8_t>(Message::kKind), encode(message));
}

TEST(WorkerSession, AnotherVersionOfTheProtocolIsAnErrorThatNamesBoth) {
  const Error error = start_with_greeting(framed(HelloMessage{99, "9.9.9"})).error();
  EXPECT_EQ(error.code, ErrorCode::Unsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("9.9.9"), HasSubstr("version 99"),
                                   HasSubstr("use the worker of the same build")));
}

TEST(WorkerSession, ARefusedTaskIsAnErrorThatSaysWhy) {
  const Error error =
      start_with_greeting(framed(HelloMessage{}) + framed(FailureMessage{"no memory"})).error();
  EXPECT_THAT(error.message, HasSubstr("cannot load the task: no memory"));
}

TEST(WorkerSession, AnotherGreetingIsAnError) {
  EXPECT_THAT(start_with_greeting(framed(FailureMessage{"?"})).error().message,
              HasSubstr("does not greet as one"));
}

TEST(WorkerSession, BytesThatAreNoFrameAreAnError) {
  EXPECT_FALSE(start_with_greeting("Welcome to the machine.\n").ok());
}

// Like one that somebody kills while it starts.
TEST(WorkerSession, AWorkerKilledAtItsStartIsStartedAgain) {
  const std::string path = testing::TempDir() + "killed." + std::to_string(getpid());
  std::ofstream(path, std::ios::binary)
      << framed(HelloMessage{}) << encode_frame(static_cast<uint8_t>(MessageKind::Ready), {});
  const std::string dies_once = "if [ -e " + path + ".seen ]; then cat " + path +
                                "; exec cat; else touch " + path + ".seen; kill -KILL $$; fi";
  EXPECT_TRUE(WorkerSession::start("/bin/sh", {"-c", dies_once}, {}, -1).ok());
  unlink(path.c_str());
  unlink((path + ".seen").c_str());
}

TEST(WorkerSession, AWorkerThatAlwaysDiesIsAnErrorThatSaysHow) {
  EXPECT_THAT(WorkerSession::start("/bin/sh", {"-c", "kill -SEGV $$"}, {}, -1).error().message,
              HasSubstr("SIGSEGV"));
}

}  // namespace
}  // namespace espalier
