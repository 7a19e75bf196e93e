// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/document_text.h"

#include <gtest/gtest.h>

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

TEST(DocumentText, PartsOfAnySizeAreTheTextOfAllIds) {
  const support::TmpDir folder;
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden::folder() / "models")) {
    if (entry.path().extension() != ".model") continue;
    ++models;
    const Tokenizer tokenizer(entry.path());
    const std::vector<std::int32_t> ids = hard_ids(tokenizer);
    const IndexedDataset dataset = dataset_of({{5}, ids}, folder / entry.path().stem().string());
    for (std::int64_t size = 1; size < 30; ++size) {
      std::string text;
      std::vector<std::int32_t> back;
      for_each_text(dataset, 1, tokenizer, [&text](std::string_view part) { text += part; }, size);
      for_each_ids(dataset, 1, [&back](std::span<const std::int32_t> part) { back.insert(back.end(), part.begin(), part.end()); }, size);
      EXPECT_EQ(text, tokenizer.decode(ids)) << entry.path() << " in parts of " << size;
      EXPECT_EQ(back, ids);
    }
  }
  EXPECT_GT(models, 3);
}

TEST(DocumentText, ManyPartsAreHandedOut) {
  const support::TmpDir folder;
  const Tokenizer tokenizer(golden::folder() / "models" / "bpe.model");
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 100; ++i) tokenizer.encode("the convoy sails", ids);
  std::size_t parts = 0, longest = 0;
  for_each_text(dataset_of({ids}, folder / "x"), 0, tokenizer, [&](std::string_view part) {
    ++parts;
    longest = std::max(longest, part.size());
  }, 20);
  EXPECT_GE(parts, ids.size() / 40);
  EXPECT_LT(longest, 400u);
}

}  // namespace
}  // namespace convoy::data
