#include "espalier/support/lexer.h"

#include <cmath>
#include <limits>

#include "espalier/support/hash.h"
#include "gtest/gtest.h"

namespace espalier {
namespace {

std::vector<std::string> texts_of(Lexer lexer) {
  std::vector<std::string> texts;
  while (!lexer.at_end()) {
    Result<Token> token = lexer.next();
    if (!token.ok()) {
      texts.push_back(token.error().message);
      break;
    }
    texts.push_back(token->kind == TokenKind::Newline ? "<nl>" : std::string(token->text));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Lexer, SplitsNamesNumbersAndPunctuation) {
  EXPECT_EQ(texts_of(Lexer("C: split j -> j.0 j.1 by d1")),
            (Texts{"C", ":", "split", "j", "->", "j.0", "j.1", "by", "d1"}));
}

TEST(Lexer, PrefersTwoCharacterPunctuation) {
  EXPECT_EQ(texts_of(Lexer("a<=b==c!=d&&e||f>=g->h<i")),
            (Texts{"a", "<=", "b", "==", "c", "!=", "d", "&&", "e", "||", "f", ">=", "g", "->", "h",
                   "<", "i"}));
}

TEST(Lexer, NameDoesNotTakeADotAtItsEnd) {
  EXPECT_EQ(texts_of(Lexer("f.x. ...")), (Texts{"f.x", ".", "..."}));
}

TEST(Lexer, TellsIntegersFromFloats) {
  EXPECT_EQ(Lexer("12").next()->kind, TokenKind::Integer);
  EXPECT_EQ(Lexer("12.5").next()->kind, TokenKind::Float);
  EXPECT_EQ(Lexer("1e3").next()->number, 1000.0);
  EXPECT_EQ(Lexer("inf").next()->kind, TokenKind::Float);
  EXPECT_TRUE(std::isnan(Lexer("nan").number().value()));
}

TEST(Lexer, ReadsSignsInFrontOfNumbers) {
  Lexer lexer("-7 +3 -2.5 -inf");
  EXPECT_EQ(lexer.integer().value(), -7);
  EXPECT_EQ(lexer.integer().value(), 3);
  EXPECT_EQ(lexer.number().value(), -2.5);
  EXPECT_EQ(lexer.number().value(), -std::numeric_limits<double>::infinity());
}

TEST(Lexer, ReadsTheEndsOfTheIntegers) {
  EXPECT_EQ(Lexer("-9223372036854775808").integer().value(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Lexer("9223372036854775807").integer().value(), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(Lexer("9223372036854775808").integer().ok());
  EXPECT_EQ(Lexer("99999999999999999999").integer().error().message,
            "line 1, column 1: '99999999999999999999' does not fit a 64-bit integer");
}

TEST(Lexer, SkipsComments) { EXPECT_EQ(texts_of(Lexer("a # the rest\n b #")), (Texts{"a", "b"})); }

TEST(Lexer, NewlinesAreBlanksUnlessAskedFor) {
  EXPECT_EQ(texts_of(Lexer("a\n\nb\n")), (Texts{"a", "b"}));
  EXPECT_EQ(texts_of(Lexer("a # c\n\n  b\n").newlines(true)), (Texts{"a", "<nl>", "b"}));
}

TEST(Lexer, LeadingNewlineIsOneToken) {
  EXPECT_EQ(texts_of(Lexer("\n\na").newlines(true)), (Texts{"<nl>", "a"}));
}

TEST(Lexer, ResolvesEscapes) {
  EXPECT_EQ(Lexer(R"("a\"b\\\n\x41")").string().value(), "a\"b\\\nA");
}

TEST(Lexer, QuoteReadsBack) {
  const std::string text = std::string("tab\t quote\" nul") + '\0' + "é \x7f";
  EXPECT_EQ(Lexer(quote(text)).string().value(), text);
}

TEST(Lexer, AcceptTakesOnlyAMatch) {
  Lexer lexer("by 3");
  EXPECT_FALSE(lexer.accept("to"));
  EXPECT_TRUE(lexer.accept("by"));
  EXPECT_FALSE(lexer.accept("3"));  // numbers are not matched by their spelling
  EXPECT_EQ(lexer.integer().value(), 3);
  EXPECT_TRUE(lexer.at_end());
}

TEST(Lexer, StringIsNotItsContents) { EXPECT_FALSE(Lexer("\"by\"").accept("by")); }

TEST(Lexer, ErrorsGiveLineAndColumn) {
  Lexer lexer("a\n  b c");
  lexer.next().value();
  lexer.next().value();
  EXPECT_EQ(lexer.expect(",").error().message, "line 2, column 5: expected ',', got 'c'");
  EXPECT_EQ(lexer.expect(TokenKind::Integer).error().message,
            "line 2, column 5: expected an integer, got 'c'");
}

TEST(Lexer, SuffixesBehindNumbersAreOptIn) {
  Lexer lexer("1.5f32 3 18446744073709551615u64");
  lexer.suffixes(true);
  const Token real = lexer.next().value();
  EXPECT_EQ(real.number, 1.5);
  EXPECT_EQ(real.text, "1.5");
  EXPECT_EQ(real.suffix, "f32");
  EXPECT_EQ(lexer.next().value().suffix, "");
  const Token big = lexer.next().value();
  EXPECT_EQ(static_cast<uint64_t>(big.integer), UINT64_MAX);
  EXPECT_EQ(big.suffix, "u64");
  EXPECT_FALSE(Lexer("1.5f32").next().ok());
}

TEST(Lexer, ErrorAtTheEndSaysSo) {
  EXPECT_EQ(Lexer("").expect(")").error().message,
            "line 1, column 1: expected ')', got the end of the text");
}

TEST(Lexer, MalformedTokensAreErrorsAndStay) {
  for (const char* text : {"3x", "1e", "\"open", "\"bad \\q\"", "\"\\x4\"", "`", "\x80", "1e999"}) {
    Lexer lexer(text);
    EXPECT_FALSE(lexer.at_end()) << text;
    EXPECT_FALSE(lexer.accept("x")) << text;
    Error first = lexer.next().error();
    EXPECT_EQ(first.code, ErrorCode::Parse) << text;
    EXPECT_EQ(lexer.next().error(), first) << text;
  }
}

TEST(Lexer, SurvivesArbitraryBytes) {
  uint64_t state = 3;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      state = hash_mix(state + 1);
      text += static_cast<char>(state);
    }
    Lexer lexer(text);
    for (int i = 0; i < 50 && !lexer.at_end(); ++i) {
      if (!lexer.next().ok()) break;
    }
  }
}

}  // namespace
}  // namespace espalier
