// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/rotary_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace convoy::model {
namespace {

constexpr double kRounding = 1e-12;

Config heads_of(std::int64_t head_size, double theta) {
  Config config;
  config.head_size = head_size;
  config.rope_theta = theta;
  return config;
}

TEST(RotaryTable, FrequenciesFallGeometrically) {
  const std::vector<double> frequencies = rotary_frequencies(heads_of(4, 10000.0));
  ASSERT_EQ(frequencies.size(), 2u);
  EXPECT_NEAR(frequencies[0], 1.0, kRounding);
  EXPECT_NEAR(frequencies[1], 0.01, kRounding);
}

// Three pairs, one in each band: wavelengths 2 pi, 20 pi and 200 pi against borders 100/4 and 100/1.
TEST(RotaryTable, ScalingKeepsHighFrequenciesDividesLowOnesAndBlendsBetween) {
  Config config = heads_of(6, 1000.0);
  config.rope_scaling =
      RopeScaling{.factor = 8.0, .low_frequency_factor = 1.0, .high_frequency_factor = 4.0, .original_positions = 100};
  const std::vector<double> frequencies = rotary_frequencies(config);
  ASSERT_EQ(frequencies.size(), 3u);
  EXPECT_NEAR(frequencies[0], 1.0, kRounding);
  const double smooth = (100.0 / (20.0 * std::numbers::pi) - 1.0) / 3.0;
  EXPECT_NEAR(frequencies[1], (1.0 - smooth) * 0.1 / 8.0 + smooth * 0.1, kRounding);
  EXPECT_NEAR(frequencies[2], 0.01 / 8.0, kRounding);
}

TEST(RotaryTable, HoldsCosineAndSineOfPositionTimesFrequency) {
  const RotaryTable table = make_rotary_table(heads_of(4, 10000.0), 3);
  EXPECT_EQ(table.cosine.shape(), (tensor::Shape{3, 2}));
  EXPECT_EQ(table.cosine.as<float>()[0], 1.0f);
  EXPECT_EQ(table.cosine.as<float>()[4], static_cast<float>(std::cos(2.0)));
  EXPECT_EQ(table.sine.as<float>()[4], static_cast<float>(std::sin(2.0)));
  EXPECT_EQ(table.sine.as<float>()[5], static_cast<float>(std::sin(0.02)));
}

}  // namespace
}  // namespace convoy::model
