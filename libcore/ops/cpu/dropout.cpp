// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/dropout.h"

#include <algorithm>

#include "libcore/ops/cpu/row_split.h"
#include "libcore/ops/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libcore/ops/cpu/dropout.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libcore/ops/cpu/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {
namespace {

// The row of one token: 64 channels are the four words of 16 blocks.
template <class T>
void drop_row(const Dropout& dropout, std::int64_t slot, std::int64_t position, const T* x, T* y,
              std::int64_t columns) {
  const auto threshold = hn::Set(BitsTag(), dropout.threshold);
  const auto scale = broadcast(dropout.scale);
  for (std::int64_t group = 0; group < columns; group += 4 * kBlocksAbreast) {
    const std::int64_t blocks = std::min(kBlocksAbreast, columns - group);
    for (std::int64_t block = 0; block < blocks; block += kLanes) {
      const PhiloxWords random = philox(dropout.key, bits(slot), bits(0), bits(position), bits_from(group / 4 + block));
      for (int word = 0; word < 4; ++word) {
        const std::int64_t begin = group + word * kBlocksAbreast + block;
        over_columns(begin, std::min(begin + kLanes, columns), [&](std::int64_t c, auto part) HWY_ATTR {
          store(hn::Mul(kept(load(x + c, part), random.word[word], threshold), scale), y + c, part);
        });
      }
    }
  }
}

void dropout_rows(Stream& stream, const DropoutRows& args) {
  const std::int64_t columns = args.x.columns();
  over_rows(stream, args.x.rows(), columns, args.x.dtype, [&](auto type, std::int64_t begin, std::int64_t end) {
    using T = typename decltype(type)::type;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t token = args.first_row + row;
      drop_row(args.dropout, args.first_slot + token / args.sequence, token % args.sequence,
               args.x.as<T>() + row * args.x.stride(), args.y.as<T>() + row * args.y.stride(), columns);
    }
  });
}

}  // namespace

DropoutTable dropout_kernels() { return {.rows = dropout_rows}; }

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::ops::cpu {

HWY_EXPORT(dropout_kernels);
DropoutTable dropout_table() { return HWY_DYNAMIC_DISPATCH(dropout_kernels)(); }

}  // namespace convoy::ops::cpu
#endif
