// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::analysis {
namespace {

double nice_distance(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

int decimals_for(double distance) {
  return std::clamp(static_cast<int>(std::ceil(-std::log10(distance) - 1e-9)), 0, 12);
}

Axis with_ticks(double first, double last, double distance, bool whole_ticks) {
  Axis axis{first, last, {}};
  if (whole_ticks) {
    axis.first = std::floor(first / distance + 1e-9) * distance;
    axis.last = std::ceil(last / distance - 1e-9) * distance;
  }
  const auto begin = static_cast<long long>(std::ceil(axis.first / distance - 1e-9));
  const auto end = static_cast<long long>(std::floor(axis.last / distance + 1e-9));
  for (long long i = begin; i <= end; ++i) axis.ticks.push_back(static_cast<double>(i) * distance);
  return axis;
}

}  // namespace

Axis axis_of(double first, double last, int count, bool whole_ticks) {
  if (!std::isfinite(first) || !std::isfinite(last)) return {0.0, 1.0, {0.0, 1.0}};
  // A flat line gets room on both sides.
  const double least = std::max({std::abs(first), std::abs(last), 1e-30}) * 1e-6;
  if (last - first < least) {
    const double room = first == 0.0 && last == 0.0 ? 1.0 : 0.1 * std::max(std::abs(first), std::abs(last));
    first -= first >= 0 && first - room < 0 ? first : room;
    last += room;
  }
  return with_ticks(first, last, nice_distance((last - first) / count), whole_ticks);
}

Axis step_axis(double first, double last, int count) {
  if (!(last > first)) return {first - 0.5, first + 0.5, {first}};
  return with_ticks(first, last, std::max(1.0, nice_distance((last - first) / count)), false);
}

std::string tick_label(double value, const Axis& axis) {
  const double most = std::max(std::abs(axis.first), std::abs(axis.last));
  const double distance = axis.ticks.size() > 1 ? axis.ticks[1] - axis.ticks[0] : std::max(most, 1e-30);
  if (std::abs(value) < distance * 1e-9) return "0";
  if (most < 0.01) {
    const double power = std::floor(std::log10(most) + 1e-9);
    const double scale = std::pow(10.0, power);
    return fmt::format("{:.{}f}e{:.0f}", value / scale, decimals_for(distance / scale), power);
  }
  constexpr std::array<std::pair<double, const char*>, 4> kScales = {
      {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " K"}}};
  for (const auto& [scale, name] : kScales) {
    if (most >= 10 * scale || (most >= scale && distance >= scale))
      return fmt::format("{:.{}f}{}", value / scale, decimals_for(distance / scale), name);
  }
  return fmt::format("{:.{}f}", value, decimals_for(distance));
}

std::string step_label(double step) { return fmt::format("{:.0f}", step); }

}  // namespace convoy::analysis
