// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "libcore/base/json.h"
#include "libcore/base/lists.h"
#include "libcore/base/units.h"

namespace convoy::apps::profile {
namespace {

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostRanks = 1'000'000;

std::string shown(const analysis::StepRange& range) {
  if (range.last == kLast) return range.first == 1 ? "" : fmt::format("{}-", range.first);
  return fmt::format("{}-{}", range.first, range.last);
}

app::Option flag(std::string name, std::string value, std::string help) {
  app::Option option;
  option.name = std::move(name);
  option.value = std::move(value);
  option.help = std::move(help);
  return option;
}

}  // namespace

app::Option run_operand(std::string& run) {
  return app::positional("RUN", run, "run directory, or a folder with the traces themselves");
}

std::string parse_step_range(std::string_view text, analysis::StepRange& range) {
  const bool is_open = text.ends_with('-');
  const std::string_view closed = is_open ? text.substr(0, text.size() - 1) : text;
  const Parsed<NumberRange> found = parse_range(closed);
  if (!found.ok() || found.value.first < 1 || (is_open && closed.find('-') != std::string_view::npos))
    return "is no range of steps; write 10-20, 10- or 7, counting from 1";
  range = {.first = found.value.first, .last = is_open ? kLast : found.value.last};
  return "";
}

app::Option step_range(std::string name, analysis::StepRange& range, std::string help) {
  app::Option option = flag(std::move(name), "A-B", std::move(help));
  option.set = [&range](const std::string& text) { return parse_step_range(text, range); };
  option.get = [&range] {
    return shown(range).empty() ? std::vector<std::string>{} : std::vector<std::string>{shown(range)};
  };
  option.shown_default = shown(range).empty() ? "all" : shown(range);
  return option;
}

std::string parse_rank_list(std::string_view text, std::vector<int>& ranks) {
  std::vector<int> found;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const Parsed<NumberRange> part = parse_range(text.substr(start, end - start));
    if (!part.ok() || part.value.first < 0 || part.value.last >= kMostRanks)
      return fmt::format("has '{}' where ranks are expected; write 0-7,12", text.substr(start, end - start));
    for (std::int64_t rank = part.value.first; rank <= part.value.last; ++rank) found.push_back(static_cast<int>(rank));
    if (found.size() > static_cast<std::size_t>(kMostRanks)) return "names more than a million ranks";
    start = end + 1;
  }
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  ranks = std::move(found);
  return "";
}

app::Option rank_list(std::string name, std::vector<int>& ranks, std::string help) {
  app::Option option = flag(std::move(name), "A-B,...", std::move(help));
  option.set = [&ranks](const std::string& text) { return parse_rank_list(text, ranks); };
  option.get = [&ranks] {
    return ranks.empty() ? std::vector<std::string>{}
                         : std::vector<std::string>{fmt::format("{}", fmt::join(ranks, ","))};
  };
  option.shown_default = "all";
  return option;
}

app::Option share(std::string name, double& target, app::Range<double> range, std::string help) {
  app::Option option = flag(std::move(name), "X%", std::move(help));
  option.set = [&target, range](const std::string& text) {
    const bool percent = text.ends_with('%');
    const Parsed<double> parsed = parse_real(percent ? std::string_view(text).substr(0, text.size() - 1) : text);
    if (!parsed.ok()) return fmt::format("'{}' is no share; write 2% or 0.02", text);
    const double value = percent ? parsed.value / 100.0 : parsed.value;
    if (value < range.least || value > range.most)
      return fmt::format("must be between {}% and {}%, not {}", 100.0 * range.least, 100.0 * range.most, text);
    target = value;
    return std::string();
  };
  option.get = [&target] { return std::vector<std::string>{json_number(target)}; };
  option.shown_default = fmt::format("{}%", 100.0 * target);
  return option;
}

}  // namespace convoy::apps::profile
