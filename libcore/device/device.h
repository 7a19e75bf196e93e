// SPDX-License-Identifier: Apache-2.0
// Which kind of memory and processor something lives on.
#pragma once

namespace convoy::device {

enum class Kind { kCpu, kCuda };

struct Device {
  Kind kind = Kind::kCpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace convoy::device
