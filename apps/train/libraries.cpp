// SPDX-License-Identifier: Apache-2.0
#include "apps/train/commands.h"

namespace convoy::apps::train {

std::vector<std::pair<std::string, std::string>> libraries() { return {}; }

}  // namespace convoy::apps::train
