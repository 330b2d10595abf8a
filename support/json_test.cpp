#include "espalier/support/json.h"

#include <bit>
#include <cmath>
#include <limits>

#include "espalier/support/hash.h"
#include "gtest/gtest.h"

namespace espalier {
namespace {

std::string round_trip(std::string_view text) { return parse_json(text).value().dump(); }

TEST(Json, DumpsOnOneLineInOrder) {
  Json json = Json::object({{"b", 1}, {"a", true}, {"list", Json::array({1, 2.5, "x", nullptr})}});
  EXPECT_EQ(json.dump(), R"({"b": 1, "a": true, "list": [1, 2.5, "x", null]})");
}

TEST(Json, DumpsPretty) {
  EXPECT_EQ(Json::object({{"a", Json::array({1, 2})}, {"b", Json::object()}}).dump_pretty(),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}");
}

TEST(Json, ParsesWhatItDumps) {
  const std::string text =
      R"({"null": null, "t": true, "f": false, "i": -7, "d": 0.1, "s": "é\n\"", "a": [[], {}]})";
  EXPECT_EQ(round_trip(text), text);
}

TEST(Json, KeepsIntegersAndDoublesApart) {
  EXPECT_EQ(round_trip("[3, 3.0, 1e2, -0.0]"), "[3, 3.0, 100.0, -0.0]");
  EXPECT_TRUE(parse_json("3")->is_integer());
  EXPECT_EQ(parse_json("3.0")->kind(), Json::Kind::Double);
}

TEST(Json, EveryDoubleRoundTrips) {
  for (uint64_t i = 0; i < 5000; ++i) {
    const double value = std::bit_cast<double>(hash_mix(i + 7));
    if (!std::isfinite(value)) continue;
    const double read = parse_json(Json(value).dump())->as_double().value();
    EXPECT_EQ(std::bit_cast<uint64_t>(read), std::bit_cast<uint64_t>(value));
  }
}

TEST(Json, IntegerLimits) {
  EXPECT_EQ(round_trip("[9223372036854775807, -9223372036854775808]"),
            "[9223372036854775807, -9223372036854775808]");
  EXPECT_EQ(parse_json("9223372036854775808")->kind(), Json::Kind::Double);
}

TEST(Json, NonFiniteBecomesNull) {
  EXPECT_EQ(Json::array({std::numeric_limits<double>::infinity(), NAN}).dump(), "[null, null]");
}

TEST(Json, InvalidUtf8BecomesReplacementCharacters) {
  const std::string dumped = Json("a\xff\xc0\x80z\xed\xa0\x80").dump();
  EXPECT_EQ(parse_json(dumped)->as_string().value(),
            "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Json, ControlCharactersAreEscaped) {
  EXPECT_EQ(Json(std::string("\x01\0", 2)).dump(), "\"\\u0001\\u0000\"");
}

TEST(Json, ErrorsGiveThePosition) {
  Error error = parse_json("{\"a\": 1,\n \"b\": tru}").error();
  EXPECT_EQ(error.code, ErrorCode::Parse);
  EXPECT_NE(error.message.find("malformed JSON at byte 19"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("line 2, column"), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find("json.exception"), std::string::npos) << error.message;
}

TEST(Json, AnErrorDoesNotQuoteWithoutEnd) {
  const Error error = parse_json(std::string(1000000, '1')).error();
  EXPECT_LT(error.message.size(), 1000u);
}

TEST(Json, MalformedTextIsRefused) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\"}", "{1: 2}", "[1] 2", "nan", "'a'", "01",
                           "\"\xff\"", "\"a", "1e999", "[1 2]", "\x00"}) {
    EXPECT_FALSE(parse_json(text).ok()) << text;
  }
}

TEST(Json, DepthIsLimited) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth)).ok());
  EXPECT_NE(parse_json(nested(100000)).error().message.find("nested deeper"), std::string::npos);
}

TEST(Json, LastOfDuplicateKeysCounts) {
  EXPECT_EQ(parse_json(R"({"a": 1, "a": 2})")->get_int("a").value(), 2);
}

TEST(Json, TypedGettersNameTheKey) {
  Json json = Json::object({{"trials", "many"}});
  EXPECT_EQ(json.get_int("trials").error().message,
            "member \"trials\": expected an integer, got a string");
  EXPECT_EQ(json.get_int("seed").error().message, "no member \"seed\"");
  EXPECT_EQ(json.get_int("seed").error().code, ErrorCode::NotFound);
  EXPECT_EQ(Json(3).get_int("seed").error().message, "expected an object, got an integer");
}

TEST(Json, IntegralDoublesAreIntegers) {
  EXPECT_EQ(Json(4.0).as_int().value(), 4);
  EXPECT_FALSE(Json(4.5).as_int().ok());
  EXPECT_FALSE(Json(1e19).as_int().ok());
  EXPECT_FALSE(Json(NAN).as_int().ok());
}

TEST(Json, Lists) {
  Json json = Json::object({{"times", std::vector<double>{1.5, 2}}, {"ids", {}}});
  EXPECT_EQ(json.get_doubles("times").value(), (std::vector<double>{1.5, 2}));
  EXPECT_FALSE(json.get_ints("ids").ok());
  EXPECT_EQ(Json(std::vector<std::string>{"x"}).as_strings().value()[0], "x");
}

TEST(Json, DefaultsStandInForWhatIsMissing) {
  Json json = Json::object({{"a", 1}, {"n", nullptr}});
  EXPECT_EQ(json.int_or("a", 5), 1);
  EXPECT_EQ(json.int_or("b", 5), 5);
  EXPECT_EQ(json.double_or("n", 0.5), 0.5);
  EXPECT_EQ(json.string_or("a", "text"), "text");
  EXPECT_TRUE(json.bool_or("b", true));
}

TEST(Json, SetReplacesInPlace) {
  Json json;
  json.set("a", 1).set("b", 2).set("a", 3);
  EXPECT_EQ(json.dump(), R"({"a": 3, "b": 2})");
}

TEST(Json, PushTurnsNullIntoAnArray) {
  Json json;
  json.push(1).push("two");
  EXPECT_EQ(json.dump(), R"([1, "two"])");
  EXPECT_EQ(json[1].as_string().value(), "two");
}

TEST(JsonDeathTest, WrongUseIsAFailedCheck) {
  EXPECT_DEATH(Json(3).set("a", 1), "member \"a\" of an integer");
  EXPECT_DEATH((void)Json::array({1})[1], "element 1 of an array with 1");
}

TEST(Json, SurvivesArbitraryBytes) {
  uint64_t state = 11;
  const std::string_view alphabet = "{}[]\",:0123.e-+truefalsnu\\ \n\x80";
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) {
      state = hash_mix(state + 1);
      text += alphabet[state % alphabet.size()];
    }
    if (Result<Json> json = parse_json(text); json.ok()) {
      EXPECT_EQ(parse_json(json->dump()).value(), *json) << text;
    }
  }
}

}  // namespace
}  // namespace espalier
