// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/page_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "libcore/analysis/axis.h"
#include "libcore/analysis/markup.h"

namespace convoy::analysis {
namespace {

// In units of the drawing, which is as wide as half of the page.
constexpr double kWidth = 520, kHeight = 280;
constexpr double kLeft = 56, kRight = 508, kTop = 12, kBottom = 236;

struct Frame {
  std::vector<double> x_decades;
  Axis values;  // of log10(y) where y is logarithmic
  bool log_y = false;

  double x(double value) const {
    const double first = std::log10(x_decades.front()), last = std::log10(x_decades.back());
    return kLeft + (std::log10(value) - first) / (last - first) * (kRight - kLeft);
  }
  double y(double value) const {
    const double at = log_y ? std::log10(value) : value;
    return kBottom - (at - values.first) / (values.last - values.first) * (kBottom - kTop);
  }
};

Frame frame_of(const LogPlot& plot) {
  const double widest = plot.bars ? 2.0 : 1.0;
  const auto [least, most] =
      std::minmax_element(plot.points.begin(), plot.points.end(), [](const PlotPoint& a, const PlotPoint& b) { return a.y < b.y; });
  Frame frame{decades(plot.points.front().x, plot.points.back().x * widest), {}, !plot.bars};
  if (plot.bars) {
    frame.values = axis_of(0.0, most->y, 4, true);
  } else {
    for (const double power : decades(least->y, most->y)) frame.values.ticks.push_back(std::log10(power));
    frame.values.first = frame.values.ticks.front();
    frame.values.last = frame.values.ticks.back();
  }
  return frame;
}

std::string grid(const Frame& frame) {
  std::string svg;
  for (const double tick : frame.values.ticks) {
    const double value = frame.log_y ? std::pow(10.0, tick) : tick, y = frame.y(value);
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft, kRight, y, y);
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 6, y + 3.5,
                       frame.log_y ? decade_label(value) : tick_label(tick, frame.values));
  }
  for (const double tick : frame.x_decades) {
    const double x = frame.x(tick);
    svg += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", x, x, kTop, kBottom);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x, kBottom + 15, decade_label(tick));
  }
  return svg + fmt::format("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", kLeft, kRight, kBottom, kBottom);
}

std::string bars(const Frame& frame, const std::vector<PlotPoint>& points) {
  std::string svg;
  for (const PlotPoint& point : points) {
    const double left = frame.x(point.x), right = frame.x(2 * point.x), top = frame.y(point.y);
    svg += fmt::format("<rect class=\"dot\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{:.0f}-{:.0f}: {:.0f}</title></rect>",
                       left + 0.5, top, std::max(0.5, right - left - 1), kBottom - top, point.x, 2 * point.x - 1, point.y);
  }
  return svg;
}

std::string line(const Frame& frame, const std::vector<PlotPoint>& points) {
  if (points.size() == 1) {
    return fmt::format("<circle class=\"dot\" r=\"3\" cx=\"{:.1f}\" cy=\"{:.1f}\"/>", frame.x(points[0].x), frame.y(points[0].y));
  }
  std::string places;
  for (const PlotPoint& point : points) places += fmt::format("{}{:.1f},{:.1f}", places.empty() ? "" : " ", frame.x(point.x), frame.y(point.y));
  return "<polyline class=\"line\" points=\"" + places + "\"/>";
}

}  // namespace

std::vector<double> decades(double least, double most) {
  constexpr double kRounding = 1e-9;
  const int first = static_cast<int>(std::floor(std::log10(least) + kRounding));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(most) - kRounding)));
  std::vector<double> powers;
  for (int i = first; i <= last; ++i) powers.push_back(std::pow(10.0, i));
  return powers;
}

std::string decade_label(double power) {
  const int exponent = static_cast<int>(std::lround(std::log10(power)));
  constexpr std::array kScales = {"", " K", " M", " G", " T"};
  if (exponent < 0 || exponent >= 3 * static_cast<int>(kScales.size())) return fmt::format("1e{}", exponent);
  return fmt::format("{}{}", std::lround(std::pow(10.0, exponent % 3)), kScales[static_cast<std::size_t>(exponent / 3)]);
}

std::string plot_figure(const LogPlot& plot) {
  if (plot.points.empty()) return "";
  const Frame frame = frame_of(plot);
  const std::string title = escaped(plot.title);
  std::string html = fmt::format("<figure><figcaption><span>{}</span></figcaption>", title);
  html += fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}: {} over {}\">", kWidth, kHeight, title, escaped(plot.y_label),
                      escaped(plot.x_label));
  html += grid(frame) + (plot.bars ? bars(frame, plot.points) : line(frame, plot.points));
  html += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", (kLeft + kRight) / 2, kBottom + 32, escaped(plot.x_label));
  return html + "</svg></figure>\n";
}

}  // namespace convoy::analysis
