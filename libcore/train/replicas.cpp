// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/replicas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>
#include <utility>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/model/shard.h"

namespace convoy::train {
namespace {

using parallel::Range;

// Of parameter i what the rank keeps: the weights that it computes with (under ZeRO 3 its share), and the optimizer's
// states of its share.
template <class Visit>
void for_each_part(const std::vector<model::LocalParameter>& table, const parallel::Layout& layout,
                   const parallel::Coordinates& at, bool with_master, Visit&& visit) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int64_t count = table[i].box.count();
    const Range share = layout.zero == 0 ? Range{0, count} : parallel::flat_partition(count, layout.data, at.data);
    visit(i, "weight", layout.zero == 3 ? share : Range{0, count});
    if (with_master) visit(i, "master weight", share);
    visit(i, "first moment", share);
    visit(i, "second moment", share);
  }
}

std::int64_t hash_of(const tensor::View& view) {
  const std::size_t bytes = static_cast<std::size_t>(view.count()) * tensor::size_of(view.dtype);
  return std::bit_cast<std::int64_t>(xxh3_64({static_cast<const char*>(view.data), bytes}));
}

struct Holder {
  int rank = 0;
  std::int64_t hash = 0;
};

// The value that more than half of the holders have; null if there is none.
const std::int64_t* majority_of(const std::vector<Holder>& holders) {
  for (const Holder& one : holders) {
    const auto same = std::ranges::count(holders, one.hash, &Holder::hash);
    if (2 * same > static_cast<std::ptrdiff_t>(holders.size())) return &one.hash;
  }
  return nullptr;
}

std::string difference_text(const std::string& thing, const std::vector<Holder>& holders,
                            const comm::Communicator& world) {
  const std::int64_t* majority = majority_of(holders);
  std::vector<std::string> odd, all;
  std::vector<int> others;
  for (const Holder& holder : holders) {
    all.push_back(world.place_of(holder.rank));
    if (majority != nullptr && holder.hash == *majority) {
      others.push_back(holder.rank);
    } else {
      odd.push_back(all.back());
    }
  }
  if (majority == nullptr)
    return fmt::format("{} hold different values of the {}, and which are right is not known", fmt::join(all, ", "),
                       thing);
  return fmt::format("{} {} another {} than rank{} {}", fmt::join(odd, ", "), odd.size() == 1 ? "holds" : "hold", thing,
                     others.size() == 1 ? "" : "s", fmt::join(others, ", "));
}

}  // namespace

Replicas::Replicas(const model::Config& config, const parallel::Layout& layout, tensor::DType compute)
    : with_master_(compute != tensor::DType::kF32) {
  std::map<std::string, std::size_t> known;
  std::vector<int> holders;
  for (int rank = 0; rank < layout.world(); ++rank) {
    const parallel::Coordinates at = parallel::coordinates_of(layout, rank);
    const std::vector<model::LocalParameter> table =
        model::local_parameters(config, model::shards_at(config, layout, at));
    std::vector<std::size_t>& held = held_by_.emplace_back();
    for_each_part(table, layout, at, with_master_, [&](std::size_t i, std::string_view state, const Range& range) {
      const std::string thing = fmt::format("{} of {}", state, table[i].name);
      const std::string key = fmt::format("{} {} {} {}-{}", thing, table[i].box.offset.text(),
                                          table[i].box.extent.text(), range.begin, range.end);
      const auto [found, is_first] = known.emplace(key, things_.size());
      if (is_first) things_.push_back(thing), holders.push_back(0);
      held.push_back(found->second);
      any_ = (++holders[found->second] > 1 && range.size() > 0) || any_;
    });
  }
}

std::vector<std::int64_t> Replicas::hashes(const model::Parameters& parameters, const optim::AdamW& optimizer) const {
  std::vector<std::int64_t> hashes;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    hashes.push_back(hash_of(parameters.kept_weight(i)));
    if (with_master_) hashes.push_back(hash_of(optimizer.master(i)));
    hashes.push_back(hash_of(optimizer.first_moment(i)));
    hashes.push_back(hash_of(optimizer.second_moment(i)));
  }
  return hashes;
}

std::string Replicas::differences(std::span<const std::int64_t> hashes, const comm::Communicator& world) const {
  std::vector<std::vector<Holder>> holders(things_.size());
  std::size_t next = 0;
  for (std::size_t rank = 0; rank < held_by_.size(); ++rank) {
    for (const std::size_t thing : held_by_[rank]) holders[thing].push_back({static_cast<int>(rank), hashes[next++]});
  }
  std::vector<std::string> texts;
  for (std::size_t thing = 0; thing < things_.size(); ++thing) {
    const auto differs = [&](const Holder& one) { return one.hash != holders[thing].front().hash; };
    if (std::ranges::any_of(holders[thing], differs))
      texts.push_back(difference_text(things_[thing], holders[thing], world));
  }
  if (texts.size() < 2) return texts.empty() ? "" : texts.front();
  return fmt::format("{}; {} more of the {} weights and states that are compared differ", texts.front(),
                     texts.size() - 1, things_.size());
}

std::string Replicas::differences(device::Stream& stream, comm::Communicator& world,
                                  const model::Parameters& parameters, const optim::AdamW& optimizer) const {
  const std::vector<std::int64_t> mine = hashes(parameters, optimizer);
  std::vector<std::int64_t> counts;
  std::int64_t total = 0;
  for (const std::vector<std::size_t>& held : held_by_) total += counts.emplace_back(std::ssize(held));
  check(std::ssize(mine) == counts[static_cast<std::size_t>(world.rank())], "a rank holds what its place says");
  std::vector<std::int64_t> all(static_cast<std::size_t>(total));
  world.all_gather(stream, {mine.data(), tensor::DType::kI64, {std::ssize(mine)}},
                   {all.data(), tensor::DType::kI64, {total}, 0}, counts);
  return differences(all, world);
}

}  // namespace convoy::train
