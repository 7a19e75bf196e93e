// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/record_cutter.h"

#include "libcore/data/json_record.h"

namespace convoy::data {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

bool blank(std::string_view line) { return line.find_first_not_of(kBlanks) == kNowhere; }

std::optional<std::size_t> behind_last_blank_line(std::string_view bytes, std::size_t from) {
  const std::size_t last = bytes.substr(from).rfind('\n');  // not in all bytes, or a large record would be looked through again and again
  for (std::size_t end = last == kNowhere ? kNowhere : from + last; end != kNowhere && end >= from;) {
    const std::size_t before = end == 0 ? kNowhere : bytes.rfind('\n', end - 1);
    const std::size_t begin = before == kNowhere ? 0 : before + 1;
    if (blank(bytes.substr(begin, end - begin))) return end + 1;
    end = before;
  }
  return std::nullopt;
}

struct Line {
  std::size_t begin, end, next;  // without the newline; where the next line starts
};

Line line_at(std::string_view bytes, std::size_t begin) {
  const std::size_t newline = bytes.find('\n', begin);
  if (newline == kNowhere) return {begin, bytes.size(), bytes.size()};
  return {begin, newline, newline + 1};
}

std::int64_t cut_lines(bool json, std::string_view bytes, std::int64_t line, std::vector<RawRecord>& records) {
  const std::int64_t first = line;
  for (std::size_t at = 0; at < bytes.size(); ++line) {
    const Line found = line_at(bytes, at);
    at = found.next;
    const std::string_view text = bytes.substr(found.begin, found.end - found.begin);
    if (json && is_blank_line(text)) continue;
    const bool strip = !json && text.ends_with('\r');
    records.push_back({found.begin, found.end - (strip ? 1 : 0), line});
  }
  return line - first;
}

std::int64_t cut_paragraphs(std::string_view bytes, std::int64_t line, std::vector<RawRecord>& records) {
  const std::int64_t first = line;
  RawRecord open;
  for (std::size_t at = 0; at < bytes.size(); ++line) {
    const Line found = line_at(bytes, at);
    at = found.next;
    const bool is_blank = blank(bytes.substr(found.begin, found.end - found.begin));
    if (is_blank && open.line > 0) records.push_back(open);
    if (is_blank) {
      open = {};
    } else if (open.line == 0) {
      open = {found.begin, found.end, line};
    } else {
      open.end = found.end;
    }
  }
  if (open.line > 0) records.push_back(open);
  return line - first;
}

std::size_t without_return(RecordEnds ends, std::string_view bytes, std::size_t end) {
  return ends == RecordEnds::kLine && end > 0 && bytes[end - 1] == '\r' ? end - 1 : end;
}

std::optional<RecordEnd> first_blank_line(std::string_view bytes) {
  for (std::size_t newline = bytes.find('\n'); newline != kNowhere; newline = bytes.find('\n', newline + 1)) {
    const std::size_t next = bytes.find_first_not_of(kBlanks, newline + 1);
    if (next == kNowhere) break;
    if (bytes[next] == '\n') return RecordEnd{newline, next + 1};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> behind_last_record(RecordEnds ends, std::string_view bytes, std::size_t from) {
  if (ends == RecordEnds::kNever) return std::nullopt;
  if (ends == RecordEnds::kBlankLine) return behind_last_blank_line(bytes, from);
  const std::size_t newline = bytes.substr(from).rfind('\n');
  return newline == kNowhere ? std::nullopt : std::optional(from + newline + 1);
}

std::int64_t cut_records(RecordEnds ends, std::string_view bytes, std::int64_t line, std::vector<RawRecord>& records) {
  switch (ends) {
    case RecordEnds::kNever:
      records.push_back({0, bytes.size(), line});
      return 0;
    case RecordEnds::kBlankLine:
      return cut_paragraphs(bytes, line, records);
    case RecordEnds::kLine:
    case RecordEnds::kJsonLine:
      break;
  }
  return cut_lines(ends == RecordEnds::kJsonLine, bytes, line, records);
}

std::optional<RecordEnd> first_end(RecordEnds ends, std::string_view bytes) {
  if (ends == RecordEnds::kNever) return std::nullopt;
  if (ends == RecordEnds::kBlankLine) return first_blank_line(bytes);
  const std::size_t newline = bytes.find('\n');
  if (newline == kNowhere) return std::nullopt;
  return RecordEnd{without_return(ends, bytes, newline), newline + 1};
}

std::size_t certain_bytes(RecordEnds ends, std::string_view bytes, bool begun) {
  if (ends != RecordEnds::kBlankLine) return without_return(ends, bytes, bytes.size());
  const std::size_t last = bytes.find_last_not_of(kBlanks);
  if (last == kNowhere) return begun ? bytes.size() : 0;
  return bytes[last] == '\n' ? last : bytes.size();
}

std::size_t end_at_file_end(RecordEnds ends, std::string_view bytes) { return certain_bytes(ends, bytes, true); }

}  // namespace convoy::data
