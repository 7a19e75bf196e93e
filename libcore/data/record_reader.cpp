// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/record_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "libcore/base/error.h"
#include "libcore/data/byte_stream.h"

namespace convoy::data {
namespace {

constexpr std::size_t kLeastReadBytes = 512;
constexpr std::size_t kMarkBytes = 4, kSniffedBytes = 4096;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kNowhere = std::string_view::npos;

// "corpus.JSONL.gz" -> ".jsonl"
std::string extension_of(std::string name) {
  for (const char* packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.resize(name.size() - std::string_view(packed).size());
  }
  const std::size_t dot = name.find_last_of("./");
  if (dot == std::string::npos || name[dot] == '/') return {};
  std::string extension = name.substr(dot);
  for (char& c : extension) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return extension;
}

bool starts_json_object(std::string_view content) {
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  return first != kNowhere && content[first] == '{';
}

RecordFormat format_of(const InputFile& file, const ReadOptions& options, std::string_view content) {
  if (file.name != "-" || options.format != "auto") return format_of_file(file.name, options);
  return starts_json_object(content) ? RecordFormat::kJsonl : RecordFormat::kText;
}

void refuse_utf16(std::string_view content, const std::string& name, RecordFormat format) {
  const bool marked = content.starts_with("\xff\xfe") || content.starts_with("\xfe\xff");
  const bool wide = content.size() >= 2 && ((content[0] == '{' && content[1] == '\0') || (content[0] == '\0' && content[1] == '{'));
  if (!marked && !(wide && format == RecordFormat::kJsonl)) return;
  throw DataError(fmt::format("{}: the file is UTF-16 (or UTF-32), expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8", name));
}

RecordEnds ends_of(DocumentSeparator separator) {
  switch (separator) {
    case DocumentSeparator::kFile:
      return RecordEnds::kNever;
    case DocumentSeparator::kLine:
      return RecordEnds::kLine;
    case DocumentSeparator::kBlankLine:
      return RecordEnds::kBlankLine;
  }
  return RecordEnds::kNever;
}

}  // namespace

RecordFormat format_of_file(const std::string& name, const ReadOptions& options) {
  if (options.format != "auto") return options.format == "jsonl" ? RecordFormat::kJsonl : RecordFormat::kText;
  const std::string extension = extension_of(name);
  const bool json = extension == ".jsonl" || extension == ".json" || extension == ".ndjson";
  return json ? RecordFormat::kJsonl : RecordFormat::kText;
}

struct RecordReader::State {
  std::vector<InputFile> files;
  ReadOptions options;
  std::function<void()> while_waiting;
  std::size_t file = 0;             // the one that is open, or comes next
  std::optional<ByteStream> stream;
  RecordFormat format = RecordFormat::kText;
  RecordEnds ends = RecordEnds::kNever;
  std::string held;                 // bytes read that are in no batch yet
  std::size_t scanned = 0;          // of those: no record ends there
  std::size_t undecided = 0;        // of those, under kBlankLine: nothing of the record is certain, and blanks behind them do not change that
  bool at_end = false;              // the file has nothing beyond what is held
  std::int64_t line = 1;            // of the first byte held
  std::int64_t huge_line = 0;       // where the record starts whose parts are handed out; 0: none
  std::int64_t finished = 0;        // bytes of the files that are read to their end

  std::string name() const { return files[file].name == "-" ? "standard input" : files[file].name; }

  // As much as a small plain file has, and a byte more, which shows that it ends: of many small files each would cost a whole block.
  std::size_t block_bytes() const {
    const auto known = static_cast<std::size_t>(files[file].bytes_to_read());
    return held.empty() && known > 0 ? std::min(options.read_bytes, std::max(known + 1, kLeastReadBytes)) : options.read_bytes;
  }

  // True if there was anything left to read.
  bool grow() {
    if (at_end) return false;
    const std::size_t before = held.size(), block = block_bytes();
    held.resize(before + block);
    held.resize(before + stream->read({held.data() + before, block}));
    at_end = held.size() < before + block;
    return held.size() > before;
  }

  // Enough to see marks, and what standard input is.
  void read_start() {
    const bool sniff = files[file].name == "-" && options.format == "auto";
    while ((held.size() < kMarkBytes || (sniff && held.size() < kSniffedBytes)) && grow()) {
    }
  }

  void open() {
    stream.emplace(files[file], while_waiting);
    held.clear();
    scanned = undecided = 0;
    at_end = false;
    line = 1;
    read_start();
    format = format_of(files[file], options, std::string_view(held).substr(0, kSniffedBytes));
    ends = format == RecordFormat::kJsonl ? RecordEnds::kJsonLine : ends_of(options.separator);
    if (files[file].range && files[file].range->begin > 0) return;  // what marks the start of a file is data elsewhere
    refuse_utf16(held, name(), format);
    if (held.starts_with(kByteOrderMark)) held.erase(0, kByteOrderMark.size());
  }

  void close() {
    finished += stream->consumed();
    stream.reset();
    ++file;
  }

  // Takes the first `size` bytes held.
  void take(std::size_t size, RawBatch& batch) {
    batch.part = RecordPart::kWhole;
    batch.file = file;
    batch.format = format;
    batch.records.clear();
    std::string rest = held.substr(size);
    held.resize(size);
    batch.bytes = std::move(held);
    held = std::move(rest);
    scanned = undecided = 0;
    batch.consumed = finished + stream->consumed();
  }

  void hand_out(std::size_t size, RawBatch& batch) {
    take(size, batch);
    scanned = held.size();
    batch.lines = cut_records(ends, batch.bytes, line, batch.records);
    line += batch.lines;
  }

  void hand_out_part(RecordPart part, RecordEnd found, RawBatch& batch) {
    take(found.next, batch);
    if (part == RecordPart::kFirst) huge_line = line;
    batch.part = part;
    batch.records.push_back({0, found.text_end, huge_line});
    batch.lines = ends == RecordEnds::kNever ? 0 : std::count(batch.bytes.begin(), batch.bytes.end(), '\n');
    line += batch.lines;
  }

  // Not to look through a long line of blanks at every block.
  bool may_decide() {
    const bool more_blanks = undecided > 0 && held.find_first_not_of(kBlanks, undecided) == kNowhere;
    if (more_blanks) undecided = held.size();
    return !more_blanks;
  }

  // Of what is held the bytes that are the record's text; 0: more must be read.
  std::size_t certain(bool begun) {
    const std::size_t bytes = certain_bytes(ends, held, begun);
    if (bytes == 0 && ends == RecordEnds::kBlankLine) undecided = held.size();
    return bytes;
  }

  // The next part of the record that `held` goes on with.
  void next_part(RawBatch& batch) {
    while (true) {
      if (may_decide()) {
        if (const auto found = first_end(ends, held)) {
          hand_out_part(RecordPart::kLast, *found, batch);
          break;
        }
        if (const std::size_t bytes = certain(true); bytes > 0) return hand_out_part(RecordPart::kMiddle, {bytes, bytes}, batch);
      }
      if (grow()) continue;
      const bool open_line = ends != RecordEnds::kNever && !held.ends_with('\n');
      hand_out_part(RecordPart::kLast, {end_at_file_end(ends, held), held.size()}, batch);
      batch.lines += open_line ? 1 : 0;
      close();
      break;
    }
    huge_line = 0;
  }
};

RecordReader::RecordReader(std::vector<InputFile> files, const ReadOptions& options, std::function<void()> while_waiting)
    : state_(std::make_unique<State>()) {
  state_->files = std::move(files);
  state_->options = options;
  state_->while_waiting = std::move(while_waiting);
}
RecordReader::~RecordReader() = default;

bool RecordReader::next(RawBatch& batch) {
  State& s = *state_;
  while (s.file < s.files.size()) {
    if (!s.stream) s.open();
    if (s.huge_line > 0) {
      s.next_part(batch);
      return true;
    }
    const std::optional<std::size_t> end = behind_last_record(s.ends, s.held, s.scanned);
    if (end) {
      s.hand_out(*end, batch);
      return true;
    }
    s.scanned = s.held.size();
    if (s.held.size() >= s.options.huge_record && s.may_decide()) {
      if (const std::size_t bytes = s.certain(false); bytes > 0) {
        s.hand_out_part(RecordPart::kFirst, {bytes, bytes}, batch);
        return true;
      }
    }
    if (s.grow()) continue;
    const bool any = !s.held.empty() || s.ends == RecordEnds::kNever;  // an empty text file is an empty document
    if (any) s.hand_out(s.held.size(), batch);
    s.close();
    if (any) return true;
  }
  return false;
}

}  // namespace convoy::data
