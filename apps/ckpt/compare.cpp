// SPDX-License-Identifier: Apache-2.0
#include "apps/ckpt/compare.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <tuple>

#include "apps/ckpt/pieces.h"

namespace convoy::apps::ckpt {
namespace {

using checkpoint::Manifest;
using checkpoint::StoredTensor;

// Where a state lies in the inventories of both sides.
struct Pair {
  std::optional<std::size_t> a, b;
};
using Pairs = std::map<std::tuple<std::string, std::string>, Pair>;

Pairs pairs_of(const Manifest& a, const Manifest& b, bool all_states) {
  Pairs pairs;
  const auto add = [&](const Manifest& inventory, std::optional<std::size_t> Pair::*side) {
    for (std::size_t i = 0; i < inventory.tensors.size(); ++i) {
      const StoredTensor& tensor = inventory.tensors[i];
      if (all_states || tensor.state == checkpoint::kWeight) pairs[{tensor.name, tensor.state}].*side = i;
    }
  };
  add(a, &Pair::a);
  add(b, &Pair::b);
  return pairs;
}

// Row-major index to coordinates.
std::string place_of(const tensor::Shape& shape, std::int64_t index) {
  std::string text;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    text = fmt::format("{}{}{}", index % shape[d], text.empty() ? "" : ", ", text);
    index /= shape[d];
  }
  return "[" + text + "]";
}

// How far apart two values are; a value that is not finite is infinitely far from any other.
double distance(float a, float b) {
  if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) return 0.0;
  const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

bool same(float a, float b, const CompareOptions& options) {
  if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) return true;
  if (options.absolute == 0.0 && options.relative == 0.0) return false;
  return distance(a, b) <= options.absolute + options.relative * std::abs(static_cast<double>(b));
}

class Comparer {
 public:
  Comparer(const Source& a, const Source& b, const CompareOptions& options, const CompareProgress& progress)
      : a_(a),
        b_(b),
        inventory_a_(inventory_of(a)),
        inventory_b_(inventory_of(b)),
        options_(options),
        progress_(progress) {}

  Comparison run() {
    const Pairs pairs = pairs_of(inventory_a_, inventory_b_, options_.all_states);
    for (const auto& [key, pair] : pairs) {
      if (pair.a && pair.b) total_ += inventory_a_.tensors[*pair.a].shape.count();
    }
    for (const auto& [key, pair] : pairs) {
      const auto& [name, state] = key;
      TensorDifference found;
      found.name = name;
      found.state = state;
      if (!pair.a || !pair.b) {
        found.reason = pair.a ? "is only in A" : "is only in B";
        result_.tensors.push_back(found);
        continue;
      }
      compare_pair(*pair.a, *pair.b, found);
      done_ += inventory_a_.tensors[*pair.a].shape.count();
    }
    return std::move(result_);
  }

 private:
  void compare_pair(std::size_t a, std::size_t b, TensorDifference& found) {
    const StoredTensor &left = inventory_a_.tensors[a], &right = inventory_b_.tensors[b];
    ++result_.compared;
    if (!(left.shape == right.shape)) {
      found.reason = fmt::format("has the shape {} in A and {} in B", left.shape.text(), right.shape.text());
      result_.tensors.push_back(found);
      return;
    }
    const bool digests = has_digests(a_) && has_digests(b_) && left.dtype == right.dtype;
    if (digests && left.digest == right.digest) {
      ++result_.by_digest;
      return;
    }
    compare_values(a, b, found);
    if (found.differing > 0) result_.tensors.push_back(found);
    const bool exact = options_.absolute == 0.0 && options_.relative == 0.0;
    if (digests && exact && found.differing == 0) {
      found.reason = "has other digests, though no value differs: a manifest is wrong, `verify --deep` says which";
      result_.tensors.push_back(found);
    }
  }

  void compare_values(std::size_t a, std::size_t b, TensorDifference& found) {
    const tensor::Shape& shape = inventory_a_.tensors[a].shape;
    found.elements = shape.count();
    for_each_piece(shape, [&](const tensor::Box& box, std::int64_t first) {
      const auto count = static_cast<std::size_t>(box.count());
      values_a_.resize(count);
      values_b_.resize(count);
      read_box(a_, inventory_a_, a, box, {values_a_.data(), tensor::DType::kF32, box.extent});
      read_box(b_, inventory_b_, b, box, {values_b_.data(), tensor::DType::kF32, box.extent});
      for (std::size_t i = 0; i < count; ++i) note(shape, first + static_cast<std::int64_t>(i), i, found);
      progress_(done_ + first + static_cast<std::int64_t>(count), total_);
    });
  }

  void note(const tensor::Shape& shape, std::int64_t index, std::size_t i, TensorDifference& found) const {
    const float left = values_a_[i], right = values_b_[i];
    if (same(left, right, options_)) return;
    const double apart = distance(left, right);
    if (++found.differing > 1 && apart <= found.largest) return;
    found.largest = apart;
    found.place = place_of(shape, index);
    found.a = left;
    found.b = right;
  }

  const Source &a_, &b_;
  const Manifest inventory_a_, inventory_b_;
  const CompareOptions& options_;
  const CompareProgress& progress_;
  std::vector<float> values_a_, values_b_;
  std::int64_t done_ = 0, total_ = 0;
  Comparison result_;
};

// Lines of the two descriptions that differ. Dropout is the run's, not the weights'.
void compare_models(model::Config a, model::Config b, std::vector<std::string>& other) {
  a.dropout = b.dropout = {};
  std::istringstream left(model::to_json(a, "float32")), right(model::to_json(b, "float32"));
  const auto trimmed = [](const std::string& line) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    return line.substr(begin, line.find_last_not_of(',') + 1 - begin);
  };
  std::string x, y;
  while (std::getline(left, x) && std::getline(right, y)) {
    if (trimmed(x) != trimmed(y)) other.push_back(fmt::format("model: {} against {}", trimmed(x), trimmed(y)));
  }
}

void compare_progress(const checkpoint::Progress& a, const checkpoint::Progress& b, std::vector<std::string>& other) {
  const auto count = [&](const char* what, std::int64_t x, std::int64_t y) {
    if (x != y) other.push_back(fmt::format("{}: {} against {}", what, x, y));
  };
  count("step", a.step, b.step);
  count("update", a.update, b.update);
  count("consumed samples", a.consumed_samples, b.consumed_samples);
  if (a.loss_scale != b.loss_scale)
    other.push_back(fmt::format("loss scale: {} against {}", a.loss_scale.value_or(0.0), b.loss_scale.value_or(0.0)));
  const checkpoint::LossScaleHistory none;
  const auto &x = a.loss_scale_history.value_or(none), &y = b.loss_scale_history.value_or(none);
  count("finite steps under the loss scale", x.finite_steps, y.finite_steps);
  count("overflows until the loss scale falls", x.overflows_left, y.overflows_left);
}

}  // namespace

Comparison compare(const Source& a, const Source& b, const CompareOptions& options, const CompareProgress& progress) {
  Comparison result = Comparer(a, b, options, progress).run();
  compare_models(a.config, b.config, result.other);
  if (options.all_states && a.checkpoint() != nullptr && b.checkpoint() != nullptr) {
    compare_progress(a.checkpoint()->manifest().description.progress, b.checkpoint()->manifest().description.progress,
                     result.other);
  }
  return result;
}

}  // namespace convoy::apps::ckpt
