// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/page_frame.h"

#include <fmt/format.h>

#include "libcore/analysis/markup.h"
#include "libcore/analysis/page/page_assets.h"

namespace convoy::analysis {
namespace {

std::string head(const PageFrame& frame) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += "<link rel=\"icon\" href=\"data:,\">\n";
  html += fmt::format("<title>{}</title>\n<style>\n{}</style>\n</head>\n", escaped(frame.title), kPageStyle);
  return html;
}

std::string heading(const PageFrame& frame) {
  std::string html = fmt::format("<header><div><h1>{}</h1>", escaped(frame.heading));
  for (const std::string& line : frame.below) html += fmt::format("<p class=\"meta\">{}</p>", escaped(line));
  return html + "</div><button id=\"theme\" class=\"needs-js\" type=\"button\">Dark</button></header>\n";
}

}  // namespace

std::string framed_page(const PageFrame& frame, std::string_view content) {
  return fmt::format("{}<body>\n<main>\n{}{}<footer>{}</footer>\n</main>\n<script>\n{}</script>\n</body>\n</html>\n", head(frame), heading(frame),
                     content, escaped(frame.footer), kPageScript);
}

std::string tile(std::string_view name, std::string_view value, std::string_view more) {
  return fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>", name, escaped(value), escaped(more));
}

}  // namespace convoy::analysis
