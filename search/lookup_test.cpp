#include "espalier/search/lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "espalier/ir/tensor.h"
#include "espalier/search/default_schedule.h"

namespace espalier {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Task small_task() {
  const Tensor a = placeholder("A", {8, 8});
  const Tensor y = compute("Y", {8, 8}, [&](Var i, Var j) { return a(i, j) * 2.0f; });
  Task task;
  task.dag = ComputeDag::make({y}).value();
  task.target = parse_target("x86_64 features=+avx2,+fma cores=2").value();
  return task;
}

TuningRecord record_of(const Task& task, double us, const std::string& trace = "") {
  TuningRecord r;
  r.run.workload = to_string(task.dag);
  r.run.dag_hash = task.dag.hash();
  r.run.target = to_string(task.target);
  r.run.threads = task.threads;
  r.trace = trace;
  r.result.status = MeasureStatus::Ok;
  r.result.time_us = us;
  r.verified = true;
  return r;
}

Lookup found(const std::vector<TuningRecord>& records, const Task& task, Database& database) {
  for (const TuningRecord& r : records) EXPECT_TRUE(database.append(r).ok());
  return look_up(database, task, naive_candidate).value();
}

TEST(Lookup, WithoutRecordsItIsTheDefaultSchedule) {
  Database database;
  const Lookup lookup = found({}, small_task(), database);
  EXPECT_EQ(lookup.level, LookupLevel::Default);
  EXPECT_EQ(lookup.record, nullptr);
  EXPECT_THAT(lookup.notes, IsEmpty());
}

TEST(Lookup, TheFastestExactRecordWins) {
  const Task task = small_task();
  Database database;
  const Lookup lookup =
      found({record_of(task, 3), record_of(task, 1, "Y: split i by 4\n"), record_of(task, 2)}, task,
            database);
  EXPECT_EQ(lookup.level, LookupLevel::Exact);
  ASSERT_NE(lookup.record, nullptr);
  EXPECT_EQ(lookup.record->result.time_us, 1);
  EXPECT_EQ(lookup.state.trace().size(), 1u);
}

TEST(Lookup, TheWinnerOfAFinalComparisonGoesBeforeALuckyTime) {
  const Task task = small_task();
  TuningRecord winner = record_of(task, 2, "Y: split i by 4\n");
  winner.final = true;
  Database database;
  const Lookup lookup = found({record_of(task, 1), winner}, task, database);
  ASSERT_NE(lookup.record, nullptr);
  EXPECT_TRUE(lookup.record->final);
}

TEST(Lookup, RecordsThatFailedOrWereNotVerifiedDoNotCount) {
  const Task task = small_task();
  TuningRecord failed = record_of(task, 1), unverified = record_of(task, 1);
  failed.result.status = MeasureStatus::Wrong;
  unverified.verified = false;
  Database database;
  EXPECT_EQ(found({failed, unverified}, task, database).level, LookupLevel::Default);
}

TEST(Lookup, AnotherNumberOfThreadsIsCompatibleAndSaid) {
  Task task = small_task();
  const TuningRecord r = record_of(task, 1);
  task.threads = 2;
  Database database;
  const Lookup lookup = found({r}, task, database);
  EXPECT_EQ(lookup.level, LookupLevel::Compatible);
  ASSERT_EQ(lookup.notes.size(), 1u);
  EXPECT_THAT(lookup.notes[0], HasSubstr("for 1 thread, wanted is 2"));
}

TEST(Lookup, AnExactRecordIsPreferredToAFasterCompatibleOne) {
  Task task = small_task();
  const TuningRecord compatible = record_of(task, 1);
  task.threads = 2;
  Database database;
  EXPECT_EQ(found({compatible, record_of(task, 5)}, task, database).level, LookupLevel::Exact);
}

TEST(Lookup, ATargetWithLessIsCompatible) {
  Task task = small_task();
  const TuningRecord r = record_of(task, 1);
  task.target = parse_target("x86_64 features=+avx2,+fma,+avx512f cores=2").value();
  Database database;
  const Lookup lookup = found({r}, task, database);
  EXPECT_EQ(lookup.level, LookupLevel::Compatible);
  ASSERT_EQ(lookup.notes.size(), 1u);
  EXPECT_THAT(lookup.notes[0], HasSubstr("adapted"));
}

TEST(Lookup, ATargetWithMoreIsRefusedAloud) {
  Task task = small_task();
  task.target = parse_target("x86_64 features=+avx2,+fma,+avx512f cores=2").value();
  const TuningRecord r = record_of(task, 1);
  task.target = small_task().target;
  Database database;
  const Lookup lookup = found({r}, task, database);
  EXPECT_EQ(lookup.level, LookupLevel::Default);
  ASSERT_EQ(lookup.notes.size(), 1u);
  EXPECT_THAT(lookup.notes[0], HasSubstr("refused 1 record "));
}

TEST(Lookup, ATraceThatNoLongerAppliesIsPassedOver) {
  const Task task = small_task();
  Database database;
  const Lookup lookup =
      found({record_of(task, 1, "Y: split nonsense by 4\n"), record_of(task, 2)}, task, database);
  EXPECT_EQ(lookup.level, LookupLevel::Exact);
  EXPECT_EQ(lookup.record->result.time_us, 2);
  ASSERT_EQ(lookup.notes.size(), 1u);
  EXPECT_THAT(lookup.notes[0], HasSubstr("no longer parses"));
}

}  // namespace
}  // namespace espalier
