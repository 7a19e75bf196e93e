// SPDX-License-Identifier: Apache-2.0
// The rank x step heat map of the page: a canvas that the page's script draws from one byte a cell.
#pragma once

#include <cstdint>
#include <string>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

// 0 where there is no record, 1 for nothing above the peers, else 24 steps a doubling of 1 + excess / 5 %: 3 % of the
// excess apart, up to 79-fold.
std::uint8_t excess_code(float excess);
double excess_of(std::uint8_t code);  // of a code above 0

// Where the colours begin: the median of the cells, which is above 0 where a cell is the largest of several.
double least_excess(const HeatMap& map);

// Where the colours end, a round number: what named ranks and all but the last half percent of cells stay below.
double most_excess(const Report& report);

// Axes, canvas, legend and data; empty if the report has no cells.
std::string heat_map_figure(const Report& report);

}  // namespace convoy::analysis
