// SPDX-License-Identifier: Apache-2.0
// Cuts the inputs into raw records (lines of JSON, or documents of text) and hands them out in batches, in order. Records
// are not parsed here: that is the work of many threads, this of one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/data/input_list.h"
#include "libcore/data/record_cutter.h"

namespace convoy::data {

enum class RecordFormat : std::uint8_t { kText, kJsonl };

// What ends a document of a text file. kLine: each line, without its line end (LF or CR LF). kBlankLine: one blank line or
// more; the document keeps its inner newlines and loses the last. kFile: nothing does; the file is the document.
enum class DocumentSeparator : std::uint8_t { kFile, kLine, kBlankLine };

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kHugeRecord = std::size_t{16} << 20;  // above it one thread encodes a record, below it many do
constexpr std::size_t kNoHugeRecords = ~std::size_t{0};

struct ReadOptions {
  std::string format = "auto";  // auto, text, jsonl; auto goes by the name, or by the first byte of standard input
  DocumentSeparator separator = DocumentSeparator::kFile;
  std::size_t read_bytes = kReadBytes;     // at once
  std::size_t huge_record = kHugeRecord;   // bytes from which on a record comes in parts
};

// Of a file, but not of standard input, whose name says nothing.
RecordFormat format_of_file(const std::string& name, const ReadOptions& options);

// What of a record a batch holds. A huge one comes in parts, a batch each: kFirst, any number of kMiddle, kLast, whose text one after
// another is the record. A line of JSON in parts may turn out to be blank.
enum class RecordPart : std::uint8_t { kWhole, kFirst, kMiddle, kLast };

struct RawBatch {
  RecordPart part = RecordPart::kWhole;  // kWhole: any number of records; else one, with the line where the first part starts
  std::size_t file = 0;  // index into the inputs
  RecordFormat format = RecordFormat::kText;
  std::string bytes;
  std::vector<RawRecord> records;
  std::int64_t lines = 0;     // in `bytes`; 0 where the file is the document
  std::int64_t consumed = 0;  // bytes of all inputs read from disk by the end of this batch
};

class RecordReader {
 public:
  // `while_waiting`: see ByteStream.
  RecordReader(std::vector<InputFile> files, const ReadOptions& options, std::function<void()> while_waiting = {});
  ~RecordReader();

  // The next records, about a quarter of a megabyte of them, or one that is larger, or a part of a huge one; false after the last.
  // What is wrong with a file as a whole throws (see byte_stream.h); UTF-16 does too. Holds no more than huge_record bytes and two
  // blocks; but under kBlankLine a line of nothing but blanks, which may end a paragraph or begin a line of it, it holds whole.
  bool next(RawBatch& batch);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace convoy::data
