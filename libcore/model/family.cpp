// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/family.h"

#include <algorithm>
#include <array>

#include "libcore/base/error.h"

namespace convoy::model {

std::span<const Family> families() {
  static const std::array kFamilies = {kGpt2Family, kLlamaFamily, kQwen2Family};
  return kFamilies;
}

const Family& family_of(Architecture architecture) {
  const std::span<const Family> all = families();
  const auto it = std::find_if(all.begin(), all.end(), [&](const Family& f) { return f.architecture == architecture; });
  check(it != all.end(), "every architecture has its row among the families");
  return *it;
}

std::string_view architecture_name(const Config& config) { return family_of(config.architecture).class_name; }

}  // namespace convoy::model
