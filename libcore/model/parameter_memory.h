// SPDX-License-Identifier: Apache-2.0
// The memory of one kind of values, weights or gradients, of a rank's parameters: whole, or this rank's shares of them
// and rooms in which whole tensors exist while somebody computes with them. The layers take turns at the rooms of their
// matrices; vectors, which are small, and what belongs to no layer have rooms of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcore/device/arena.h"
#include "libcore/parallel/sharding.h"
#include "libcore/tensor/view.h"

namespace convoy::model {

struct LocalParameter;

// So many layers of a rank have room at one time: the one at hand, and the one that is coming or leaving.
constexpr int kLayerSlots = 2;

// The embeddings, the rank's layers and the head, as far as the table has them, with the slots that layers take in
// turn. `layers`: of the whole model.
std::vector<parallel::Unit> units_of(const std::vector<LocalParameter>& table, std::int64_t layers);

class ParameterMemory {
 public:
  // Of nothing.
  ParameterMemory() = default;
  // `in_shares`: only sharding.share() of each tensor is kept; `units`: units_of(table). `name`: for messages.
  ParameterMemory(const std::vector<LocalParameter>& table, tensor::DType dtype, const parallel::Sharding& sharding,
                  bool in_shares, std::span<const parallel::Unit> units, const std::string& name);

  // Parameter i whole, [local_shape()], zero at the start: kept, or in its room.
  tensor::MutableView whole(std::size_t i) const;
  // What of it is kept, flat: this rank's share, or all.
  tensor::MutableView kept(std::size_t i) const;
  // Elements `range` of it, flat, of those that are kept.
  tensor::MutableView part(std::size_t i, const parallel::Range& range) const;

  bool present() const { return !shapes_.empty(); }
  bool in_shares() const { return in_shares_; }
  std::size_t kept_bytes() const { return kept_.size(); }
  std::size_t room_bytes() const { return room_.size(); }

 private:
  void reserve_rooms(std::span<const parallel::Unit> units);
  std::size_t bytes_of(std::int64_t elements) const;

  tensor::DType dtype_ = tensor::DType::kF32;
  bool in_shares_ = false;
  std::vector<tensor::Shape> shapes_;
  std::vector<parallel::Range> ranges_;  // that are kept, flat
  std::vector<std::size_t> kept_offset_, room_offset_;
  device::Arena kept_{""}, room_{""};
};

}  // namespace convoy::model
