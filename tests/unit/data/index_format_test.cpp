// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/index_format.h"

#include <gmock/gmock.h>

#include "golden.h"
#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using golden::message_of;
using testing::HasSubstr;

// An index written field by field, so that a test can spoil any of them.
struct Fields {
  std::string magic{kIndexMagic};
  std::uint64_t version = 1;
  std::uint8_t code = 8;
  std::vector<std::int32_t> lengths{4, 2, 3};
  std::vector<std::int64_t> pointers{0, 8, 12};
  std::vector<std::int64_t> documents{0, 1, 2, 3};
  std::string tail;
  std::uint64_t tokens_bytes = 18;
  std::int64_t claimed_sequences = -1;
  std::int64_t claimed_entries = -1;

  std::string bytes() const {
    std::string out = magic;
    const auto put = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
    put(version);
    put(code);
    put(claimed_sequences >= 0 ? claimed_sequences : static_cast<std::int64_t>(lengths.size()));
    put(claimed_entries >= 0 ? claimed_entries : static_cast<std::int64_t>(documents.size()));
    for (const auto x : lengths) put(x);
    for (const auto x : pointers) put(x);
    for (const auto x : documents) put(x);
    return out + tail;
  }
  IndexView parse(bool foreign = false) const {
    held = bytes();
    return parse_index(std::as_bytes(std::span(held)),
                       {.index_name = "x.idx", .tokens_name = "x.bin", .tokens_bytes = tokens_bytes, .foreign = foreign});
  }
  std::string problem(bool foreign = false) const {
    return message_of<DataError>([&] { parse(foreign); });
  }
  mutable std::string held;
};

TEST(IndexFormat, ReadsWhatWasWritten) {
  const Fields fields;
  const IndexView view = fields.parse();
  EXPECT_EQ(view.type, TokenType::kU16);
  EXPECT_EQ(view.sequences, 3);
  EXPECT_EQ(view.documents, 3);
  EXPECT_EQ(view.tokens, 9);
  EXPECT_EQ(view.length(1), 2);
  EXPECT_EQ(view.pointer(2), 12);
  EXPECT_EQ(view.first_sequence(3), 3);
  EXPECT_FALSE(view.has_modes);
}

TEST(IndexFormat, EveryPrefixOfAnIndexIsRefused) {
  const std::string whole = Fields{}.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    for (const bool foreign : {false, true}) {
      const std::string cut = whole.substr(0, size);
      EXPECT_THROW(parse_index(std::as_bytes(std::span(cut)), {"x.idx", "x.bin", 18, foreign}), DataError) << size;
    }
  }
}

TEST(IndexFormat, NamesFileFieldOffsetExpectedAndFound) {
  Fields fields;
  fields.pointers[1] = 9;
  EXPECT_EQ(fields.problem(), "x.idx: byte pointer of sequence 1 at offset 54: expected 8, found 9");
  fields = {};
  fields.magic[3] = 'X';
  EXPECT_THAT(fields.problem(), HasSubstr("magic at offset 0"));
  fields = {};
  fields.version = 2;
  EXPECT_THAT(fields.problem(), HasSubstr("version at offset 9: expected 1, found 2"));
  fields = {};
  fields.code = 5;
  EXPECT_THAT(fields.problem(), HasSubstr("dtype code at offset 17: expected 4 (i32) or 8 (u16), found 5"));
  fields = {};
  fields.lengths[2] = -3;
  EXPECT_THAT(fields.problem(), HasSubstr("length of sequence 2 at offset 42"));
}

TEST(IndexFormat, RefusesCountsThatWouldOverflow) {
  Fields fields;
  fields.claimed_sequences = std::int64_t{1} << 62;
  EXPECT_THAT(fields.problem(), HasSubstr("number of sequences at offset 18"));
  fields = {};
  fields.claimed_entries = std::int64_t{1} << 61;
  EXPECT_THAT(fields.problem(), HasSubstr("entries of the document index at offset 26"));
  fields = {};
  fields.claimed_entries = 0;
  EXPECT_THAT(fields.problem(), HasSubstr("entries of the document index at offset 26"));
}

TEST(IndexFormat, RefusesTokensThatDoNotFitTheIndex) {
  Fields fields;
  fields.tokens_bytes = 16;
  EXPECT_THAT(fields.problem(), HasSubstr("x.bin: the file has 16 bytes"));
  EXPECT_THAT(fields.problem(), HasSubstr("18 bytes in all: it is cut"));
  fields.tokens_bytes = 20;
  EXPECT_THAT(fields.problem(), HasSubstr("do not belong together"));
}

TEST(IndexFormat, RefusesABadDocumentIndex) {
  Fields fields;
  fields.documents = {1, 1, 2, 3};
  EXPECT_THAT(fields.problem(), HasSubstr("first entry of the document index"));
  fields.documents = {0, 2, 1, 3};
  EXPECT_THAT(fields.problem(true), HasSubstr("entry 2 of the document index"));
  fields.documents = {0, 1, 2};
  EXPECT_THAT(fields.problem(true), HasSubstr("last entry of the document index"));
  fields.documents = {0, 1, 2, 4};
  EXPECT_THAT(fields.problem(true), HasSubstr("expected 2 to 3, found 4"));
}

TEST(IndexFormat, OtherToolsShapesNeedForeign) {
  Fields several;
  several.documents = {0, 2, 2, 3};
  EXPECT_THAT(several.problem(), HasSubstr("--foreign"));
  EXPECT_EQ(several.parse(true).documents, 3);
  Fields empty;
  empty.lengths = {4, 0, 5};
  empty.pointers = {0, 8, 8};
  EXPECT_THAT(empty.problem(), HasSubstr("--foreign"));
  EXPECT_EQ(empty.parse(true).tokens, 9);
  Fields modes;
  modes.tail = std::string(3, '\1');
  EXPECT_THAT(modes.problem(), HasSubstr("--foreign"));
  EXPECT_TRUE(modes.parse(true).has_modes);
  Fields trailing;
  trailing.tail = std::string(2, '\1');
  EXPECT_THAT(trailing.problem(true), HasSubstr("trailing bytes"));
}

}  // namespace
}  // namespace convoy::data
