// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/json_parts.h"

#include <algorithm>

namespace convoy::data {
namespace {

constexpr std::size_t kStartBytes = 3;  // of a byte order mark
constexpr std::size_t kPart = std::size_t{1} << 20;

}  // namespace

JsonParts::JsonParts(const std::vector<std::string>& keys, const Path& sibling) : sibling_(sibling), scanner_(events()) {
  for (const std::string& key : keys) {
    wanted_.push_back({.key = key, .path = key_path(key)});
    for (const std::string& part : wanted_.back().path) longest_key_ = std::max(longest_key_, part.size());
  }
}

JsonEvents JsonParts::events() {
  return {.on_key = [this](std::size_t depth) { begin_key(depth); },
          .on_value = [this](std::size_t depth, JsonKind kind) { begin_value(depth, kind); },
          .on_characters = [this](std::string_view characters) { take_characters(characters); },
          .on_lone_surrogate = [this] { take_lone_surrogate(); }};
}

void JsonParts::add(std::string_view part) {
  if (start_.size() < kStartBytes) start_ += part.substr(0, kStartBytes - start_.size());
  blank_ = blank_ && is_blank_line(part);
  utf8_.add(part);
  scanner_.add(part);
}

// A key at depth d takes the place of the last one there: what that led to is no longer open.
void JsonParts::begin_key(std::size_t depth) {
  open_.clear();
  last_key_.clear();
  in_key_ = key_is_known_ = true;
  for (Wanted& wanted : wanted_) wanted.matched = std::min(wanted.matched, depth - 1);
}

void JsonParts::begin_value(std::size_t depth, JsonKind kind) {
  open_.clear();
  if (depth == 0) root_is_object_ = kind == JsonKind::kObject;
  if (!in_key_) return;  // an element of an array, or the line's value
  in_key_ = false;
  if (!key_is_known_) return;
  for (Wanted& wanted : wanted_) {
    const bool leads = wanted.matched == depth - 1 && depth <= wanted.path.size() && wanted.path[depth - 1] == last_key_;
    if (!leads) continue;
    wanted.matched = depth;
    take_value(wanted, kind);
  }
}

void JsonParts::take_value(Wanted& wanted, JsonKind kind) {
  const bool last = wanted.matched == wanted.path.size();
  wanted.lone_surrogate = false;
  if (wanted.text) wanted.text->clear();
  if (!last) {
    wanted.found = kind == JsonKind::kObject ? Found::kMissing : Found::kWrongType;
  } else if (kind != JsonKind::kString) {
    wanted.found = Found::kWrongType;
  } else {
    wanted.found = Found::kText;
    if (!wanted.text) wanted.text = std::make_unique<ScratchFile>(sibling_);
    open_.push_back(&wanted);
  }
}

void JsonParts::take_characters(std::string_view characters) {
  if (in_key_) {
    key_is_known_ = key_is_known_ && last_key_.size() + characters.size() <= longest_key_;
    if (key_is_known_) last_key_ += characters;
  }
  for (Wanted* wanted : open_) wanted->text->write(std::as_bytes(std::span(characters)));
}

void JsonParts::take_lone_surrogate() {
  if (in_key_) key_is_known_ = false;
  for (Wanted* wanted : open_) wanted->lone_surrogate = true;
}

std::optional<BadRecord> JsonParts::finish() {
  scanner_.finish();
  if (const std::size_t invalid = utf8_.first_invalid(); invalid != std::string_view::npos) return invalid_utf8(invalid);
  if (starts_with_mark(start_)) return no_json(kMarkInside);
  if (!scanner_.error().empty()) return no_json(scanner_.error());
  if (!root_is_object_) return no_object();
  for (Wanted& wanted : wanted_) {
    if (wanted.found == Found::kMissing) return missing_key(wanted.key);
    if (wanted.found == Found::kWrongType) return no_string(wanted.key);
    if (wanted.lone_surrogate) return lone_surrogate(wanted.key);
    wanted.text->flush();
  }
  return std::nullopt;
}

void JsonParts::for_each_part(const std::function<void(std::string_view)>& take) const {
  std::string part;
  for (const Wanted& wanted : wanted_) {
    if (&wanted != &wanted_.front()) take("\n");
    const std::uint64_t size = wanted.text->size();
    for (std::uint64_t at = 0; at < size; at += part.size()) {
      part.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPart, size - at)));
      wanted.text->read(at, std::as_writable_bytes(std::span(part)));
      take(part);
    }
  }
}

}  // namespace convoy::data
