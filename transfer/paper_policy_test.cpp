#include "espalier/transfer/paper_policy.h"

#include "espalier/transfer/test_support.h"

namespace espalier {
namespace {

Database database_of(std::initializer_list<const char*> specs) {
  Database db;
  for (const char* spec : specs) {
    const Task task = task_of(spec);
    EXPECT_TRUE(db.append(record_of(task, default_candidate(task), 100, 0)).ok());
  }
  return db;
}

std::vector<Proposal> proposals_of(PaperPolicy& policy, const Task& task, int n) {
  const SketchSpace space(task);
  History history;
  return policy.propose({space, Rng(1), history, 1, 0}, n);
}

TEST(PaperPolicy, TheClassDoesNotKnowWindowsOrExtents) {
  EXPECT_EQ(operator_class(dag_of("conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1,epilogue=relu")),
            operator_class(dag_of("conv2d:n=1,h=7,w=7,ci=8,co=9,k=1,epilogue=relu")));
  EXPECT_NE(operator_class(dag_of("conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1,epilogue=relu")),
            operator_class(dag_of("conv2d:n=1,h=28,w=28,ci=64,co=96,k=3,p=1")));
}

TEST(PaperPolicy, ReplaysTilesAsTheyAre) {
  const Database db =
      database_of({"matmul:m=128,n=512,k=256,weights=constant", "softmax:rows=8,cols=8"});
  const DonorIndex index(db);
  PaperPolicy policy(index);
  const Task task = task_of("matmul:m=50,n=100,k=33,weights=constant");
  const auto proposals = proposals_of(policy, task, 8);
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(policy.pairs(), 1);
  EXPECT_EQ(policy.invalid(), 0);
  EXPECT_EQ(to_string(proposals[0].candidate.trace(), task), db.records()[0].trace);
  EXPECT_TRUE(proposals_of(policy, task, 8).empty()) << "each pair once";
}

TEST(PaperPolicy, LeavesOutTheTasksOwnRecords) {
  const Database db = database_of({"matmul:m=50,n=100,k=33"});
  const DonorIndex index(db);
  PaperPolicy policy(index);
  EXPECT_TRUE(proposals_of(policy, task_of("matmul:m=50,n=100,k=33"), 8).empty());
}

TEST(PaperPolicy, TheBestIsOneOfItsOwn) {
  const Database db = database_of({"matmul:m=128,n=512,k=256"});
  const DonorIndex index(db);
  PaperPolicy policy(index);
  const Task task = task_of("matmul:m=50,n=100,k=33");
  const auto proposals = proposals_of(policy, task, 8);
  ASSERT_EQ(proposals.size(), 1u);
  Observation mine{proposals[0], proposals[0].candidate.hash(), {}};
  mine.result.status = MeasureStatus::Ok;
  mine.result.time_us = 90;
  Observation other = mine;
  other.proposal.provenance = Provenance::Default;
  other.result.time_us = 10;
  const SketchSpace space(task);
  History history;
  policy.observe({space, Rng(1), history, 1, 0}, std::vector{other, mine});
  ASSERT_NE(policy.best(), nullptr);
  EXPECT_EQ(policy.best()->result.time_us, 90);
}

}  // namespace
}  // namespace espalier
