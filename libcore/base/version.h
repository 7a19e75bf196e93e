// SPDX-License-Identifier: Apache-2.0
// The version of this build, from the build system's project() line.
#pragma once

#include <string_view>

namespace convoy {

std::string_view version();  // "0.1.0"

}  // namespace convoy
