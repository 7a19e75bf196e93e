// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/page_heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "libcore/analysis/axis.h"
#include "libcore/analysis/markup.h"
#include "libcore/analysis/report_numbers.h"
#include "libcore/analysis/statistics.h"
#include "libcore/base/json.h"

namespace convoy::analysis {
namespace {

constexpr double kUnit = 0.05;
constexpr double kOctave = 24.0;
constexpr int kMostHeight = 512, kLeastHeight = 84, kRowHeight = 20;  // CSS pixels
constexpr int kLabelHeight = 13;

bool has_cells(const HeatMap& map) {
  return map.rows > 0 && map.columns > 0 && map.ranks_per_row > 0 && map.steps_per_column > 0 &&
         map.cells.size() == static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.columns);
}

int height_of(const HeatMap& map) { return std::clamp(map.rows * kRowHeight, kLeastHeight, kMostHeight); }

// The median of the cells that a named rank's trouble covers.
double typical_excess(const HeatMap& map, const Straggler& straggler) {
  const int row = straggler.rank / map.ranks_per_row;
  if (row < 0 || row >= map.rows) return 0.0;
  std::vector<float> cells;
  for (int column = 0; column < map.columns; ++column) {
    const std::int64_t step = map.first_step + column * map.steps_per_column;
    if (step + map.steps_per_column <= straggler.first_step || step > straggler.last_step) continue;
    const float cell = map.cells[static_cast<std::size_t>(row) * static_cast<std::size_t>(map.columns) +
                                 static_cast<std::size_t>(column)];
    if (std::isfinite(cell)) cells.push_back(cell);
  }
  return static_cast<double>(median(std::span<float>(cells)).value_or(0.0F));
}

// What this share of the cells does not exceed; 0 without any.
double cell_quantile(const HeatMap& map, double share) {
  std::vector<float> cells = present(map.cells);
  std::erase_if(cells, [](float cell) { return std::isinf(cell); });
  return static_cast<double>(quantile(std::span<float>(cells), share).value_or(0.0F));
}

std::string row_labels(const HeatMap& map, int ranks) {
  std::string html = "<div class=\"rows\" aria-hidden=\"true\">";
  const int room = std::max(2, height_of(map) / 30);
  const Axis axis = map.rows * kLabelHeight <= height_of(map) ? step_axis(0, std::max(0, ranks - 1), ranks)
                                                              : step_axis(0, std::max(0, ranks - 1), room);
  const double covered = static_cast<double>(map.rows) * map.ranks_per_row;
  for (const double rank : axis.ticks)
    html += fmt::format("<span style=\"top:{:.2f}%\">{:.0f}</span>", 100 * (rank + 0.5) / covered, rank);
  return html + "</div>";
}

std::string column_labels(const Report& report) {
  const HeatMap& map = report.heat_map;
  std::string html = "<div class=\"columns\" aria-hidden=\"true\">";
  const double steps = static_cast<double>(map.columns) * static_cast<double>(map.steps_per_column);
  const Axis axis = step_axis(static_cast<double>(map.first_step), static_cast<double>(map.last_step), 10);
  for (const double step : axis.ticks) {
    const double place = (step - static_cast<double>(map.first_step) + 0.5) / steps;
    html += fmt::format("<span style=\"left:{:.2f}%\">{}</span>", 100 * place, step_label(step));
  }
  return html + "<b>step</b></div>";
}

// Beside the rows of the ranks that are named, as many as do not overlap.
std::string named_labels(const Report& report) {
  const HeatMap& map = report.heat_map;
  std::string html = "<div class=\"names\">";
  std::vector<double> taken;
  for (const Straggler& straggler : report.stragglers) {
    const double covered = static_cast<double>(map.rows) * map.ranks_per_row;
    const double place = (straggler.rank / map.ranks_per_row + 0.5) * map.ranks_per_row / covered;
    const double y = place * height_of(map);
    if (place < 0 || place > 1) continue;
    if (std::any_of(taken.begin(), taken.end(), [y](double other) { return std::abs(other - y) < kLabelHeight; }))
      continue;
    taken.push_back(y);
    html += fmt::format("<span style=\"top:{:.2f}%\">&#9664; rank {}</span>", 100 * place, straggler.rank);
  }
  return html + "</div>";
}

std::string legend(double least, double most, bool has_gaps) {
  std::string html = fmt::format("<div class=\"legend\"><span>own work over the peers' median: {}",
                                 least > 0 ? percent(least) + " and less" : "0 %");
  html += fmt::format("<span class=\"ramp\"></span>{} and more</span>", percent(most, 0));
  if (has_gaps) html += "<span><span class=\"none\"></span>no record, or warm-up</span>";
  return html + "<output id=\"heat-readout\" class=\"needs-js\">point at a cell for its rank and steps</output></div>";
}

struct Hosts {
  std::vector<std::string> names;  // each once, quoted
  std::vector<std::string> runs;   // "[ranks, index]" in the order of the ranks
};

Hosts hosts_of(const Report& report) {
  Hosts hosts;
  std::map<std::string, std::size_t> places;
  std::vector<std::size_t> of_rank(static_cast<std::size_t>(std::max(0, report.ranks)), 0);
  hosts.names.push_back("\"\"");
  for (const RankRow& row : report.rank_rows) {
    if (row.rank < 0 || row.rank >= report.ranks) continue;
    const std::string name = json_quoted(shown_host(row.host));
    const auto [place, is_new] = places.try_emplace(name, hosts.names.size());
    if (is_new) hosts.names.push_back(name);
    of_rank[static_cast<std::size_t>(row.rank)] = place->second;
  }
  for (std::size_t i = 0, end = 0; i < of_rank.size(); i = end) {
    while (end < of_rank.size() && of_rank[end] == of_rank[i]) ++end;
    hosts.runs.push_back(fmt::format("[{},{}]", end - i, of_rank[i]));
  }
  return hosts;
}

std::string data(const Report& report, double least, double most) {
  const HeatMap& map = report.heat_map;
  std::vector<std::uint8_t> codes(map.cells.size());
  std::transform(map.cells.begin(), map.cells.end(), codes.begin(), excess_code);
  const Hosts hosts = hosts_of(report);
  JsonObject json;
  json.add("rows", map.rows).add("columns", map.columns).add("ranks", report.ranks);
  json.add("first_step", map.first_step).add("last_step", map.last_step);
  json.add("steps_per_column", map.steps_per_column).add("ranks_per_row", map.ranks_per_row);
  json.add("unit", kUnit).add("octave", kOctave).add("least", least).add("most", most);
  json.add_raw("hosts", json_array(hosts.names));
  json.add_raw("runs", json_array(hosts.runs)).add("codes", base64(codes));
  return "<script type=\"application/json\" id=\"heat-data\">" + for_script(json.text()) + "</script>\n";
}

}  // namespace

std::uint8_t excess_code(float excess) {
  if (!std::isfinite(excess)) return std::isnan(excess) ? 0 : excess > 0 ? 255 : 1;
  if (!(excess > 0)) return 1;
  const double code = 1 + kOctave * std::log2(1 + static_cast<double>(excess) / kUnit);
  return static_cast<std::uint8_t>(std::clamp(std::lround(code), 1L, 255L));
}

double excess_of(std::uint8_t code) { return kUnit * (std::exp2((code - 1) / kOctave) - 1); }

double least_excess(const HeatMap& map) {
  return std::clamp(std::floor(cell_quantile(map, 0.5) * 1000 + 1e-3) / 1000, 0.0, 0.05);
}

double most_excess(const Report& report) {
  double most = cell_quantile(report.heat_map, 0.995);
  for (const Straggler& straggler : report.stragglers)
    most = std::max(most, typical_excess(report.heat_map, straggler));
  for (const double round : {0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0}) {
    if (most <= round) return round;
  }
  return 100.0;
}

std::string heat_map_figure(const Report& report) {
  const HeatMap& map = report.heat_map;
  if (!has_cells(map)) return "";
  const double least = least_excess(map), most = most_excess(report);
  const bool has_gaps = std::any_of(map.cells.begin(), map.cells.end(), [](float e) { return std::isnan(e); });
  std::string html = "<div class=\"heat\">" + row_labels(map, report.ranks);
  html += fmt::format(
      "<canvas id=\"heat\" role=\"img\" style=\"height:{}px\" aria-label=\"Excess of each rank's own work "
      "over its peers', {} ranks by {} steps\"></canvas>",
      height_of(map), report.ranks, map.last_step - map.first_step + 1);
  html += named_labels(report) + column_labels(report) + "</div>" + legend(least, most, has_gaps);
  html +=
      "<noscript><p class=\"note\">The heat map needs JavaScript; the tables say who is slow without "
      "it.</p></noscript>";
  return html + data(report, least, most);
}

}  // namespace convoy::analysis
