// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/parameter_memory.h"

#include <algorithm>
#include <array>

#include "libcore/base/error.h"
#include "libcore/model/parameters.h"

namespace convoy::model {

using parallel::Range;
using parallel::Unit;
using tensor::MutableView;

std::vector<Unit> units_of(const std::vector<LocalParameter>& table, std::int64_t layers) {
  std::vector<Unit> units;
  int layers_seen = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (i == 0 || table[i].layer != table[i - 1].layer) {
      const bool is_layer = table[i].layer >= 0 && table[i].layer < layers;
      units.push_back({i, i, is_layer ? layers_seen++ % kLayerSlots : -1});
    }
    units.back().end = i + 1;
  }
  return units;
}

ParameterMemory::ParameterMemory(const std::vector<LocalParameter>& table, tensor::DType dtype,
                                 const parallel::Sharding& sharding, bool in_shares, std::span<const Unit> units,
                                 const std::string& name)
    : dtype_(dtype), in_shares_(in_shares), kept_(name), room_(name + " of the layers at hand") {
  for (const LocalParameter& parameter : table) {
    const std::int64_t count = parameter.local_shape().count();
    shapes_.push_back(parameter.local_shape());
    ranges_.push_back(in_shares_ ? sharding.share(count) : Range{0, count});
    kept_offset_.push_back(kept_.reserve(bytes_of(ranges_.back().size())));
  }
  kept_.allocate({});
  if (!in_shares_) return;
  reserve_rooms(units);
  room_.allocate({});
}

std::size_t ParameterMemory::bytes_of(std::int64_t elements) const {
  return static_cast<std::size_t>(elements) * tensor::size_of(dtype_);
}

// A slot is one piece that is as large as the largest of its layers' matrices together.
void ParameterMemory::reserve_rooms(std::span<const Unit> units) {
  room_offset_.resize(shapes_.size());
  std::array<std::size_t, kLayerSlots> slot_bytes{};
  const auto in_slot = [&](const Unit& unit, std::size_t i) { return unit.slot >= 0 && shapes_[i].rank() > 1; };
  for (const Unit& unit : units) {
    std::size_t used = 0;
    for (std::size_t i = unit.begin; i < unit.end; ++i) {
      if (in_slot(unit, i)) {
        room_offset_[i] = used;
        used += device::Arena::piece_bytes(bytes_of(shapes_[i].count()));
      } else {
        room_offset_[i] = room_.reserve(bytes_of(shapes_[i].count()));
      }
    }
    if (unit.slot >= 0) {
      std::size_t& bytes = slot_bytes[static_cast<std::size_t>(unit.slot)];
      bytes = std::max(bytes, used);
    }
  }
  std::array<std::size_t, kLayerSlots> slot_offset{};
  for (std::size_t slot = 0; slot < slot_bytes.size(); ++slot) slot_offset[slot] = room_.reserve(slot_bytes[slot]);
  for (const Unit& unit : units) {
    for (std::size_t i = unit.begin; i < unit.end; ++i) {
      if (in_slot(unit, i)) room_offset_[i] += slot_offset[static_cast<std::size_t>(unit.slot)];
    }
  }
}

MutableView ParameterMemory::whole(std::size_t i) const {
  return {in_shares_ ? room_.at(room_offset_[i]) : kept_.at(kept_offset_[i]), dtype_, shapes_[i], 0};
}

MutableView ParameterMemory::kept(std::size_t i) const {
  return {kept_.at(kept_offset_[i]), dtype_, {ranges_[i].size()}, 0};
}

MutableView ParameterMemory::part(std::size_t i, const Range& range) const {
  const Range& mine = ranges_[i];
  check(range.begin >= mine.begin && range.end <= mine.end, "a part is of what is kept");
  return tensor::flat_part(kept(i), range.begin - mine.begin, range.end - mine.begin);
}

}  // namespace convoy::model
