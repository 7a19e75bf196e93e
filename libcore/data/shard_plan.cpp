// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/shard_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

// Position of the first byte of each input in all of them, and behind the last.
std::vector<std::int64_t> starts_of(const std::vector<CuttableInput>& inputs) {
  std::vector<std::int64_t> starts{0};
  for (const CuttableInput& input : inputs) starts.push_back(starts.back() + input.bytes);
  return starts;
}

// The legal cut at or near position `wanted` of all inputs.
std::int64_t cut_near(std::int64_t wanted, const std::vector<CuttableInput>& inputs, const std::vector<std::int64_t>& starts,
                      const NextRecord& next_record) {
  const auto behind = std::upper_bound(starts.begin(), starts.end(), wanted);
  if (behind == starts.end()) return starts.back();
  const std::int64_t end = *behind, begin = *(behind - 1);
  const auto input = static_cast<std::size_t>(behind - starts.begin()) - 1;
  if (wanted == begin) return begin;
  if (inputs[input].divisible) return begin + next_record(input, wanted - begin);
  return wanted - begin < end - wanted ? begin : end;
}

// Shard k ends at cuts[k]; the last one at the end of everything.
std::vector<std::int64_t> cuts_of(const std::vector<CuttableInput>& inputs, std::int64_t shards, const NextRecord& next_record) {
  const std::vector<std::int64_t> starts = starts_of(inputs);
  std::vector<std::int64_t> cuts;
  for (std::int64_t k = 1; k < shards; ++k) {
    // total * k / shards without the product, which may be beyond 64 bits
    const std::int64_t total = starts.back();
    const std::int64_t wanted = total / shards * k + total % shards * k / shards;
    const bool passed = !cuts.empty() && wanted <= cuts.back();  // by the last cut, behind a long record
    cuts.push_back(passed ? cuts.back() : cut_near(wanted, inputs, starts, next_record));
  }
  return cuts;
}

bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }

}  // namespace

std::optional<std::size_t> RecordSearch::find(std::string_view block) {
  for (std::size_t at = 0; at < block.size(); ++at) {
    if (block[at] == '\n') {
      if (!by_blank_line_ || blank_) return at + 1;
      blank_ = true;
    } else if (blank_ && !is_blank(block[at])) {
      blank_ = false;
    } else if (!blank_) {
      at = std::min(block.find('\n', at), block.size()) - 1;
    }
  }
  return std::nullopt;
}

std::vector<Shard> cut_shards(const std::vector<CuttableInput>& inputs, std::int64_t shards, const NextRecord& next_record) {
  check(shards >= 1 && shards <= kMostShards, "the number of shards is checked where it is given");
  const std::vector<std::int64_t> cuts = cuts_of(inputs, shards, next_record);
  std::vector<Shard> result(static_cast<std::size_t>(shards));
  std::size_t shard = 0;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::int64_t at = 0;
    do {
      // An empty input goes to the shard that begins where it lies.
      while (shard < cuts.size() && cuts[shard] <= start + at) ++shard;
      const std::int64_t end = shard < cuts.size() ? std::min(inputs[i].bytes, cuts[shard] - start) : inputs[i].bytes;
      result[shard].push_back({static_cast<std::int64_t>(i), {at, end}});
      at = end;
    } while (at < inputs[i].bytes);
    start += inputs[i].bytes;
  }
  return result;
}

void check_shards(const std::vector<PlannedInput>& inputs, const std::vector<Shard>& shards, std::string_view where) {
  std::size_t input = 0;
  std::int64_t at = 0;
  bool begun = false;  // an input without bytes is read once, too
  for (std::size_t s = 0; s < shards.size(); ++s) {
    for (const ShardPiece& piece : shards[s]) {
      if (input < inputs.size() && begun && at == inputs[input].bytes) {
        ++input;
        at = 0;
        begun = false;
      }
      const bool good = input < inputs.size() && piece.input == static_cast<std::int64_t>(input) && piece.range.begin == at &&
                        piece.range.end <= inputs[input].bytes &&
                        (piece.range.end > at || (inputs[input].bytes == 0 && piece.range.end == 0));
      if (!good) {
        throw DataError(fmt::format("{}: shard {} has bytes [{}, {}) of input {}, expected {}: the shards must read every byte of the {} "
                                    "inputs once and in order; make the plan again",
                                    where, s, piece.range.begin, piece.range.end, piece.input,
                                    input < inputs.size() ? fmt::format("input {} ({} bytes) from byte {} on", input, inputs[input].bytes, at)
                                                          : "nothing more",
                                    inputs.size()));
      }
      at = piece.range.end;
      begun = true;
    }
  }
  const bool whole = inputs.empty() || (input + 1 == inputs.size() && begun && at == inputs[input].bytes);
  if (whole) return;
  throw DataError(fmt::format("{}: the shards end at byte {} of input {}, expected byte {} of input {}: the plan lacks a part; make it again",
                              where, at, input, inputs.back().bytes, inputs.size() - 1));
}

std::string array_spec(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace convoy::data
