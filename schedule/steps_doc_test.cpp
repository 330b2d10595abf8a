// docs/steps.md is the golden file of this test. Its fenced blocks:
//   dag       the program of the examples below it; the page's first one serves each section that
//             has none of its own, and every section starts without steps
//   steps     is added to the trace, and must print back as it stands
//   nest      what the trace so far prints
//   rejected  a line that must not apply here, and why as a comment
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "espalier/schedule/internal/test_programs.h"

namespace espalier {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct Block {
  std::string kind, text, section;
  int line = 0;  // of the opening fence
};

std::vector<Block> blocks_of_page() {
  std::ifstream page(std::string(ESPALIER_SOURCE_DIR) + "/docs/steps.md");
  std::vector<Block> blocks;
  std::string line, section;
  bool open = false;
  for (int number = 1; std::getline(page, line); ++number) {
    if (line.starts_with("```")) {
      open = !open;
      if (open) blocks.push_back({line.substr(3), "", section, number});
    } else if (open) {
      blocks.back().text += line + "\n";
    } else if (line.starts_with("## ")) {
      section = line.substr(3);
    }
  }
  return blocks;
}

// The comment lines of a text as one line.
std::string comment_of(const std::string& text) {
  std::istringstream lines(text);
  std::string line, comment;
  while (std::getline(lines, line)) {
    if (line.starts_with("# ")) comment += (comment.empty() ? "" : " ") + line.substr(2);
  }
  return comment;
}

TEST(StepsPage, ExamplesHold) {
  const std::vector<Block> blocks = blocks_of_page();
  ASSERT_FALSE(blocks.empty());
  ASSERT_EQ(blocks.front().kind, "dag");
  std::string section, trace;
  Task task;
  for (const Block& block : blocks) {
    SCOPED_TRACE(::testing::Message() << "docs/steps.md:" << block.line);
    if (block.section != section || block.kind == "dag") {
      task = task_of(block.kind == "dag" ? block.text : blocks.front().text);
      section = block.section;
      trace.clear();
    }
    if (block.kind == "dag") continue;
    if (block.kind == "steps") trace += block.text;
    const Result<Trace> steps = parse_trace(trace, task);
    ASSERT_TRUE(steps.ok()) << to_string(steps.error());
    if (block.kind == "steps") {
      EXPECT_EQ(to_string(*steps, task), trace);
    } else if (block.kind == "nest") {
      EXPECT_EQ(print_nest(replay(task, *steps).state()), block.text);
    } else if (block.kind == "rejected") {
      const Result<Trace> more = parse_trace(trace + block.text, task);
      ASSERT_FALSE(more.ok());
      EXPECT_EQ(more.error().code, ErrorCode::InvalidArgument) << more.error().message;
      EXPECT_THAT(more.error().message, HasSubstr(comment_of(block.text)));
    } else {
      ADD_FAILURE() << "no kind of block: " << block.kind;
    }
  }
}

TEST(StepsPage, HasAnExampleOfEveryStep) {
  std::vector<std::string> sections;
  for (const Block& block : blocks_of_page()) {
    if (block.kind == "steps" && block.text.find(": " + block.section) != std::string::npos) {
      sections.push_back(block.section);
    }
  }
  for (Annotation a : kAnnotations) EXPECT_THAT(sections, Contains(std::string(name_of(a))));
  const auto expect = [&]<class S>(std::type_identity<S>) {
    if (S::kName != AnnotateStep::kName) {
      EXPECT_THAT(sections, Contains(std::string(S::kName)));
    }
  };
  [&]<size_t... I>(std::index_sequence<I...>) {
    (expect(std::type_identity<std::variant_alternative_t<I, Step>>()), ...);
  }(std::make_index_sequence<std::variant_size_v<Step>>());
}

}  // namespace
}  // namespace espalier
