// SPDX-License-Identifier: Apache-2.0
// The libraries under this module, for --version.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace convoy::ops {

std::vector<std::pair<std::string, std::string>> libraries();  // name and version

}  // namespace convoy::ops
