#include "espalier/transfer/transfer.h"

#include <algorithm>

#include "espalier/cost_model/analyzer.h"
#include "espalier/search/tuner.h"
#include "espalier/support/device_model.h"
#include "espalier/transfer/explanation.h"
#include "espalier/transfer/test_support.h"
#include "espalier/transfer/transferred_lookup.h"

namespace espalier {
namespace {

constexpr const char* kConv3x3 = "conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1,epilogue=bias+relu";

Database database_of(std::initializer_list<const char*> specs, int threads = 1, bool wide = false) {
  Database db;
  for (const char* spec : specs) {
    const Task task = task_of(spec, threads, wide);
    EXPECT_TRUE(db.append(record_of(task, default_candidate(task), 100, 0)).ok());
  }
  return db;
}

TEST(Transfer, SeedsReplayAndDiffer) {
  const Database db = database_of({"conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,p=1,epilogue=bias+relu",
                                   "conv2d:n=1,h=14,w=14,ci=32,co=64,k=1",
                                   "matmul:m=64,n=64,k=64,weights=constant"});
  const Task task = task_of(kConv3x3);
  const Seeds seeds = transfer(db, task);
  ASSERT_GE(seeds.ranked.size(), 3u);
  std::vector<uint64_t> hashes;
  for (const TransferSeed& s : seeds.ranked) {
    EXPECT_TRUE(replay(task, s.candidate).ok());
    hashes.push_back(s.candidate.hash());
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

TEST(Transfer, TheClosestComesFirst) {
  const Database db = database_of({"conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,p=1,epilogue=bias+relu",
                                   "conv2d:n=1,h=224,w=224,ci=3,co=8,k=3,p=1,epilogue=bias+relu",
                                   "matmul:m=64,n=64,k=64,weights=constant"});
  const Seeds seeds = transfer(db, task_of(kConv3x3));
  ASSERT_FALSE(seeds.ranked.empty());
  EXPECT_EQ(seeds.ranked[0].map.level, MatchLevel::Extents);
  EXPECT_EQ(db.records()[seeds.ranked[0].record].run.workload,
            "conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,p=1,epilogue=bias+relu");
}

TEST(Transfer, TheTasksOwnRecordIsTakenVerbatim) {
  const Database db = database_of({kConv3x3});
  const Task task = task_of(kConv3x3);
  const Seeds seeds = transfer(db, task);
  ASSERT_FALSE(seeds.ranked.empty());
  EXPECT_EQ(seeds.ranked[0].road, SeedRoad::Verbatim);
  EXPECT_EQ(to_string(seeds.ranked[0].candidate.trace(), task), db.records()[0].trace);
}

TEST(Transfer, AndComesFirstWhateverIsExpectedOfOthers) {
  const Database db = database_of({kConv3x3, "conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,p=1",
                                   "conv2d:n=1,h=14,w=14,ci=32,co=64,k=1"});
  const Task task = task_of(kConv3x3);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const std::unique_ptr<CostModel> model = make_random_model(seed);
    TransferOptions options;
    options.model = model.get();
    EXPECT_EQ(transfer(db, task, options).ranked[0].road, SeedRoad::Verbatim);
  }
}

TEST(Transfer, OrLeftOut) {
  const Database db = database_of({kConv3x3});
  TransferOptions options;
  options.same_program = false;
  EXPECT_TRUE(transfer(db, task_of(kConv3x3), options).ranked.empty());
}

TEST(Transfer, RecordsOfOtherMachinesAreRefitted) {
  const Database db = database_of({kConv3x3}, 1, true);
  const Task task = task_of(kConv3x3, 1, false);
  const Seeds seeds = transfer(db, task);
  ASSERT_FALSE(seeds.ranked.empty());
  for (const TransferSeed& s : seeds.ranked) {
    EXPECT_NE(s.road, SeedRoad::Verbatim);
    EXPECT_TRUE(replay(task, s.candidate).ok());
  }
}

TEST(Transfer, WhatDoesNotMatchIsDeclinedWithAReason) {
  const Database db = database_of({"depthwise_conv2d:n=1,h=28,w=28,c=64,k=3,p=1"});
  const Seeds seeds = transfer(db, task_of(kConv3x3));
  EXPECT_TRUE(seeds.ranked.empty());
  ASSERT_EQ(seeds.declined.size(), 1u);
  ASSERT_TRUE(std::holds_alternative<Mismatch>(seeds.declined[0].why));
  EXPECT_EQ(std::get<Mismatch>(seeds.declined[0].why).code, MismatchCode::RoleMissing);
  EXPECT_FALSE(seeds.declined[0].text.empty());
}

TEST(Transfer, WhatTheModelExpectsMostOfComesFirstAndThenTheClosest) {
  const Database db = database_of({"conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,p=1,epilogue=bias+relu",
                                   "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,p=1,epilogue=bias+relu",
                                   "conv2d:n=1,h=14,w=14,ci=32,co=64,k=1"});
  const Task task = task_of(kConv3x3);
  const auto model = make_recorded_model();
  TransferOptions options;
  options.model = model.get();
  // It knows none, and finds all alike.
  const Seeds close = transfer(db, task, options);
  ASSERT_GE(close.ranked.size(), 3u);
  std::vector<MeasuredRow> rows;
  for (const TransferSeed& s : close.ranked) rows.push_back({&task, s.candidate, 1000});
  rows.back().time_us = 1;
  model->update(rows);
  const Seeds seeds = transfer(db, task, options);
  EXPECT_EQ(seeds.ranked[0].candidate.hash(), rows.back().candidate.hash());
  EXPECT_EQ(seeds.ranked[1].candidate.hash(), close.ranked[0].candidate.hash());
}

TEST(Transfer, WithoutAModelTheAnalyzerExpects) {
  const Database db = database_of({"conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,p=1,epilogue=bias+relu",
                                   "matmul:m=64,n=64,k=64,weights=constant"});
  const Task task = task_of(kConv3x3);
  const Seeds seeds = transfer(db, task);
  const auto analyzer = make_analyzer(data_sheet(task.target));
  for (const TransferSeed& s : seeds.ranked) {
    float score = 0;
    analyzer->score(task, std::span(&s.candidate, 1), std::span(&score, 1));
    EXPECT_EQ(s.expected, static_cast<double>(score));
  }
}

TEST(Transfer, SeedsGoIntoASearch) {
  const Database db = database_of({"conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,p=1,epilogue=bias+relu"});
  const Task task = task_of(kConv3x3);
  TuneOptions options;
  const Seeds seeds = transfer(db, task);
  options.seeds = seeds;
  const auto proposals = propose(task, 4, options).value();
  ASSERT_EQ(proposals.size(), 4u);
  EXPECT_EQ(proposals[0].provenance, Provenance::Default);
  EXPECT_EQ(proposals[1].provenance, Provenance::Transferred);
}

TEST(Transfer, ASearchKnowsHowASeedWasDecided) {
  const Database db = database_of({"conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,p=1,epilogue=bias"});
  const Task task = task_of(kConv3x3);
  const std::vector<Seed> seeds = transfer(db, task);
  const auto decided =
      std::find_if(seeds.begin(), seeds.end(), [](const Seed& s) { return !s.script.empty(); });
  ASSERT_NE(decided, seeds.end());
  const SketchSpace space(task);
  know_seeds(space, seeds);
  EXPECT_NE(space.find(*decided->candidate.sketch), nullptr);
}

TEST(Transfer, LookUpTakesItBeforeTheDefault) {
  const Database db = database_of({"conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,p=1,epilogue=bias+relu"});
  const Lookup found = look_up_or_transfer(db, task_of(kConv3x3), default_candidate).value();
  EXPECT_EQ(found.level, LookupLevel::Transferred);
  ASSERT_NE(found.record, nullptr);
  EXPECT_EQ(found.record, &db.records()[0]);
}

TEST(Transfer, LookUpKeepsWhatWasMeasuredForTheProgram) {
  const Database db = database_of({kConv3x3});
  EXPECT_EQ(look_up_or_transfer(db, task_of(kConv3x3), default_candidate)->level,
            LookupLevel::Exact);
}

TEST(Transfer, AnEmptyDatabaseLeavesTheDefault) {
  EXPECT_EQ(look_up_or_transfer(Database(), task_of(kConv3x3), default_candidate)->level,
            LookupLevel::Default);
}

TEST(DonorIndex, KeepsTheBestFewOfEachProgram) {
  Database db;
  const Task task = task_of(kConv3x3);
  for (int i = 0; i < 10; ++i) {
    TuningRecord r = record_of(task, default_candidate(task), 100 - i, i);
    r.candidate = static_cast<uint64_t>(i);
    ASSERT_TRUE(db.append(r).ok());
  }
  const DonorIndex index(db);
  ASSERT_EQ(index.donors().size(), 1u);
  ASSERT_EQ(index.donors()[0].schedules.size(), 3u);
  EXPECT_EQ(index.donors()[0].schedules[0].record, 9u);
  EXPECT_EQ(index.donors()[0].schedules[0].default_us, 100);
}

TEST(DonorIndex, LeavesOutWhatNoLongerReads) {
  Database db;
  const Task task = task_of(kConv3x3);
  TuningRecord r = record_of(task, default_candidate(task), 100);
  r.run.workload = "conv9d:n=1";
  ASSERT_TRUE(db.append(r).ok());
  const DonorIndex index(db);
  EXPECT_TRUE(index.donors().empty());
  EXPECT_EQ(index.left_out(), 1u);
}

TEST(DonorIndex, NearestAreNear) {
  const Database db = database_of({"matmul:m=64,n=64,k=64", "matmul:m=1024,n=1024,k=1024",
                                   "matmul:m=128,n=128,k=128", "softmax:rows=8,cols=8"});
  const DonorIndex index(db);
  const auto nearest = index.nearest(dag_of("matmul:m=128,n=128,k=120"), 2);
  ASSERT_EQ(nearest.size(), 2u);
  EXPECT_EQ(nearest[0]->workload, "matmul:m=128,n=128,k=128");
  EXPECT_EQ(nearest[1]->workload, "matmul:m=64,n=64,k=64");
}

TEST(Explanation, ShowsBothNestsStepsAndNumbers) {
  const Database db = database_of({"conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,p=1"});
  const Task task = task_of(kConv3x3);
  const Seeds seeds = transfer(db, task);
  const auto retargeted = std::find_if(seeds.ranked.begin(), seeds.ranked.end(), [](const auto& s) {
    return s.road == SeedRoad::Retargeted;
  });
  ASSERT_NE(retargeted, seeds.ranked.end());
  const Explanation e = explain(*retargeted, task, db);
  EXPECT_NE(e.donor_nest.find("Y.acc"), std::string::npos);
  EXPECT_NE(e.target_nest.find("conv.acc"), std::string::npos);
  EXPECT_FALSE(e.steps.empty());
  EXPECT_FALSE(e.factors.empty());
  const std::string text = to_text(e);
  for (const char* part : {"L3 anchor", "map\n", "loop nests\n", "steps\n", "numbers\n", "added"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const std::string page = to_html({e}, "A <title>");
  EXPECT_NE(page.find("A &lt;title&gt;"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "nothing is loaded";
}

}  // namespace
}  // namespace espalier
