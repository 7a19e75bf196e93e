// SPDX-License-Identifier: Apache-2.0
// RecordParser, whose own tests have the rules, is the reference: whatever it says of a line, the same line in parts must give.
#include "libcore/data/json_parts.h"

#include <gmock/gmock.h>

#include "golden.h"

namespace convoy::data {
namespace {

struct Outcome {
  std::string kind = "good", reason, text;
  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) { *out << outcome.kind << ": " << outcome.reason << " [" << outcome.text << ']'; }

Outcome outcome_of(const std::optional<BadRecord>& bad, std::string text) {
  if (!bad) return {"good", "", std::move(text)};
  // Why a line is no JSON each says in its own words.
  return {std::string(name_of(bad->kind)), bad->kind == BadRecordKind::kJson ? "" : bad->reason, ""};
}

class JsonPartsTest : public testing::Test {
 protected:
  Outcome whole(const std::string& line, const std::vector<std::string>& keys) {
    std::string text;
    const auto bad = RecordParser(keys).parse(line, text);
    return outcome_of(bad, std::move(text));
  }
  Outcome in_parts(const std::string& line, const std::vector<std::string>& keys, std::size_t size) {
    JsonParts parts(keys, folder / "x");
    for (std::size_t at = 0; at < line.size(); at += size) parts.add(std::string_view(line).substr(at, size));
    const auto bad = parts.finish();
    std::string text;
    if (!bad) parts.for_each_part([&text](std::string_view part) { text += part; });
    return outcome_of(bad, std::move(text));
  }
  void expect_same(const std::string& line, const std::vector<std::string>& keys = {"text"}) {
    const Outcome expected = whole(line, keys);
    for (const std::size_t size : {1, 2, 3, 7, 1000000}) EXPECT_EQ(in_parts(line, keys, size), expected) << line.substr(0, 200) << " in parts of " << size;
  }
  golden::TemporaryFolder folder;
};

TEST_F(JsonPartsTest, GoodLinesHaveTheirText) {
  const std::string escapes = R"({"text": "\"\\\/\b\f\n\r\t\u0041\u00e9\u6d77\ud83d\ude00\\u0041"})";
  EXPECT_EQ(in_parts(escapes, {"text"}, 1).text, "\"\\/\b\f\n\r\tA\xc3\xa9\xe6\xb5\xb7\xf0\x9f\x98\x80\\u0041");
  expect_same(escapes);
  expect_same("\t {\"id\":-1.5e+3,\"n\":null,\"l\":[1,[],{}],\"t\":true,\"f\":false,\"text\":\"\"} \r");
  expect_same("{\"te\\u0078t\": \"escaped key\"}");
  expect_same("{\"text\": \"raw \xe2\x80\xa8 \xef\xbb\xbf \xf0\x9f\x98\x80\"}");
  expect_same("{\"text\": \"a\\u0000b\"}");
  for (const char* number : {"0", "-0", "1e999", "-1E-9", "123456789012345678901234567890", "0.5e+7"})
    expect_same("{\"n\":" + std::string(number) + ",\"text\":\"x\"}");
}

TEST_F(JsonPartsTest, TheLastOfEqualKeysCounts) {
  for (const char* line : {R"({"text": 1, "text": "b"})", R"({"text": "a", "text": null})", R"({"text": "a", "text": "b\ud800", "text": "c"})",
                           R"({"text": "a", "text": "b\ud800"})", R"({"text": "a", "text": {"text": "b"}})"})
    expect_same(line);
  for (const char* line : {R"({"a": {"b": "x"}, "a": {}})", R"({"a": {"b": "x"}, "a": 5})", R"({"a": 5, "a": {"b": "x", "b": "y"}})",
                           R"({"a": {"b": "x"}, "c": {"b": "y"}})", R"({"a": {"c": {"b": "x"}}, "b": "z"})", R"({"a": [{"b": "x"}]})", R"({"a": {"x": [{"b": 1}], "b": "y"}})",
                           R"([{"a": {"b": "x"}}])", R"({"a": "b"})", R"({"a.b": "flat"})", R"({"x": {"a": {"b": "deep"}}})"})
    expect_same(line, {"a.b"});
}

TEST_F(JsonPartsTest, SeveralKeysAreJoinedInTheirOrder) {
  const std::string line = R"({"title": "t", "body": "b", "a": {"x": "1", "y": "2"}})";
  for (const std::vector<std::string>& keys :
       std::vector<std::vector<std::string>>{{"title", "body"}, {"body", "title"}, {"a.x", "a.y", "a.x"}, {"title", "none"}, {"a", "title"}, {"a.x.z"}})
    expect_same(line, keys);
}

TEST_F(JsonPartsTest, WhatIsNoJsonIsNone) {
  for (const char* line : {"x", "{", "}", "{}}", "{} {}", "{\"text\":\"a\"} x", "{\"text\":NaN}", "{\"v\":-}", "{\"v\":01}", "{\"v\":1.}", "{\"v\":.5}",
                           "{\"v\":1e}", "{\"v\":1e+}", "{\"v\":+1}", "{\"v\":tru}", "{\"v\":truex}", "{'text':'a'}", "{\"text\":\"a\",}", "{,}", "{\"a\"}", "{\"a\":}",
                           "{\"a\" \"b\"}", "{\"a\":1 \"b\":2}", "{\"text\":\"tab\there\"}", "{\"text\":\"\\x41\"}", "{\"text\":\"\\u12\"}", "{\"text\":\"\\u12g4\"}",
                           "{\"text\":\"open", "{\"text\":\"open\\", "[1,]", "[1 2]", "[", "[}", "{]", "\xef\xbb\xbf{}", "{\"text\":\"a\"}//", "nul", "{text:1}", "1", "\"x\"", "null"})
    expect_same(line);
  expect_same(std::string("{\"text\":\"nul \0\"}", 15));
}

TEST_F(JsonPartsTest, InvalidUtf8AnywhereOutweighsTheRest) {
  for (const char* line : {"{\"text\":\"ab\xe4\"}", "{\"text\":\"\xf0\x9f\x98\"}", "\xff", "{\"x\":\"\xc0\xaf\",\"text\":\"a\"}", "no json \xed\xa0\x80", "{\"text\":\"a\"}\xe4\xbd"})
    expect_same(line);
}

TEST_F(JsonPartsTest, LoneSurrogatesAreBadInTheTextAlone) {
  for (const char* text : {"\\ud800", "\\udc00", "\\ud800\\ud800\\udc00", "\\ud800x", "\\ud800\\n", "\\ud800\\u0041", "\\udbff\\udfff", "a\\udc00\\ud800"}) {
    expect_same("{\"text\":\"" + std::string(text) + "\"}");
    expect_same("{\"other\":\"" + std::string(text) + "\",\"text\":\"x\"}");
    expect_same("{\"te" + std::string(text) + "xt\":\"y\"}");
  }
}

TEST_F(JsonPartsTest, BoundsTheDepth) {
  for (const char* inner : {"", "1", "{}", "[],1"}) {
    for (std::size_t depth = 996; depth <= 1002; ++depth)
      expect_same("{\"a\":" + std::string(depth, '[') + inner + std::string(depth, ']') + ",\"text\":\"x\"}");
  }
}

TEST_F(JsonPartsTest, SaysWhatItExpectedAndWhere) {
  JsonParts parts({"text"}, folder / "x");
  parts.add("{\"text\" ");
  parts.add(" 5}");
  EXPECT_EQ(parts.finish()->reason, "it is no JSON: at byte 10 of the line, expected ':', found '5'");
}

TEST_F(JsonPartsTest, ABlankLineIsKnownAsOne) {
  JsonParts blank({"text"}, folder / "x"), other({"text"}, folder / "x");
  blank.add(" \t");
  blank.add("\r");
  other.add(" \t");
  other.add("x");
  EXPECT_TRUE(blank.is_blank());
  EXPECT_FALSE(other.is_blank());
}

TEST_F(JsonPartsTest, MutatedLinesGiveTheSame) {
  const std::string seed =
      "{\"id\": -10.5e2, \"meta\": {\"text\": \"\\u00e9\\n\", \"l\": [1, true, null]}, \"text\": \"a\\\\\\\"b\\ud83d\\ude00 \xe6\xb5\xb7\", \"z\": \"\\/\"}";
  std::uint64_t state = 11;
  const auto random = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
  const std::string alphabet = "{}[]\",:\\u0123456789deE+-. \tntrufalsbx\xe6\xb5";
  for (int round = 0; round < 20000; ++round) {
    std::string line = seed;
    for (std::uint64_t n = random() % 3 + 1; n > 0; --n) {
      const std::size_t at = random() % line.size(), from = random() % line.size(), size = random() % 30;
      switch (random() % 4) {
        case 0: line[at] = alphabet[random() % alphabet.size()]; break;
        case 1: line.erase(at, 1); break;
        case 2: line.insert(at, line.substr(from, size)); break;
        default: line.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    const std::vector<std::string> keys{"text", "meta.text"};
    const Outcome expected = whole(line, keys);
    ASSERT_EQ(in_parts(line, keys, 1 + random() % 9), expected) << line;
  }
}

}  // namespace
}  // namespace convoy::data
