// SPDX-License-Identifier: Apache-2.0
// What every page of ours has around its content: style, heading, the button of the dark mode, script. A page is one file that
// needs nothing from outside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convoy::analysis {

struct PageFrame {  // plain text, escaped here
  std::string title;  // of the window
  std::string heading;
  std::vector<std::string> below;  // lines under the heading
  std::string footer;
};

// The whole document; `content` is HTML.
std::string framed_page(const PageFrame& frame, std::string_view content);

// A number with its name above and more about it below, for a <dl class="tiles">. `name` is HTML.
std::string tile(std::string_view name, std::string_view value, std::string_view more);

}  // namespace convoy::analysis
