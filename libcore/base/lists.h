// SPDX-License-Identifier: Apache-2.0
// Lists and ranges as flags take them: `rank=3,factor=1.5`, `10-20`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "libcore/base/units.h"

namespace convoy {

// KEY=VALUE pairs, separated by commas, each key once.
class KeyValues {
 public:
  // Replaces what it has. Returns the problem as a clause, or an empty string.
  std::string parse(std::string_view text);
  bool contains(std::string_view key) const { return values_.contains(key); }
  // The value of `key`, which it has no longer; none if it had none.
  std::optional<std::string> take(std::string_view key);
  // Why a key that nobody has taken is one too many, as a clause; `known` are those that were possible.
  std::string unknown(std::string_view known) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

struct NumberRange {
  std::int64_t first = 0, last = 0;  // both included
};
// "10-20", or "7" for 7-7; not one that ends before it begins. Numbers as parse_count() takes them.
Parsed<NumberRange> parse_range(std::string_view text);

}  // namespace convoy
