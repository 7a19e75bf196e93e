// SPDX-License-Identifier: Apache-2.0
// A line of JSON that is too large for memory and comes in parts: what RecordParser (json_record.h) makes of it, in bounded memory.
// The texts under the wanted keys wait in scratch files, because the last of equal keys counts and the keys' order is not the line's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/scratch_file.h"
#include "libcore/base/utf8.h"
#include "libcore/data/json_record.h"
#include "libcore/data/json_scanner.h"

namespace convoy::data {

// Refers to itself: made where it stays. One line each.
class JsonParts {
 public:
  // The keys are RecordParser's. Scratch files lie beside `sibling`; what the file system refuses is an EnvironmentError.
  JsonParts(const std::vector<std::string>& keys, const Path& sibling);
  JsonParts(const JsonParts&) = delete;
  JsonParts& operator=(const JsonParts&) = delete;

  void add(std::string_view part);

  // After the last part: why the line is no good record, of the same kind as RecordParser says and, but for bad JSON, with the
  // same reason. Unlike there, lines of 4 GiB and more are read.
  std::optional<BadRecord> finish();

  bool is_blank() const { return blank_; }

  // After finish() without an objection: the text, in parts.
  void for_each_part(const std::function<void(std::string_view)>& take) const;

 private:
  enum class Found : std::uint8_t { kMissing, kWrongType, kText };
  struct Wanted {
    std::string key;
    std::vector<std::string> path;
    std::size_t matched = 0;  // parts of the path that the open containers' keys are
    Found found = Found::kMissing;
    bool lone_surrogate = false;
    std::unique_ptr<ScratchFile> text = {};
  };

  JsonEvents events();
  void begin_key(std::size_t depth);
  void begin_value(std::size_t depth, JsonKind kind);
  void take_value(Wanted& wanted, JsonKind kind);
  void take_characters(std::string_view characters);
  void take_lone_surrogate();

  std::vector<Wanted> wanted_;
  std::vector<Wanted*> open_;  // those whose text the string is that is read
  Path sibling_;
  JsonScanner scanner_;
  Utf8Check utf8_;
  std::string start_;          // the line's first bytes
  std::string last_key_;       // as much of it as may be a part of a path
  std::size_t longest_key_ = 0;
  bool in_key_ = false, key_is_known_ = true;  // it has no lone surrogate and is not too long
  bool root_is_object_ = false, blank_ = true;
};

}  // namespace convoy::data
