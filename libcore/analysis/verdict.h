// SPDX-License-Identifier: Apache-2.0
// The one sentence that says what a report found. Pure.
#pragma once

#include <string>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

std::string verdict_of(const Report& report);

}  // namespace convoy::analysis
