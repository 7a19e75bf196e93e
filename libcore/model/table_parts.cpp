// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/table_parts.h"

#include "libcore/base/error.h"

namespace convoy::model {
namespace {

void report(const IndexRange& range, const GradientsReady& ready) {
  if (ready && range.begin < range.end) ready(range.begin, range.end);
}

}  // namespace

TableParts parts_of(const std::vector<LocalParameter>& table, const Shard& shard, std::int64_t layers) {
  TableParts parts;
  std::size_t i = 0;
  const auto take = [&](int layer) {
    const std::size_t begin = i;
    while (i < table.size() && table[i].layer == layer) ++i;
    return IndexRange{begin, i};
  };
  parts.embeddings = take(-1).end;
  for (std::int64_t layer = shard.layers.begin; layer < shard.layers.end; ++layer) {
    parts.blocks.push_back(take(static_cast<int>(layer)));
  }
  parts.head = take(static_cast<int>(layers));
  check(i == table.size(), "the parameters are those of the shard, in table order");
  return parts;
}

void report_block(const TableParts& parts, std::size_t block, const GradientsReady& ready) {
  report(parts.blocks[block], ready);
}

void report_head(const TableParts& parts, const Shard& shard, const GradientsReady& ready) {
  report(parts.head, ready);
  if (!shard.first) report({0, parts.embeddings}, ready);
}

void report_embeddings(const TableParts& parts, const GradientsReady& ready) {
  report({1, parts.embeddings}, ready);
  report({0, 1}, ready);
}

}  // namespace convoy::model
