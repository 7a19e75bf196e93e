// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/pair_merge.h"

#include <gmock/gmock.h>

#include <fstream>

#include "golden.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/encoder.h"
#include "libcore/data/indexed_dataset.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

class PairMergeTest : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kOff); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  Path encode_lines(const char* name, const std::string& text, const std::function<void(EncodeOptions&)>& change = {}) {
    EncodeOptions options{.inputs = {folder.write(std::string(name) + ".txt", text).string()},
                          .read = {.format = "text", .separator = DocumentSeparator::kLine},
                          .keys = {"text"},
                          .tokenizer = golden::folder() / "models/bpe.model",
                          .out = folder / name,
                          .append_eos = true};
    if (change) change(options);
    encode(options, {});
    return options.out;
  }
  void expect_same_files(const Path& a, const Path& b) {
    EXPECT_EQ(golden::content(bin_path(a)), golden::content(bin_path(b)));
    EXPECT_EQ(golden::content(idx_path(a)), golden::content(idx_path(b)));
  }
  TemporaryFolder folder;
};

TEST_F(PairMergeTest, GivesThePairOfOneRunOverAllSources) {
  const Path first = encode_lines("first", "one\ntwo three\n"), second = encode_lines("second", "\nfour\n"), third = encode_lines("third", "five\n");
  const EncodeReport report = merge_pairs({first, second, third}, folder / "all", {});
  encode_lines("whole", "one\ntwo three\n\nfour\nfive\n");
  expect_same_files(folder / "all", folder / "whole");
  EXPECT_EQ(report.documents, 4);
  EXPECT_EQ(report.empty, 1);
  const std::string meta = golden::content(meta_path(folder / "all"));
  for (const char* source : {"first.txt", "second.txt", "third.txt"}) EXPECT_THAT(meta, HasSubstr(source));
  EXPECT_THAT(meta, HasSubstr("\"empty\":1"));
  const IndexedDataset opened(folder / "all", false);
  EXPECT_EQ(opened.documents(), 4);
}

TEST_F(PairMergeTest, OfAMergedPairAndAnotherOneIsTheSameAgain) {
  const Path first = encode_lines("first", "one\n"), second = encode_lines("second", "two\n"), third = encode_lines("third", "three\n");
  merge_pairs({first, second}, folder / "both", {});
  merge_pairs({folder / "both", third}, folder / "all", {});
  encode_lines("whole", "one\ntwo\nthree\n");
  expect_same_files(folder / "all", folder / "whole");
}

TEST_F(PairMergeTest, PairsThatDifferAreRefusedAndBothAreNamed) {
  const Path first = encode_lines("first", "one\n");
  struct Case {
    const char* names;
    std::function<void(EncodeOptions&)> change;
  };
  for (const Case& one : {Case{"tokenizer", [](EncodeOptions& o) { o.tokenizer = golden::folder() / "models/uni.model"; }},
                          Case{"dtype u16 against i32", [](EncodeOptions& o) { o.dtype = "i32"; }},
                          Case{"end-of-document id 2 against none", [](EncodeOptions& o) { o.append_eos = false; }},
                          Case{"option prepend_bos false against true", [](EncodeOptions& o) { o.prepend_bos = true; }},
                          Case{"option document_separator \"line\" against \"blank-line\"",
                               [](EncodeOptions& o) { o.read.separator = DocumentSeparator::kBlankLine; }}}) {
    const Path other = encode_lines("other", "two\n", one.change);
    EXPECT_THAT(message_of<DataError>([&] { merge_pairs({first, other}, folder / "all", {}); }),
                AllOf(HasSubstr(first.string()), HasSubstr(other.string()), HasSubstr(one.names)));
    EXPECT_FALSE(std::filesystem::exists(bin_path(folder / "all")));
  }
}

void flip_byte(const Path& path, std::streamoff at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  char byte = 0;
  file.seekg(at).get(byte);
  file.seekp(at).put(static_cast<char>(byte ^ 1));
}

TEST_F(PairMergeTest, ADamagedPairIsRefusedByTheNameOfItsFile) {
  const Path first = encode_lines("first", "one\n"), second = encode_lines("second", "two\n");
  flip_byte(bin_path(second), 1);
  EXPECT_THAT(message_of<DataError>([&] { merge_pairs({first, second}, folder / "all", {}); }),
              AllOf(HasSubstr("second.bin"), HasSubstr("checksum")));
  EXPECT_FALSE(std::filesystem::exists(bin_path(folder / "all")));
  std::filesystem::remove(meta_path(second));
  EXPECT_THAT(message_of<DataError>([&] { merge_pairs({first, second}, folder / "all", {}); }), HasSubstr("second.meta.json"));
  EXPECT_THAT(message_of<ConfigError>([&] { merge_pairs({first, folder / "none"}, folder / "all", {}); }), HasSubstr("none.bin"));
}

TEST_F(PairMergeTest, IntoOneOfItsPairsIsRefused) {
  const Path first = encode_lines("first", "one\n"), second = encode_lines("second", "two\n");
  EXPECT_THAT(message_of<ConfigError>([&] { merge_pairs({first, second}, second, {}); }), HasSubstr("second"));
  EXPECT_TRUE(std::filesystem::exists(meta_path(second)));
}

TEST_F(PairMergeTest, APairOfAnotherToolIsNotReplaced) {
  const Path first = encode_lines("first", "one\n");
  folder.write("all.bin", "precious");
  EXPECT_THROW(merge_pairs({first}, folder / "all", {}), ConfigError);
  EXPECT_EQ(golden::content(folder / "all.bin"), "precious");
}

}  // namespace
}  // namespace convoy::data
