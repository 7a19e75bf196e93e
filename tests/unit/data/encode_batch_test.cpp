// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encode_batch.h"

#include <gmock/gmock.h>

#include "golden.h"

namespace convoy::data {
namespace {

using testing::ElementsAre;

Path bpe() { return golden::folder() / "models" / "bpe.model"; }

EncodedBatch encode_text(const std::string& text, EncodeOptions options) {
  options.keys = {"text"};
  const Tokenizer tokenizer(bpe());
  RawBatch batch;
  batch.bytes = text;
  batch.records = {{0, text.size(), 1}};
  return BatchEncoder(tokenizer, options).encode(batch);
}

std::vector<std::int32_t> plain_ids(const std::string& text) {
  std::vector<std::int32_t> ids;
  Tokenizer(bpe()).encode(text, ids);
  return ids;
}

TEST(BatchEncoder, FramesADocumentWithBosAndEos) {
  std::vector<std::int32_t> expected = plain_ids("sail");
  EXPECT_EQ(encode_text("sail", {}).ids, expected);
  expected.push_back(2);
  EXPECT_EQ(encode_text("sail", {.append_eos = true}).ids, expected);
  expected.insert(expected.begin(), 1);
  EXPECT_EQ(encode_text("sail", {.append_eos = true, .prepend_bos = true}).ids, expected);
}

TEST(BatchEncoder, TheNamesOfControlSymbolsAreText) {
  const EncodedBatch out = encode_text("<s></s>", {.append_eos = true, .prepend_bos = true});
  EXPECT_EQ(std::count(out.ids.begin(), out.ids.end(), 1), 1);
  EXPECT_EQ(std::count(out.ids.begin(), out.ids.end(), 2), 1);
}

TEST(BatchEncoder, ADocumentWithoutTokensIsDroppedWhateverFramesIt) {
  const EncodedBatch out = encode_text("", {.append_eos = true, .prepend_bos = true});
  EXPECT_TRUE(out.ids.empty());
  EXPECT_TRUE(out.documents.empty());
  EXPECT_EQ(out.empty, 1);
}

TEST(BatchEncoder, CountsTextThatIsNoUtf8) {
  EXPECT_EQ(encode_text("a\xff" "b", {}).invalid_utf8, 1);
  EXPECT_EQ(encode_text("ab", {}).invalid_utf8, 0);
}

TEST(SplitOf, CutsTheHashesByTheirShare) {
  const std::vector<double> thresholds{0.5, 0.75, 1.0};
  EXPECT_EQ(split_of(0, thresholds), 0u);
  EXPECT_EQ(split_of((std::uint64_t{1} << 63) - 1, thresholds), 0u);
  EXPECT_EQ(split_of(std::uint64_t{1} << 63, thresholds), 1u);
  EXPECT_EQ(split_of(std::uint64_t{3} << 62, thresholds), 2u);
  EXPECT_EQ(split_of(~std::uint64_t{0}, thresholds), 2u);
  EXPECT_EQ(split_of(~std::uint64_t{0}, {0.3, 0.9999999999}), 1u) << "rounding of the shares' sum loses no document";
}

}  // namespace
}  // namespace convoy::data
