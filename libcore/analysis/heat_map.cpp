// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/heat_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::analysis {

HeatMap make_heat_map(int ranks, std::int64_t first_step, std::int64_t last_step) {
  HeatMap map;
  map.first_step = first_step;
  map.last_step = last_step;
  const std::int64_t steps = last_step - first_step + 1;
  if (ranks < 1 || steps < 1) return map;
  map.steps_per_column = (steps + kMapColumns - 1) / kMapColumns;
  map.ranks_per_row = (ranks + kMapRows - 1) / kMapRows;
  map.columns = static_cast<int>((steps + map.steps_per_column - 1) / map.steps_per_column);
  map.rows = (ranks + map.ranks_per_row - 1) / map.ranks_per_row;
  map.cells.assign(static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.columns),
                   std::numeric_limits<float>::quiet_NaN());
  return map;
}

void add_to(HeatMap& map, int rank, std::int64_t step, double excess) {
  if (std::isnan(excess) || rank < 0 || step < map.first_step) return;
  const std::int64_t column = (step - map.first_step) / map.steps_per_column;
  const int row = rank / map.ranks_per_row;
  if (row >= map.rows || column >= map.columns) return;
  float& cell = map.cells[static_cast<std::size_t>(row) * static_cast<std::size_t>(map.columns) +
                          static_cast<std::size_t>(column)];
  const auto value = static_cast<float>(excess);
  cell = std::isnan(cell) ? value : std::max(cell, value);
}

}  // namespace convoy::analysis
