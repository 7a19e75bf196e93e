// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/libraries.h"

#include <dnnl.h>
#include <fmt/format.h>
#include <hwy/highway.h>

namespace convoy::ops {

std::vector<std::pair<std::string, std::string>> libraries() {
  const dnnl_version_t* dnnl = ::dnnl_version();
  return {{"oneDNN", fmt::format("{}.{}.{}", dnnl->major, dnnl->minor, dnnl->patch)},
          {"Highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH)}};
}

}  // namespace convoy::ops
