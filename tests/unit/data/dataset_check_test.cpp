// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/dataset_check.h"

#include <gmock/gmock.h>

#include "golden.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/encoder.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using testing::HasSubstr;

class DatasetCheckTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kOff);
    EncodeOptions options;
    options.inputs = {(golden::folder() / "inputs" / "plain.jsonl").string()};
    options.keys = {"text"};
    options.tokenizer = golden::folder() / "models" / "bpe.model";
    options.out = folder / "x";
    options.append_eos = true;
    encode(options, {});
    set_log_level(LogLevel::kInfo);
    bin = golden::content(folder / "x.bin");
  }
  void spoil(std::size_t at, std::string_view bytes) {
    std::string copy = bin;
    copy.replace(at, bytes.size(), bytes);
    folder.write("x.bin", copy);
  }
  std::string problem() {
    return message_of<DataError>([&] { check_dataset(folder / "x", false, {}); });
  }
  TemporaryFolder folder;
  std::string bin;
};

TEST_F(DatasetCheckTest, AWholeDatasetPasses) {
  const DatasetCheck check = check_dataset(folder / "x", false, {});
  EXPECT_EQ(check.documents, 40);
  EXPECT_EQ(check.tokens, 7357);
  EXPECT_EQ(check.vocabulary, 800);
  EXPECT_TRUE(check.has_checksums);
  EXPECT_LT(check.largest_id, 800);
}

TEST_F(DatasetCheckTest, AnyChangedByteIsFound) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{1001}, bin.size() - 1}) {
    spoil(at, std::string(1, static_cast<char>(bin[at] ^ 1)));
    EXPECT_THAT(problem(), HasSubstr("x.bin")) << at;
  }
}

TEST_F(DatasetCheckTest, NamesTokenAndOffsetOfAnIdBeyondTheVocabulary) {
  spoil(1000, std::string("\x20\x03", 2));  // 800
  EXPECT_THAT(problem(), HasSubstr("x.bin: token 500 at offset 1000: expected an id below the vocabulary of 800, found 800"));
}

TEST_F(DatasetCheckTest, NamesADocumentThatDoesNotEnd) {
  spoil(bin.size() - 2, std::string("\5\0", 2));
  EXPECT_THAT(problem(), HasSubstr("last token of document 39 at offset 14712: expected the end-of-document id 2, found 5"));
}

TEST_F(DatasetCheckTest, ChecksTheIndexsBytesToo) {
  std::string meta = golden::content(folder / "x.meta.json");
  const std::size_t at = meta.find("idx_xxh3_128\":\"") + 15;
  meta[at] = meta[at] == '0' ? '1' : '0';
  folder.write("x.meta.json", meta);
  EXPECT_THAT(problem(), HasSubstr("x.idx: the checksum"));
}

TEST_F(DatasetCheckTest, ForeignPairsHaveNothingToCompareWith) {
  const DatasetCheck check = check_dataset(golden::folder() / "megatron" / "multi", true, {});
  EXPECT_FALSE(check.has_checksums);
  EXPECT_EQ(check.documents, 4);
  EXPECT_EQ(check.sequences, 6);
}

}  // namespace
}  // namespace convoy::data
