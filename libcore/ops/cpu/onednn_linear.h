// SPDX-License-Identifier: Apache-2.0
// The linear layers on oneDNN's products: for bf16 on processors that multiply it themselves.
#pragma once

#include "libcore/ops/linear.h"

namespace convoy::ops::cpu {

// Works with fp32 too, which is how it is tested where bf16 has no instructions.
LinearTable onednn_linear_table();

}  // namespace convoy::ops::cpu
