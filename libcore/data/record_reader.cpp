// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/record_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "libcore/base/error.h"
#include "libcore/data/byte_stream.h"
#include "libcore/data/json_record.h"

namespace convoy::data {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kLeastReadBytes = 512;
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

bool blank(std::string_view line) { return line.find_first_not_of(kBlanks) == kNowhere; }

// Behind the last newline that ends a blank line and lies at or after `from`; kNowhere if there is none.
std::size_t behind_last_blank_line(std::string_view bytes, std::size_t from) {
  for (std::size_t end = bytes.rfind('\n'); end != kNowhere && end >= from;) {
    const std::size_t before = end == 0 ? kNowhere : bytes.rfind('\n', end - 1);
    const std::size_t begin = before == kNowhere ? 0 : before + 1;
    if (blank(bytes.substr(begin, end - begin))) return end + 1;
    end = before;
  }
  return kNowhere;
}

struct Line {
  std::size_t begin, end, next;  // without the newline; where the next line starts
};

Line line_at(std::string_view bytes, std::size_t begin) {
  const std::size_t newline = bytes.find('\n', begin);
  if (newline == kNowhere) return {begin, bytes.size(), bytes.size()};
  return {begin, newline, newline + 1};
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
  std::string held;                 // bytes read that are in no batch yet
  bool at_end = false;              // the file has nothing beyond what is held
  std::int64_t line = 1;            // of the first byte held
  std::int64_t finished = 0;        // bytes of the files that are read to their end

  std::string name() const { return files[file].name == "-" ? "standard input" : files[file].name; }
  bool whole_file() const { return format == RecordFormat::kText && options.separator == DocumentSeparator::kFile; }
  bool by_blank_lines() const { return format == RecordFormat::kText && options.separator == DocumentSeparator::kBlankLine; }

  // As much as a small plain file has, and a byte more, which shows that it ends: of many small files each would cost a whole block.
  std::size_t block_bytes() const {
    const auto known = static_cast<std::size_t>(files[file].bytes_to_read());
    return held.empty() && known > 0 ? std::min(kReadBytes, std::max(known + 1, kLeastReadBytes)) : kReadBytes;
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

  void open() {
    stream.emplace(files[file], while_waiting);
    held.clear();
    at_end = false;
    line = 1;
    grow();
    format = format_of(files[file], options, std::string_view(held).substr(0, 4096));
    if (files[file].range && files[file].range->begin > 0) return;  // what marks the start of a file is data elsewhere
    refuse_utf16(held, name(), format);
    if (held.starts_with(kByteOrderMark)) held.erase(0, kByteOrderMark.size());
  }

  // Where the complete records at or after `from` end; kNowhere if none does.
  std::size_t complete(std::size_t from) const {
    if (whole_file()) return kNowhere;
    if (by_blank_lines()) return behind_last_blank_line(held, from);
    const std::size_t newline = std::string_view(held).substr(from).rfind('\n');
    return newline == kNowhere ? kNowhere : from + newline + 1;
  }

  void cut_lines(RawBatch& batch) {
    const bool json = format == RecordFormat::kJsonl;
    for (std::size_t at = 0; at < batch.bytes.size(); ++line) {
      const Line found = line_at(batch.bytes, at);
      at = found.next;
      const std::string_view text = std::string_view(batch.bytes).substr(found.begin, found.end - found.begin);
      if (json && is_blank_line(text)) continue;
      const bool strip = !json && text.ends_with('\r');
      batch.records.push_back({found.begin, found.end - (strip ? 1 : 0), line});
    }
  }

  void cut_paragraphs(RawBatch& batch) {
    RawRecord open;
    for (std::size_t at = 0; at < batch.bytes.size(); ++line) {
      const Line found = line_at(batch.bytes, at);
      at = found.next;
      const bool is_blank = blank(std::string_view(batch.bytes).substr(found.begin, found.end - found.begin));
      if (is_blank && open.line > 0) batch.records.push_back(open);
      if (is_blank) {
        open = {};
      } else if (open.line == 0) {
        open = {found.begin, found.end, line};
      } else {
        open.end = found.end;
      }
    }
    if (open.line > 0) batch.records.push_back(open);
  }

  void cut(RawBatch& batch) {
    if (whole_file()) {
      batch.records.push_back({0, batch.bytes.size(), 1});
    } else if (by_blank_lines()) {
      cut_paragraphs(batch);
    } else {
      cut_lines(batch);
    }
  }

  void close() {
    finished += stream->consumed();
    stream.reset();
    ++file;
  }

  // Takes the first `size` bytes held as a batch.
  void hand_out(std::size_t size, RawBatch& batch) {
    batch.file = file;
    batch.format = format;
    batch.records.clear();
    std::string rest = held.substr(size);
    held.resize(size);
    batch.bytes = std::move(held);
    held = std::move(rest);
    const std::int64_t first = line;
    cut(batch);
    batch.lines = line - first;
    batch.consumed = finished + stream->consumed();
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
    std::size_t scanned = 0, end = s.held.size() >= kReadBytes ? s.complete(0) : kNowhere;
    while (end == kNowhere) {
      scanned = s.held.size();
      if (!s.grow()) break;
      end = s.complete(scanned);
    }
    if (end != kNowhere) {
      s.hand_out(end, batch);
      return true;
    }
    const bool any = !s.held.empty() || s.whole_file();  // an empty text file is an empty document
    if (any) s.hand_out(s.held.size(), batch);
    s.close();
    if (any) return true;
  }
  return false;
}

}  // namespace convoy::data
