// SPDX-License-Identifier: Apache-2.0
// Fills a report's map of ranks and steps, a cell the largest of what falls into it, so that one slow rank in a
// thousand stays visible. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

inline constexpr std::int64_t kMapColumns = 2048;
inline constexpr int kMapRows = 512;

// An empty map (all NaN) over these ranks and steps; none of either: no cells.
HeatMap make_heat_map(int ranks, std::int64_t first_step, std::int64_t last_step);

// Outside the map nothing happens; a NaN leaves the cell as it is.
void add_to(HeatMap& map, int rank, std::int64_t step, double excess);

}  // namespace convoy::analysis
