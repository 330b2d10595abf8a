#include "espalier/search/database.h"

#include <thread>

#include "espalier/search/test_support.h"

namespace espalier {
namespace {

using testing::contents_of;
using testing::TempFolder;
using testing::write_text;

TuningRecord record(int trial, double time_us = 1) {
  TuningRecord r;
  r.run.workload = "w";
  r.run.dag_hash = 42;
  r.run.target = "t";
  r.run.policy = "random";
  r.trial = trial;
  r.result.status = MeasureStatus::Ok;
  r.result.time_us = time_us;
  r.result.times_us = {time_us};
  r.verified = true;
  return r;
}

TEST(Database, AppendedRecordsAreReadBack) {
  TempFolder folder;
  const std::string path = folder.file_path("a");
  Database db = Database::open_for_append(path).value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(db.append(record(i)).ok());
  const Database back = Database::open(path).value();
  ASSERT_EQ(back.records().size(), 3u);
  EXPECT_EQ(back.records()[2].trial, 2);
  EXPECT_EQ(back.line(2), 3);
  EXPECT_EQ(back.of_dag(42).size(), 3u);
  EXPECT_TRUE(back.of_dag(43).empty());
  EXPECT_TRUE(back.warnings().empty());
}

TEST(Database, TornLastLineIsSkippedAndTheNextAppendStartsALine) {
  TempFolder folder;
  const std::string path = folder.file_path("a");
  const std::string line = to_json_line(record(1));
  for (size_t cut = 1; cut < line.size(); cut += 37) {
    write_text(path, to_json_line(record(0)) + "\n" + line.substr(0, cut));
    Database db = Database::open_for_append(path).value();
    EXPECT_EQ(db.records().size(), 1u);
    EXPECT_EQ(db.warnings().size(), 1u);
    ASSERT_TRUE(db.append(record(2)).ok());
    const Database back = Database::open(path).value();
    ASSERT_EQ(back.records().size(), 2u) << cut;
    EXPECT_EQ(back.records()[1].trial, 2);
  }
}

TEST(Database, FileOfOneTornLineIsOurs) {
  TempFolder folder;
  write_text(folder.file_path("a"), to_json_line(record(0)).substr(0, 60));
  EXPECT_TRUE(Database::open_for_append(folder.file_path("a")).ok());
}

TEST(Database, JunkBetweenRecordsIsSkippedWithItsLineNumber) {
  TempFolder folder;
  const std::string path = folder.file_path("a");
  write_text(path,
             to_json_line(record(0)) + "\nhello\n\n# comment\n" + to_json_line(record(1)) + "\n");
  const Database db = Database::open(path).value();
  EXPECT_EQ(db.records().size(), 2u);
  ASSERT_EQ(db.warnings().size(), 1u);
  EXPECT_NE(db.warnings()[0].find(":2:"), std::string::npos) << db.warnings()[0];
}

TEST(Database, ForeignFileIsRefusedAndLeftAlone) {
  TempFolder folder;
  const std::string path = folder.file_path("a");
  for (const std::string text : {"hello\n", "[1, 2]\n", "{}\n",
                                 "\x7f"
                                 "ELF\0\1"}) {
    write_text(path, text);
    const Result<Database> db = Database::open_for_append(path);
    ASSERT_FALSE(db.ok());
    EXPECT_NE(db.error().message.find(path), std::string::npos);
    EXPECT_EQ(contents_of(path), text);
  }
}

TEST(Database, AnotherVersionIsRefusedAndLeftAlone) {
  TempFolder folder;
  const std::string path = folder.file_path("a");
  const std::string text = to_json_line(record(0)) + "\n{\"v\": 2}\n";
  write_text(path, text);
  const Result<Database> db = Database::open_for_append(path);
  ASSERT_FALSE(db.ok());
  EXPECT_NE(to_string(db.error()).find("line 2"), std::string::npos);
  EXPECT_EQ(contents_of(path), text);
}

TEST(Database, MissingFileIsAnErrorToReadAndEmptyToAppend) {
  TempFolder folder;
  EXPECT_EQ(Database::open(folder.file_path("a")).error().code, ErrorCode::NotFound);
  EXPECT_TRUE(Database::open_for_append(folder.file_path("a"))->records().empty());
}

TEST(Database, MissingFolderSaysSo) {
  const Result<Database> db = Database::open_for_append("/nonexistent-folder/x.jsonl");
  ASSERT_FALSE(db.ok());
  EXPECT_NE(db.error().message.find("folder must exist"), std::string::npos) << db.error().message;
}

TEST(Database, FolderIsRefused) {
  EXPECT_FALSE(Database::open("/tmp").ok());
  EXPECT_FALSE(Database::open_for_append("/tmp").ok());
}

TEST(Database, FullDeviceIsAnErrorBeforeAnythingIsMeasured) {
  const Result<Database> db = Database::open_for_append("/dev/full");
  ASSERT_FALSE(db.ok());
  EXPECT_NE(db.error().message.find("No space left"), std::string::npos) << db.error().message;
}

TEST(Database, TwoWritersShareAFile) {
  TempFolder folder;
  const std::string path = folder.file_path("a");
  auto write = [&](int first) {
    Database db = Database::open_for_append(path).value();
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(db.append(record(first + i)).ok());
  };
  std::thread other(write, 100);
  write(0);
  other.join();
  const Database db = Database::open(path).value();
  EXPECT_EQ(db.records().size(), 100u);
  EXPECT_TRUE(db.warnings().empty());
}

}  // namespace
}  // namespace espalier
