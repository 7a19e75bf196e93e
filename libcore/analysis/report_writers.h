// SPDX-License-Identifier: Apache-2.0
// A report as text for a terminal, as JSON for scripts, as one page for a browser.
#pragma once

#include <string>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

// One screen, `columns` wide at most (80 at least). With `colour`, escape sequences of a terminal in it.
std::string report_text(const Report& report, int columns, bool colour = false);

// The object of INTERFACE, "version": 1. What was not measured is null; never NaN.
std::string report_json(const Report& report);

// Self-contained, light and dark, below 2 MB.
std::string report_html(const Report& report);

}  // namespace convoy::analysis
