// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/document_text.h"

#include <gtest/gtest.h>

#include "byte_level_golden.h"
#include "golden.h"
#include "libcore/data/dataset_writer.h"

namespace convoy::data {
namespace {

// Emoji of several byte tokens, blanks at the start and in rows, control ids, an unknown character, bytes that are no character.
std::vector<std::int32_t> hard_ids(const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  for (const char* text : {"  the convoy\n\nsails \xf0\x9f\x9a\xa2\xf0\x9f\x9a\xa2\xf0\x9f\x9a\xa2 on", "\xe6\xb5\xb7", " ", "", "a\xff\xfe z", "\xe2\x96\x81"}) {
    tokenizer.encode(text, ids);
    if (tokenizer.eos_id() >= 0) ids.push_back(tokenizer.eos_id());
  }
  return ids;
}

// Documents of `ids` alone, without metadata.
IndexedDataset dataset_of(const std::vector<std::vector<std::int32_t>>& documents, const Path& prefix) {
  DatasetWriter writer(prefix, TokenType::kI32);
  for (const std::vector<std::int32_t>& ids : documents) writer.add(ids);
  writer.commit([](const PairSums&) { return std::string("{}"); });
  std::filesystem::remove(meta_path(prefix));
  return IndexedDataset(prefix, true);
}

std::vector<Path> all_tokenizers() {
  std::vector<Path> files;
  for (const auto& entry : std::filesystem::directory_iterator(golden::folder() / "models")) {
    if (entry.path().extension() == ".model") files.push_back(entry.path());
  }
  for (const std::string name : golden::kByteLevelNames) files.push_back(golden::byte_level_file(name));
  return files;
}

TEST(DocumentText, PartsOfAnySizeAreTheTextOfAllIds) {
  const support::TmpDir folder;
  ASSERT_GT(all_tokenizers().size(), 8u);
  for (const Path& file : all_tokenizers()) {
    const Tokenizer tokenizer(file);
    const std::vector<std::int32_t> ids = hard_ids(tokenizer);
    const IndexedDataset dataset = dataset_of({{5}, ids}, folder / file.filename().string());
    for (std::int64_t size = 1; size < 30; ++size) {
      std::string text;
      std::vector<std::int32_t> back;
      for_each_text(dataset, 1, tokenizer, [&text](std::string_view part) { text += part; }, size);
      for_each_ids(dataset, 1, [&back](std::span<const std::int32_t> part) { back.insert(back.end(), part.begin(), part.end()); }, size);
      EXPECT_EQ(text, tokenizer.decode(ids)) << file << " in parts of " << size;
      EXPECT_EQ(back, ids);
    }
  }
}

// The second text has characters of several tokens alone, each a byte.
TEST(DocumentText, ManyPartsAreHandedOut) {
  const support::TmpDir folder;
  const Tokenizer tokenizer(golden::folder() / "models" / "uni-bf.model");
  for (const char* one : {"the convoy sails", "\xf0\x9f\x9a\xa2\xe9\x91\xab"}) {
    std::vector<std::int32_t> ids;
    std::string repeated;
    for (int i = 0; i < 100; ++i) repeated += one;
    tokenizer.encode(repeated, ids);
    std::size_t parts = 0, longest = 0;
    std::string text;
    for_each_text(dataset_of({ids}, folder / "x"), 0, tokenizer, [&](std::string_view part) {
      ++parts;
      longest = std::max(longest, part.size());
      text += part;
    }, 20);
    EXPECT_GE(parts, ids.size() / 40) << one;
    EXPECT_LT(longest, 400u) << one;
    EXPECT_EQ(text, repeated);
  }
}

}  // namespace
}  // namespace convoy::data
