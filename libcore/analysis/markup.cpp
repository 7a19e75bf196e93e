// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/markup.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "libcore/analysis/display.h"

namespace convoy::analysis {
namespace {

constexpr int kHostColumns = 64;

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string shown_host(std::string_view host) { return shortened(printable(host), kHostColumns); }

std::string section(std::string_view title, std::string_view note, std::string_view content) {
  return fmt::format("<section><h2>{}</h2>\n<p class=\"note\">{}</p>\n{}</section>\n", title, note, content);
}

std::string for_script(std::string_view json) {
  std::string out;
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[group >> (18 - 6 * k) & 63u] : '=';
  }
  return out;
}

std::string sort_value(double value) {
  return std::isfinite(value) ? fmt::format(" data-value=\"{:.6g}\"", value) : " data-value=\"\"";
}

}  // namespace convoy::analysis
