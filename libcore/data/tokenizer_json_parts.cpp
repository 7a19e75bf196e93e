// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/tokenizer_json_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "libcore/base/error.h"
#include "libcore/base/json.h"

namespace convoy::data {
namespace {

using nlohmann::json;

constexpr std::size_t kMostShown = 80;  // bytes of a value in a message

std::string shown(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= kMostShown ? text : text.substr(0, kMostShown) + " ...";
}

// The members of a Sequence, or the part itself; nothing for null.
std::vector<const json*> members_of(const json& part, const char* list, const std::string& where, Problems& problems) {
  if (part.is_null()) return {};
  if (!part.is_object()) {
    problems.push_back(fmt::format("{} is {}, no object", where, shown(part)));
    return {};
  }
  if (text_or(part, "type", "", problems) != "Sequence") return {&part};
  const json& members = part_of(part, list);
  std::vector<const json*> all;
  if (!members.is_array()) {
    problems.push_back(fmt::format("{} is a Sequence without {}", where, list));
    return all;
  }
  for (const json& member : members) {
    if (member.is_object()) {
      all.push_back(&member);
    } else {
      problems.push_back(fmt::format("{} holds {}, no object", where, shown(member)));
    }
  }
  return all;
}

std::optional<SplitStep::Behavior> behavior_of(const std::string& name) {
  using Behavior = SplitStep::Behavior;
  static const std::pair<const char*, Behavior> kNames[] = {{"Isolated", Behavior::kIsolated},
                                                            {"Removed", Behavior::kRemoved},
                                                            {"MergedWithPrevious", Behavior::kMergedWithPrevious},
                                                            {"MergedWithNext", Behavior::kMergedWithNext},
                                                            {"Contiguous", Behavior::kContiguous}};
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  return std::nullopt;
}

void read_split(const json& part, std::vector<SplitStep>& steps, Problems& problems) {
  expect_keys(part, "pre_tokenizer Split", {"type", "pattern", "behavior", "invert"}, problems);
  SplitStep step;
  const json& pattern = part_of(part, "pattern");
  const json& regex = part_of(pattern, "Regex");
  const json& text = part_of(pattern, "String");
  if (!regex.is_string() && !text.is_string()) {
    problems.push_back(fmt::format("pre_tokenizer Split has the pattern {}; supported: Regex and String", shown(pattern)));
    return;
  }
  step.pattern = (regex.is_string() ? regex : text).get<std::string>();
  // An empty text is to the library what an empty regular expression is: it matches everywhere.
  step.search = regex.is_string() || step.pattern.empty() ? SplitStep::Search::kRegex : SplitStep::Search::kText;
  const std::string name = text_or(part, "behavior", "", problems);
  const auto behavior = behavior_of(name);
  if (!behavior) problems.push_back(fmt::format("pre_tokenizer Split has the behavior {}; supported: Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous", json_quoted(name)));
  step.behavior = behavior.value_or(SplitStep::Behavior::kIsolated);
  step.invert = truth_or(part, "invert", false, problems);
  if (step.search == SplitStep::Search::kRegex) {
    try {
      const TextPattern compiled(step.pattern);
    } catch (const DataError& error) {
      problems.push_back(fmt::format("pre_tokenizer Split: {}", error.what()));
    }
  }
  steps.push_back(std::move(step));
}

}  // namespace

void expect_keys(const json& object, std::string_view where, std::initializer_list<std::string_view> known, Problems& problems) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    problems.push_back(fmt::format("{}{}{} is not known: expected nothing of that name, found {}", where, where.empty() ? "" : ".", key, shown(value)));
  }
}

const json& part_of(const json& object, const char* key) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

std::string text_or(const json& object, const char* key, std::string_view otherwise, Problems& problems) {
  const json& value = part_of(object, key);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_null()) problems.push_back(fmt::format("{} is {}; expected a text", key, shown(value)));
  return std::string(otherwise);
}

bool truth_or(const json& object, const char* key, bool otherwise, Problems& problems) {
  const json& value = part_of(object, key);
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_null()) problems.push_back(fmt::format("{} is {}; expected true or false", key, shown(value)));
  return otherwise;
}

bool read_normalizer(const json& part, Problems& problems) {
  bool nfc = false;
  for (const json* member : members_of(part, "normalizers", "normalizer", problems)) {
    const std::string type = text_or(*member, "type", "", problems);
    if (type == "NFC") {
      nfc = true;
    } else {
      problems.push_back(fmt::format("normalizer {} is not supported; supported: NFC, or none", json_quoted(type)));
    }
  }
  return nfc;
}

void read_pre_tokenizer(const json& part, std::vector<SplitStep>& steps, ByteLevelStep& byte_level, Problems& problems) {
  bool found = false;
  for (const json* member : members_of(part, "pretokenizers", "pre_tokenizer", problems)) {
    const std::string type = text_or(*member, "type", "", problems);
    if (found) problems.push_back(fmt::format("pre_tokenizer has {} behind ByteLevel, which must be the last", json_quoted(type)));
    if (type == "Split") {
      read_split(*member, steps, problems);
    } else if (type == "Digits") {
      expect_keys(*member, "pre_tokenizer Digits", {"type", "individual_digits"}, problems);
      const bool single = truth_or(*member, "individual_digits", false, problems);
      steps.push_back({.search = SplitStep::Search::kNumerics,
                       .pattern = {},
                       .behavior = single ? SplitStep::Behavior::kIsolated : SplitStep::Behavior::kContiguous});
    } else if (type == "ByteLevel") {
      expect_keys(*member, "pre_tokenizer ByteLevel", {"type", "add_prefix_space", "trim_offsets", "use_regex"}, problems);
      byte_level = {.adds_blank = truth_or(*member, "add_prefix_space", true, problems), .splits = truth_or(*member, "use_regex", true, problems)};
      found = true;
    } else {
      problems.push_back(fmt::format("pre_tokenizer {} is not supported; supported: Split, Digits, ByteLevel, and a Sequence of them", json_quoted(type)));
    }
  }
  if (!found) problems.push_back("pre_tokenizer has no ByteLevel: it is no byte-level tokenizer; supported: a ByteLevel, last");
}

void check_decoder(const json& part, Problems& problems) {
  for (const json* member : members_of(part, "decoders", "decoder", problems)) {
    const std::string type = text_or(*member, "type", "", problems);
    if (type != "ByteLevel") problems.push_back(fmt::format("decoder {} is not supported; supported: ByteLevel", json_quoted(type)));
  }
  if (part.is_null()) problems.push_back("decoder is missing; supported: ByteLevel");
}

}  // namespace convoy::data
