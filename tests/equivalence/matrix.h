// SPDX-License-Identifier: Apache-2.0
// Rows of the parity matrix, each trained in its layout by thread ranks and held against one rank that computes in
// fp32.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "libcore/train/check_layout.h"
#include "tests/equivalence/factors.h"

namespace convoy::equivalence {

constexpr int kSteps = 20;
// Runs in fp32: in the first steps differences are rounding; later ones carry it on through the weights.
constexpr int kEarlySteps = 3;
constexpr train::Tolerances kEarly{.micro_batch_loss = 2e-6,
                                   .loss = 2e-6,
                                   .gradient = 1e-4,
                                   .norm = 1e-5,
                                   .weight = 1e-5,
                                   .relative_to_weights = true};
constexpr train::Tolerances kLate{.micro_batch_loss = 1e-4,
                                  .loss = 1e-4,
                                  .gradient = 1e-3,
                                  .norm = 1e-4,
                                  .weight = 1e-5,
                                  .relative_to_weights = true};
// Runs in bf16 and fp16. Loss and norm: the widest of the bands that the parity cases have around double precision,
// from PyTorch's own bf16 runs of eight steps; so these rows take no more. Gradients and weights: some times what 8
// bits of mantissa were seen to do, and so the loss of a micro-batch, which may be of two targets.
constexpr int kHalfSteps = 8;
constexpr train::Tolerances kHalf{.micro_batch_loss = 2e-2,
                                  .loss = 4e-3,
                                  .gradient = 0.1,
                                  .norm = 5.4e-2,
                                  .weight = 5e-2,
                                  .relative_to_weights = true};

struct Outcome {
  Row row;
  train::LayoutReport report;
  double seconds = 0.0;
};

// What a row is trained with: `steps` updates (at most kHalfSteps unless in fp32) with a warm-up and a cosine decay.
train::CheckSettings settings_of(const Row& row, int steps);

// Trains rows one after another. What one rank did is kept for the rows that it serves: those of one model, global
// batch and kind of data.
class Matrix {
 public:
  explicit Matrix(int steps) : steps_(steps) {}
  Outcome run(const Row& row, const train::CheckSettings& settings);
  // `change`: of the row's settings, on the layout's ranks alone.
  Outcome run(const Row& row, const std::function<void(train::CheckSettings&)>& change);
  std::size_t references() const { return references_.size(); }

 private:
  int steps_ = 0;
  std::map<std::string, train::Reference> references_;
};

std::string table_head();
std::string text_of(const Outcome& outcome);  // a line of the table; a second one names what differs first

}  // namespace convoy::equivalence
