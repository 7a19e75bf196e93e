// SPDX-License-Identifier: Apache-2.0
// The ids of units that were met before, in a fixed number of places: what is new displaces what is old. One thread's.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace convoy::data {

// A unit and what makes it one key. 16 bytes must be readable from the unit's first on.
struct UnitKey {
  static constexpr std::size_t kMostBytes = 15;
  std::uint64_t low = 0, high = 0;  // the bytes, zeros, and the length in the last one
  std::uint64_t hash = 0;

  static UnitKey of(const char* unit, std::size_t bytes) {
    static_assert(std::endian::native == std::endian::little);
    UnitKey key;
    std::memcpy(&key.low, unit, sizeof key.low);
    std::memcpy(&key.high, unit + sizeof key.low, sizeof key.high);
    const std::uint64_t some = ~std::uint64_t{0} >> (8 * (8 - (bytes & 7U)) & 63U);
    if (bytes < 8) {
      key.low &= some;
      key.high = 0;
    } else {
      key.high = bytes == 8 ? 0 : key.high & some;
    }
    key.high |= std::uint64_t{bytes} << 56;
    key.hash = mixed(key.low, key.high);
    return key;
  }

  __extension__ using Wide = unsigned __int128;
  static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<Wide>(a ^ 0x9E3779B97F4A7C15U) * (b ^ 0xD6E8FEB86659FD93U);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
};

// The ids of one unit, and up to which distance from zero of the score before it they hold (unigram_lattice.h).
struct KnownUnit {
  static constexpr std::size_t kMostIds = 3;
  static constexpr int kCountShift = 28;  // the count stands above the first id
  std::uint64_t low = 0, high = 0;        // high 0: free
  std::array<std::int32_t, kMostIds> first{};
  float reach = 0.0F;

  std::size_t count() const { return static_cast<std::uint32_t>(first[0]) >> kCountShift; }
  std::int32_t id(std::size_t i) const { return i == 0 ? first[0] & ((1 << kCountShift) - 1) : first[i]; }
};

// The same for longer units, or ones of more ids.
struct KnownLongUnit {
  static constexpr std::size_t kMostBytes = 64, kMostIds = 24;
  std::uint64_t hash = 0;
  float reach = 0.0F;
  std::uint8_t bytes = 0, count = 0;  // bytes 0: free
  std::array<char, kMostBytes> text{};
  std::array<std::int32_t, kMostIds> ids{};
};

class UnitCache {
 public:
  UnitCache();

  void prefetch(const UnitKey& key) const { __builtin_prefetch(&pairs_[key.hash & (kPairs - 1)]); }
  const KnownUnit* find(const UnitKey& key) const {
    const Pair& pair = pairs_[key.hash & (kPairs - 1)];
    for (const KnownUnit& unit : pair.units) {
      if (unit.low == key.low && unit.high == key.high) return &unit;
    }
    return nullptr;
  }
  // At most KnownUnit::kMostIds ids.
  void add(const UnitKey& key, std::span<const std::int32_t> ids, float reach) {
    Pair& pair = pairs_[key.hash & (kPairs - 1)];
    pair.units[1] = pair.units[0];
    KnownUnit& unit = pair.units[0] = {.low = key.low, .high = key.high, .first = {}, .reach = reach};
    for (std::size_t i = 0; i < ids.size(); ++i) unit.first[i] = ids[i];
    unit.first[0] |= static_cast<std::int32_t>(ids.size() << KnownUnit::kCountShift);
  }

  const KnownLongUnit* find_long(std::string_view text, std::uint64_t hash) const {
    const KnownLongUnit& unit = long_[hash & (kLongUnits - 1)];
    const bool found = unit.hash == hash && std::string_view(unit.text.data(), unit.bytes) == text;
    return found ? &unit : nullptr;
  }
  // Keeps the ids of a unit where its size has it; of one that is too long or has too many, nothing. key.hash is, beyond
  // UnitKey::kMostBytes, that of find_long().
  void keep(std::string_view text, const UnitKey& key, std::span<const std::int32_t> ids, float reach) {
    if (text.size() <= UnitKey::kMostBytes && ids.size() <= KnownUnit::kMostIds) {
      add(key, ids, reach);
    } else if (text.size() <= KnownLongUnit::kMostBytes) {
      add_long(text, key.hash, ids, reach);
    }
  }
  // A text of at most KnownLongUnit::kMostBytes.
  void add_long(std::string_view text, std::uint64_t hash, std::span<const std::int32_t> ids, float reach) {
    if (ids.size() > KnownLongUnit::kMostIds) return;
    KnownLongUnit& unit = long_[hash & (kLongUnits - 1)];
    unit.hash = hash;
    unit.reach = reach;
    unit.bytes = static_cast<std::uint8_t>(text.size());
    unit.count = static_cast<std::uint8_t>(ids.size());
    std::memcpy(unit.text.data(), text.data(), text.size());
    std::memcpy(unit.ids.data(), ids.data(), ids.size_bytes());
  }

 private:
  static constexpr std::size_t kPairs = std::size_t{1} << 17;      // 8 MiB
  static constexpr std::size_t kLongUnits = std::size_t{1} << 13;  // 1.4 MiB
  struct alignas(64) Pair {
    std::array<KnownUnit, 2> units{};
  };

  struct Release {
    void operator()(Pair* pairs) const;
  };

  std::unique_ptr<Pair[], Release> pairs_;  // on huge pages where the kernel has them: a look-up is a random access
  std::unique_ptr<KnownLongUnit[]> long_;
};

}  // namespace convoy::data
