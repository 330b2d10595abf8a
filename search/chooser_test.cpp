#include "espalier/search/chooser.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Chooser, TakesThePreferredOptionUnlessTold) {
  Chooser c;
  EXPECT_EQ(c.choose("a", 3, 2), 2);
  EXPECT_TRUE(c.flag("b", true));
  ASSERT_EQ(c.taken().size(), 2u);
  EXPECT_EQ(c.taken()[0].what, "a");
}

TEST(Chooser, FollowsTheScriptAndIgnoresWhatDoesNotFit) {
  const std::vector<int> script = {1, 7};
  Chooser c{std::span<const int>(script)};
  EXPECT_EQ(c.choose("a", 3, 2), 1);
  EXPECT_EQ(c.choose("b", 3, 2), 2);
  EXPECT_EQ(c.choose("c", 3, 0), 0);
}

TEST(Chooser, HintsApplyByNameAfterTheScript) {
  const std::vector<int> script = {0};
  const std::vector<StructureChoice> hints = {{"b", 3, 0, 2}, {"c", 2, 0, 1}};
  Chooser c(script, hints);
  EXPECT_EQ(c.choose("b", 3, 1), 0);  // scripted
  EXPECT_EQ(c.choose("b", 3, 1), 2);
  EXPECT_EQ(c.choose("c", 4, 3), 3);  // other options than hinted at
}

TEST(Chooser, DrawsAllOptions) {
  Rng rng(1);
  std::vector<int> seen(3, 0);
  for (int i = 0; i < 200; ++i) {
    Chooser c(rng, 0);
    ++seen[static_cast<size_t>(c.choose("a", 3, 0))];
  }
  for (int count : seen) EXPECT_GT(count, 30);
}

TEST(Chooser, PreferenceBiasesDraws) {
  Rng rng(1);
  int preferred = 0;
  for (int i = 0; i < 400; ++i) {
    Chooser c(rng, 0.9);
    preferred += c.choose("a", 4, 3) == 3;
  }
  EXPECT_GT(preferred, 340);
  EXPECT_LT(preferred, 400);
}

}  // namespace
}  // namespace espalier
