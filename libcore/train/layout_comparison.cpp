// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/layout_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"

namespace convoy::train {
namespace {

// A gradient that is zero but for rounding (of a bias before a softmax, say) has nothing of its own to be relative to.
constexpr double kGradientFloor = 1e-3;
constexpr double kRateTolerance = 1e-12;  // the same double on every rank

float value_at(const tensor::View& view, std::int64_t element) {
  switch (view.dtype) {
    case tensor::DType::kF32:
      return view.as<float>()[element];
    case tensor::DType::kBF16:
      return tensor::to_float(view.as<tensor::Bf16>()[element]);
    case tensor::DType::kF16:
      return tensor::half_to_float(view.as<std::uint16_t>()[element]);
    default:
      throw InternalError("weights are fp32, bf16 or fp16");
  }
}

std::vector<float> values_of(const tensor::View& view) {
  std::vector<float> values(static_cast<std::size_t>(view.count()));
  for (std::int64_t e = 0; e < view.count(); ++e) values[static_cast<std::size_t>(e)] = value_at(view, e);
  return values;
}

double largest_of(const std::vector<float>& values) {
  double largest = 0.0;
  for (const float x : values) largest = std::max<double>(largest, std::abs(x));
  return largest;
}

// Where local element `element` of a parameter lies in the whole tensor.
std::vector<std::int64_t> place_of(const model::LocalParameter& parameter, std::int64_t element) {
  const int rank = parameter.shape.rank();
  std::vector<std::int64_t> place(static_cast<std::size_t>(rank));
  for (int d = rank - 1; d >= 0; --d) {
    const std::int64_t extent = parameter.box.extent[d];
    place[static_cast<std::size_t>(d)] = parameter.box.offset[d] + element % extent;
    element /= extent;
  }
  return place;
}

double tolerance_of(const Tolerances& tolerances, Compared what) {
  switch (what) {
    case Compared::kLoss:
      return tolerances.micro_batch_loss;
    case Compared::kStepLoss:
      return tolerances.loss;
    case Compared::kGradient:
      return tolerances.gradient;
    case Compared::kNorm:
      return tolerances.norm;
    case Compared::kRate:
      return kRateTolerance;
    case Compared::kWeight:
      return tolerances.weight;
    case Compared::kCopy:
      return 0.0;
  }
  throw InternalError("unknown comparison");
}

}  // namespace

void Reference::losses(int step, const StepValues& values) { this->step(step).losses = values.losses; }

void Reference::gradients(int step, const StepValues& values) {
  Step& now = this->step(step);
  for (std::size_t i = 0; i < values.parameters.size(); ++i) {
    now.gradients.push_back(values_of(values.parameters.gradient(i)));
    now.largest_gradient = std::max(now.largest_gradient, largest_of(now.gradients.back()));
  }
}

void Reference::totals(int step, const StepValues&, const StepResult& result, double rate) {
  Step& now = this->step(step);
  now.loss = result.loss;
  now.norm = result.grad_norm;
  now.rate = rate;
}

void Reference::weights(int step, const StepValues& values) {
  Step& now = this->step(step);
  for (std::size_t i = 0; i < values.parameters.size(); ++i)
    now.weights.push_back(values_of(values.parameters.weight(i)));
}

Reference::Step& Reference::step(int step) {
  if (steps_.size() <= static_cast<std::size_t>(step)) steps_.resize(static_cast<std::size_t>(step) + 1);
  return steps_[static_cast<std::size_t>(step)];
}

double Reference::loss_of(int step, std::int64_t first, std::int64_t count) const {
  check(first % micro_batch_ == 0 && count % micro_batch_ == 0, "samples are whole micro-batches of the reference");
  double sum = 0.0;
  for (std::int64_t i = first / micro_batch_; i < (first + count) / micro_batch_; ++i)
    sum += at(step).losses[static_cast<std::size_t>(i)];
  return sum;
}

RankComparison::RankComparison(const SmallRun& run, const Reference& reference, const Tolerances& early,
                               const Tolerances& late, int early_steps)
    : run_(run),
      reference_(reference),
      table_(model::parameter_table(run.model)),
      early_(early),
      late_(late),
      early_steps_(early_steps) {
  for (std::size_t i = 0; i < kComparisons; ++i)
    mine_.comparisons[i].tolerance = tolerance_of(early, static_cast<Compared>(i));
}

void RankComparison::losses(int step, const StepValues& values) {
  if (!values.groups.last_stage()) return;
  check(static_cast<std::int64_t>(values.losses.size()) == run_.micro_batches, "the last stage knows all losses");
  for (std::size_t i = 0; i < values.losses.size(); ++i) {
    Difference difference = start(step, Compared::kLoss, values);
    difference.order = values.groups.at.data * run_.micro_batches + static_cast<std::int64_t>(i);
    difference.name = fmt::format("micro-batch {} of replica {}", i, values.groups.at.data);
    const double expected = reference_.loss_of(step, difference.order * run_.micro_batch, run_.micro_batch);
    judge(difference, values.losses[i], expected, std::max(1.0, std::abs(expected)), tolerances(step).micro_batch_loss);
  }
}

void RankComparison::gradients(int step, const StepValues& values) {
  const Reference::Step& expected = reference_.at(step);
  for (std::size_t i = 0; i < values.parameters.size(); ++i) {
    const std::size_t global = index_of(values.parameters.table()[i].name);
    const double scale = std::max(kGradientFloor * expected.largest_gradient, largest_of(expected.gradients[global]));
    Difference difference = start(step, Compared::kGradient, values);
    difference.order = -static_cast<std::int64_t>(global);
    const parallel::Range share = values.parameters.share(i);
    compare(difference, values.parameters.table()[i], values.parameters.gradient_part(i, share), share,
            expected.gradients[global], scale);
  }
}

void RankComparison::totals(int step, const StepValues& values, const StepResult& result, double rate) {
  const Reference::Step& expected = reference_.at(step);
  const auto hold = [&](Compared what, const char* name, double found, double wanted, double tolerance) {
    Difference difference = start(step, what, values);
    difference.name = name;
    judge(difference, found, wanted, std::max(std::abs(wanted), std::numeric_limits<double>::min()), tolerance);
  };
  hold(Compared::kStepLoss, "loss", result.loss, expected.loss, tolerances(step).loss);
  hold(Compared::kNorm, "norm", result.grad_norm, expected.norm, tolerances(step).norm);
  hold(Compared::kRate, "learning rate", rate, expected.rate, kRateTolerance);
}

void RankComparison::weights(int step, const StepValues& values) {
  const Tolerances& allowed = tolerances(step);
  for (std::size_t i = 0; i < values.parameters.size(); ++i) {
    const std::size_t global = index_of(values.parameters.table()[i].name);
    const std::vector<float>& whole = reference_.at(step).weights[global];
    const double scale =
        allowed.relative_to_weights ? std::max(allowed.weight_scale, largest_of(whole)) : allowed.weight_scale;
    Difference difference = start(step, Compared::kWeight, values);
    difference.order = static_cast<std::int64_t>(global);
    const model::LocalParameter& parameter = values.parameters.table()[i];
    // Where weights are shared nobody has others' after an update; elsewhere those too must have arrived.
    const parallel::Range here =
        values.parameters.sharding().weights ? values.parameters.share(i) : parallel::Range{0, parameter.box.count()};
    const tensor::View weight = values.parameters.weight_part(i, here);
    compare(difference, parameter, weight, here, whole, scale);
    if (here.size() < parameter.box.count()) continue;  // no two ranks hold the same
    const std::string_view bytes(static_cast<const char*>(weight.data),
                                 static_cast<std::size_t>(weight.count()) * tensor::size_of(weight.dtype));
    held_.push_back({step, global, parameter.box, difference.rank, difference.at, xxh3_64(bytes)});
  }
}

void RankComparison::add_to(LayoutReport& report) const {
  for (std::size_t i = 0; i < kComparisons; ++i) {
    Comparison& total = report.comparisons[i];
    const Comparison& part = mine_.comparisons[i];
    total.compared += part.compared;
    total.different += part.different;
    total.largest = std::max(total.largest, part.largest);
    total.tolerance = part.tolerance;
  }
  if (report.steps.size() < mine_.steps.size()) report.steps.resize(mine_.steps.size());
  for (std::size_t step = 0; step < mine_.steps.size(); ++step) {
    for (std::size_t i = 0; i < kComparisons; ++i)
      report.steps[step][i] = std::max(report.steps[step][i], mine_.steps[step][i]);
  }
  if (mine_.first && (!report.first || is_before(*mine_.first, *report.first))) report.first = mine_.first;
}

std::size_t RankComparison::index_of(const std::string& name) const {
  const auto entry = std::find_if(table_.begin(), table_.end(), [&](const auto& one) { return one.name == name; });
  check(entry != table_.end(), fmt::format("'{}' is of the model's table", name));
  return static_cast<std::size_t>(entry - table_.begin());
}

Difference RankComparison::start(int step, Compared what, const StepValues& values) const {
  Difference difference;
  difference.step = step;
  difference.what = what;
  difference.rank = values.groups.world->rank();
  difference.at = values.groups.at;
  return difference;
}

// The element of the share, which `mine` is, that differs most.
void RankComparison::compare(Difference difference, const model::LocalParameter& parameter, const tensor::View& mine,
                             const parallel::Range& share, const std::vector<float>& whole, double scale) {
  double largest = -1.0, found = 0.0, expected = 0.0;
  std::int64_t at = 0;
  for (std::int64_t e = share.begin; e < share.end; ++e) {
    const float ours = value_at(mine, e - share.begin),
                theirs = whole[static_cast<std::size_t>(tensor::index_in_whole(parameter.shape, parameter.box, e))];
    const double distance = std::abs(static_cast<double>(ours) - theirs);
    if (distance <= largest) continue;
    at = e, found = ours, expected = theirs, largest = distance;
    if (std::isnan(distance)) break;
  }
  if (share.size() == 0) return;  // nothing is of this rank's share
  mine_.comparisons[static_cast<std::size_t>(difference.what)].compared += share.size() - 1;
  difference.name = parameter.name;
  difference.place = fmt::format("[{}]", fmt::join(place_of(parameter, at), ", "));
  judge(difference, found, expected, scale, tolerance_of(tolerances(difference.step), difference.what));
}

void RankComparison::judge(Difference difference, double found, double expected, double scale, double tolerance) {
  const std::size_t what = static_cast<std::size_t>(difference.what), step = static_cast<std::size_t>(difference.step);
  Comparison& comparison = mine_.comparisons[what];
  double relative = std::abs(found - expected) / scale;
  if (std::isnan(relative)) relative = std::numeric_limits<double>::infinity();
  if (mine_.steps.size() <= step) mine_.steps.resize(step + 1);
  mine_.steps[step][what] = std::max(mine_.steps[step][what], relative);
  ++comparison.compared;
  comparison.largest = std::max(comparison.largest, relative);
  if (relative <= tolerance) return;
  ++comparison.different;
  difference.found = found;
  difference.expected = expected;
  difference.allowed = tolerance * scale;
  if (!mine_.first || is_before(difference, *mine_.first)) mine_.first = difference;
}

}  // namespace convoy::train
