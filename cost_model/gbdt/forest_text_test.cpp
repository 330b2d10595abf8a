#include "espalier/cost_model/gbdt/forest_text.h"

#include <cmath>
#include <string>
#include <vector>

#include "espalier/cost_model/gbdt/fit.h"
#include "espalier/cost_model/gbdt/test_tables.h"
#include "espalier/support/json.h"
#include "gtest/gtest.h"

namespace espalier::gbdt {
namespace {

Forest small_forest() {
  FitOptions options;
  options.trees = 12;
  return fit(random_table(500, 9, 1).set(), options).value();
}

TEST(ForestText, ReadsBackBitForBit) {
  const Forest forest = small_forest();
  const std::string text = to_json(forest).dump();
  const Forest back = parse_forest(parse_json(text).value()).value();
  EXPECT_EQ(back, forest);
  EXPECT_EQ(to_json(back).dump(), text);
}

TEST(ForestText, SplitsOnMissingAloneReadBack) {
  TestTable table;
  table.columns = 1;
  for (int i = 0; i < 40; ++i) {
    table.values.push_back(i % 2 == 0 ? 5.0F : NAN);
    table.labels.push_back(static_cast<float>(i % 2));
  }
  FitOptions options;
  options.trees = 1;
  const Forest forest = fit(table.set(), options).value();
  ASSERT_EQ(forest.trees.size(), 1U);
  EXPECT_EQ(parse_forest(parse_json(to_json(forest).dump()).value()).value(), forest);
}

TEST(ForestText, ForestsWithoutTreesReadBack) {
  Forest forest;
  forest.columns = 4;
  forest.base_score = 0.1;
  EXPECT_EQ(parse_forest(to_json(forest)).value(), forest);
}

TEST(ForestText, RefusesAnotherVersion) {
  Json json = to_json(small_forest());
  json.set("version", 99);
  const Result<Forest> read = parse_forest(json);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::Unsupported);
}

// Whatever number of a saved forest is replaced, reading gives an error or a forest that can be
// walked: it never crashes and never runs in circles.
TEST(ForestText, DamagedNumbersAreRefusedOrHarmless) {
  const Forest forest = small_forest();
  const Json good = to_json(forest);
  const TestTable table = random_table(40, 9, 2);
  std::vector<float> scores(40);
  Rng rng(4);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    Json json = good;
    const std::vector<std::string> keys = {"left", "column", "value", "roots", "columns"};
    const std::string& key = rng.pick(keys);
    if (key == "columns") {
      json.set(key, rng.range(-3, 12));
    } else {
      Json::Array items = json.find(key)->items();
      Json& item = rng.pick(items);
      item = rng.chance(0.1) ? Json()
                             : Json(rng.range(-5, static_cast<int64_t>(forest.nodes.size()) + 5));
      json.set(key, Json(items));
    }
    const Result<Forest> read = parse_forest(json);
    if (read.ok() && read->columns == 9) read->predict(table.set().table, {}, 1, scores);
  }
}

TEST(ForestText, NamesWhatIsMissing) {
  const Result<Forest> read = parse_forest(parse_json(R"({"version": 1, "columns": 3})").value());
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("base_score"), std::string::npos);
}

}  // namespace
}  // namespace espalier::gbdt
