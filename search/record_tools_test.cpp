#include "espalier/search/record_tools.h"

#include "espalier/search/test_support.h"

namespace espalier {
namespace {

using testing::contents_of;
using testing::TempFolder;
using testing::write_text;

TuningRecord record(uint64_t dag, double time_us, Provenance provenance = Provenance::Sampled) {
  TuningRecord r;
  r.run.dag_hash = dag;
  r.run.target = "t";
  r.provenance = provenance;
  r.result.status = time_us > 0 ? MeasureStatus::Ok : MeasureStatus::Timeout;
  r.result.time_us = time_us;
  r.verified = time_us > 0;
  return r;
}

std::string lines(const std::vector<TuningRecord>& records) {
  std::string text;
  for (const TuningRecord& r : records) text += to_json_line(r) + "\n";
  return text;
}

TEST(RecordTools, MergeKeepsEachRecordOnceAndTheOutputMayBeAmongTheInputs) {
  TempFolder folder;
  const std::string a = folder.file_path("a"), b = folder.file_path("b");
  write_text(a, lines({record(1, 5), record(1, 6)}));
  write_text(b, lines({record(1, 6), record(2, 7)}));
  const RewriteReport report = merge_records(a, {a, b}).value();
  EXPECT_EQ(report.read, 4u);
  EXPECT_EQ(report.kept, 3u);
  EXPECT_EQ(contents_of(a), lines({record(1, 5), record(1, 6), record(2, 7)}));
}

TEST(RecordTools, MergeDoesNotReplaceAFileThatItWasNotGiven) {
  TempFolder folder;
  const std::string a = folder.file_path("a"), out = folder.file_path("out");
  write_text(a, lines({record(1, 5)}));
  write_text(out, lines({record(2, 5)}));
  EXPECT_FALSE(merge_records(out, {a}).ok());
  EXPECT_EQ(contents_of(out), lines({record(2, 5)}));
}

TEST(RecordTools, MergeOfAMissingInputChangesNothing) {
  TempFolder folder;
  const std::string a = folder.file_path("a");
  write_text(a, lines({record(1, 5)}));
  EXPECT_FALSE(merge_records(a, {a, folder.file_path("b")}).ok());
  EXPECT_EQ(contents_of(a), lines({record(1, 5)}));
}

TEST(RecordTools, PruneKeepsTheFastestAndTheDefault) {
  TempFolder folder;
  const std::string a = folder.file_path("a");
  write_text(a, lines({record(1, 9, Provenance::Default), record(1, 5), record(1, 3), record(1, 0),
                       record(2, 8)}));
  const RewriteReport report = prune_records(a).value();
  EXPECT_EQ(report.read, 5u);
  EXPECT_EQ(contents_of(a), lines({record(1, 9, Provenance::Default), record(1, 3), record(2, 8)}));
}

TEST(RecordTools, UnverifiedRecordsNeverWin) {
  Database db;
  TuningRecord fast = record(1, 1);
  fast.verified = false;
  ASSERT_TRUE(db.append(fast).ok());
  ASSERT_TRUE(db.append(record(1, 5)).ok());
  EXPECT_EQ(summarize(db).at(0).best->result.time_us, 5);
}

TEST(RecordTools, SummaryCountsFailuresAndTellsTasksApart) {
  Database db;
  for (const TuningRecord& r :
       {record(1, 9, Provenance::Default), record(2, 4), record(1, 0), record(1, 5)}) {
    ASSERT_TRUE(db.append(r).ok());
  }
  const std::vector<TaskSummary> summaries = summarize(db);
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].records, 3u);
  EXPECT_EQ(summaries[0].failed, 1u);
  EXPECT_EQ(summaries[0].best->result.time_us, 5);
  EXPECT_EQ(summaries[0].initial->result.time_us, 9);
  EXPECT_EQ(summaries[1].initial, nullptr);
}

}  // namespace
}  // namespace espalier
