// SPDX-License-Identifier: Apache-2.0
// The command report of convoy-profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libcore/analysis/condition.h"
#include "libcore/analysis/trace_set.h"
#include "libcore/app/run.h"

namespace convoy::apps::profile {

struct ReportArguments {
  std::string run;
  analysis::StepRange range;
  std::string html;                  // file to write; empty: none
  std::vector<std::string> fail_on;  // as given
  std::vector<analysis::Condition> conditions;
  std::optional<double> peak_tflops;
};

app::Command report_command(ReportArguments& arguments);

}  // namespace convoy::apps::profile
