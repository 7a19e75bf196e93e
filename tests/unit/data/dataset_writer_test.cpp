// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/dataset_writer.h"

#include <gmock/gmock.h>

#include "file_size_limit.h"
#include "golden.h"
#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using golden::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

const auto kNoMetadata = [](const PairSums&) { return std::string("{}"); };

// The pair of megatron's own builder, read and written again.
void expect_copy(const std::string& name) {
  SCOPED_TRACE(name);
  const Path source = golden::folder() / "megatron" / name;
  const IndexedDataset dataset(source, true);
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "copy", dataset.token_type());
  for (std::int64_t d = 0; d < dataset.documents(); ++d) {
    const auto [begin, end] = dataset.document(d);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(end - begin));
    dataset.read(begin, ids);
    writer.add(ids);
  }
  writer.commit(kNoMetadata);
  EXPECT_EQ(golden::content(folder / "copy.bin"), golden::content(bin_path(source)));
  EXPECT_EQ(golden::content(folder / "copy.idx"), golden::content(idx_path(source)));
}

TEST(DatasetWriter, WritesMegatronsBytes) {
  for (const char* name : {"bpe-u16", "bpe-65500-i32", "uni-u16", "empties-u16"}) expect_copy(name);
}

TEST(DatasetWriter, NothingHasItsFinalNameBeforeTheCommit) {
  const TemporaryFolder folder;
  {
    DatasetWriter writer(folder / "x", TokenType::kU16);
    writer.add(std::vector<std::int32_t>{1, 2, 3});
    EXPECT_FALSE(std::filesystem::exists(folder / "x.bin"));
  }
  EXPECT_THAT(folder.names(), ElementsAre()) << "an abandoned writer leaves nothing";
}

TEST(DatasetWriter, TellsSumsThatTheReaderFinds) {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "x", TokenType::kI32);
  writer.add(std::vector<std::int32_t>{70000, 2});
  writer.add(std::vector<std::int32_t>{5});
  EXPECT_EQ(writer.documents(), 2);
  EXPECT_EQ(writer.tokens(), 3);
  EXPECT_EQ(writer.largest_id(), 70000);
  PairSums sums;
  writer.commit([&](const PairSums& found) {
    sums = found;
    return std::string("{}");
  });
  EXPECT_EQ(sums.bin_bytes, 12);
  EXPECT_EQ(sums.idx_bytes, 34 + 12 * 2 + 8 * 3);
  EXPECT_EQ(sums.bin_xxh3_128, xxh3_128_hex(golden::content(folder / "x.bin")));
  EXPECT_EQ(sums.idx_xxh3_128, xxh3_128_hex(golden::content(folder / "x.idx")));
}

TEST(DatasetWriter, ReplacesAnOlderPairAndItsMetadata) {
  const TemporaryFolder folder;
  for (const std::int32_t id : {1, 2}) {
    DatasetWriter writer(folder / "x", TokenType::kU16);
    writer.add(std::vector<std::int32_t>{id});
    writer.commit([&](const PairSums&) { return std::to_string(id); });
  }
  EXPECT_EQ(golden::content(folder / "x.meta.json"), "2");
  EXPECT_EQ(golden::content(folder / "x.bin"), std::string("\2\0", 2));
  EXPECT_THAT(folder.names(), ElementsAre("x.bin", "x.idx", "x.meta.json"));
}

// An older pair x, and the attempt to replace it.
class DatasetReplacement : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"x.bin", "x.idx", "x.meta.json"}) folder.write(name, "old");
  }
  void replace(std::size_t documents, std::size_t tokens, const std::function<std::string(const PairSums&)>& metadata) {
    DatasetWriter writer(folder / "x", TokenType::kU16);
    for (std::size_t d = 0; d < documents; ++d) writer.add(std::vector<std::int32_t>(tokens, 1));
    writer.commit(metadata);
  }
  void expect_old_pair() {
    EXPECT_THAT(folder.names(), ElementsAre("x.bin", "x.idx", "x.meta.json"));
    for (const char* name : {"x.bin", "x.idx", "x.meta.json"}) EXPECT_EQ(golden::content(folder / name), "old") << name;
  }
  TemporaryFolder folder;
};

TEST_F(DatasetReplacement, KeepsTheOldPairIfTheMetadataFail) {
  EXPECT_THROW(replace(1, 1, [](const PairSums&) -> std::string { throw EnvironmentError("full"); }), EnvironmentError);
  expect_old_pair();
}

// 2 bytes a token, 34 + 20 a document + 8 of index: each of the three files in turn is the one that is too large.
TEST_F(DatasetReplacement, KeepsTheOldPairWhenTheDiskIsFull) {
  const golden::FileSizeLimit limit(1000);
  const auto message = [&](std::size_t documents, std::size_t tokens, std::size_t metadata) {
    return golden::message_of<EnvironmentError>(
        [&] { replace(documents, tokens, [&](const PairSums&) { return std::string(metadata, 'm'); }); });
  };
  EXPECT_THAT(message(1, 600, 1), HasSubstr("x.bin"));
  expect_old_pair();
  EXPECT_THAT(message(60, 1, 1), HasSubstr("x.idx"));
  expect_old_pair();
  EXPECT_THAT(message(1, 1, 1001), HasSubstr("x.meta.json"));
  expect_old_pair();
  replace(1, 500, [](const PairSums&) { return std::string(1000, 'm'); });
  EXPECT_EQ(golden::content(folder / "x.bin").size(), 1000u);
}

TEST_F(DatasetReplacement, LeavesNothingThatLooksWholeIfANameIsTaken) {
  {
    DatasetWriter writer(folder / "x", TokenType::kU16);
    writer.add(std::vector<std::int32_t>{1});
    writer.prepare(kNoMetadata);
    std::filesystem::remove(folder / "x.idx");
    std::filesystem::create_directories(folder / "x.idx/in the way");
    EXPECT_THROW(writer.publish(), EnvironmentError);
  }
  EXPECT_THAT(folder.names(), ElementsAre("x.idx"));
}

TEST(DatasetWriter, RefusesAPlaceThatIsNone) {
  const TemporaryFolder folder;
  EXPECT_THROW(DatasetWriter(folder / "none/x", TokenType::kU16), Error);
}

TEST(DatasetWriter, ADocumentInPartsIsTheSameDocument) {
  const TemporaryFolder folder;
  const std::vector<std::int32_t> ids{5, 6, 7, 8, 9}, more{1};
  const auto metadata = [](const PairSums&) { return std::string("{}"); };
  DatasetWriter whole(folder / "whole", TokenType::kU16), parts(folder / "parts", TokenType::kU16);
  whole.add(ids);
  whole.add(more);
  whole.commit(metadata);
  parts.begin(5);
  parts.add_part(std::span(ids).first(2));
  parts.add_part(std::span(ids).first(0));
  EXPECT_THROW(parts.begin(1), InternalError) << "the document is not whole";
  parts.add_part(std::span(ids).subspan(2));
  parts.add(more);
  parts.commit(metadata);
  for (const char* end : {".bin", ".idx"}) EXPECT_EQ(golden::content(folder / ("parts" + std::string(end))), golden::content(folder / ("whole" + std::string(end))));
}

TEST(DatasetWriter, RefusesADocumentOfMoreTokensThanAnIndexCounts) {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "x", TokenType::kU16);
  EXPECT_THAT(golden::message_of<DataError>([&] { writer.begin(std::int64_t{1} << 31); }), HasSubstr("at most 2147483647"));
}

TEST(CheckReplaceable, RefusesTokensWithoutMetadataOnly) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(check_replaceable(folder / "x"));
  folder.write("x.idx", "b");
  EXPECT_NO_THROW(check_replaceable(folder / "x"));
  folder.write("x.bin", "a");
  EXPECT_THAT(golden::message_of<ConfigError>([&] { check_replaceable(folder / "x"); }), HasSubstr("not known to be ours"));
  folder.write("x.meta.json", "c");
  EXPECT_NO_THROW(check_replaceable(folder / "x"));
  uncommit(folder / "x");
  EXPECT_FALSE(std::filesystem::exists(folder / "x.meta.json"));
}

TEST(CheckReplaceable, KnowsWhatAKilledCommitLeaves) {
  const TemporaryFolder folder;
  // As the order of a commit leaves them: the index, the tokens, and metadata that never got their name.
  folder.write("x.idx", "b");
  folder.write("x.bin", "four");
  folder.write(".x.meta.json.host.77-3.tmp", "{\"bin_bytes\": 5}");
  EXPECT_THROW(check_replaceable(folder / "x"), ConfigError) << "metadata of other tokens";
  folder.write(".x.meta.json.host.78-3.tmp", "{\"bin_by");
  EXPECT_THROW(check_replaceable(folder / "x"), ConfigError);
  folder.write(".x.meta.json.host.79-3.tmp", "{\"bin_bytes\": 4}");
  EXPECT_NO_THROW(check_replaceable(folder / "x"));
  EXPECT_FALSE(std::filesystem::exists(folder / "x.bin")) << "what never was whole is no copy of anything";
}

TEST(Withdraw, TakesTokensAndMetadata) {
  const TemporaryFolder folder;
  for (const char* name : {"x.bin", "x.idx", "x.meta.json"}) folder.write(name, "old");
  withdraw(folder / "x");
  EXPECT_THAT(folder.names(), ElementsAre("x.idx"));
  withdraw(folder / "x");
}

}  // namespace
}  // namespace convoy::data
