// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/condition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "libcore/analysis/display.h"
#include "libcore/analysis/report_numbers.h"
#include "libcore/base/units.h"

namespace convoy::analysis {
namespace {

enum class Unit { kShare, kSeconds, kCount };

struct Value {
  double value = 0.0;
  std::string found;
};

struct Quantity {
  std::string_view name;
  Unit unit;
  std::string_view what;
  std::optional<Value> (*of)(const Report& report);
};

std::optional<Value> shown_share(std::optional<double> share) {
  if (!share) return std::nullopt;
  return Value{*share, percent(*share, 2)};
}

// Of the named ranks the one with the most; 0 where nobody is slow, none where that cannot be told.
std::optional<Value> worst(const Report& report, double Straggler::*percents) {
  if (!report.judged) return std::nullopt;
  const auto most =
      std::max_element(report.stragglers.begin(), report.stragglers.end(),
                       [percents](const Straggler& a, const Straggler& b) { return a.*percents < b.*percents; });
  if (most == report.stragglers.end()) return Value{0.0, "nobody is named"};
  const double share = (*most).*percents / 100;
  return Value{share, fmt::format("rank {} on {}: {}", most->rank, printable(most->host), percent(share, 2))};
}

std::optional<Value> quantile(const Report& report, double Quantiles::*which) {
  if (!report.step_seconds) return std::nullopt;
  const double seconds = (*report.step_seconds).*which;
  return Value{seconds, with_unit(seconds, unit_for(seconds))};
}

constexpr auto kQuantities = std::to_array<Quantity>({
    {"straggler", Unit::kShare, "the most that a named rank adds to the steps it slows, as a share of the step",
     [](const Report& r) { return worst(r, &Straggler::step_excess_percent); }},
    {"lost", Unit::kShare, "the most that a named rank cost the whole run, as a share of its training time",
     [](const Report& r) { return worst(r, &Straggler::lost_percent); }},
    {"exposed", Unit::kShare, "communication that training waits for, as a share of the training step",
     [](const Report& r) { return shown_share(exposed_share(r)); }},
    {"bubble", Unit::kShare, "the measured pipeline bubble",
     [](const Report& r) { return shown_share(r.bubble_measured); }},
    {"starved", Unit::kShare, "time in which ranks had no core, as a share of the step",
     [](const Report& r) { return r.phases.empty() ? std::nullopt : shown_share(r.starved_share); }},
    {"mfu", Unit::kShare, "share of the peak that was used", [](const Report& r) { return shown_share(r.mfu); }},
    {"step_seconds.p50", Unit::kSeconds, "median training step",
     [](const Report& r) { return quantile(r, &Quantiles::p50); }},
    {"step_seconds.p95", Unit::kSeconds, "95 of 100 steps are shorter",
     [](const Report& r) { return quantile(r, &Quantiles::p95); }},
    {"step_seconds.p99", Unit::kSeconds, "99 of 100 steps are shorter",
     [](const Report& r) { return quantile(r, &Quantiles::p99); }},
    {"step_seconds.max", Unit::kSeconds, "the longest step",
     [](const Report& r) { return quantile(r, &Quantiles::max); }},
    {"tokens_per_second", Unit::kCount, "throughput at the median step",
     [](const Report& r) -> std::optional<Value> {
       if (!r.tokens_per_second) return std::nullopt;
       return Value{*r.tokens_per_second, tokens_rate(r.tokens_per_second)};
     }},
    {"incomplete", Unit::kCount, "how much of the run could not be read, in sentences",
     [](const Report& r) -> std::optional<Value> {
       return Value{static_cast<double>(r.incomplete.size()),
                    r.incomplete.empty() ? "everything was read" : printable(r.incomplete.front())};
     }},
});

const Quantity* quantity_of(std::string_view name) {
  const auto found = std::find_if(kQuantities.begin(), kQuantities.end(),
                                  [name](const Quantity& quantity) { return quantity.name == name; });
  return found == kQuantities.end() ? nullptr : &*found;
}

std::string names() {
  std::vector<std::string_view> all;
  for (const Quantity& quantity : kQuantities) all.push_back(quantity.name);
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The limit in the quantity's unit; the problem as a clause.
std::string parse_limit(std::string_view text, Unit unit, double& limit) {
  if (unit == Unit::kShare) {
    const bool has_sign = text.ends_with('%');
    const Parsed<double> parsed = parse_real(trimmed(text.substr(0, text.size() - (has_sign ? 1 : 0))));
    if (!has_sign || !parsed.ok() || parsed.value < 0) return "needs a limit in percent, like 5%";
    limit = parsed.value / 100;
  } else if (unit == Unit::kSeconds) {
    const Parsed<double> parsed = parse_seconds(text);
    if (!parsed.ok() || parsed.value < 0) return "needs a limit as a duration, like 250ms or 1.5s";
    limit = parsed.value;
  } else {
    const Parsed<std::int64_t> parsed = parse_count(text);
    if (!parsed.ok() || parsed.value < 0) return "needs a whole number as its limit, like 10000 or 12K";
    limit = static_cast<double>(parsed.value);
  }
  return "";
}

}  // namespace

std::string parse_condition(std::string_view text, Condition& condition) {
  const std::string_view whole = trimmed(text);
  const std::size_t sign = std::min(whole.find_first_of("<>"), whole.size());
  const std::string_view name = trimmed(whole.substr(0, sign));
  const Quantity* quantity = quantity_of(name);
  if (quantity == nullptr) return fmt::format("asks for '{}', which no report has; it has {}", name, names());
  Condition parsed{std::string(whole), std::string(name), true, 0.0};
  if (sign < whole.size()) {
    parsed.above = whole[sign] == '>';
    const std::string problem = parse_limit(trimmed(whole.substr(sign + 1)), quantity->unit, parsed.limit);
    if (!problem.empty()) return problem;
  } else if (name != "incomplete" && name != "straggler") {
    return fmt::format("has no limit; write {}>LIMIT or {}<LIMIT", name, name);
  }
  condition = std::move(parsed);
  return "";
}

Outcome judge(const Condition& condition, const Report& report) {
  const Quantity* quantity = quantity_of(condition.quantity);
  const std::optional<Value> value = quantity == nullptr ? std::nullopt : quantity->of(report);
  if (!value || !std::isfinite(value->value)) return {Answer::kNotMeasured, kNotMeasured};
  const bool holds = condition.above ? value->value > condition.limit : value->value < condition.limit;
  return {holds ? Answer::kHolds : Answer::kHoldsNot, value->found};
}

std::string condition_help() {
  std::string text;
  for (const Quantity& quantity : kQuantities) {
    const std::string_view limit = quantity.unit == Unit::kShare     ? "%"
                                   : quantity.unit == Unit::kSeconds ? "ms, s, m"
                                                                     : "a count";
    text += fmt::format("{}{} ({}): {}", text.empty() ? "" : "; ", quantity.name, limit, quantity.what);
  }
  return text;
}

}  // namespace convoy::analysis
