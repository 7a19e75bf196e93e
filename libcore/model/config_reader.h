// SPDX-License-Identifier: Apache-2.0
// Reads typed keys of one JSON object, remembers which keys were asked for, and collects every problem instead of
// stopping at the first. Private to the module: it knows the JSON library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::model {

using Json = nlohmann::ordered_json;

// Parses strictly: no comments, no NaN, no key twice in one object. DataError names `where`.
Json parse_strict_json(std::string_view text, std::string_view where);

struct IntegerRange {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

class ConfigReader {
 public:
  // `scope` precedes key names in messages ("rope_scaling."). `problems` must outlive the reader.
  ConfigReader(const Json& object, std::string where, std::string scope, std::vector<std::string>& problems);

  // The key's value, or null if it is absent or null. Marks it as known.
  const Json* find(const std::string& key);
  bool has(const std::string& key);  // present, even if null; marks it as known
  // The key's value; `fallback` if absent, null or (after noting the problem) unusable.
  std::int64_t integer(const std::string& key, std::int64_t fallback, IntegerRange range);
  double real(const std::string& key, double fallback, double low, double high);
  bool boolean(const std::string& key, bool fallback);
  std::string text(const std::string& key, const std::string& fallback);
  // One number under several names: two of them that disagree are a problem.
  std::int64_t integer(std::initializer_list<const char*> keys, std::int64_t fallback, IntegerRange range);

  // A token id, or a list of them of which the first counts (Llama 3's eos_token_id); `fallback` if absent.
  std::optional<std::int32_t> token_id(const std::string& key, std::optional<std::int32_t> fallback,
                                       std::int64_t vocabulary);
  // Keys that have one meaning with us: another value would be another model, and is a problem.
  void only(const std::string& key, std::string_view json);
  void one_of(const std::string& key, std::initializer_list<std::string_view> accepted);  // absent: the first
  // The object under `key`, whose problems join these.
  ConfigReader nested(const std::string& key, const Json& object) const;

  void know(std::string_view key) { known_.emplace(key); }
  void problem(const std::string& key, const std::string& what);
  std::size_t problem_count() const { return problems_.size(); }
  // Notes every key of the object that nobody asked for, with the nearest known name.
  void refuse_unknown_keys();

 private:
  const Json& object_;
  std::string where_;
  std::string scope_;
  std::vector<std::string>& problems_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace convoy::model
