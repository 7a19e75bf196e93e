// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/rotary_table.h"

#include <cmath>
#include <numbers>

namespace convoy::model {
namespace {

double scaled(double frequency, const RopeScaling& scaling) {
  const auto original = static_cast<double>(scaling.original_positions);
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  if (wavelength > original / scaling.low_frequency_factor) return frequency / scaling.factor;
  if (wavelength < original / scaling.high_frequency_factor) return frequency;
  const double smooth = (original / wavelength - scaling.low_frequency_factor) /
                        (scaling.high_frequency_factor - scaling.low_frequency_factor);
  return (1.0 - smooth) * frequency / scaling.factor + smooth * frequency;
}

}  // namespace

std::vector<double> rotary_frequencies(const Config& config) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < config.head_size / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(config.head_size);
    const double frequency = std::pow(config.rope_theta, exponent);
    frequencies.push_back(config.rope_scaling ? scaled(frequency, *config.rope_scaling) : frequency);
  }
  return frequencies;
}

RotaryTable make_rotary_table(const Config& config, std::int64_t positions) {
  const std::vector<double> frequencies = rotary_frequencies(config);
  const tensor::Shape shape{positions, config.head_size / 2};
  RotaryTable table{tensor::Tensor(shape, tensor::DType::kF32), tensor::Tensor(shape, tensor::DType::kF32)};
  auto *cosine = table.cosine.as<float>(), *sine = table.sine.as<float>();
  for (std::int64_t position = 0; position < positions; ++position) {
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      *cosine++ = static_cast<float>(std::cos(angle));
      *sine++ = static_cast<float>(std::sin(angle));
    }
  }
  return table;
}

}  // namespace convoy::model
