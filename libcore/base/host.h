// SPDX-License-Identifier: Apache-2.0
// The name of the machine.
#pragma once

#include <string>

namespace convoy {

std::string host_name();  // "localhost" where it has none

}  // namespace convoy
