#include "espalier/runtime/worker_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace espalier {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<WorkerProcess> shell(const std::string& script, int inherited_fd = -1) {
  return WorkerProcess::start("/bin/sh", {"-c", script}, inherited_fd);
}

// How a script that says nothing ends.
WorkerProcess::End end_of(const std::string& script) {
  WorkerProcess process = shell(script).value();
  Frame frame;
  EXPECT_EQ(process.wait(20, frame), WorkerProcess::Event::Closed);
  return process.finish();
}

TEST(WorkerProcess, ANameWithoutASlashIsLookedForInPath) {
  EXPECT_TRUE(WorkerProcess::start("cat", {}, -1).ok());
}

TEST(WorkerProcess, AMissingProgramIsAnErrorThatNamesIt) {
  const auto process = WorkerProcess::start("/nowhere/worker", {}, -1);
  EXPECT_EQ(process.error().code, ErrorCode::NotFound);
  EXPECT_THAT(process.error().message, HasSubstr("/nowhere/worker"));
}

TEST(WorkerProcess, FramesGoBothWays) {
  WorkerProcess process = WorkerProcess::start("/bin/cat", {}, -1).value();
  ASSERT_TRUE(process.send(encode_frame(5, "hello")));
  Frame frame;
  ASSERT_EQ(process.wait(20, frame), WorkerProcess::Event::Frame);
  EXPECT_EQ(frame.kind, 5);
  EXPECT_EQ(frame.payload, "hello");
}

TEST(WorkerProcess, WaitingEndsInTime) {
  WorkerProcess process = WorkerProcess::start("/bin/cat", {}, -1).value();
  Frame frame;
  EXPECT_EQ(process.wait(0.01, frame), WorkerProcess::Event::Timeout);
}

TEST(WorkerProcess, TellsTheExitStatus) { EXPECT_EQ(end_of("exit 3").how, "exited with status 3"); }

TEST(WorkerProcess, TellsTheSignal) {
  const WorkerProcess::End end = end_of("kill -SEGV $$");
  EXPECT_EQ(end.how, "was killed by SIGSEGV (Segmentation fault)");
  EXPECT_EQ(end.signal, SIGSEGV);
}

TEST(WorkerProcess, TellsWhatWasWrittenToStandardError) {
  EXPECT_EQ(end_of("echo oops >&2; exit 1").how, "exited with status 1; it wrote: oops");
}

TEST(WorkerProcess, KeepsTheEndOfALongStandardError) {
  const std::string how =
      end_of("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done >&2; exit 1").how;
  EXPECT_THAT(how, HasSubstr("line 19999"));
  EXPECT_LT(how.size(), 1000u);
}

TEST(WorkerProcess, NonsenseIsAnEnd) {
  WorkerProcess process = shell("printf '\\377\\377\\377\\377\\001'; cat").value();
  Frame frame;
  EXPECT_EQ(process.wait(20, frame), WorkerProcess::Event::Closed);
  EXPECT_THAT(process.finish().how, StartsWith("sent something"));
}

TEST(WorkerProcess, SendingToOneThatIsGoneRaisesNoSignal) {
  WorkerProcess process = shell("exit 0").value();
  Frame frame;
  ASSERT_EQ(process.wait(20, frame), WorkerProcess::Event::Closed);
  EXPECT_FALSE(process.send(std::string(1 << 20, 'x')));
}

TEST(WorkerProcess, InheritsTheDescriptorItIsGivenAndNoOther) {
  const UniqueFd given(open("/dev/null", O_RDONLY | O_CLOEXEC));
  // Number 4 is the folder that is listed.
  WorkerProcess process = shell("ls /proc/self/fd | tr '\\n' ' ' >&2; exit 1", given.get()).value();
  Frame frame;
  ASSERT_EQ(process.wait(20, frame), WorkerProcess::Event::Closed);
  EXPECT_EQ(process.finish().how, "exited with status 1; it wrote: 0 1 2 3 4");
}

TEST(WorkerProcess, StartsWithClosedStandardStreams) {
  // The pipes' own descriptors then get low numbers.
  EXPECT_EXIT(
      {
        for (int fd = 0; fd < 3; ++fd) close(fd);
        WorkerProcess process = WorkerProcess::start("/bin/cat", {}, -1).value();
        const bool sent = process.send(encode_frame(5, "hello"));
        Frame frame;
        const bool good = sent && process.wait(20, frame) == WorkerProcess::Event::Frame &&
                          frame.payload == "hello";
        _exit(good ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(WorkerProcess, KnowsItsMemory) {
  WorkerProcess process = WorkerProcess::start("/bin/cat", {}, -1).value();
  ASSERT_TRUE(process.send(encode_frame(5, "hello")));
  Frame frame;
  ASSERT_EQ(process.wait(20, frame), WorkerProcess::Event::Frame);
  EXPECT_GT(process.private_bytes(), 0);
  EXPECT_LT(process.private_bytes(), int64_t{1} << 30);
}

TEST(WorkerProcess, IsGoneWithItsOwner) {
  pid_t pid = 0;
  {
    const WorkerProcess process = WorkerProcess::start("/bin/cat", {}, -1).value();
    pid = process.pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
}

}  // namespace
}  // namespace espalier
