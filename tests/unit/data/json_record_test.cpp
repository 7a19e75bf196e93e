// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/json_record.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using testing::HasSubstr;

std::string text_of(const std::string& line, const std::vector<std::string>& keys = {"text"}) {
  std::string text;
  const auto bad = RecordParser(keys).parse(line, text);
  EXPECT_FALSE(bad.has_value()) << line << ": " << bad->reason;
  return text;
}

std::string kind_of(const std::string& line, const std::vector<std::string>& keys = {"text"}) {
  std::string text;
  const auto bad = RecordParser(keys).parse(line, text);
  return bad ? std::string(name_of(bad->kind)) : "good";
}

TEST(RecordParser, ReadsTheTextUnderTheKey) {
  EXPECT_EQ(text_of(R"({"text": "a b"})"), "a b");
  EXPECT_EQ(text_of("\t {\"id\":-1.5e+3,\"n\":null,\"l\":[1,[],{}],\"t\":true,\"text\":\"\"} \r"), "");
  EXPECT_EQ(text_of("{\"body\":\"x\",\"text\":\"y\"}", {"body"}), "x");
}

TEST(RecordParser, AnEmptyLineWithoutAnAddressIsNoRecord) {
  std::string text;
  const auto bad = RecordParser({"text"}).parse(std::string_view(), text);
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(name_of(bad->kind), "json");
}

TEST(RecordParser, ResolvesEveryEscape) {
  EXPECT_EQ(text_of(R"({"text": "\"\\\/\b\f\n\r\t\u0041\u00e9\u6d77\ud83d\ude00\\u0041"})"),
            "\"\\/\b\f\n\r\tA\xc3\xa9\xe6\xb5\xb7\xf0\x9f\x98\x80\\u0041");
  EXPECT_EQ(text_of(R"({"text": "a\u0000b"})"), std::string("a\0b", 3));
  EXPECT_EQ(text_of("{\"te\\u0078t\": \"escaped key\"}"), "escaped key");
  EXPECT_EQ(text_of("{\"text\": \"raw \xe2\x80\xa8 \xef\xbb\xbf\"}"), "raw \xe2\x80\xa8 \xef\xbb\xbf");
}

TEST(RecordParser, TheLastOfEqualKeysCounts) {
  EXPECT_EQ(text_of(R"({"text": 1, "text": "b"})"), "b");
  EXPECT_EQ(kind_of(R"({"text": "a", "text": null})"), "type");
  EXPECT_EQ(kind_of(R"({"a": {"b": "x"}, "a": {}})", {"a.b"}), "missing");
  EXPECT_EQ(kind_of(R"({"a": {"b": "x"}, "a": 5})", {"a.b"}), "type");
  EXPECT_EQ(text_of(R"({"a": 5, "a": {"b": "x", "b": "y"}})", {"a.b"}), "y");
}

TEST(RecordParser, DottedKeysGoIntoObjectsOnly) {
  EXPECT_EQ(text_of(R"({"a": {"text": "no", "b": {"text": "deep"}}, "b": {"text": "no"}, "text": "no"})", {"a.b.text"}), "deep");
  EXPECT_EQ(kind_of(R"({"a.text": "flat"})", {"a.text"}), "missing");
  EXPECT_EQ(kind_of(R"({"a": [{"text": "in a list"}]})", {"a.text"}), "type");
  EXPECT_EQ(kind_of(R"({"a": "string"})", {"a.text"}), "type");
  EXPECT_EQ(kind_of(R"({"x": {"text": "inner"}})"), "missing");
}

TEST(RecordParser, SeveralKeysAreJoinedByNewlines) {
  EXPECT_EQ(text_of(R"({"title": "t", "body": "b"})", {"title", "body"}), "t\nb");
  EXPECT_EQ(text_of(R"({"title": "t", "body": "b"})", {"body", "title"}), "b\nt");
  EXPECT_EQ(text_of(R"({"a": {"x": "1", "y": "2"}})", {"a.x", "a.y", "a.x"}), "1\n2\n1");
  EXPECT_EQ(kind_of(R"({"title": "t"})", {"title", "body"}), "missing");
}

TEST(RecordParser, RefusesWhatIsNoJson) {
  for (const char* line : {"", "x", "{", "}", "{}}", "{} {}", "{\"text\":\"a\"} x", "{\"text\":NaN}", "{\"v\":Infinity}", "{\"v\":-}", "{\"v\":01}",
                           "{\"v\":1.}", "{\"v\":.5}", "{\"v\":1e}", "{\"v\":+1}", "{\"v\":tru}", "{'text':'a'}", "{\"text\":\"a\",}", "{,}", "{\"a\"}",
                           "{\"a\":}", "{\"a\" \"b\"}", "{\"a\":1 \"b\":2}", "{\"text\":\"tab\there\"}", "{\"text\":\"\\x41\"}", "{\"text\":\"\\u12\"}",
                           "{\"text\":\"\\u12g4\"}", "{\"text\":\"open", "{\"text\":\"open\\", "{\"text\":\"open\\\"}", "[1,]", "[1 2]", "[", "\xef\xbb\xbf{}",
                           "{\"text\":\"a\"}//", "{\"text\":\"a\"\v}", "nul", "{text:1}"}) {
    EXPECT_EQ(kind_of(line), "json") << line;
  }
  EXPECT_EQ(kind_of(std::string("{\"text\":\"nul \0\"}", 15)), "json");
}

TEST(RecordParser, RefusesValuesThatAreNoObjectOrNoString) {
  for (const char* line : {"[\"text\"]", "\"text\"", "null", "5", "true", "{\"text\":5}", "{\"text\":[\"a\"]}", "{\"text\":{\"text\":\"a\"}}"}) {
    EXPECT_EQ(kind_of(line), "type") << line;
  }
  EXPECT_EQ(kind_of("{}"), "missing");
  EXPECT_EQ(kind_of("{\"Text\":\"case\"}"), "missing");
}

TEST(RecordParser, RefusesLoneSurrogatesInTheTextAndNowhereElse) {
  for (const char* line : {R"({"text":"\ud800"})", R"({"text":"\udc00"})", R"({"text":"\ude00\ud83d"})", R"({"text":"\ud83d\ud83d\ude00"})",
                           R"({"text":"\ud83dx"})", R"({"text":"\ud83d\n"})"}) {
    EXPECT_EQ(kind_of(line), "surrogate") << line;
  }
  EXPECT_EQ(text_of(R"({"other":"\ud800","text":"fine"})"), "fine");
  EXPECT_EQ(text_of(R"({"text":"\ud800","text":"fine"})"), "fine");
}

TEST(RecordParser, RefusesInvalidUtf8AnywhereOnTheLine) {
  EXPECT_EQ(kind_of("{\"text\":\"\xff\"}"), "utf8");
  EXPECT_EQ(kind_of("{\"other\":\"\xc0\x80\",\"text\":\"a\"}"), "utf8");
  std::string text;
  EXPECT_THAT(RecordParser({"text"}).parse("{\"text\":\"ab\xe4\"}", text)->reason, HasSubstr("at byte 12"));
}

// RFC 8259 bounds no number; Python's parser reads these lines too.
TEST(RecordParser, AcceptsNumbersOfAnySize) {
  for (const char* number : {"1e999", "-1E+999", "0.1e400", "123456789012345678901234567890", "-9223372036854775809", "18446744073709551616",
                             "1e99999999999999999999"}) {
    const std::string value(number);
    EXPECT_EQ(text_of("{\"n\":" + value + ",\"text\":\"1e999 \\\" -1\"}"), "1e999 \" -1") << number;
    EXPECT_EQ(text_of("{\"l\":[" + value + " , {\"text\":" + value + "}],\"text\":\"a\"}"), "a") << number;
    EXPECT_EQ(kind_of("{\"text\":" + value + "}"), "type") << number;
    EXPECT_EQ(kind_of(value), "type") << number;
    for (const std::string& wrong : {"-" + value, value + "x", value + ".", "0" + value, value + " " + value, "+" + value}) {
      EXPECT_EQ(kind_of("{\"n\":" + wrong + ",\"text\":\"a\"}"), number[0] == '-' || wrong[0] != '-' ? "json" : "good") << wrong;
    }
    EXPECT_EQ(kind_of("{\"n\":" + value + ",\"m\":--1,\"text\":\"a\"}"), "json") << number;
    EXPECT_EQ(kind_of("{\"n\":" + value + ",\"m\":NaN,\"text\":\"a\"}"), "json") << number;
  }
}

// Lone surrogates are told from the characters that stand in for them, whatever text and keys hold.
TEST(RecordParser, TellsLoneSurrogatesFromEveryCharacter) {
  const std::string first = "\xee\x80\x80", second = "\xee\x80\x81";  // U+E000, U+E001
  EXPECT_EQ(text_of(R"({"o":"\ud800","text":"\ue000\ue001\ufffd"})"), first + second + "\xef\xbf\xbd");
  EXPECT_EQ(kind_of(R"({"text":"\ue000\ue001\udfff"})"), "surrogate");
  EXPECT_EQ(kind_of(R"({"\ud800":"a"})", {first}), "missing");
  EXPECT_EQ(kind_of(R"({"\ud800":"a"})", {second}), "missing");
  EXPECT_EQ(text_of(R"({"\ue000":"a","\ud800":"b"})", {first}), "a");
  EXPECT_EQ(kind_of(R"({"a":"fine","b":"\ud800","c":1e999})", {"a", "b"}), "surrogate");
  EXPECT_EQ(text_of(R"({"text":"\\ud800","o":"\ud800"})"), "\\ud800");
}

TEST(RecordParser, SaysWhereTheJsonEnds) {
  const auto reason_of = [](const std::string& line) {
    std::string text;
    return RecordParser({"text"}).parse(line, text)->reason;
  };
  EXPECT_THAT(reason_of(R"({"text": "a",])"), HasSubstr("at byte 14"));
  EXPECT_THAT(reason_of(R"({"n":1e999,"o":"\ud800" 5})"), HasSubstr("at byte 25"));
  EXPECT_THAT(reason_of("\xef\xbb\xbf{}"), HasSubstr("byte order mark"));
  EXPECT_THAT(reason_of(std::string(2000, '[') + std::string(2000, ']')), HasSubstr("1000 deep"));
  EXPECT_EQ(reason_of("[1e999]"), "it is no JSON object");
}

TEST(RecordParser, GivesTheNextLineItsOwnText) {
  const RecordParser parser({"text"});
  std::string text;
  for (const std::size_t size : {5u, 3'000'000u, 70'000u, 1u, 0u, 1'500'000u, 2u}) {
    EXPECT_FALSE(parser.parse("{\"text\":\"" + std::string(size, 'x') + "\"}", text).has_value());
    EXPECT_EQ(text, std::string(size, 'x'));
  }
}

TEST(RecordParser, BoundsTheDepth) {
  const auto nested = [](std::size_t depth) { return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + ",\"text\":\"x\"}"; };
  EXPECT_EQ(kind_of(nested(999)), "good");
  EXPECT_EQ(kind_of(nested(1000)), "json");
  EXPECT_EQ(kind_of(std::string(1'000'000, '[')), "json");
  EXPECT_EQ(kind_of("{\"text\":\"x\",\"l\":[" + std::string("[],").append(2000 * 3, ' ') + "[]]}"), "good");
}

// The JSON library as a second opinion: mutations of good lines must be good to both or to neither.
TEST(RecordParser, AgreesWithTheJsonLibraryOnMutatedLines) {
  const std::string seed = R"({"id": -10.5e2, "meta": {"text": "\u00e9\n", "l": [1, true, null]}, "text": "a\\\"b\ud83d\ude00", "z": "\/"})";
  std::uint64_t state = 7;
  const auto random = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
  const std::string alphabet = "{}[]\",:\\u0123456789eE+-. \tntrufalsbx";
  int good = 0;
  for (int round = 0; round < 40000; ++round) {
    std::string line = seed;
    for (std::uint64_t n = random() % 3 + 1; n > 0; --n) {
      const std::size_t at = random() % line.size();
      switch (random() % 3) {
        case 0: line[at] = alphabet[random() % alphabet.size()]; break;
        case 1: line.erase(at, 1); break;
        default: line.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    const nlohmann::json other = nlohmann::json::parse(line, nullptr, false);
    const std::string kind = kind_of(line);
    // The library refuses every lone surrogate, we only those of the text.
    if (kind == "json") {
      EXPECT_TRUE(other.is_discarded()) << line;
    } else if (!other.is_discarded()) {
      const auto found = other.find("text");
      const std::string expected = found == other.end() ? "missing" : found->is_string() ? "good" : "type";
      EXPECT_EQ(kind, expected) << line;
      if (expected == "good") {
        EXPECT_EQ(text_of(line), found->get<std::string>()) << line;
        ++good;
      }
    }
  }
  EXPECT_GT(good, 1000);
}

TEST(RecordParser, RefusesKeysThatNameNothing) {
  for (const std::vector<std::string>& keys : {std::vector<std::string>{}, {""}, {"a..b"}, {"a."}, {".a"}, std::vector<std::string>(33, "a")}) {
    EXPECT_THROW(RecordParser{keys}, ConfigError);
  }
  EXPECT_EQ(text_of("{\"a\":\"x\"}", std::vector<std::string>(32, "a")).size(), 63u);
}

TEST(BlankLine, IsNothingButJsonWhiteSpace) {
  EXPECT_TRUE(is_blank_line(""));
  EXPECT_TRUE(is_blank_line(" \t\r"));
  EXPECT_FALSE(is_blank_line("\f"));
  EXPECT_FALSE(is_blank_line("\xc2\xa0"));
}

}  // namespace
}  // namespace convoy::data
