// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace convoy {

std::string KeyValues::parse(std::string_view text) {
  values_.clear();
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return fmt::format("has '{}' where KEY=VALUE is expected", item);
    if (!values_.emplace(item.substr(0, equals), item.substr(equals + 1)).second)
      return fmt::format("names {} twice", item.substr(0, equals));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
  return "";
}

std::optional<std::string> KeyValues::take(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  std::string value = std::move(found->second);
  values_.erase(found);
  return value;
}

std::string KeyValues::unknown(std::string_view known) const {
  if (values_.empty()) return "";
  return fmt::format("has an unknown key '{}'; known are {}", values_.begin()->first, known);
}

Parsed<NumberRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const Parsed<std::int64_t> first = parse_count(text.substr(0, dash));
  const Parsed<std::int64_t> last = dash == std::string_view::npos ? first : parse_count(text.substr(dash + 1));
  if (!first.ok() || !last.ok() || last.value < first.value) return {{}, "is no range like 10-20"};
  return {{first.value, last.value}, ""};
}

}  // namespace convoy
