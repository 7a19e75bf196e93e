// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/page_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "libcore/analysis/axis.h"
#include "libcore/analysis/markup.h"

namespace convoy::analysis {
namespace {

// In units of the drawing, which is as wide as a third of the page.
constexpr double kWidth = 360, kHeight = 196;
constexpr double kLeft = 44, kRight = 350, kTop = 10, kBottom = 158;

struct Frame {
  Axis steps, values;

  double x(double step) const { return kLeft + (step - steps.first) / (steps.last - steps.first) * (kRight - kLeft); }
  double y(double value) const {
    return kBottom - (value - values.first) / (values.last - values.first) * (kBottom - kTop);
  }
};

std::vector<std::size_t> finite_points(const Curve& curve) {
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < std::min(curve.steps.size(), curve.values.size()); ++i) {
    if (std::isfinite(curve.values[i])) points.push_back(i);
  }
  return points;
}

Frame frame_of(const Chart& chart, const std::vector<std::size_t>& points) {
  const Curve& curve = *chart.curve;
  double least = curve.values[points[0]], most = least;
  auto first = static_cast<double>(std::min(chart.first_step, curve.steps[points.front()]));
  auto last = static_cast<double>(std::max(chart.last_step, curve.steps[points.back()]));
  for (const std::size_t i : points) {
    least = std::min(least, curve.values[i]);
    most = std::max(most, curve.values[i]);
  }
  if (chart.from_zero) least = std::min(0.0, least);
  return {step_axis(first, last, 5), axis_of(least, most, 4, true)};
}

std::string grid(const Frame& frame) {
  std::string svg;
  for (const double tick : frame.values.ticks) {
    const double y = frame.y(tick);
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft, kRight, y, y);
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 6, y + 3.5,
                       tick_label(tick, frame.values));
  }
  for (const double tick : frame.steps.ticks) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", frame.x(tick), kBottom + 15,
                       step_label(tick));
  }
  svg += fmt::format("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", kLeft, kRight, kBottom, kBottom);
  return svg +
         fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">step</text>", (kLeft + kRight) / 2, kBottom + 31);
}

std::string shaded(const Frame& frame, const std::vector<StepRange>& bands) {
  std::string svg;
  for (const StepRange& band : bands) {
    const double from = std::clamp(frame.x(static_cast<double>(band.first)), kLeft, kRight);
    const double to = std::clamp(frame.x(static_cast<double>(band.last)), kLeft, kRight);
    svg += fmt::format("<rect class=\"band\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>", from, kTop,
                       std::max(1.0, to - from), kBottom - kTop);
  }
  return svg;
}

std::string line(const Frame& frame, const Curve& curve, const std::vector<std::size_t>& points) {
  if (points.size() == 1) {
    return fmt::format("<circle class=\"dot\" r=\"3\" cx=\"{:.1f}\" cy=\"{:.1f}\"/>",
                       frame.x(static_cast<double>(curve.steps[points[0]])), frame.y(curve.values[points[0]]));
  }
  std::string places;
  for (const std::size_t i : points) {
    places += fmt::format("{}{:.1f},{:.1f}", places.empty() ? "" : " ", frame.x(static_cast<double>(curve.steps[i])),
                          frame.y(curve.values[i]));
  }
  return "<polyline class=\"line\" points=\"" + places + "\"/>";
}

std::string data_attributes(const Frame& frame, const Curve& curve, const std::vector<std::size_t>& points) {
  std::string steps, values;
  for (const std::size_t i : points) {
    steps += fmt::format("{}{}", steps.empty() ? "" : ",", curve.steps[i]);
    values += fmt::format("{}{:.5g}", values.empty() ? "" : ",", curve.values[i]);
  }
  return fmt::format(" data-steps=\"{}\" data-values=\"{}\" data-x=\"{},{},{},{}\"", steps, values, kLeft, kRight,
                     frame.steps.first, frame.steps.last);
}

}  // namespace

std::string chart_figure(const Chart& chart) {
  const std::vector<std::size_t> points = finite_points(*chart.curve);
  if (points.empty()) return "";
  const Frame frame = frame_of(chart, points);
  const std::string title = escaped(chart.title);
  std::string html =
      fmt::format("<figure class=\"chart\"><figcaption><span>{}</span><output></output></figcaption>", title);
  html += fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} over steps {} to {}\"{}>", kWidth,
                      kHeight, title, chart.curve->steps[points.front()], chart.curve->steps[points.back()],
                      data_attributes(frame, *chart.curve, points));
  html += shaded(frame, chart.bands) + grid(frame) + line(frame, *chart.curve, points);
  html +=
      fmt::format("<line class=\"cross\" visibility=\"hidden\" x1=\"0\" x2=\"0\" y1=\"{}\" y2=\"{}\"/>", kTop, kBottom);
  return html + "</svg></figure>\n";
}

}  // namespace convoy::analysis
