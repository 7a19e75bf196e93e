// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/libraries.h"

#include "apps/train/commands.h"
#include "libcore/ops/libraries.h"

namespace convoy::apps::train {

std::vector<std::pair<std::string, std::string>> libraries() {
  std::vector<std::pair<std::string, std::string>> all = ops::libraries();
  for (auto& library : data::libraries()) all.push_back(std::move(library));
  return all;
}

}  // namespace convoy::apps::train
