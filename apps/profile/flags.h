// SPDX-License-Identifier: Apache-2.0
// Flags that several commands of convoy-profile have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/analysis/trace_set.h"
#include "libcore/app/options.h"

namespace convoy::apps::profile {

// The operand RUN.
app::Option run_operand(std::string& run);

// "10-20", "10-" or "7". Returns the problem as a clause, or an empty string.
std::string parse_step_range(std::string_view text, analysis::StepRange& range);
app::Option step_range(std::string name, analysis::StepRange& range, std::string help);

// "0-7,12". Returns the problem as a clause, or an empty string; `ranks` are sorted, each once.
std::string parse_rank_list(std::string_view text, std::vector<int>& ranks);
app::Option rank_list(std::string name, std::vector<int>& ranks, std::string help);

// "2%" or "0.02".
app::Option share(std::string name, double& target, app::Range<double> range, std::string help);

}  // namespace convoy::apps::profile
