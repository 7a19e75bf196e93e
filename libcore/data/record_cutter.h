// SPDX-License-Identifier: Apache-2.0
// Where records begin and end in the bytes of a file: pure functions of bytes, which record_reader.h feeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace convoy::data {

constexpr std::string_view kBlanks = " \t\r\f\v";  // a line of nothing else is blank

// What ends a record: nothing; the end of a line; that of a line of JSON; blank lines.
enum class RecordEnds : std::uint8_t { kNever, kLine, kJsonLine, kBlankLine };

struct RawRecord {
  std::size_t begin = 0, end = 0;  // in the batch's bytes
  std::int64_t line = 0;           // where it starts in the file (or its range), from 1
};

// Behind the last record that ends at or after `from`; nothing if none does.
std::optional<std::size_t> behind_last_record(RecordEnds ends, std::string_view bytes, std::size_t from);

// Appends the records of `bytes`, which begin with line `line` and end where a record or the file does. Returns how many lines they
// have, 0 under kNever.
std::int64_t cut_records(RecordEnds ends, std::string_view bytes, std::int64_t line, std::vector<RawRecord>& records);

// Of a record that is cut into parts: where its text ends in a part, and where the next record begins.
struct RecordEnd {
  std::size_t text_end = 0, next = 0;
};

// The first end of the record that `bytes` go on with; nothing if that is not among them.
std::optional<RecordEnd> first_end(RecordEnds ends, std::string_view bytes);

// How many of `bytes`, in which the record does not end, are its text whatever follows. The others may be its end: a CR, a newline
// and the blanks behind it. `begun`: bytes of the record came before.
std::size_t certain_bytes(RecordEnds ends, std::string_view bytes, bool begun);

// Where the text of a record ends that goes on with `bytes` and ends with the file.
std::size_t end_at_file_end(RecordEnds ends, std::string_view bytes);

}  // namespace convoy::data
