// SPDX-License-Identifier: Apache-2.0
// The masks of attention's dropout, tile by tile: of forward with queries in the lanes of vectors, of backward with
// keys in them. A block of random words serves a query and the one 16 on, and a key and the one 16 on. Included once
// for every instruction set.
#if defined(CONVOY_OPS_CPU_ATTENTION_DROPOUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_OPS_CPU_ATTENTION_DROPOUT_INL_H
#undef CONVOY_OPS_CPU_ATTENTION_DROPOUT_INL_H
#else
#define CONVOY_OPS_CPU_ATTENTION_DROPOUT_INL_H
#endif

#include <cstdint>

#include "libcore/ops/cpu/attention_heads-inl.h"
#include "libcore/ops/cpu/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

constexpr std::int64_t kMaskSide = 2 * kBlocksAbreast;  // queries, and keys, that share 16 blocks
static_assert(kMaskSide % kTileColumns == 0);

// What the masks of one sequence and head are drawn from.
struct HeadMask {
  Dropout dropout;
  std::int64_t slot = 0, head = 0;
};

inline HeadMask head_mask(const AttentionDropout& dropout, const HeadIndex& head) {
  return {dropout.mask, dropout.first_slot + head.batch, dropout.first_head + head.query};
}

// The counter of a position: without the bit that chooses the word, which is half_of().
constexpr std::int64_t counter_of(std::int64_t position) {
  return position / kMaskSide * kBlocksAbreast + position % kBlocksAbreast;
}
constexpr std::int64_t half_of(std::int64_t position) { return position % kMaskSide / kBlocksAbreast; }

// Drops of the probabilities [keys, kTileColumns] of keys [first_key, first_key + keys) and the queries from `query`
// on, a whole panel's first; what is kept is not scaled.
inline void drop_probabilities(const HeadMask& mask, std::int64_t query, std::int64_t first_key, std::int64_t keys,
                               float* probabilities) {
  const auto threshold = hn::Set(BitsTag(), mask.dropout.threshold);
  const auto slot = bits(mask.slot), head = bits(mask.head);
  const std::int64_t end = first_key + keys;
  for (std::int64_t group = first_key / kMaskSide * kMaskSide; group < end; group += kMaskSide) {
    for (std::int64_t i = 0; i < kBlocksAbreast; ++i) {
      PhiloxWords random{};
      for (int half = 0; half < 2; ++half) {
        const std::int64_t lanes = query + half * kLanes;
        // A panel of 32 queries has both halves of 16 blocks, narrower ones have blocks of their own.
        if (half == 0 || kLanes < kBlocksAbreast)
          random = philox(mask.dropout.key, slot, head, bits_from(counter_of(lanes)), bits(counter_of(group + i)));
        for (int word = 0; word < 2; ++word) {
          const std::int64_t key = group + word * kBlocksAbreast + i;
          if (key < first_key || key >= end) continue;
          float* p = probabilities + (key - first_key) * kTileColumns + half * kLanes;
          store(kept(load(p), random.word[2 * half_of(lanes) + word], threshold), p);
        }
      }
    }
  }
}

// factors [query - first_query, kTileColumns]: what the probabilities of queries from `from` to `end` and of the panel
// of keys from `key` on are multiplied with, 0 or the scale. Rows up to the next multiple of kMaskSide are written.
inline void keep_factors(const HeadMask& mask, std::int64_t first_query, std::int64_t from, std::int64_t end,
                         std::int64_t key, float* factors) {
  const auto threshold = hn::Set(BitsTag(), mask.dropout.threshold);
  const auto slot = bits(mask.slot), head = bits(mask.head);
  const auto scale = broadcast(mask.dropout.scale);
  for (std::int64_t group = from / kMaskSide * kMaskSide; group < end; group += kMaskSide) {
    for (std::int64_t i = 0; i < kBlocksAbreast; ++i) {
      PhiloxWords random{};
      for (int half = 0; half < 2; ++half) {
        const std::int64_t lanes = key + half * kLanes;
        if (half == 0 || kLanes < kBlocksAbreast)
          random = philox(mask.dropout.key, slot, head, bits(counter_of(group + i)), bits_from(counter_of(lanes)));
        for (int word = 0; word < 2; ++word) {
          const std::int64_t row = group + word * kBlocksAbreast + i - first_query;
          store(kept(scale, random.word[2 * word + half_of(lanes)], threshold),
                factors + row * kTileColumns + half * kLanes);
        }
      }
    }
  }
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
