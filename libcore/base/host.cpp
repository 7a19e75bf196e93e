// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/host.h"

#include <unistd.h>

#include <array>

namespace convoy {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? std::string(name.data()) : "localhost";
}

}  // namespace convoy
