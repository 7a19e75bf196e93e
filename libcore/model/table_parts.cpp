// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/table_parts.h"

#include <algorithm>

#include "libcore/base/error.h"

namespace convoy::model {
namespace {

void report(const IndexRange& range, const GradientsReady& ready) {
  if (ready && range.begin < range.end) ready(range.begin, range.end);
}

// Those of a layer lie side by side.
IndexRange entries_of(const std::vector<LocalParameter>& table, std::int64_t layer) {
  const auto before = [](const LocalParameter& parameter, std::int64_t value) { return parameter.layer < value; };
  const auto begin = std::lower_bound(table.begin(), table.end(), layer, before);
  const auto end = std::lower_bound(begin, table.end(), layer + 1, before);
  return {static_cast<std::size_t>(begin - table.begin()), static_cast<std::size_t>(end - table.begin())};
}

}  // namespace

TableParts parts_of(const std::vector<LocalParameter>& table, const Shard& shard, std::int64_t layers) {
  TableParts parts;
  // The first or the last chunk has the embedding where the table has it: it is the only one of them on this rank.
  if (shard.first || shard.last) parts.embeddings = entries_of(table, -1).end;
  for (std::int64_t layer = shard.layers.begin; layer < shard.layers.end; ++layer) {
    parts.blocks.push_back(entries_of(table, layer));
    check(parts.blocks.back().begin < parts.blocks.back().end, "the table has every layer of the chunk");
  }
  if (shard.last) parts.head = entries_of(table, layers);
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
