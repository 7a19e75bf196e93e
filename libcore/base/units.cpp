// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace convoy {
namespace {

struct Suffix {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::int64_t kKibi = 1024, kMebi = kKibi * 1024, kGibi = kMebi * 1024, kTebi = kGibi * 1024;
constexpr std::int64_t kKilo = 1000, kMega = kKilo * 1000, kGiga = kMega * 1000, kTera = kGiga * 1000;

constexpr std::array kCountSuffixes = {Suffix{"", 1},       Suffix{"Ki", kKibi}, Suffix{"Mi", kMebi},
                                       Suffix{"Gi", kGibi}, Suffix{"Ti", kTebi}, Suffix{"K", kKilo},
                                       Suffix{"k", kKilo},  Suffix{"M", kMega},  Suffix{"G", kGiga},
                                       Suffix{"B", kGiga},  Suffix{"T", kTera}};
constexpr std::array kByteSuffixes = {
    Suffix{"", 1},        Suffix{"B", 1},      Suffix{"Ki", kKibi},  Suffix{"KiB", kKibi}, Suffix{"Mi", kMebi},
    Suffix{"MiB", kMebi}, Suffix{"Gi", kGibi}, Suffix{"GiB", kGibi}, Suffix{"Ti", kTebi},  Suffix{"TiB", kTebi},
    Suffix{"K", kKilo},   Suffix{"k", kKilo},  Suffix{"KB", kKilo},  Suffix{"kB", kKilo},  Suffix{"M", kMega},
    Suffix{"MB", kMega},  Suffix{"G", kGiga},  Suffix{"GB", kGiga},  Suffix{"T", kTera},   Suffix{"TB", kTera}};

constexpr const char* kCountRule =
    "is not a whole number (digits, and K, M, B, T for powers of 1000, Ki, Mi, Gi, Ti of 1024)";
constexpr const char* kBytesRule =
    "is not a size in bytes (digits, and K, M, G, T for powers of 1000, Ki, Mi, Gi, Ti of 1024)";
constexpr const char* kSecondsRule = "is not a duration (seconds, or units d, h, m, s, ms: 90, 10m, 2h30m)";
constexpr const char* kRealRule = "is not a finite decimal number";

// `digits` * 10^exponent exactly, as written.
struct Decimal {
  std::int64_t digits = 0;
  int exponent = 0;
  std::string_view rest;  // what follows the number
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The exponent of "3e9"; the E of a number is one only if digits follow.
int take_exponent(std::string_view& text) {
  if (text.empty() || (text[0] != 'e' && text[0] != 'E')) return 0;
  int exponent = 0;
  const char* first = text.data() + (text.size() > 1 && text[1] == '+' ? 2 : 1);
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), exponent);
  if (error != std::errc() || std::abs(exponent) > 99) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return exponent;
}

std::optional<Decimal> take_decimal(std::string_view text) {
  Decimal number;
  bool negative = false, any = false, fraction = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  for (; !text.empty() && (is_digit(text[0]) || (text[0] == '.' && !fraction)); text.remove_prefix(1)) {
    if (text[0] == '.') {
      fraction = true;
      continue;
    }
    any = true;
    if (__builtin_mul_overflow(number.digits, 10, &number.digits)) return std::nullopt;
    if (__builtin_add_overflow(number.digits, text[0] - '0', &number.digits)) return std::nullopt;
    if (fraction) --number.exponent;
  }
  if (!any) return std::nullopt;
  if (negative) number.digits = -number.digits;
  number.exponent += take_exponent(text);
  number.rest = text;
  return number;
}

// digits * 10^exponent * factor; without a value if it leaves 64 bits, or is not whole and may not be rounded.
std::optional<std::int64_t> scaled(const Decimal& number, std::int64_t factor, bool rounded) {
  std::int64_t value = number.digits;
  int exponent = number.exponent;
  for (; exponent < 0 && value % 10 == 0 && value != 0; ++exponent) value /= 10;
  for (; exponent < 0 && factor % 10 == 0; ++exponent) factor /= 10;
  if (__builtin_mul_overflow(value, factor, &value)) return std::nullopt;
  for (; exponent > 0 && value != 0; --exponent) {
    if (__builtin_mul_overflow(value, 10, &value)) return std::nullopt;
  }
  for (; exponent < 0 && value != 0; ++exponent) {
    if (value % 10 != 0 && !rounded) return std::nullopt;
    value = exponent == -1 ? (value + 5) / 10 : value / 10;
  }
  return value;
}

Parsed<std::int64_t> parse_scaled(std::string_view text, std::span<const Suffix> suffixes, bool rounded,
                                  const char* rule) {
  const std::optional<Decimal> number = take_decimal(text);
  if (!number) return {0, rule};
  for (const Suffix& suffix : suffixes) {
    if (suffix.name != number->rest) continue;
    const std::optional<std::int64_t> value = scaled(*number, suffix.factor, rounded);
    return value ? Parsed<std::int64_t>{*value, ""} : Parsed<std::int64_t>{0, rule};
  }
  return {0, rule};
}

// A plain decimal at the front of `text`, which is advanced past it.
std::optional<double> take_plain(std::string_view& text) {
  double value = 0;
  const char* last = text.data() + text.size();
  if (text.empty() || !(is_digit(text[0]) || text[0] == '.')) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), last, value, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

struct TimeUnit {
  std::string_view name;
  double seconds;
};

constexpr std::array kTimeUnits = {TimeUnit{"d", 86400}, TimeUnit{"h", 3600}, TimeUnit{"ms", 1e-3}, TimeUnit{"m", 60},
                                   TimeUnit{"s", 1}};

const TimeUnit* take_unit(std::string_view& text) {
  for (const TimeUnit& unit : kTimeUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

std::string with_step(double value, double base, std::span<const std::string_view> names) {
  std::size_t step = 0;
  // 999.5 would round to "1000", so it moves up.
  while (step + 1 < names.size() && std::abs(value) >= (base == 1000 ? 999.5 : 1023.5)) {
    value /= base;
    ++step;
  }
  if (step == 0) return fmt::format("{:.0f}{}", value, names[0]);
  return fmt::format("{:.{}f} {}", value, std::abs(value) < 10 ? 2 : std::abs(value) < 100 ? 1 : 0, names[step]);
}

}  // namespace

Parsed<std::int64_t> parse_count(std::string_view text) {
  return parse_scaled(text, kCountSuffixes, false, kCountRule);
}

Parsed<std::int64_t> parse_bytes(std::string_view text) { return parse_scaled(text, kByteSuffixes, true, kBytesRule); }

Parsed<double> parse_seconds(std::string_view text) {
  const Parsed<double> wrong{0, kSecondsRule};
  std::string_view rest = text;
  double total = 0, last_unit = std::numeric_limits<double>::infinity();
  do {
    const std::optional<double> number = take_plain(rest);
    if (!number) return wrong;
    if (rest.empty() && std::isinf(last_unit)) return {*number, ""};
    const TimeUnit* unit = take_unit(rest);
    if (unit == nullptr || unit->seconds >= last_unit) return wrong;
    last_unit = unit->seconds;
    total += *number * unit->seconds;
  } while (!rest.empty());
  return {total, ""};
}

Parsed<double> parse_real(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !std::isfinite(value)) return {0, kRealRule};
  return {value, ""};
}

std::string format_count(double count) {
  static constexpr std::array<std::string_view, 5> kNames = {"", "K", "M", "B", "T"};
  return with_step(count, 1000, kNames);
}

std::string format_bytes(double bytes) {
  static constexpr std::array<std::string_view, 6> kNames = {" B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return with_step(bytes, 1024, kNames);
}

std::string format_seconds(double seconds) {
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}m {}s", whole / 60, whole % 60);
  const std::int64_t minutes = (whole + 30) / 60;
  if (minutes < 24 * 60) return fmt::format("{}h {}m", minutes / 60, minutes % 60);
  const std::int64_t hours = (minutes + 30) / 60;
  return fmt::format("{}d {}h", hours / 24, hours % 24);
}

}  // namespace convoy
