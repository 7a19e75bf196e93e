// SPDX-License-Identifier: Apache-2.0
// The page's sections that are tables.
#pragma once

#include <string>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

// Each a <section>, which says so where nothing was measured.
std::string straggler_section(const Report& report);
std::string phase_section(const Report& report);          // where a step goes
std::string communication_section(const Report& report);  // exposed, and the pipeline's bubble

// The ranks, or those with the most excess where they are too many; empty without any.
std::string rank_section(const Report& report);

}  // namespace convoy::analysis
