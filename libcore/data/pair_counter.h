// SPDX-License-Identifier: Apache-2.0
// Counts of 64-bit keys in an open-addressing table that grows up to a given number of entries and then says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace convoy::data {

class PairCounter {
 public:
  explicit PairCounter(std::size_t most_entries);

  bool add(std::uint64_t key);  // false: the table is full, and the key was not counted
  std::int64_t count(std::uint64_t key) const;
  void clear();

  // Calls `take(count)` for each key, in no order.
  template <class Take>
  void for_each(const Take& take) const {
    for (const Slot& slot : slots_) {
      if (slot.count != 0) take(slot.count);
    }
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int64_t count = 0;  // 0: free
  };

  std::size_t find(std::uint64_t key) const;
  void grow();

  std::size_t most_entries_;
  std::size_t entries_ = 0;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace convoy::data
