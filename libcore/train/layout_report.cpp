// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/layout_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "libcore/base/error.h"

namespace convoy::train {
namespace {

// By checksum alone, so there are no values to show.
std::string text_of_copy(const Difference& difference) {
  return fmt::format("{}: {}: rank {} (dp {}, pp {}, tp {}) has other bits than rank {}",
                     difference.step == 0 ? "initial weights" : fmt::format("step {}", difference.step),
                     difference.name, difference.rank, difference.at.data, difference.at.pipeline, difference.at.tensor,
                     difference.expected);
}

}  // namespace

std::string text_of(Compared what) {
  switch (what) {
    case Compared::kLoss:
      return "losses of micro-batches";
    case Compared::kGradient:
      return "gradients after their reduction";
    case Compared::kStepLoss:
      return "loss of the step";
    case Compared::kNorm:
      return "gradient norm";
    case Compared::kRate:
      return "learning rate";
    case Compared::kWeight:
      return "weights after the update";
    case Compared::kCopy:
      return "copies of a weight";
  }
  throw InternalError("unknown comparison");
}

std::string text_of(const Difference& difference) {
  if (difference.what == Compared::kCopy) return text_of_copy(difference);
  const bool initial = difference.step == 0;
  const std::string place = difference.place.empty() ? "" : fmt::format(" at {}", difference.place);
  return fmt::format(
      "{}: {}: rank {} (dp {}, pp {}, tp {}) has {:.9g}{} where one rank has {:.9g}; allowed is {:.2g}",
      initial ? "initial weights" : fmt::format("step {}, {}", difference.step, text_of(difference.what)),
      difference.name, difference.rank, difference.at.data, difference.at.pipeline, difference.at.tensor,
      difference.found, place, difference.expected, difference.allowed);
}

bool is_before(const Difference& a, const Difference& b) {
  return std::tuple(a.step, a.what, a.order, a.rank) < std::tuple(b.step, b.what, b.order, b.rank);
}

void compare_copies(std::vector<HeldWeight> held, const std::vector<model::Parameter>& table, LayoutReport& report) {
  const auto place = [](const HeldWeight& one) { return std::tuple(one.step, one.parameter, one.box.text()); };
  std::sort(held.begin(), held.end(), [&](const HeldWeight& a, const HeldWeight& b) {
    return std::tuple_cat(place(a), std::tuple(a.rank)) < std::tuple_cat(place(b), std::tuple(b.rank));
  });
  Comparison& comparison = report.comparisons[static_cast<std::size_t>(Compared::kCopy)];
  const HeldWeight* first = nullptr;
  for (const HeldWeight& one : held) {
    if (first == nullptr || place(*first) != place(one)) {
      first = &one;
      continue;
    }
    ++comparison.compared;
    if (one.checksum == first->checksum) continue;
    ++comparison.different;
    Difference difference;
    difference.step = one.step;
    difference.what = Compared::kCopy;
    difference.name = table[one.parameter].name;
    difference.rank = one.rank;
    difference.at = one.at;
    difference.expected = first->rank;
    difference.order = static_cast<std::int64_t>(one.parameter);
    if (!report.first || is_before(difference, *report.first)) report.first = difference;
  }
}

}  // namespace convoy::train
