// SPDX-License-Identifier: Apache-2.0
// Whether boxes tile a tensor: every element in exactly one of them. Exact, and fast for thousands of boxes. Pure;
// private to the module.
#pragma once

#include <span>
#include <string>

#include "libcore/tensor/box.h"

namespace convoy::checkpoint {

// What is wrong ("no fragment holds [0:2, 4:8]", "fragments overlap in [..]"); empty if nothing is. The boxes lie
// inside of the shape and are not empty.
std::string tiling_problem(const tensor::Shape& shape, std::span<const tensor::Box> boxes);

}  // namespace convoy::checkpoint
