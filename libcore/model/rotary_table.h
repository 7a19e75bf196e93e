// SPDX-License-Identifier: Apache-2.0
// Cosines and sines of the rotary embedding (Su et al., 2021) for every position, with Llama 3's scaling of the
// frequencies.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/model/config.h"
#include "libcore/tensor/tensor.h"

namespace convoy::model {

struct RotaryTable {
  tensor::Tensor cosine;  // [positions, D/2] fp32
  tensor::Tensor sine;    // [positions, D/2] fp32
};

// Radians a position of each pair (i, i + D/2): theta^(-2i/D), and with `rope_scaling` (Dubey et al., 2024):
// wavelengths above original_positions / low_frequency_factor are stretched by `factor`, those below original_positions
// / high_frequency_factor are kept, and between them the frequency is interpolated.
std::vector<double> rotary_frequencies(const Config& config);
// Computed in double and rounded once.
RotaryTable make_rotary_table(const Config& config, std::int64_t positions);

}  // namespace convoy::model
