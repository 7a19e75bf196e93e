// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/dropout.h"

#include "libcore/base/random.h"
#include "libcore/model/micro_batch.h"

namespace convoy::model {
namespace {

std::uint64_t key_of(const DropoutPlace& place, const DropoutDraw& draw) {
  const std::uint64_t step = mix64(stream_key(draw.seed, "dropout") + static_cast<std::uint64_t>(draw.step));
  return mix64(step + (static_cast<std::uint64_t>(place.site) << 32) + static_cast<std::uint64_t>(place.layer));
}

void drop_rows(device::Stream& stream, const ops::Dropout& mask, const MicroBatch& micro, const tensor::View& x,
               const tensor::MutableView& y) {
  ops::dropout_rows(stream, {.dropout = mask,
                             .sequence = micro.sequence,
                             .first_slot = micro.dropout->first_slot,
                             .first_row = micro.own_rows().begin,
                             .x = x,
                             .y = y});
}

}  // namespace

BlockDropout block_dropout(const Config& config, std::int64_t layer, const Shard& shard) {
  const DropoutRates& rates = config.dropout;
  return {.attention = {rates.attention, DropoutSite::kAttention, layer},
          .attention_branch = {rates.residual, DropoutSite::kAttentionBranch, layer},
          .ffn_branch = {rates.residual, DropoutSite::kFfnBranch, layer},
          .first_head = heads_of(config, shard).begin};
}

ops::Dropout mask_of(const DropoutPlace& place, const MicroBatch& micro) {
  if (place.rate == 0.0 || !micro.dropout) return {};
  return ops::make_dropout(place.rate, key_of(place, *micro.dropout));
}

ops::AttentionDropout attention_mask_of(const BlockDropout& dropout, const MicroBatch& micro) {
  const ops::Dropout mask = mask_of(dropout.attention, micro);
  if (!mask.present()) return {};
  return {.mask = mask, .first_slot = micro.dropout->first_slot, .first_head = dropout.first_head};
}

void drop(device::Stream& stream, const DropoutPlace& place, const MicroBatch& micro, const tensor::MutableView& rows) {
  const ops::Dropout mask = mask_of(place, micro);
  if (mask.present() && micro.own_rows().size() > 0) drop_rows(stream, mask, micro, rows, rows);
}

tensor::MutableView drop_gradient(device::Stream& stream, const DropoutPlace& place, const MicroBatch& micro,
                                  const tensor::MutableView& dy, const tensor::MutableView& room) {
  const ops::Dropout mask = mask_of(place, micro);
  if (!mask.present()) return dy;
  const tensor::MutableView dx = micro.own_of(room);
  if (micro.own_rows().size() > 0) drop_rows(stream, mask, micro, dy, dx);
  return dx;
}

}  // namespace convoy::model
