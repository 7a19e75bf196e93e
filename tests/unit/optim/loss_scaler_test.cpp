// SPDX-License-Identifier: Apache-2.0
#include "libcore/optim/loss_scaler.h"

#include <gtest/gtest.h>

namespace convoy::optim {
namespace {

void finite_steps(LossScaler& scaler, int count) {
  for (int i = 0; i < count; ++i) scaler.finite_step();
}

TEST(LossScaler, BeginsAtTwoToTheSixteenth) { EXPECT_EQ(LossScaler().scale(), 65536.0); }

TEST(LossScaler, DoublesAfterAThousandFiniteStepsInARow) {
  LossScaler scaler;
  finite_steps(scaler, 999);
  EXPECT_EQ(scaler.scale(), 65536.0);
  scaler.finite_step();
  EXPECT_EQ(scaler.scale(), 131072.0);
  finite_steps(scaler, 999);
  EXPECT_EQ(scaler.scale(), 131072.0);
  scaler.finite_step();
  EXPECT_EQ(scaler.scale(), 262144.0);
}

TEST(LossScaler, AnOverflowBeginsTheRowAnew) {
  LossScaler scaler;
  finite_steps(scaler, 999);
  scaler.overflow();
  finite_steps(scaler, 999);
  EXPECT_EQ(scaler.scale(), 65536.0);
  scaler.finite_step();
  EXPECT_EQ(scaler.scale(), 131072.0);
}

// The first overflow is forgiven, whether or not finite steps follow it; from the second on each halves.
TEST(LossScaler, HalvesFromTheSecondOverflowOn) {
  LossScaler scaler;
  scaler.overflow();
  EXPECT_EQ(scaler.scale(), 65536.0);
  finite_steps(scaler, 500);
  scaler.overflow();
  EXPECT_EQ(scaler.scale(), 32768.0);
  scaler.overflow();
  EXPECT_EQ(scaler.scale(), 16384.0);
}

TEST(LossScaler, GrowingForgivesAnOverflowAgain) {
  LossScaler scaler;
  scaler.overflow();
  finite_steps(scaler, 1000);
  EXPECT_EQ(scaler.scale(), 131072.0);
  scaler.overflow();
  EXPECT_EQ(scaler.scale(), 131072.0);
  scaler.overflow();
  EXPECT_EQ(scaler.scale(), 65536.0);
}

TEST(LossScaler, NeverFallsBelowOne) {
  LossScaler scaler;
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(scaler.can_fall()) << i;
    scaler.overflow();
  }
  EXPECT_EQ(scaler.scale(), 2.0);
  scaler.overflow();
  EXPECT_EQ(scaler.scale(), 1.0);
  EXPECT_FALSE(scaler.can_fall());
  scaler.overflow();
  EXPECT_EQ(scaler.scale(), 1.0);
}

TEST(LossScaler, GoesOnFromItsState) {
  LossScaler whole;
  whole.overflow();
  finite_steps(whole, 600);
  LossScaler resumed(whole.state());
  for (LossScaler* scaler : {&whole, &resumed}) {
    finite_steps(*scaler, 400);
    scaler->overflow();
  }
  EXPECT_EQ(resumed.state(), whole.state());
  EXPECT_EQ(resumed.scale(), 131072.0);
}

TEST(LossScaler, AFixedScaleStaysAndCannotFall) {
  LossScaler scaler(1024.0);
  finite_steps(scaler, 2000);
  scaler.overflow();
  scaler.overflow();
  EXPECT_EQ(scaler.scale(), 1024.0);
  EXPECT_FALSE(scaler.can_fall());
}

}  // namespace
}  // namespace convoy::optim
