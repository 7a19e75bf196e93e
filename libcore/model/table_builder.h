// SPDX-License-Identifier: Apache-2.0
// Writes a family's parameter table, entry by entry in model order. Private to the module.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "libcore/model/parameters.h"

namespace convoy::model {

class TableBuilder {
 public:
  explicit TableBuilder(const Config& config)
      : std_(config.initializer_range),
        residual_std_(config.initializer_range / std::sqrt(2.0 * static_cast<double>(config.layers))) {}

  // The entries added from here on belong to `layer` and their names begin with `prefix`.
  void scope(int layer, std::string prefix) {
    layer_ = layer;
    prefix_ = std::move(prefix);
  }

  void matrix(const std::string& name, const tensor::Shape& shape, Split split, SplitUnit unit) {
    table_.push_back({prefix_ + name, shape, Init::kNormal, std_, true, split, unit, false, layer_});
  }
  // A projection back into the residual stream: its standard deviation shrinks with depth (Radford et al., 2019,
  // section 2.3).
  void residual_matrix(const std::string& name, const tensor::Shape& shape, Split split, SplitUnit unit) {
    table_.push_back({prefix_ + name, shape, Init::kNormal, residual_std_, true, split, unit, false, layer_});
  }
  // A bias of a product whose outputs are split over ranks.
  void split_bias(const std::string& name, std::int64_t size, SplitUnit unit) {
    table_.push_back({prefix_ + name, {size}, Init::kZero, 0.0, false, Split::kRows, unit, false, layer_});
  }
  // A bias of a product whose inputs are split over ranks: added once, after the sum over them.
  // The gradient of its outputs is there for all rows, because its weight's needs them.
  void whole_bias(const std::string& name, std::int64_t size) { whole(name, {size}, Init::kZero, 0.0, false, false); }
  // A norm sees a rank's own rows alone.
  void norm_weight(const std::string& name, std::int64_t size) { whole(name, {size}, Init::kOne, 0.0, false, true); }
  void norm_bias(const std::string& name, std::int64_t size) { whole(name, {size}, Init::kZero, 0.0, false, true); }
  // Learned positions: added to all rows, as those of the vocabulary are.
  void positions(const std::string& name, std::int64_t rows, std::int64_t columns) {
    whole(name, {rows, columns}, Init::kNormal, std_, true, false);
  }

  std::vector<Parameter> take() { return std::move(table_); }

 private:
  void whole(const std::string& name, const tensor::Shape& shape, Init init, double std, bool decays, bool partial) {
    table_.push_back({prefix_ + name, shape, init, std, decays, Split::kReplicated, SplitUnit::kNone, partial, layer_});
  }

  double std_;
  double residual_std_;
  int layer_ = -1;
  std::string prefix_;
  std::vector<Parameter> table_;
};

}  // namespace convoy::model
