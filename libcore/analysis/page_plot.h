// SPDX-License-Identifier: Apache-2.0
// Points or bars over a logarithmic axis as inline SVG, in the page's colours.
#pragma once

#include <string>
#include <vector>

namespace convoy::analysis {

struct PlotPoint {
  double x = 1.0, y = 0.0;  // x above 0
};

struct LogPlot {
  std::string title, x_label, y_label;  // plain text
  std::vector<PlotPoint> points;        // x rising
  bool bars = false;                    // each from its x to twice that, from 0, with a linear y; else a line with a logarithmic y (above 0)
};

// A <figure>; empty without points.
std::string plot_figure(const LogPlot& plot);

// Powers of ten from the last at or below `least` to the first at or above `most`; 0 < least <= most.
std::vector<double> decades(double least, double most);
std::string decade_label(double power);  // "1", "100", "10 K", "1e-2"

}  // namespace convoy::analysis
