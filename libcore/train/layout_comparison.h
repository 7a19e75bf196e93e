// SPDX-License-Identifier: Apache-2.0
// What a rank of a layout did, held against what one rank did, value by value at every point of a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcore/model/parameters.h"
#include "libcore/parallel/groups.h"
#include "libcore/train/cut_down.h"
#include "libcore/train/layout_report.h"
#include "libcore/train/step.h"

namespace convoy::train {

// Differences beyond these are no rounding. fp32 has 6e-8 of relative rounding; sums over a few hundred elements in
// another order come to some 1e-6 of the largest value, and three updates carry that on.
struct Tolerances {
  double micro_batch_loss = 1e-5;    // of its loss
  double loss = 1e-5;                // of the step's
  double gradient = 1e-4;            // of the tensor's largest gradient, or of a thousandth of the largest of all
  double norm = 1e-5;                // of the norm
  double weight = 1e-3;              // of `weight_scale`
  double weight_scale = 1e-2;        // an update moves a weight by about the learning rate
  bool relative_to_weights = false;  // weights are held against the largest of their tensor, if that is more
};

// What a rank has at hand while it trains; each function below is called when the value is there.
struct StepValues {
  const parallel::Groups& groups;
  const model::Parameters& parameters;
  const std::vector<double>& losses;  // of the step's micro-batches, in the last stage
};

// What one rank did.
class Reference {
 public:
  struct Step {
    std::vector<double> losses;  // of the global batch's micro-batches
    std::vector<std::vector<float>> gradients, weights;
    double largest_gradient = 0.0;
    double loss = 0.0, norm = 0.0, rate = 0.0;
  };

  explicit Reference(std::int64_t micro_batch) : micro_batch_(micro_batch) {}
  void losses(int step, const StepValues& values);
  void gradients(int step, const StepValues& values);
  void totals(int step, const StepValues& values, const StepResult& result, double rate);
  void weights(int step, const StepValues& values);

  const Step& at(int step) const { return steps_[static_cast<std::size_t>(step)]; }
  // The loss of samples [first, first + count), which are whole micro-batches of the reference.
  double loss_of(int step, std::int64_t first, std::int64_t count) const;

 private:
  Step& step(int step);
  std::int64_t micro_batch_ = 0;  // samples of it
  std::vector<Step> steps_;       // the first one holds the initial weights
};

// Compares what one rank of the layout did. `reference` and `run` outlive it.
class RankComparison {
 public:
  // Steps after `early_steps` are held to `late`.
  RankComparison(const SmallRun& run, const Reference& reference, const Tolerances& early, const Tolerances& late,
                 int early_steps);
  void losses(int step, const StepValues& values);
  void gradients(int step, const StepValues& values);
  void totals(int step, const StepValues& values, const StepResult& result, double rate);
  void weights(int step, const StepValues& values);

  // Adds what this rank found to `report`; the order in which ranks do it does not matter.
  void add_to(LayoutReport& report) const;
  const std::vector<HeldWeight>& held() const { return held_; }

 private:
  const Tolerances& tolerances(int step) const { return step <= early_steps_ ? early_ : late_; }
  Difference start(int step, Compared what, const StepValues& values) const;
  std::size_t index_of(const std::string& name) const;
  void compare(Difference difference, const model::LocalParameter& parameter, const tensor::View& mine,
               const parallel::Range& share, const std::vector<float>& whole, double scale);
  void judge(Difference difference, double found, double expected, double scale, double tolerance);

  const SmallRun& run_;
  const Reference& reference_;
  const std::vector<model::Parameter> table_;
  const Tolerances early_, late_;
  const int early_steps_;
  LayoutReport mine_;
  std::vector<HeldWeight> held_;
};

}  // namespace convoy::train
