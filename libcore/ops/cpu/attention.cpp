// SPDX-License-Identifier: Apache-2.0
// The team takes whole heads: query heads in forward, key/value heads with their group of query heads in backward, so
// that no two threads add to the same gradient.
#include "libcore/ops/attention.h"

#include "libcore/ops/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libcore/ops/cpu/attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libcore/ops/cpu/attention_backward-inl.h"
#include "libcore/ops/cpu/attention_forward-inl.h"
#include "libcore/ops/cpu/dtype_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

void attention_forward(Stream& stream, const AttentionForward& args) {
  Pieces needed(nullptr);
  lay_out_forward(args.shape, needed);
  stream.pool().parallel_for(args.shape.batch * args.shape.query_heads, 1,
                             [&](std::int64_t begin, std::int64_t end, int thread) {
                               std::byte* scratch = stream.scratch(thread, needed.bytes());
                               with_float_type(args.q.dtype, [&](auto type) {
                                 forward_heads<typename decltype(type)::type>(args, {begin, end}, scratch);
                               });
                             });
}

void attention_backward(Stream& stream, const AttentionBackward& args) {
  Pieces needed(nullptr);
  lay_out_backward(args.shape, args.dropout.mask.present(), needed);
  stream.pool().parallel_for(args.shape.batch * args.shape.key_value_heads, 1,
                             [&](std::int64_t begin, std::int64_t end, int thread) {
                               std::byte* scratch = stream.scratch(thread, needed.bytes());
                               with_float_type(args.q.dtype, [&](auto type) {
                                 backward_heads<typename decltype(type)::type>(args, {begin, end}, scratch);
                               });
                             });
}

AttentionTable attention_kernels() { return {.forward = attention_forward, .backward = attention_backward}; }

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::ops::cpu {

HWY_EXPORT(attention_kernels);
AttentionTable attention_table() { return HWY_DYNAMIC_DISPATCH(attention_kernels)(); }

}  // namespace convoy::ops::cpu
#endif
