// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "libcore/base/error.h"

namespace convoy::model {
namespace {

constexpr std::size_t kShownCharacters = 60;
constexpr int kDeepestNesting = 100;  // a configuration has 3; printing and destroying a value recurse

// A value as messages show it: JSON, cut to a readable length.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShownCharacters) text = text.substr(0, kShownCharacters) + "...";
  return text;
}

// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// Notes the first key that an object has twice.
class DuplicateKeys {
 public:
  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_.emplace_back();
    if (event == Json::parse_event_t::object_end) open_.pop_back();
    if (event == Json::parse_event_t::key && !open_.back().insert(parsed.get<std::string>()).second && !found_) {
      found_ = parsed.get<std::string>();
    }
    return true;
  }
  const std::optional<std::string>& found() const { return found_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::optional<std::string> found_;
};

}  // namespace

Json parse_strict_json(std::string_view text, std::string_view where) {
  DuplicateKeys duplicates;
  Json value;
  try {
    value = Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (depth > kDeepestNesting) {
        throw DataError(fmt::format("{}: values are nested more than {} deep: this is no model configuration", where,
                                    kDeepestNesting));
      }
      return duplicates(depth, event, parsed);
    });
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: is not valid JSON: {}", where, error.what()));
  }
  if (duplicates.found())
    throw DataError(fmt::format("{}: key \"{}\" occurs twice; keep one", where, *duplicates.found()));
  return value;
}

ConfigReader::ConfigReader(const Json& object, std::string where, std::string scope, std::vector<std::string>& problems)
    : object_(object), where_(std::move(where)), scope_(std::move(scope)), problems_(problems) {}

bool ConfigReader::has(const std::string& key) {
  known_.insert(key);
  return object_.contains(key);
}

const Json* ConfigReader::find(const std::string& key) {
  known_.insert(key);
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

std::int64_t ConfigReader::integer(const std::string& key, std::int64_t fallback, IntegerRange range) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const bool fits =
      value->is_number_integer() && !(value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX);
  if (fits) {
    const auto number = value->get<std::int64_t>();
    if (number >= range.low && number <= range.high) return number;
  }
  problem(key, fmt::format("expected an integer from {} to {}, found {}", range.low, range.high, shown(*value)));
  return fallback;
}

std::int64_t ConfigReader::integer(std::initializer_list<const char*> keys, std::int64_t fallback, IntegerRange range) {
  std::optional<std::int64_t> chosen;
  std::string chosen_key;
  for (const std::string key : keys) {
    if (find(key) == nullptr) continue;
    const std::size_t before = problem_count();
    const std::int64_t number = integer(key, fallback, range);
    if (problem_count() != before) continue;
    if (chosen && *chosen != number) {
      problem(key, fmt::format("is {}, but {}, another name of it, is {}; keep one", number, chosen_key, *chosen));
    }
    if (!chosen) {
      chosen = number;
      chosen_key = key;
    }
  }
  return chosen.value_or(fallback);
}

double ConfigReader::real(const std::string& key, double fallback, double low, double high) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) {
    const auto number = value->get<double>();
    if (std::isfinite(number) && number >= low && number <= high) return number;
  }
  problem(key, fmt::format("expected a number from {} to {}, found {}", low, high, shown(*value)));
  return fallback;
}

bool ConfigReader::boolean(const std::string& key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  problem(key, fmt::format("expected true or false, found {}", shown(*value)));
  return fallback;
}

std::string ConfigReader::text(const std::string& key, const std::string& fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  problem(key, fmt::format("expected a string, found {}", shown(*value)));
  return fallback;
}

std::optional<std::int32_t> ConfigReader::token_id(const std::string& key, std::optional<std::int32_t> fallback,
                                                   std::int64_t vocabulary) {
  // transformers writes its default along even where the vocabulary is smaller.
  const std::optional<std::int32_t> usable = fallback && *fallback < vocabulary ? fallback : std::nullopt;
  const Json* value = find(key);
  if (value == nullptr) return has(key) ? std::nullopt : usable;
  const Json& id = value->is_array() && !value->empty() ? value->front() : *value;
  if (id.is_number_integer()) {
    const auto number = id.get<std::int64_t>();
    if (number == -1) return std::nullopt;  // an older way to say none
    if (fallback && number == *fallback) return usable;
    if (number >= 0 && number < vocabulary) return static_cast<std::int32_t>(number);
  }
  problem(key, fmt::format("expected a token id below vocab_size {}, found {}", vocabulary, shown(*value)));
  return std::nullopt;
}

void ConfigReader::only(const std::string& key, std::string_view json) {
  const Json* value = find(key);
  if (value == nullptr || *value == Json::parse(json)) return;
  problem(key, fmt::format("is not supported: expected {}, found {}", json, shown(*value)));
}

void ConfigReader::one_of(const std::string& key, std::initializer_list<std::string_view> accepted) {
  const std::string_view first = *accepted.begin();
  const std::string found = text(key, std::string(first));
  if (std::find(accepted.begin(), accepted.end(), found) != accepted.end()) return;
  problem(key, fmt::format("is not supported: expected \"{}\", found \"{}\"", first, found));
}

ConfigReader ConfigReader::nested(const std::string& key, const Json& object) const {
  return {object, where_, fmt::format("{}{}.", scope_, key), problems_};
}

void ConfigReader::problem(const std::string& key, const std::string& what) {
  problems_.push_back(fmt::format("{}: {}{}: {}", where_, scope_, key, what));
}

void ConfigReader::refuse_unknown_keys() {
  for (const auto& item : object_.items()) {
    const std::string& key = item.key();
    if (known_.contains(key)) continue;
    std::string_view nearest;
    std::size_t distance = key.size() / 3 + 2;
    for (const std::string& known : known_) {
      const std::size_t candidate = key.size() > 100 ? distance : edit_distance(key, known);
      if (candidate < distance) {
        distance = candidate;
        nearest = known;
      }
    }
    problem(key,
            fmt::format("unknown key with value {}; it might change the model's mathematics, so it is not ignored{}",
                        shown(item.value()),
                        nearest.empty() ? std::string(": remove it if it does not")
                                        : fmt::format(" (did you mean {}?)", nearest)));
  }
}

}  // namespace convoy::model
