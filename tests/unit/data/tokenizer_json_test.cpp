// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/tokenizer_json.h"

#include <gmock/gmock.h>
#include <regex.h>

#include "byte_level_golden.h"
#include "golden_json.h"
#include "libcore/base/error.h"
#include "libcore/data/text_pattern.h"

namespace convoy::data {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

json gpt2() { return golden::json(golden::byte_level_file("gpt2")); }

std::string refusal(const json& file) {
  return golden::message_of<DataError>([&] { parse_tokenizer_json(file.dump()); });
}

TEST(TokenizerJson, ReadsMergesAsTextsAndAsPairs) {
  json file = gpt2();
  const auto as_pairs = parse_tokenizer_json(file.dump());
  for (json& merge : file["model"]["merges"]) {
    if (merge.is_array()) merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  file["model"]["merges"].insert(file["model"]["merges"].begin(), "#version: 0.2");
  const auto as_texts = parse_tokenizer_json(file.dump());
  ASSERT_GT(as_pairs.merges.size(), 10);
  ASSERT_EQ(as_texts.merges.size(), as_pairs.merges.size());
  for (std::size_t i = 0; i < as_pairs.merges.size(); ++i) {
    EXPECT_EQ(as_texts.merges[i].left, as_pairs.merges[i].left);
    EXPECT_EQ(as_texts.merges[i].right, as_pairs.merges[i].right);
    EXPECT_EQ(as_texts.merges[i].symbol, as_pairs.merges[i].symbol);
    EXPECT_EQ(as_texts.merges[i].rank, as_pairs.merges[i].rank);
  }
}

TEST(TokenizerJson, OfAMergeThatIsThereTwiceTheLastCounts) {
  json file = gpt2();
  const std::size_t count = file["model"]["merges"].size();
  file["model"]["merges"].push_back(file["model"]["merges"][0]);
  const auto bpe = parse_tokenizer_json(file.dump());
  ASSERT_EQ(bpe.merges.size(), count);
  EXPECT_EQ(bpe.merges[0].rank, count);
}

TEST(TokenizerJson, RefusesWhatChangesIdsAllAtOnce) {
  json file = gpt2();
  file["normalizer"] = {{"type", "Lowercase"}};
  file["model"]["dropout"] = 0.1;
  file["model"]["end_of_word_suffix"] = "</w>";
  file["model"]["novelty"] = 1;
  file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {{{"type", "Whitespace"}}, file["pre_tokenizer"]}}};
  file["decoder"] = {{"type", "Metaspace"}};
  EXPECT_THAT(refusal(file), AllOf(HasSubstr("normalizer \"Lowercase\""), HasSubstr("dropout"), HasSubstr("end_of_word_suffix is \"</w>\""), HasSubstr("model.novelty"),
                                   HasSubstr("pre_tokenizer \"Whitespace\""), HasSubstr("decoder \"Metaspace\"")));
}

TEST(TokenizerJson, RefusesOtherModels) {
  json file = gpt2();
  file["model"]["type"] = "WordPiece";
  EXPECT_THAT(refusal(file), HasSubstr("model.type is \"WordPiece\"; supported: BPE"));
  file = gpt2();
  file["pre_tokenizer"] = nullptr;
  EXPECT_THAT(refusal(file), HasSubstr("no ByteLevel"));
  file = gpt2();
  file["model"]["vocab"].erase("a");
  file["model"]["merges"] = json::array();
  EXPECT_THAT(refusal(file), HasSubstr("lacks the pieces of 1 bytes (61)"));
}

TEST(TokenizerJson, RefusesDamagedVocabulariesAndMerges) {
  json file = gpt2();
  file["model"]["vocab"]["b"] = file["model"]["vocab"]["a"];
  EXPECT_THAT(refusal(file), HasSubstr("twice"));
  file = gpt2();
  file["model"]["vocab"]["a"] = std::int64_t{1} << 40;
  EXPECT_THAT(refusal(file), HasSubstr("\"a\" has no id"));
  file = gpt2();
  file["model"]["merges"].push_back({"a", "\xc5\x81nothing"});
  EXPECT_THAT(refusal(file), HasSubstr("are not both pieces"));
  file = gpt2();
  file["model"]["merges"].push_back("a b c");
  EXPECT_THAT(refusal(file), HasSubstr("is not two pieces with a blank between them"));
}

TEST(TokenizerJson, RefusesAddedTokensWhoseIdsTheLibraryWouldChange) {
  json file = gpt2();
  json token = file["added_tokens"][0];
  token["content"] = "<more>";
  token["id"] = 70000;
  file["added_tokens"].push_back(token);
  const auto next = std::to_string(file["model"]["vocab"].size());
  EXPECT_THAT(refusal(file), AllOf(HasSubstr("\"<more>\" has the id 70000"), HasSubstr("gives it " + next)));
}

TEST(TokenizerJson, RefusesARegularExpressionThatIsNone) {
  json file = gpt2();
  file["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers", {{{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}, {"behavior", "Isolated"}, {"invert", false}}, file["pre_tokenizer"]}}};
  EXPECT_THAT(refusal(file), HasSubstr("the regular expression \"(a\" is not accepted"));
}

TEST(TokenizerJson, RefusesWhatIsNoTokenizer) {
  EXPECT_THAT(golden::message_of<DataError>([] { parse_tokenizer_json("{\"model\": "); }), HasSubstr("not valid JSON"));
  EXPECT_THAT(golden::message_of<DataError>([] { parse_tokenizer_json("{}"); }), HasSubstr("no object \"model\""));
}

TEST(TokenizerJson, RefusesWhatIsNestedDeeply) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  json file = gpt2();
  file["novelty"] = "here";
  std::string text = file.dump();
  text.replace(text.find("\"here\""), 6, deep);
  EXPECT_THAT(golden::message_of<DataError>([&] { parse_tokenizer_json(text); }), HasSubstr("nested more than 100 deep"));
}

TEST(TokenizerJson, AnEmptyTextToSplitByMatchesEverywhereAsInTheLibrary) {
  json file = gpt2();
  file["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers", {{{"type", "Split"}, {"pattern", {{"String", ""}}}, {"behavior", "Isolated"}, {"invert", false}}, file["pre_tokenizer"]}}};
  const auto steps = parse_tokenizer_json(file.dump()).steps;
  ASSERT_EQ(steps.size(), 1);
  EXPECT_EQ(steps[0].search, SplitStep::Search::kRegex);
}

TEST(TokenizerJson, SaysWhatItLeavesOut) {
  json file = gpt2();
  file["truncation"] = {{"max_length", 512}};
  EXPECT_THAT(parse_tokenizer_json(file.dump()).remarks, ElementsAre(HasSubstr("truncation is not applied")));
}

TEST(TokenizerJson, PiecesAreBytes) {
  EXPECT_EQ(bytes_of_piece("\xc4\xa0the"), " the");
  EXPECT_EQ(bytes_of_piece("\xc4\x8a"), "\n");
  EXPECT_EQ(bytes_of_piece("\xc3\x83\xc2\xa9"), "\xc3\xa9");
  EXPECT_EQ(bytes_of_piece("\xe4\xb8\xad"), std::nullopt) << "no byte has this letter";
}

// Oniguruma defines functions of the same names, with other flags.
TEST(TextPattern, LeavesTheRegularExpressionsOfTheCLibraryAlone) {
  const TextPattern pattern("a.b");
  regex_t posix;
  ASSERT_EQ(::regcomp(&posix, "^a\\.[0-9]+\\.b$", REG_EXTENDED | REG_NOSUB), 0);
  EXPECT_EQ(::regexec(&posix, "a.12.b", 0, nullptr, 0), 0);
  ::regfree(&posix);
}

}  // namespace
}  // namespace convoy::data
