// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/version.h"

namespace convoy {

std::string_view version() { return CONVOY_VERSION; }

}  // namespace convoy
