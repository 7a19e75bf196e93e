// SPDX-License-Identifier: Apache-2.0
// The style and the script of the report's page: page.css and page.js as they lie beside this file, built in.
#pragma once

#include <string_view>

namespace convoy::analysis {

extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace convoy::analysis
