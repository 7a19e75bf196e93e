// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/record_reader.h"

#include <gmock/gmock.h>

#include <ctime>

#include "golden.h"
#include "libcore/base/error.h"
#include "libcore/data/json_record.h"

namespace convoy::data {
namespace {

using golden::Path;
using golden::message_of;
using golden::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

struct Record {
  std::string text;
  std::int64_t line;
  bool operator==(const Record&) const = default;
};

void PrintTo(const Record& record, std::ostream* out) { *out << '"' << record.text << "\" at line " << record.line; }

class RecordReaderTest : public testing::Test {
 protected:
  std::vector<Record> records(const std::string& bytes, const ReadOptions& options, const char* name = "x") {
    const Path path = folder.write(name, bytes);
    RecordReader reader({{path.string(), 0}}, options);
    std::vector<Record> found;
    RawBatch batch;
    while (reader.next(batch)) {
      for (const RawRecord& r : batch.records) found.push_back({batch.bytes.substr(r.begin, r.end - r.begin), r.line});
    }
    return found;
  }
  TemporaryFolder folder;
  const ReadOptions jsonl{.format = "jsonl"}, file{.format = "text"};
  const ReadOptions line{.format = "text", .separator = DocumentSeparator::kLine};
  const ReadOptions blank_line{.format = "text", .separator = DocumentSeparator::kBlankLine};
};

TEST_F(RecordReaderTest, JsonLinesSkipBlanksAndCountThem) {
  EXPECT_THAT(records("{1}\n\n \t\r\n{2}\r\n{3}", jsonl), ElementsAre(Record{"{1}", 1}, Record{"{2}\r", 4}, Record{"{3}", 5}));
  EXPECT_THAT(records("", jsonl), ElementsAre());
  EXPECT_THAT(records("\n\n", jsonl), ElementsAre());
}

TEST_F(RecordReaderTest, AMarkAtTheStartOfAFileIsNotText) {
  EXPECT_THAT(records("\xef\xbb\xbf{1}\n\xef\xbb\xbf{2}", jsonl), ElementsAre(Record{"{1}", 1}, Record{"\xef\xbb\xbf{2}", 2}));
  EXPECT_THAT(records("\xef\xbb\xbf" "a", file), ElementsAre(Record{"a", 1}));
}

TEST_F(RecordReaderTest, ATextFileIsOneDocumentUnchanged) {
  const std::string text("  a\r\n\nb\0c\n", 10);
  EXPECT_THAT(records(text, file), ElementsAre(Record{text, 1}));
  EXPECT_THAT(records("", file), ElementsAre(Record{"", 1}));
}

TEST_F(RecordReaderTest, TextLinesLoseTheirEnds) {
  EXPECT_THAT(records("a\r\n\n b \nc", line), ElementsAre(Record{"a", 1}, Record{"", 2}, Record{" b ", 3}, Record{"c", 4}));
}

TEST_F(RecordReaderTest, BlankLinesEndParagraphs) {
  EXPECT_THAT(records("\n\na\nb\n \t\n\nc\r\n\r\nd", blank_line), ElementsAre(Record{"a\nb", 3}, Record{"c\r", 7}, Record{"d", 9}));
  EXPECT_THAT(records("a\nb", blank_line), ElementsAre(Record{"a\nb", 1}));
  EXPECT_THAT(records("\n \n", blank_line), ElementsAre());
}

// Records that straddle the reader's own blocks, against a plain split of the whole.
TEST_F(RecordReaderTest, BlocksOfTheReaderDoNotShow) {
  std::string text;
  std::vector<Record> lines, paragraphs;
  std::string paragraph;
  std::int64_t first = 1;
  for (int i = 0; i < 60000; ++i) {
    const std::string row = i % 7 == 3 ? "" : std::string(static_cast<std::size_t>(i % 97), static_cast<char>('a' + i % 26)) + "x";
    text += row + "\n";
    lines.push_back({row, i + 1});
    if (row.empty()) {
      if (!paragraph.empty()) paragraphs.push_back({paragraph.substr(1), first});
      paragraph.clear();
    } else {
      if (paragraph.empty()) first = i + 1;
      paragraph += "\n" + row;
    }
  }
  if (!paragraph.empty()) paragraphs.push_back({paragraph.substr(1), first});
  EXPECT_TRUE(records(text, line) == lines);
  EXPECT_TRUE(records(text, blank_line) == paragraphs);
  const std::string huge = std::string(3'000'000, 'h');
  EXPECT_THAT(records("a\n" + huge + "\nb", line), ElementsAre(Record{"a", 1}, Record{huge, 2}, Record{"b", 3}));
}

struct Read {
  std::vector<Record> records;
  std::int64_t lines = 0, bytes = 0;
  bool operator==(const Read&) const = default;
};

void PrintTo(const Read& read, std::ostream* out) { *out << testing::PrintToString(read.records) << ", " << read.lines << " lines, " << read.bytes << " bytes"; }

// The text of a record that comes in parts is put together. `parts` counts them.
Read read_all(const Path& path, const ReadOptions& options, std::int64_t& parts) {
  RecordReader reader({{path.string(), 0}}, options);
  Read read;
  RawBatch batch;
  while (reader.next(batch)) {
    read.lines += batch.lines;
    read.bytes += static_cast<std::int64_t>(batch.bytes.size());
    for (const RawRecord& r : batch.records) {
      const std::string text = batch.bytes.substr(r.begin, r.end - r.begin);
      const bool goes_on = batch.part == RecordPart::kMiddle || batch.part == RecordPart::kLast;
      if (goes_on && read.records.back().line == r.line) {
        read.records.back().text += text;
      } else {
        EXPECT_FALSE(goes_on);
        read.records.push_back({text, r.line});
      }
    }
    parts += batch.part != RecordPart::kWhole ? 1 : 0;
    const bool blank_json = batch.part == RecordPart::kLast && batch.format == RecordFormat::kJsonl && is_blank_line(read.records.back().text);
    if (blank_json) read.records.pop_back();
  }
  return read;
}

// Against the same records whole.
TEST_F(RecordReaderTest, ARecordInPartsIsTheSameRecord) {
  const std::string alphabet = "aab \t\r\r\n\n\n\f{";
  std::uint64_t state = 5;
  const auto random = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
  std::int64_t parts = 0, none = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = round % 10 == 0 ? "\xef\xbb\xbf" : "";
    for (std::uint64_t n = random() % 40; n > 0; --n) text.push_back(alphabet[random() % alphabet.size()]);
    const Path path = folder.write("x", text);
    for (ReadOptions options : {jsonl, file, line, blank_line}) {
      const Read expected = read_all(path, options, none);
      options.read_bytes = 1 + random() % 6;
      options.huge_record = 1 + random() % 12;
      ASSERT_EQ(read_all(path, options, parts), expected) << testing::PrintToString(text) << ", " << options.format << ' ' << static_cast<int>(options.separator)
                                                          << ", blocks of " << options.read_bytes << ", parts from " << options.huge_record << " on";
    }
  }
  EXPECT_EQ(none, 0);
  EXPECT_GT(parts, 3000);
}

// Before a paragraph and within one. Looked through at every block, these lines would take half a minute.
TEST_F(RecordReaderTest, ALineOfNothingButBlanksIsLookedThroughOnce) {
  const std::string blanks(4'000'000, ' '), text(6000, 'x');
  const Path path = folder.write("x", blanks + "a\n" + blanks + "\n" + text + "\n" + blanks + "b");
  ReadOptions options = blank_line;
  options.read_bytes = 1000;
  options.huge_record = 5000;
  std::int64_t parts = 0;
  const std::clock_t start = std::clock();
  const Read read = read_all(path, options, parts);
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_TRUE(read.records[0].text == blanks + "a" && read.records[0].line == 1);
  EXPECT_TRUE(read.records[1].text == text + "\n" + blanks + "b" && read.records[1].line == 3);
  EXPECT_GT(parts, 4);
}

// What is held at once, of a record that is much larger.
TEST_F(RecordReaderTest, PartsAreNoLargerThanTheLimitAndTwoBlocks) {
  const std::string text(100'000, 'x');
  const Path path = folder.write("x", text + "\n" + text + "\n");
  for (ReadOptions options : {jsonl, file, line, blank_line}) {
    options.read_bytes = 1000;
    options.huge_record = 5000;
    RecordReader reader({{path.string(), 0}}, options);
    RawBatch batch;
    while (reader.next(batch)) EXPECT_LE(batch.bytes.size(), 7000u);
  }
}

TEST_F(RecordReaderTest, AutomaticFormatGoesByTheName) {
  const ReadOptions automatic;
  for (const char* name : {"a.jsonl", "a.JSON", "a.ndjson"}) EXPECT_THAT(records("{1}\n{2}\n", automatic, name).size(), 2u) << name;
  for (const char* name : {"a.txt", "a.md", "a", "a.json.txt"}) EXPECT_THAT(records("{1}\n{2}\n", automatic, name).size(), 1u) << name;
}

TEST_F(RecordReaderTest, RefusesUtf16) {
  EXPECT_THAT(message_of<DataError>([&] { records(std::string("\xff\xfe{\0", 4), jsonl); }), HasSubstr("UTF-16"));
  EXPECT_THAT(message_of<DataError>([&] { records(std::string("\0{\0\"", 4), jsonl); }), HasSubstr("UTF-16"));
  EXPECT_THAT(message_of<DataError>([&] { records("\xfe\xff\x01\x02", file); }), HasSubstr("UTF-16"));
}

TEST_F(RecordReaderTest, EachFileStartsANewRecordAtLineOne) {
  const Path a = folder.write("a.jsonl", "{1}"), b = folder.write("b.jsonl", "{2}\n");
  RecordReader reader({{a.string(), 3}, {b.string(), 4}}, {});
  RawBatch batch;
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(batch.file, 0u);
  EXPECT_EQ(batch.records.size(), 1u);
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(batch.file, 1u);
  EXPECT_EQ(batch.records.at(0).line, 1);
  EXPECT_EQ(batch.consumed, 7);
  EXPECT_FALSE(reader.next(batch));
}

// All records of [0, cut) and [cut, end), and the lines of both.
std::pair<std::vector<std::string>, std::int64_t> records_cut(const Path& path, std::int64_t size, std::int64_t cut, const ReadOptions& options) {
  std::vector<InputFile> parts;
  for (const ByteRange range : {ByteRange{0, cut}, ByteRange{cut, size}}) parts.push_back({.name = path.string(), .bytes = size, .range = range});
  RecordReader reader(parts, options);
  std::pair<std::vector<std::string>, std::int64_t> found;
  RawBatch batch;
  while (reader.next(batch)) {
    for (const RawRecord& r : batch.records) found.first.push_back(batch.bytes.substr(r.begin, r.end - r.begin));
    found.second += batch.lines;
  }
  return found;
}

TEST_F(RecordReaderTest, TwoRangesCutBetweenRecordsHaveTheRecordsOfTheFile) {
  const std::string bytes = "\xef\xbb\xbf{1}\r\n\n{2}\n\xef\xbb\xbf{3}\n{4}";
  const Path path = folder.write("x", bytes);
  const auto size = static_cast<std::int64_t>(bytes.size());
  for (const char* start : {"\n{2}", "{2}", "\xef\xbb\xbf{3}", "{4}"}) {
    const auto [records, lines] = records_cut(path, size, static_cast<std::int64_t>(bytes.find(start, 3)), jsonl);
    EXPECT_THAT(records, ElementsAre("{1}\r", "{2}", "\xef\xbb\xbf{3}", "{4}")) << start;
    EXPECT_EQ(lines, 5) << start;
  }
}

TEST_F(RecordReaderTest, WhatLooksCompressedInsideAFileIsText) {
  const std::string bytes = "one\n\x1f\x8btwo\n";
  const Path path = folder.write("x", bytes);
  EXPECT_THAT(records_cut(path, static_cast<std::int64_t>(bytes.size()), 4, line).first, ElementsAre("one", "\x1f\x8btwo"));
}

TEST_F(RecordReaderTest, AFileThatEndsBeforeItsRangeIsRefused) {
  const Path path = folder.write("x", "one\ntwo\n");
  EXPECT_THAT(message_of<DataError>([&] { records_cut(path, 12, 4, line); }), testing::AllOf(HasSubstr("x"), HasSubstr("4 bytes before")));
}

}  // namespace
}  // namespace convoy::data
