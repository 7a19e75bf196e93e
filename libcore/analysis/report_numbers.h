// SPDX-License-Identifier: Apache-2.0
// How the numbers of a report are written, alike in the text and on the page: with units, shares that sum to 100.0 %,
// and "not measured" for what is absent or not finite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

inline constexpr const char* kNotMeasured = "not measured";

std::string percent(double share, int decimals = 1);          // 0.123 -> "12.3 %"
std::string percent(const std::optional<double>& share);      // or kNotMeasured
std::string signed_percent(double percent);                   // 50.1 -> "+50.1 %"
std::string signed_percent_of(std::optional<double> share);   // 0.501 -> "+50.1 %", or kNotMeasured
std::string tokens_rate(const std::optional<double>& value);  // "12.3 K tokens/s"

// One unit for all times of a table, so that they can be compared by eye.
struct TimeUnit {
  const char* name = "ms";
  double a_second = 1e3;
  int decimals = 1;
};
TimeUnit unit_for(double seconds);                          // the largest of the table, or what it is about
std::string in_unit(double seconds, const TimeUnit& unit);  // without the unit's name
std::string in_unit(const std::optional<double>& seconds, const TimeUnit& unit);
std::string with_unit(double seconds, const TimeUnit& unit);

// The phase table: what has time, in the order of a step, "other" and "no core (starved)" at its end.
struct PhaseRow {
  std::string name;
  std::string kind;  // "compute", "communication", "storage", "other", "starved": what goes together
  double seconds = 0.0;
  double share = 0.0;
  std::string shown_share;  // in percent; those of a table sum to 100.0 %
};
std::vector<PhaseRow> phase_rows(const Report& report);
double total_seconds(const std::vector<PhaseRow>& rows);

std::optional<double> exposed_share(const Report& report);  // of the training step, all groups; absent without any

std::string spelled(trace::Phase phase);                 // "tensor communication"
std::string layout_line(const Report& report);           // "4 ranks = 2 data x 1 pipeline x 2 tensor parallel"
std::string place_line(const Report& report);            // "2 hosts"; empty if unknown
std::string steps_line(const Report& report);            // "200, of them 5 of warm-up left out"
std::string mfu_line(const Report& report);              // with peak and convention
std::string bubble_line(const Report& report);           // measured, and of an ideal schedule
std::string coordinates(const trace::Coordinates& at);   // "(dp, pp, tp)" as numbers
std::string affected_steps(const Straggler& straggler);  // "190 in 11-200"
std::string compared_with(const Straggler& straggler);   // "its peers", "its own other steps"

}  // namespace convoy::analysis
