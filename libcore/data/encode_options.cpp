// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encode_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"

namespace convoy::data {
namespace {

constexpr std::array<std::pair<OnError, std::string_view>, 3> kPolicies{
    {{OnError::kFail, "fail"}, {OnError::kSkip, "skip"}, {OnError::kQuarantine, "quarantine"}}};
constexpr std::array<std::pair<DocumentSeparator, std::string_view>, 3> kSeparators{
    {{DocumentSeparator::kFile, "file"}, {DocumentSeparator::kLine, "line"}, {DocumentSeparator::kBlankLine, "blank-line"}}};

constexpr std::array<std::pair<Dedup, std::string_view>, 3> kDedups{
    {{Dedup::kOff, "off"}, {Dedup::kReport, "report"}, {Dedup::kDrop, "drop"}}};

template <class Names, class Value>
std::string_view name_in(const Names& names, Value value) {
  const auto found = std::find_if(names.begin(), names.end(), [value](const auto& entry) { return entry.first == value; });
  check(found != names.end(), "every value has its name");
  return found->second;
}

template <class Value, std::size_t kSize>
std::optional<Value> value_in(const std::array<std::pair<Value, std::string_view>, kSize>& names, std::string_view name) {
  for (const auto& [value, known] : names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

bool is_split_name(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == std::string::npos;
}

}  // namespace

std::vector<Split> parse_splits(const std::string& text) {
  constexpr double kRounding = 1e-9;  // decimal shares such as 0.9 + 0.1 do not sum to 1 exactly
  std::vector<Split> splits;
  std::set<std::string> names;
  double sum = 0.0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = part.find('=');
    const auto share = parse_real(equals == std::string::npos ? "" : part.substr(equals + 1));
    const std::string name = part.substr(0, equals);
    if (!is_split_name(name) || !share.ok() || share.value <= 0.0 || share.value >= 1.0 || !names.insert(name).second) {
      throw ConfigError(fmt::format("'{}' is no NAME=SHARE with a new name and a share between 0 and 1; expected for example "
                                    "train=0.99,valid=0.01",
                                    part));
    }
    splits.push_back({name, share.value});
    sum += share.value;
  }
  if (sum < 1.0 - kRounding || sum > 1.0 + kRounding) {
    throw ConfigError(fmt::format("the shares sum to {}, expected 1", sum));
  }
  return splits;
}

std::string split_text(const std::vector<Split>& splits) {
  std::string text;
  for (const Split& split : splits) text += fmt::format("{}{}={}", text.empty() ? "" : ",", split.name, json_number(split.share));
  return text;
}

std::string_view name_of(OnError policy) { return name_in(kPolicies, policy); }
std::string_view name_of(DocumentSeparator separator) { return name_in(kSeparators, separator); }
std::string_view name_of(Dedup dedup) { return name_in(kDedups, dedup); }
std::optional<OnError> on_error_named(std::string_view name) { return value_in(kPolicies, name); }
std::optional<DocumentSeparator> separator_named(std::string_view name) { return value_in(kSeparators, name); }
std::optional<Dedup> dedup_named(std::string_view name) { return value_in(kDedups, name); }

std::vector<std::string> idle_options(const AskedOptions& asked) {
  std::vector<std::string> problems;
  if (asked.format == "jsonl" && !asked.separator.empty() && asked.separator != "file")
    problems.push_back(fmt::format("--document-separator {}: has no effect with --format jsonl, where a line is a document; drop one", asked.separator));
  if (asked.format == "text" && !asked.keys.empty())
    problems.push_back(fmt::format("--key {}: has no effect with --format text, which has no keys; drop one", asked.keys.front()));
  if (asked.max_errors && (asked.on_error.empty() || asked.on_error == "fail"))
    problems.emplace_back("--max-errors: goes with --on-error skip or quarantine; under fail the first bad record ends the run");
  if (asked.dedup_memory && (asked.dedup.empty() || asked.dedup == "off"))
    problems.emplace_back("--dedup-memory: goes with --dedup report or drop; without them nothing is compared");
  return problems;
}

std::string options_json(const EncodeOptions& options) {
  JsonObject splits;
  for (const Split& split : options.splits) splits.add(split.name, split.share);
  JsonObject json;
  json.add("format", options.read.format)
      .add_raw("key", json_strings(options.keys))
      .add("document_separator", name_of(options.read.separator))
      .add("append_eos", options.append_eos)
      .add("prepend_bos", options.prepend_bos)
      .add("on_error", name_of(options.on_error))
      .add_raw("split", splits.text());
  if (options.dedup != Dedup::kOff) json.add("dedup", name_of(options.dedup));
  if (options.split_special_tokens) json.add("split_special_tokens", true);
  return json.text();
}

std::vector<Path> pair_prefixes(const Path& out, const std::vector<Split>& splits) {
  std::vector<Path> prefixes;
  for (const Split& split : splits) prefixes.push_back(out.string() + "." + split.name);
  if (prefixes.empty()) prefixes.push_back(out);
  return prefixes;
}

}  // namespace convoy::data
