// SPDX-License-Identifier: Apache-2.0
// Where the ticks of an axis stand and what they say.
#pragma once

#include <string>
#include <vector>

namespace convoy::analysis {

struct Axis {
  double first = 0.0, last = 1.0;  // of the values shown; first < last
  std::vector<double> ticks;       // within, rising
};

// 1, 2 or 5 times a power of ten apart, about `count` of them. With `whole_ticks`, the axis reaches from tick to tick.
Axis axis_of(double first, double last, int count, bool whole_ticks);
// Of steps: ticks are whole numbers.
Axis step_axis(double first, double last, int count);

// "2.5", "12 K", "3e-4": as many digits as tell the ticks apart.
std::string tick_label(double value, const Axis& axis);
std::string step_label(double step);  // "10000"

}  // namespace convoy::analysis
