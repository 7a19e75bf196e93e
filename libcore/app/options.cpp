// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/app/suggest.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"

namespace convoy::app {
namespace {

using Texts = std::vector<std::string>;
template <class T>
using Show = std::string (*)(T);

std::string show_count(std::int64_t value) { return fmt::format("{}", value); }
std::string show_real(double value) { return json_number(value); }

std::string show_bytes(std::int64_t value) {
  static constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {std::int64_t{1} << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
  for (const auto& [factor, name] : kUnits) {
    if (value != 0 && value % factor == 0) return fmt::format("{}{}", value / factor, name);
  }
  return fmt::format("{}", value);
}

std::string show_seconds(double value) {
  if (value > 0 && std::fmod(value, 3600) == 0) return fmt::format("{}h", value / 3600);
  if (value > 0 && std::fmod(value, 60) == 0) return fmt::format("{}m", value / 60);
  return json_number(value) + "s";
}

// The rule of a range, and the legal value closest to what was given; empty if `value` is in it.
template <class T>
std::string range_problem(T value, const Range<T>& range, Show<T> show) {
  if (value >= range.least && value <= range.most) return "";
  const bool has_least = range.least != std::numeric_limits<T>::lowest();
  const bool has_most = range.most != std::numeric_limits<T>::max();
  const std::string rule = has_least && has_most ? fmt::format("between {} and {}", show(range.least), show(range.most))
                           : has_least           ? fmt::format("at least {}", show(range.least))
                                                 : fmt::format("at most {}", show(range.most));
  return fmt::format("must be {}; the nearest legal value is {}", rule,
                     show(std::clamp(value, range.least, range.most)));
}

template <class T>
std::string convert(const Parsed<T>& parsed, const Range<T>& range, Show<T> show, T& value) {
  if (!parsed.ok()) return parsed.problem;
  value = parsed.value;
  return range_problem(value, range, show);
}

std::string convert_count(const std::string& text, const Range<std::int64_t>& range, std::int64_t& value) {
  const Parsed<std::int64_t> parsed = parse_count(text);
  const Parsed<double> real = parse_real(text);
  if (parsed.ok() || !real.ok() || std::abs(real.value) > 9e15) return convert(parsed, range, show_count, value);
  const std::int64_t nearest = std::clamp(static_cast<std::int64_t>(std::round(real.value)), range.least, range.most);
  return fmt::format("{}; the nearest legal value is {}", parsed.problem, nearest);
}

Option named(std::string name, std::string value, std::string help) {
  Option option;
  option.name = std::move(name);
  option.value = std::move(value);
  option.help = std::move(help);
  return option;
}

// A number kept in `target` as `T`: `read(text, value)` returns the problem, `show` writes what `read` takes.
template <class T, class Target, class Read>
Option scalar(Option option, Target& target, Read read, Show<T> show) {
  option.set = [&target, read](const std::string& text) {
    T value{};
    std::string problem = read(text, value);
    if (problem.empty()) target = static_cast<Target>(value);
    return problem;
  };
  option.get = [&target, show] { return Texts{show(static_cast<T>(target))}; };
  option.shown_default = show(static_cast<T>(target));
  return option;
}

template <class T, class Read>
Option scalar(Option option, std::optional<T>& target, Read read, Show<T> show) {
  option.set = [&target, read](const std::string& text) {
    T value{};
    std::string problem = read(text, value);
    if (problem.empty()) target = value;
    return problem;
  };
  option.get = [&target, show] { return target ? Texts{show(*target)} : Texts{}; };
  if (target) option.shown_default = show(*target);
  return option;
}

Option bare(Option option) {
  option.is_quoted = false;
  return option;
}

auto read_count(Range<std::int64_t> range) {
  return [range](const std::string& text, std::int64_t& value) { return convert_count(text, range, value); };
}

auto read_real(Range<double> range) {
  return [range](const std::string& text, double& value) { return convert(parse_real(text), range, show_real, value); };
}

std::string read_truth(const std::string& text, bool& value) {
  value = text == "yes" || text == "true";
  return value || text == "no" || text == "false" ? "" : "must be yes or no";
}

std::string add_reals(const std::string& text, const Range<double>& range, std::vector<double>& target) {
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string part = text.substr(start, end - start);
    double value = 0;
    const std::string problem = convert(parse_real(part), range, show_real, value);
    if (!problem.empty()) return fmt::format("item '{}' {} (a list of numbers: 0.7,0.3)", part, problem);
    target.push_back(value);
    start = end + 1;
  }
  return "";
}

}  // namespace

std::vector<std::string> headings(const std::vector<Option>& options) {
  std::vector<std::string> order;
  for (const Option& option : options) {
    if (std::find(order.begin(), order.end(), option.group) != order.end()) continue;
    order.insert(option.group.empty() ? order.begin() : order.end(), option.group);
  }
  return order;
}

Option text(std::string name, std::string value, std::string& target, std::string help) {
  Option option = named(std::move(name), std::move(value), std::move(help));
  option.set = [&target](const std::string& text) {
    target = text;
    return std::string();
  };
  option.get = [&target] { return target.empty() ? Texts{} : Texts{target}; };
  option.shown_default = target;
  return option;
}

Option text(std::string name, std::string value, std::optional<std::string>& target, std::string help) {
  Option option = named(std::move(name), std::move(value), std::move(help));
  option.set = [&target](const std::string& text) {
    target = text;
    return std::string();
  };
  option.get = [&target] { return target ? Texts{*target} : Texts{}; };
  option.shown_default = target.value_or("");
  return option;
}

Option texts(std::string name, std::string value, std::vector<std::string>& target, std::string help) {
  Option option = named(std::move(name), std::move(value), std::move(help));
  option.is_list = true;
  option.set = [&target](const std::string& text) {
    target.push_back(text);
    return std::string();
  };
  option.clear = [&target] { target.clear(); };
  option.get = [&target] { return target; };
  option.shown_default = fmt::format("{}", fmt::join(target, ", "));
  return option;
}

Option toggle(std::string name, bool& target, std::string help) {
  Option option = bare(named(std::move(name), "", std::move(help)));
  option.set = [&target](const std::string& text) {
    bool value = false;
    if (!read_truth(text, value).empty()) return std::string("is a switch and takes no value");
    target = value;
    return std::string();
  };
  option.get = [&target] { return Texts{target ? "true" : "false"}; };
  return option;
}

Option yes_no(std::string name, bool& target, std::string help) {
  Option option = bare(named(std::move(name), "yes|no", std::move(help)));
  option.choices = {"yes", "no"};
  option.set = [&target](const std::string& text) {
    bool value = false;
    std::string problem = read_truth(text, value);
    if (problem.empty()) target = value;
    return problem;
  };
  option.get = [&target] { return Texts{target ? "true" : "false"}; };
  option.shown_default = target ? "yes" : "no";
  return option;
}

Option count(std::string name, std::int64_t& target, Range<std::int64_t> range, std::string help) {
  return bare(
      scalar<std::int64_t>(named(std::move(name), "N", std::move(help)), target, read_count(range), show_count));
}

Option count(std::string name, int& target, Range<std::int64_t> range, std::string help) {
  range.least = std::max<std::int64_t>(range.least, std::numeric_limits<int>::lowest());
  range.most = std::min<std::int64_t>(range.most, std::numeric_limits<int>::max());
  return bare(
      scalar<std::int64_t>(named(std::move(name), "N", std::move(help)), target, read_count(range), show_count));
}

Option count(std::string name, std::optional<std::int64_t>& target, Range<std::int64_t> range, std::string help) {
  return bare(
      scalar<std::int64_t>(named(std::move(name), "N", std::move(help)), target, read_count(range), show_count));
}

Option bytes(std::string name, std::int64_t& target, Range<std::int64_t> range, std::string help) {
  const auto read = [range](const std::string& text, std::int64_t& value) {
    return convert(parse_bytes(text), range, show_bytes, value);
  };
  return scalar<std::int64_t>(named(std::move(name), "SIZE", std::move(help)), target, read, show_bytes);
}

Option seconds(std::string name, double& target, Range<double> range, std::string help) {
  const auto read = [range](const std::string& text, double& value) {
    return convert(parse_seconds(text), range, show_seconds, value);
  };
  return scalar<double>(named(std::move(name), "TIME", std::move(help)), target, read, show_seconds);
}

Option real(std::string name, double& target, Range<double> range, std::string help) {
  return bare(scalar<double>(named(std::move(name), "X", std::move(help)), target, read_real(range), show_real));
}

Option real(std::string name, std::optional<double>& target, Range<double> range, std::string help) {
  return bare(scalar<double>(named(std::move(name), "X", std::move(help)), target, read_real(range), show_real));
}

Option reals(std::string name, std::vector<double>& target, Range<double> range, std::string help) {
  Option option = bare(named(std::move(name), "X,...", std::move(help)));
  option.is_list = true;
  option.set = [&target, range](const std::string& text) { return add_reals(text, range, target); };
  option.clear = [&target] { target.clear(); };
  option.get = [&target] {
    Texts shown;
    for (const double value : target) shown.push_back(show_real(value));
    return shown;
  };
  option.shown_default = fmt::format("{}", fmt::join(option.get(), ","));
  return option;
}

Option choice(std::string name, std::string& target, std::vector<std::string> choices, std::string help) {
  Option option = named(std::move(name), fmt::format("{}", fmt::join(choices, "|")), std::move(help));
  option.choices = std::move(choices);
  option.set = [&target, legal = option.choices](std::string text) {
    const auto has = [&legal](std::string_view word) {
      return std::find(legal.begin(), legal.end(), word) != legal.end();
    };
    if (text == "true" && has("yes")) text = "yes";  // TOML has booleans where a flag has words
    if (text == "false" && has("no")) text = "no";
    if (!has(text)) {
      return fmt::format("must be one of {}; the nearest legal value is {}", fmt::join(legal, ", "),
                         closest(text, legal));
    }
    target = text;
    return std::string();
  };
  option.get = [&target] { return target.empty() ? Texts{} : Texts{target}; };
  option.shown_default = target;
  return option;
}

Option positional(std::string value, std::string& target, std::string help) {
  Option option = text(value, value, target, std::move(help));
  option.is_positional = option.is_required = true;
  option.in_config = false;
  return option;
}

Option positionals(std::string value, std::vector<std::string>& target, std::string help) {
  Option option = texts(value, value, target, std::move(help));
  option.is_positional = option.is_required = true;
  option.in_config = false;
  return option;
}

}  // namespace convoy::app
