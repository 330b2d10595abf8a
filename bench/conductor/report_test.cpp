#include "conductor/report.h"

#include <gtest/gtest.h>

namespace espalier::bench {
namespace {

// Three rounds at a peak of 100 GFLOP/s, where a copy takes 1 us.
Row row_of(std::map<std::string, std::vector<double>> us, std::vector<double> ratios) {
  Row row;
  row.workload = "w";
  row.flops = 1e6;
  row.bytes = 1e3;
  row.lookup = "exact";
  row.us = std::move(us);
  row.ratios = std::move(ratios);
  row.peak_gflops = {100, 100, 100};
  row.copy_us = {1, 1, 1};
  row.stream_gbps = {10, 10, 10};
  for (const auto& [name, times] : row.us) row.details[name] = name;
  return row;
}

Report report_of(std::vector<Row> rows) {
  Report report;
  report.rows = std::move(rows);
  report.options.peers = {"onednn"};
  report.options.rounds = 3;
  return report;
}

TEST(Report, RatesRowsWithPeersAndCountsTheOthers) {
  Row undone;
  undone.workload = "x";
  undone.failure = "no such operator";
  const Report report =
      report_of({row_of({{kOurs, {20, 20, 20}}, {"onednn", {40, 40, 40}}}, {2, 2, 2}),
                 row_of({{kOurs, {20, 20, 20}}, {"onednn", {10, 10, 10}}}, {0.5, 0.5, 0.5}),
                 row_of({{kOurs, {20, 20, 20}}}, {}), undone});
  const Json summary = summary_of(report);
  EXPECT_NEAR(summary.get_double("geomean_ratio").value(), 1, 1e-12);
  EXPECT_EQ(summary.get_double("min_ratio").value(), 0.5);
  EXPECT_EQ(summary.get_int("rows_without_peer").value(), 2);
  EXPECT_EQ(summary.get_int("rows_not_done").value(), 1);
  const Json rows = summary.get("rows").value();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].get_double("us").value(), 20);
  EXPECT_EQ(rows[0].get_double("gflops").value(), 50);
  EXPECT_EQ(rows[0].get_double("of_peak").value(), 0.5);
  EXPECT_EQ(rows[0].get_double("ratio_low").value(), 2);
  EXPECT_TRUE(rows[2].find("ratio")->is_null());
  EXPECT_EQ(rows[2].find("peers")->size(), 0u);
  EXPECT_TRUE(rows[3].find("us")->is_null());
  EXPECT_EQ(rows[3].get_string("error").value(), "no such operator");
}

TEST(Report, WithoutAnyPeerHasNoMean) {
  const Json summary = summary_of(report_of({row_of({{kOurs, {20, 20, 20}}}, {})}));
  EXPECT_TRUE(summary.find("geomean_ratio")->is_null());
  EXPECT_TRUE(summary.find("min_ratio")->is_null());
}

TEST(Report, GivesTheShareOfACopyWhereMemoryIsTheLimit) {
  Row computing = row_of({{kOurs, {20, 20, 20}}}, {});
  Row moving = computing;
  moving.copy_us = {15, 15, 15};  // its multiply-adds alone take 10 us
  const Json rows = summary_of(report_of({computing, moving})).get("rows").value();
  EXPECT_FALSE(rows[0].contains("of_copy"));
  EXPECT_EQ(rows[1].get_double("of_copy").value(), 0.75);
}

TEST(Report, AbsenteesAreNamedInTheText) {
  Row row = row_of({{kOurs, {20, 20, 20}}}, {});
  row.absent["onednn"] = "its process ended with signal 11";
  const std::string text = as_text(report_of({row}));
  EXPECT_NE(text.find("onednn absent from 1 row: its process ended with signal 11"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace espalier::bench
