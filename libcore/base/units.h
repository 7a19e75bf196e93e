// SPDX-License-Identifier: Apache-2.0
// Numbers with units as people write them: `64Ki`, `4GiB`, `1.5B`, `10m`, `2h30m`; and back, for messages. A text that
// does not parse gives a message that says the rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace convoy {

// The value, or what is wrong with the text (a clause: "is not a whole number (digits, and Ki, Mi, K, M, B, T)").
template <class T>
struct Parsed {
  T value{};
  std::string problem;  // empty if value holds
  bool ok() const { return problem.empty(); }
};

Parsed<std::int64_t> parse_count(std::string_view text);  // 1000, 64Ki, 1.5B (= 10^9), 3e9; K M B T are powers of 1000
Parsed<std::int64_t> parse_bytes(std::string_view text);  // 4096, 64KiB, 64Ki, 200M, 200MB, 4GiB
Parsed<double> parse_seconds(std::string_view text);      // 90, 90s, 500ms, 10m, 2h30m, 1d
Parsed<double> parse_real(std::string_view text);         // finite decimal; the whole text must be used

std::string format_count(double count);      // 1.53 M
std::string format_bytes(double bytes);      // 1.5 GiB
std::string format_seconds(double seconds);  // 2h 3m, 4.1 s

}  // namespace convoy
