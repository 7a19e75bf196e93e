// SPDX-License-Identifier: Apache-2.0
// Text and data as they may stand in a page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace convoy::analysis {

// Text for HTML's content and its quoted attributes. Control characters are shown as printable() shows them.
std::string escaped(std::string_view text);
// A host name for the page, printable, and shortened where it is longer than any that people type.
std::string shown_host(std::string_view host);

// A part of the page with its heading and a note below it; `content` is HTML.
std::string section(std::string_view title, std::string_view note, std::string_view content);

// JSON for the inside of a <script>: "<" is written as an escape.
std::string for_script(std::string_view json);

std::string base64(std::span<const std::uint8_t> bytes);

// The "data-value" that a table sorts by; nothing if the value is not finite.
std::string sort_value(double value);

}  // namespace convoy::analysis
