// SPDX-License-Identifier: Apache-2.0
// What a job script asks of a report with --fail-on: "straggler>5%", "step_seconds.p95>250ms", "incomplete".
#pragma once

#include <string>
#include <string_view>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

struct Condition {
  std::string text;  // as given
  std::string quantity;
  bool above = true;  // holds above the limit; else below
  double limit = 0.0;
};

// QUANTITY>LIMIT or QUANTITY<LIMIT; "incomplete" and "straggler" may stand alone. Returns the problem as a clause, or
// an empty string.
std::string parse_condition(std::string_view text, Condition& condition);

enum class Answer { kHolds, kHoldsNot, kNotMeasured };
struct Outcome {
  Answer answer = Answer::kNotMeasured;
  std::string found;  // "rank 3 on n01: 12.5 %", one clause
};
Outcome judge(const Condition& condition, const Report& report);

// For --help: every quantity with what it is.
std::string condition_help();

}  // namespace convoy::analysis
