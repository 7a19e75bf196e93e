// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/indexed_dataset.h"

#include <gmock/gmock.h>

#include "golden_json.h"
#include "libcore/base/error.h"
#include "tests/support/megatron_pair.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using testing::HasSubstr;

Path megatron(const std::string& name) { return golden::folder() / "megatron" / name; }

void expect_counts(const nlohmann::json& pair) {
  SCOPED_TRACE(pair["name"].get<std::string>());
  const IndexedDataset dataset(megatron(pair["name"]), true);
  EXPECT_EQ(dataset.tokens(), pair["tokens"].get<std::int64_t>());
  EXPECT_EQ(dataset.sequences(), pair["sequences"].get<std::int64_t>());
  EXPECT_EQ(dataset.documents(), pair["documents"].get<std::int64_t>());
  EXPECT_EQ(dataset.token_type(), pair["dtype"] == "u16" ? TokenType::kU16 : TokenType::kI32);
  if (pair.contains("max_id")) {
    EXPECT_EQ(dataset.largest_id(), pair["max_id"].get<std::int32_t>());
  }
  std::int64_t at = 0;
  for (std::int64_t d = 0; d < dataset.documents(); ++d) {
    EXPECT_EQ(dataset.document(d).first, at);
    at = dataset.document(d).second;
  }
  EXPECT_EQ(at, dataset.tokens());
}

TEST(IndexedDataset, ReadsMegatronsPairs) {
  const auto expected = golden::json(megatron("expected.json"));
  for (const auto& pair : expected["pairs"]) expect_counts(pair);
  for (const auto& pair : expected["foreign"]) expect_counts(pair);
}

TEST(IndexedDataset, U16AndI32PairsOfTheSameTextHoldTheSameIds) {
  const IndexedDataset narrow(megatron("bpe-65499-u16"), true), wide(megatron("bpe-65500-i32"), true);
  std::vector<std::int32_t> a(static_cast<std::size_t>(narrow.tokens())), b(static_cast<std::size_t>(wide.tokens()));
  narrow.read(0, a);
  wide.read(0, b);
  ASSERT_EQ(a.size(), b.size());
  int different = 0;  // the user-defined symbol is the last piece of each vocabulary: 65498 and 65499
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 65498) {
      EXPECT_EQ(b[i], 65499);
    } else {
      different += a[i] != b[i];
    }
  }
  EXPECT_EQ(different, 0);
}

TEST(IndexedDataset, ReadsAnyRangeAndTheEmptyDocumentsOfOtherTools) {
  const IndexedDataset all(megatron("empties-u16"), true), empties(megatron("empties-u16-megatron"), true);
  std::vector<std::int32_t> whole(static_cast<std::size_t>(all.tokens())), part(3);
  all.read(0, whole);
  all.read(100, part);
  EXPECT_EQ(part[0], whole[100]);
  EXPECT_EQ(part[2], whole[102]);
  all.read(all.tokens() - 3, part);
  EXPECT_EQ(part[2], 2) << "every document ends with the end-of-document id";
  EXPECT_THROW(all.read(all.tokens() - 2, part), InternalError);
  EXPECT_THROW(all.read(-1, part), InternalError);
  int empty = 0;
  for (std::int64_t d = 0; d < empties.documents(); ++d) empty += empties.document(d).first == empties.document(d).second;
  EXPECT_EQ(empty, 4);
}

// Three documents, 3,000,000,000 tokens of u16: 6 GB of holes on disk, offsets beyond 2^32 and tokens beyond 2^31.
TEST(IndexedDataset, CountsBeyondThirtyTwoBits) {
  const TemporaryFolder folder;
  const std::int64_t half = 1'499'999'998, bytes = 2 * (2 * half + 4);
  {
    std::ofstream bin(folder / "x.bin", std::ios::binary);
    bin.seekp(bytes - 8);
    bin.write("\1\0\2\0\3\0\4\0", 8);
    std::ofstream idx(folder / "x.idx", std::ios::binary);
    idx.write("MMIDIDX\0\0", 9);
    support::append_bytes(idx, std::uint64_t{1});
    support::append_bytes(idx, std::uint8_t{8});
    support::append_bytes(idx, std::uint64_t{3});
    support::append_bytes(idx, std::uint64_t{4});
    for (const std::int64_t length : {half, half, std::int64_t{4}}) support::append_bytes(idx, static_cast<std::int32_t>(length));
    for (const std::int64_t at : {std::int64_t{0}, 2 * half, 4 * half}) support::append_bytes(idx, at);
    for (const std::int64_t document : {0, 1, 2, 3}) support::append_bytes(idx, document);
  }
  const IndexedDataset dataset(folder / "x", true);
  EXPECT_EQ(dataset.tokens(), 2 * half + 4);
  EXPECT_EQ(dataset.document(2), (std::pair{2 * half, 2 * half + 4}));
  std::vector<std::int32_t> ids(5);
  dataset.read(2 * half - 1, ids);
  EXPECT_THAT(ids, testing::ElementsAre(0, 1, 2, 3, 4));
}

TEST(IndexedDataset, AMissingPairIsAUsageErrorAndAMissingMetaADataError) {
  EXPECT_THAT(message_of<ConfigError>([] { IndexedDataset("/nonexistent/corpus", true); }), HasSubstr("/nonexistent/corpus.bin"));
  EXPECT_THAT(message_of<DataError>([] { IndexedDataset(megatron("bpe-u16"), false); }), HasSubstr("bpe-u16.meta.json"));
}

struct Copy {
  explicit Copy(const std::string& name) : bin(golden::content(megatron(name + ".bin"))), idx(golden::content(megatron(name + ".idx"))) {}
  Path written(const std::string& meta = "") const {
    folder.write("x.bin", bin);
    folder.write("x.idx", idx);
    if (!meta.empty()) folder.write("x.meta.json", meta);
    return folder / "x";
  }
  TemporaryFolder folder;
  std::string bin, idx;
};

TEST(IndexedDataset, RefusesTokensShorterThanTheIndex) {
  Copy copy("bpe-u16");
  copy.bin.resize(copy.bin.size() - 2);
  const std::string message = message_of<DataError>([&] { IndexedDataset(copy.written(), true); });
  EXPECT_THAT(message, HasSubstr("x.bin: the file has 124726 bytes"));
  EXPECT_THAT(message, HasSubstr("124728"));
}

TEST(IndexedDataset, RefusesANegativeIdWhereItIsRead) {
  Copy copy("multi");
  copy.bin[4 * 7 + 3] = '\x80';
  const IndexedDataset dataset(copy.written(), true);
  std::vector<std::int32_t> part(2);
  dataset.read(5, part);
  EXPECT_THAT(message_of<DataError>([&] { dataset.read(6, part); }), HasSubstr("token 7 at offset 28"));
  EXPECT_THROW(dataset.largest_id(), DataError);
}

std::string meta(const char* bin_bytes = "124728", const char* documents = "258") {
  return std::string(R"({"format_version":1,"vocab_size":800,"tokenizer":{"sha256":"ab"},"eos_id":2,"dtype":"u16","tokens":62364,)") +
         R"("idx_bytes":5202,"bin_xxh3_128":"00","idx_xxh3_128":"11","bin_bytes":)" + bin_bytes + R"(,"documents":)" + documents + "}";
}

TEST(IndexedDataset, ReadsTheCommitMarker) {
  const Copy copy("bpe-u16");
  const IndexedDataset dataset(copy.written(meta()), false);
  ASSERT_TRUE(dataset.meta().has_value());
  EXPECT_EQ(dataset.meta()->vocabulary, 800);
  EXPECT_EQ(dataset.meta()->tokenizer_sha256, "ab");
  EXPECT_EQ(dataset.meta()->eos_id, 2);
}

TEST(IndexedDataset, RefusesACommitMarkerOfAnotherPair) {
  const Copy copy("bpe-u16");
  EXPECT_THAT(message_of<DataError>([&] { IndexedDataset(copy.written(meta("124730")), false); }), HasSubstr("\"bin_bytes\" is 124730"));
  EXPECT_THAT(message_of<DataError>([&] { IndexedDataset(copy.written(meta("124728", "259")), false); }), HasSubstr("\"documents\" is 259"));
}

TEST(IndexedDataset, RefusesADamagedCommitMarker) {
  const Copy copy("bpe-u16");
  for (const char* bad : {"{", "[]", "{}", R"({"format_version":2})", R"({"format_version":"1"})"}) {
    EXPECT_THAT(message_of<DataError>([&] { IndexedDataset(copy.written(bad), false); }), HasSubstr("x.meta.json")) << bad;
  }
}

TEST(TokenTypeFor, FollowsMegatronsRule) {
  EXPECT_EQ(token_type_for(1), TokenType::kU16);
  EXPECT_EQ(token_type_for(65499), TokenType::kU16);
  EXPECT_EQ(token_type_for(65500), TokenType::kI32);
  EXPECT_EQ(token_type_for(65536), TokenType::kI32);
}

}  // namespace
}  // namespace convoy::data
