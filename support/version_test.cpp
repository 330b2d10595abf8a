#include "espalier/support/version.h"

#include "gtest/gtest.h"

namespace espalier {
namespace {

TEST(Version, IsThatOfTheBuild) {
  EXPECT_NE(version(), "0.0.0");
  EXPECT_NE(build_type(), "unknown");
}

TEST(Version, NamesTheCompiler) {
#if defined(__clang__)
  EXPECT_NE(compiler().find("Clang"), std::string_view::npos);
#else
  EXPECT_NE(compiler().find("GCC"), std::string_view::npos);
#endif
}

}  // namespace
}  // namespace espalier
