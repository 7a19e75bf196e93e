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

namespace convoy::data {

enum class RecordFormat : std::uint8_t { kText, kJsonl };

// What ends a document of a text file. kLine: each line, without its line end (LF or CR LF). kBlankLine: one blank line or
// more; the document keeps its inner newlines and loses the last. kFile: nothing does; the file is the document.
constexpr std::string_view kBlanks = " \t\r\f\v";  // a line of nothing else is blank
enum class DocumentSeparator : std::uint8_t { kFile, kLine, kBlankLine };

struct ReadOptions {
  std::string format = "auto";  // auto, text, jsonl; auto goes by the name, or by the first byte of standard input
  DocumentSeparator separator = DocumentSeparator::kFile;
};

// Of a file, but not of standard input, whose name says nothing.
RecordFormat format_of_file(const std::string& name, const ReadOptions& options);

struct RawRecord {
  std::size_t begin = 0, end = 0;  // in the batch's bytes
  std::int64_t line = 0;           // where it starts in the file (or its range), from 1
};

struct RawBatch {
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

  // The next records, about a quarter of a megabyte of them or one that is larger; false after the last. What is wrong with
  // a file as a whole throws (see byte_stream.h); UTF-16 does too.
  bool next(RawBatch& batch);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace convoy::data
