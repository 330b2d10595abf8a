#include "espalier/support/fd.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace espalier {
namespace {

class FdTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "espalier-fd-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }
  size_t file_count() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::string folder_;
};

TEST_F(FdTest, WritesAndReadsBack) {
  const std::string contents("with\0nul\n", 9);
  ASSERT_TRUE(write_file(path("a"), contents).ok());
  EXPECT_EQ(read_file(path("a")).value(), contents);
}

TEST_F(FdTest, MissingFileIsNotFound) {
  Error error = read_file(path("none")).error();
  EXPECT_EQ(error.code, ErrorCode::NotFound);
  EXPECT_EQ(error.message, "cannot read '" + path("none") + "': No such file or directory");
}

TEST_F(FdTest, ReadingAFolderIsAnError) {
  EXPECT_EQ(read_file(folder_).error().code, ErrorCode::Io);
}

TEST_F(FdTest, EndlessFileIsAnError) {
  EXPECT_EQ(read_file("/dev/zero", 1 << 20).error().code, ErrorCode::Resource);
}

// Nobody may ever come to the other end.
TEST_F(FdTest, ANamedPipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_file(path("pipe")).value(), "");
  EXPECT_FALSE(write_file(path("pipe"), "x").ok());
}

TEST_F(FdTest, APipeIsReadToItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    for (int i = 0; i < 3; ++i) {
      usleep(2000);
      write_all(ends[1], "part ", "pipe").value();
    }
    close(ends[1]);
  });
  EXPECT_EQ(read_file("/dev/fd/" + std::to_string(ends[0])).value(), "part part part ");
  writer.join();
  close(ends[0]);
}

TEST_F(FdTest, WriteReplacesAndLeavesNothingBeside) {
  ASSERT_TRUE(write_file(path("a"), "old").ok());
  ASSERT_TRUE(write_file(path("a"), "new").ok());
  EXPECT_EQ(read_file(path("a")).value(), "new");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(FdTest, WriteFollowsLinksAndKeepsTheMode) {
  ASSERT_TRUE(write_file(path("a"), "old").ok());
  ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
  ASSERT_EQ(symlink("a", path("link").c_str()), 0);
  ASSERT_TRUE(write_file(path("link"), "new").ok());
  EXPECT_EQ(read_file(path("a")).value(), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  struct stat info{};
  stat(path("a").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(FdTest, WriteIntoAMissingFolderNamesThePath) {
  Error error = write_file(path("no/a"), "x").error();
  EXPECT_EQ(error.code, ErrorCode::NotFound);
  EXPECT_NE(error.message.find(path("no/a")), std::string::npos);
}

TEST_F(FdTest, FullDiskIsAResourceError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(write_file("/dev/full", "x").error().message,
            "cannot write '/dev/full': No space left on device");
  EXPECT_EQ(append_line("/dev/full", "x").error().code, ErrorCode::Resource);
}

TEST_F(FdTest, AppendsLines) {
  ASSERT_TRUE(append_line(path("log"), "one").ok());
  ASSERT_TRUE(append_line(path("log"), "").ok());
  ASSERT_TRUE(append_line(path("log"), "three").ok());
  EXPECT_EQ(read_file(path("log")).value(), "one\n\nthree\n");
}

TEST_F(FdTest, AppendCompletesATornLine) {
  ASSERT_TRUE(write_file(path("log"), "one\n{\"torn").ok());
  ASSERT_TRUE(append_line(path("log"), "two").ok());
  EXPECT_EQ(read_file(path("log")).value(), "one\n{\"torn\ntwo\n");
}

TEST_F(FdTest, AppendRefusesALineWithNewlines) {
  EXPECT_EQ(append_line(path("log"), "a\nb").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(file_count(), 0u);
}

TEST_F(FdTest, AppendsFromSeveralThreadsStayWhole) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(append_line(path("log"), std::string(5000, static_cast<char>('a' + t))).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(read_file(path("log")).value());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_EQ(line.size(), 5000u);
    EXPECT_EQ(line.find_first_not_of(line[0]), std::string::npos);
  }
  EXPECT_EQ(count, 200);
}

TEST(UniqueFd, MovesOwnership) {
  UniqueFd a(dup(1));
  const int raw = a.get();
  UniqueFd b = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_EQ(b.get(), raw);
  b.reset();
  EXPECT_FALSE(b);
}

}  // namespace
}  // namespace espalier
