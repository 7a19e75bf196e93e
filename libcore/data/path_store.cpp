// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/path_store.h"

namespace convoy::data {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace

std::uint32_t PathStore::number_of(Block block) {
  const std::uint64_t both = (std::uint64_t{block.left} << 32) | block.right;
  const auto [found, is_new] = numbers_.emplace(both, static_cast<std::uint32_t>(blocks_.size()));
  if (is_new) blocks_.push_back(block);
  return found->second;
}

void PathStore::push_back(Path& path, std::int32_t id) {
  Part last{0, number_of({static_cast<std::uint32_t>(id), kNone})};
  for (; !path.empty() && path.back().level == last.level; path.pop_back()) {
    last = {last.level + 1, number_of({path.back().block, last.block})};
  }
  path.push_back(last);
}

void PathStore::append_block(Part part, std::vector<std::int32_t>& ids) const {
  const Block block = blocks_[part.block];
  if (part.level == 0) {
    ids.push_back(static_cast<std::int32_t>(block.left));
    return;
  }
  append_block({part.level - 1, block.left}, ids);
  append_block({part.level - 1, block.right}, ids);
}

void PathStore::append_to(const Path& path, std::vector<std::int32_t>& ids) const {
  for (const Part part : path) append_block(part, ids);
}

void PathStore::clear() {
  if (!blocks_.empty()) *this = {};  // a table that once was large is slow to empty
}

}  // namespace convoy::data
