// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/byte_level_model.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

#include "byte_level_golden.h"
#include "golden_json.h"
#include "libcore/base/error.h"
#include "libcore/data/byte_level_encoder.h"
#include "libcore/data/byte_level_reference.h"
#include "libcore/data/tokenizer.h"
#include "nasty_text.h"

namespace convoy::data {
namespace {

using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

constexpr int kModels = 24;

std::vector<std::string> texts_of(const std::string& name) {
  std::vector<std::string> texts;
  const auto golden = golden::json(golden::byte_level_cases(name));
  for (const auto& row : golden["cases"]) texts.push_back(row["text"]);
  return texts;
}

Ids encoded(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  tokenizer.encode(text, ids);
  return ids;
}

Ids encoded_plainly(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  tokenizer.encode_by_library(text, ids);
  return ids;
}

TEST(ByteLevelModel, GivesTheIdsOfTheTokenizersLibrary) {
  for (const std::string name : golden::kByteLevelNames) {
    const Tokenizer tokenizer(golden::byte_level_file(name));
    const auto golden = golden::json(golden::byte_level_cases(name));
    EXPECT_EQ(tokenizer.vocabulary(), golden["vocabulary"].get<std::int64_t>()) << name;
    for (const auto& row : golden["cases"]) {
      const std::string text = row["text"];
      EXPECT_EQ(encoded(tokenizer, text), row["ids"].get<Ids>()) << name << ": " << row["text"].dump();
      EXPECT_EQ(encoded_plainly(tokenizer, text), row["ids"].get<Ids>()) << name << ", plainly: " << row["text"].dump();
    }
  }
}

TEST(ByteLevelModel, KeepsTheNamesOfControlTokensAsTextIfItIsTold) {
  for (const std::string name : golden::kByteLevelNames) {
    const Tokenizer tokenizer(golden::byte_level_file(name), true);
    const auto golden = golden::json(golden::byte_level_cases(name));
    for (const auto& row : golden["split_special_cases"]) {
      const std::string text = row["text"];
      EXPECT_EQ(encoded(tokenizer, text), row["ids"].get<Ids>()) << name << ": " << row["text"].dump();
      EXPECT_EQ(encoded_plainly(tokenizer, text), row["ids"].get<Ids>()) << name << ", plainly: " << row["text"].dump();
    }
  }
}

TEST(ByteLevelModel, DecodesAsTheTokenizersLibrary) {
  for (const std::string name : golden::kByteLevelNames) {
    const Tokenizer tokenizer(golden::byte_level_file(name));
    const auto golden = golden::json(golden::byte_level_cases(name));
    for (const auto& row : golden["decodings"]) {
      EXPECT_EQ(tokenizer.decode(row["ids"].get<Ids>()), row["text"].get<std::string>()) << name << ": " << row["ids"].dump();
    }
  }
}

TEST(ByteLevelModel, GivesTheSameIdsHoweverALongTextIsCut) {
  for (const std::string name : golden::kByteLevelNames) {
    const Tokenizer tokenizer(golden::byte_level_file(name));
    std::string text;
    for (int times = 0; times < 6; ++times) {
      for (const std::string& part : texts_of(name)) text += part + (times % 2 == 0 ? "" : "x");
    }
    ASSERT_GT(text.size(), 60000) << "some parts of 16 KiB";
    EXPECT_EQ(encoded(tokenizer, text), encoded_plainly(tokenizer, text)) << name;
  }
}

TEST(ByteLevelModel, GivesTheSameIdsHoweverATextComesInParts) {
  std::mt19937_64 random(5);
  for (const std::string name : golden::kByteLevelNames) {
    const Tokenizer tokenizer(golden::byte_level_file(name));
    const bool is_known = name == "gpt2" || name == "llama3" || name == "qwen2" || name == "added";
    EXPECT_EQ(tokenizer.streams(), is_known) << name;
    if (!is_known) continue;
    Tokenizer::Lane lane(tokenizer);
    golden::NastyText nasty(9, texts_of(name));
    for (int i = 0; i < 400; ++i) {
      const std::string text = nasty.next();
      Tokenizer::Stream stream(lane);
      Ids ids;
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = 1 + random() % (i % 3 == 0 ? 3 : 40);
        ASSERT_TRUE(stream.add(std::string_view(text).substr(at, bytes), ids));
        at += bytes;
      }
      ASSERT_TRUE(stream.finish(ids));
      ASSERT_EQ(ids, encoded_plainly(tokenizer, text)) << name << " of " << testing::PrintToString(text);
    }
  }
}

// The library's ids. U+095C becomes a letter and a mark, and a mark and an apostrophe are one unit: no 's comes after them.
TEST(ByteLevelModel, ALongTextIsNotCutBehindALetterThatNormalisationEndsInAMark) {
  auto file = golden::json(golden::byte_level_file("qwen2"));
  file["added_tokens"] = nlohmann::json::array();
  file["model"]["vocab"]["'s"] = file["model"]["vocab"].size();
  file["model"]["merges"].push_back({"'", "s"});
  const ByteLevelEncoder encoder(parse_tokenizer_json(file.dump()));
  std::string text;
  Ids expected;
  for (int i = 0; i < 10000; ++i) {
    text += " l\u095c's";
    for (const int id : {293, 259, 94, 259, 120, 6, 82}) expected.push_back(id);
  }
  ByteLevelRoom room;
  Ids ids, of_parts;
  encoder.encode(text, room, ids);
  EXPECT_EQ(ids, expected);
  for (std::size_t at = 0; at < text.size(); at += 1001) ASSERT_TRUE(encoder.add(std::string_view(text).substr(at, 1001), room, of_parts));
  encoder.finish(room, of_parts);
  EXPECT_EQ(of_parts, expected);
}

TEST(ByteLevelModel, OfATextInPartsLittleIsHeld) {
  const Tokenizer tokenizer(golden::byte_level_file("llama3"));
  Tokenizer::Lane lane(tokenizer);
  Tokenizer::Stream stream(lane);
  Ids ids;
  const std::string text = "one two three ";
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(stream.add(text, ids));
  Ids all;
  for (int i = 0; i < 1000; ++i) {
    const Ids part = encoded_plainly(tokenizer, i == 0 ? "one two three" : " one two three");
    all.insert(all.end(), part.begin(), part.end());
  }
  EXPECT_GT(ids.size(), all.size() - 20);
}

// Blanks behind a newline may go on to another newline, or not: the match's end is not known before theirs.
TEST(ByteLevelModel, ATextInPartsOfWhichNothingIsCertainIsNotHeldBeyondALimit) {
  const ByteLevelBpe bpe = parse_tokenizer_json(read_file(golden::byte_level_file("llama3"), "tokenizer"));
  const ByteLevelEncoder encoder(bpe, {.part = 8, .window = 16, .most_held = 300});
  ByteLevelRoom room;
  Ids ids;
  encoder.begin(room);
  EXPECT_TRUE(encoder.add("some words, then\n" + std::string(250, ' '), room, ids));
  EXPECT_TRUE(encoder.add("a b\n" + std::string(250, ' '), room, ids)) << "what stands before is not held";
  EXPECT_FALSE(encoder.add(std::string(100, ' '), room, ids));
  EXPECT_EQ(room.held, "") << "the memory is given back";
  encoder.begin(room);
  EXPECT_TRUE(encoder.add("the next text ", room, ids));
}

// Few letters, much of one kind, the names of tokens and accents among it: texts that seldom come apart.
std::string endless_text(std::mt19937_64& random, const std::vector<std::string>& atoms) {
  std::string text;
  for (std::size_t runs = 1 + random() % 6; runs > 0; --runs) {
    const std::string& atom = atoms[random() % atoms.size()];
    const std::string& other = atoms[random() % atoms.size()];
    const std::size_t times = random() % 4 == 0 ? random() % 200 : random() % (random() % 2 == 0 ? 40 : 8);
    for (std::size_t i = 0; i < times; ++i) text += random() % 40 == 0 ? other : atom;
  }
  return text;
}

std::vector<std::string> atoms_of_endless_texts(const ByteLevelBpe& bpe) {
  std::vector<std::string> atoms = {"a", "b", "th", "e", "1", "23", "=", "-", ".", "'", "'s", "'LL", " ", "  ", "\n", "\r\n", "\t", " \n", std::string(1, '\0'), "\xff"};
  for (const char* beyond_ascii : {"\xe6\xb5\xb7", "\xe6\xb5", "\xe3\x80\x82", "\xe3\x80\x80", "\xc2\xa0", "\xcc\x81", "\xcc\xa3", "e\xcc\x81", "\xc3\xa9", "\xe1\x84\x80\xe1\x85\xa1", "\xf0\x9f\x9a\xa2", "\xc5\xbf"}) {
    atoms.emplace_back(beyond_ascii);
  }
  for (const AddedToken& token : bpe.added) atoms.push_back(token.content);
  return atoms;
}

// No merges make them.
void add_long_pieces(std::mt19937_64& random, ByteLevelBpe& bpe) {
  for (const std::string atom : {"a", "=", "-", "."}) {
    std::string piece;
    for (std::size_t bytes = 13 + random() % 20; bytes > 0; --bytes) piece += atom;
    bpe.pieces.emplace_back(piece, ++bpe.highest_id);
  }
}

// In place of the file's pieces and merges: random ones of the bytes of what the texts are made of, in a random order, among them pieces that no merge makes.
void draw_model(std::mt19937_64& random, ByteLevelBpe& bpe) {
  std::erase_if(bpe.pieces, [](const auto& piece) { return bytes_of_piece(piece.first).value_or("long").size() != 1; });
  bpe.merges.clear();
  bpe.ignores_merges = random() % 2 == 0;
  const std::string_view used = "abthe123=-.'s \n\t\xe6\xb5\xb7\xe3\x80\x82\xcc\x81\xc3\xa9";
  auto symbols = bpe.pieces;
  std::erase_if(symbols, [used](const auto& piece) { return used.find((*bytes_of_piece(piece.first))[0]) == std::string_view::npos; });
  std::set<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::uint32_t i = 0; i < 120; ++i) {
    const auto left = symbols[random() % symbols.size()];
    const auto right = random() % 3 == 0 ? left : symbols[random() % symbols.size()];
    const std::string piece = left.first + right.first;
    if (bytes_of_piece(piece)->size() > 9 || !pairs.emplace(left.second, right.second).second) continue;
    const auto known = std::find_if(bpe.pieces.begin(), bpe.pieces.end(), [&piece](const auto& other) { return other.first == piece; });
    const std::int32_t id = known == bpe.pieces.end() ? ++bpe.highest_id : known->second;
    if (known == bpe.pieces.end()) bpe.pieces.emplace_back(piece, id);
    if (random() % 8 == 0) continue;
    if (known == bpe.pieces.end()) symbols.emplace_back(piece, id);
    const auto rank = static_cast<std::uint32_t>(random() % 1000 * 1000) + i;
    bpe.merges.push_back({static_cast<std::uint32_t>(left.second), static_cast<std::uint32_t>(right.second), static_cast<std::uint32_t>(id), rank});
  }
  if (random() % 2 == 0) add_long_pieces(random, bpe);
}

// Expected: the plain encoder's ids of the whole.
TEST(ByteLevelModel, GivesTheSameIdsOfTextsThatComeApartNowhereHoweverTheyAreCut) {
  std::mt19937_64 random(11);
  for (const std::string name : {"gpt2", "llama3", "qwen2", "added"}) {
    for (int models = 0; models < kModels; ++models) {
      ByteLevelBpe bpe = parse_tokenizer_json(read_file(golden::byte_level_file(name), "tokenizer"));
      bpe.special_tokens_are_text = models % 2 == 1;
      if (models > 1) {
        draw_model(random, bpe);
        const ByteLevelBpe other = parse_tokenizer_json(read_file(golden::byte_level_file(random() % 2 == 0 ? "gpt2" : "llama3"), "tokenizer"));
        bpe.steps = other.steps;
        bpe.byte_level = other.byte_level;
      }
      const std::vector<std::string> atoms = atoms_of_endless_texts(bpe);
      const ByteLevelReference reference(bpe);
      const std::size_t part = 1 + random() % 20, window = part + random() % 80;
      const ByteLevelEncoder encoder(bpe, {.part = part, .window = window});
      ByteLevelRoom room;
      for (int texts = 0; texts < 150; ++texts) {
        const std::string text = endless_text(random, atoms);
        Ids in_parts, whole, plain;
        encoder.begin(room);
        for (std::size_t at = 0; at < text.size();) {
          const std::size_t bytes = 1 + random() % (texts % 3 == 0 ? 3 : 60);
          ASSERT_TRUE(encoder.add(std::string_view(text).substr(at, bytes), room, in_parts));
          at += bytes;
        }
        encoder.finish(room, in_parts);
        encoder.encode(text, room, whole);
        reference.encode(text, plain);
        ASSERT_EQ(in_parts, plain) << name << " " << models << " of " << testing::PrintToString(text);
        ASSERT_EQ(whole, plain) << name << " " << models << " of " << testing::PrintToString(text);
      }
    }
  }
}

// The newlines are the token's, not the open match's; what stands behind it is matched anew: with Llama's pattern =a is one match.
TEST(ByteLevelModel, ATokenThatTakesTheBlanksBeforeItEndsAnOpenMatch) {
  ByteLevelBpe bpe = parse_tokenizer_json(read_file(golden::byte_level_file("llama3"), "tokenizer"));
  bpe.added.push_back({.content = "<take>", .id = ++bpe.highest_id, .lstrip = true});
  std::int32_t equals = -1, a = -1;
  for (const auto& [piece, id] : bpe.pieces) {
    if (piece == "=") equals = id;
    if (piece == "a") a = id;
  }
  bpe.pieces.emplace_back("=a", ++bpe.highest_id);
  bpe.merges.push_back({static_cast<std::uint32_t>(equals), static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(bpe.highest_id), 1000000});
  const ByteLevelReference reference(bpe);
  const std::string text = std::string(100, '=') + std::string(100, '\n') + "<take>=a" + std::string(100, '=');
  for (const std::size_t window : {150, 160, 170, 180}) {
    ByteLevelRoom room;
    Ids ids, plain;
    ByteLevelEncoder(bpe, {.part = 10, .window = window}).encode(text, room, ids);
    reference.encode(text, plain);
    EXPECT_EQ(ids, plain) << window;
  }
}

TEST(ByteLevelModel, OfARunWithoutAnEndLittleIsHeld) {
  const std::vector<std::string> atoms = {"a", "the", "=", " ", "\n", "1", "12,", "\xe6\xb5\xb7", "=\n", std::string(1, '\0')};
  for (const std::string name : {"gpt2", "llama3", "qwen2"}) {
    const ByteLevelBpe bpe = parse_tokenizer_json(read_file(golden::byte_level_file(name), "tokenizer"));
    const ByteLevelEncoder encoder(bpe, {.part = 100, .window = 1000});
    const ByteLevelReference reference(bpe);
    ByteLevelRoom room;
    for (const std::string& atom : atoms) {
      std::string text = "x";
      while (text.size() < 20000) text += atom;
      Ids ids, plain;
      encoder.begin(room);
      ASSERT_TRUE(encoder.add(text, room, ids));
      EXPECT_LT(room.held.size(), 2000) << name << " of " << testing::PrintToString(atom);
      encoder.finish(room, ids);
      reference.encode(text, plain);
      EXPECT_TRUE(ids == plain) << name << " of " << testing::PrintToString(atom);
    }
  }
}

TEST(ByteLevelModel, BytesThatAreNoUtf8BecomeReplacementCharactersEachForItself) {
  const Tokenizer tokenizer(golden::byte_level_file("gpt2"));
  EXPECT_EQ(encoded(tokenizer, "a\xff\xc3 b\xe2\x82"), encoded_plainly(tokenizer, "a\xef\xbf\xbd\xef\xbf\xbd b\xef\xbf\xbd\xef\xbf\xbd"));
}

TEST(ByteLevelModel, KnowsItsKindAndItsControlTokens) {
  const Tokenizer gpt2(golden::byte_level_file("gpt2")), llama3(golden::byte_level_file("llama3"));
  EXPECT_EQ(gpt2.facts().kind, "byte-level-bpe");
  EXPECT_EQ(gpt2.piece(gpt2.eos_id()), "<|endoftext|>");
  EXPECT_EQ(gpt2.bos_id(), -1);
  EXPECT_EQ(llama3.piece(llama3.eos_id()), "<|end_of_text|>");
  EXPECT_EQ(llama3.piece(llama3.bos_id()), "<|begin_of_text|>");
  EXPECT_EQ(gpt2.lossy_reason(), "");
  EXPECT_THAT(Tokenizer(golden::byte_level_file("qwen2")).lossy_reason(), HasSubstr("comes back as")) << "NFC composes";
}

TEST(ByteLevelModel, TheSettingsBesideItNameItsControlTokens) {
  const golden::TemporaryFolder folder;
  std::filesystem::copy_file(golden::byte_level_file("qwen2"), folder / "tokenizer.json");
  EXPECT_EQ(Tokenizer(folder / "tokenizer.json").piece(Tokenizer(folder / "tokenizer.json").eos_id()), "<|endoftext|>") << "a usual name";
  std::ofstream(folder / "special_tokens_map.json") << R"({"eos_token": "<|im_end|>", "bos_token": {"content": "<|im_start|>"}})";
  const Tokenizer by_map(folder / "tokenizer.json");
  EXPECT_EQ(by_map.piece(by_map.eos_id()), "<|im_end|>");
  EXPECT_EQ(by_map.piece(by_map.bos_id()), "<|im_start|>");
  std::ofstream(folder / "tokenizer_config.json") << R"({"eos_token": {"content": "<|im_start|>"}, "bos_token": null})";
  EXPECT_EQ(Tokenizer(folder / "tokenizer.json").piece(Tokenizer(folder / "tokenizer.json").eos_id()), "<|im_start|>") << "the configuration goes first";
  std::ofstream(folder / "tokenizer_config.json") << R"({"eos_token": "<nothing>"})";
  EXPECT_THAT(golden::message_of<DataError>([&] { const Tokenizer tokenizer(folder / "tokenizer.json"); }), HasSubstr("has no token \"<nothing>\""));
}

// Expected: Python's bytes.decode("utf-8", "replace"), which follows the same rule.
TEST(LossyUtf8, ReplacesEachLongestBeginningOfACharacter) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(lossy_utf8("a\xe2\x82z"), "a" + r + "z");
  EXPECT_EQ(lossy_utf8("\xe2\x82"), r);
  EXPECT_EQ(lossy_utf8("\xff\xfe"), r + r);
  EXPECT_EQ(lossy_utf8("\xc0\x80"), r + r);
  EXPECT_EQ(lossy_utf8("\xed\xa0\x80"), r + r + r) << "a surrogate";
  EXPECT_EQ(lossy_utf8("\xf0\x9f\x9a"), r);
  EXPECT_EQ(lossy_utf8("\xf0\x9f\x41"), r + "A");
  EXPECT_EQ(lossy_utf8("\xf4\x90\x80\x80"), r + r + r + r) << "beyond U+10FFFF";
  EXPECT_EQ(lossy_utf8("\xe0\x80\x80"), r + r + r) << "an overlong form";
  EXPECT_EQ(lossy_utf8("\xf0\x9f\x9a\xa2"), "\xf0\x9f\x9a\xa2");
}

}  // namespace
}  // namespace convoy::data
