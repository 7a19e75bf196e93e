// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace convoy::comm {
namespace {

template <std::size_t size>
std::array<char, size> chars_of(std::string_view text) {
  std::array<char, size> chars = {};  // the last stays 0
  std::copy_n(text.begin(), std::min(text.size(), size - 1), chars.begin());
  return chars;
}

// FNV-1a over the ranks.
std::uint64_t hash_of(const std::vector<int>& members) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const int member : members) hash = (hash ^ static_cast<std::uint64_t>(member)) * 0x100000001b3u;
  return hash;
}

const Report* report_of(int rank, const std::vector<Report>& heard) {
  const auto found = std::ranges::find(heard, rank, &Report::rank);
  return found == heard.end() ? nullptr : &*found;
}

// Where the ranks of a group are, seen from one that waits.
struct Whereabouts {
  std::vector<int> here, silent;
  std::vector<Report> elsewhere;
};

Whereabouts find(const Report& mine, const std::vector<int>& ranks, const std::vector<Report>& heard) {
  Whereabouts found;
  for (const int rank : ranks) {
    const bool is_here = rank == mine.rank || std::ranges::any_of(heard, [&](const Report& report) {
                           return report.rank == rank && report.same_call(mine);
                         });
    const Report* report = report_of(rank, heard);
    if (is_here) {
      found.here.push_back(rank);
    } else if (report != nullptr) {
      found.elsewhere.push_back(*report);
    } else {
      found.silent.push_back(rank);
    }
  }
  return found;
}

std::vector<int> all_ranks(int world) {
  std::vector<int> ranks(static_cast<std::size_t>(world));
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
  return ranks;
}

}  // namespace

bool Report::same_call(const Report& other) const {
  return group == other.group && sequence == other.sequence && what == other.what && group_name == other.group_name &&
         peer < 0 && other.peer < 0;
}

std::string Report::text() const { return text_of({what.data(), sequence, peer}, group_name.data()); }

Report make_report(int rank, const Call& call, const std::vector<int>& members, std::string_view group_name) {
  return {rank, call.peer, call.sequence, hash_of(members), chars_of<24>(call.what), chars_of<40>(group_name)};
}

std::string conclusion(const Report& mine, const std::vector<int>& members, int world, const std::vector<Report>& heard,
                       double waited, const std::vector<std::string>* nodes) {
  const double seconds = std::round(waited * 10) / 10;
  const bool is_message = mine.peer >= 0;
  const Whereabouts group = find(mine, is_message ? std::vector<int>{mine.peer} : members, heard);
  std::vector<int> missing = group.silent;
  if (missing.empty()) std::ranges::transform(group.elsewhere, std::back_inserter(missing), &Report::rank);
  if (missing.empty()) return fmt::format("all ranks are at {}, but it did not end within {} s", mine.text(), seconds);
  std::string text = fmt::format("{} did not {} {} within {} s", ranks_text(missing, nodes),
                                 is_message ? "take part in" : "arrive at", mine.text(), seconds);
  if (!is_message) text += "; waiting there: " + ranks_text(group.here, nodes);
  for (const Report& report : group.elsewhere)
    text += fmt::format("; {} waits at {}", rank_text(report.rank, nodes), report.text());
  if (!group.silent.empty()) return text;
  const std::vector<int> silent = find(mine, all_ranks(world), heard).silent;
  return silent.empty() ? text + "; every rank waits for another"
                        : text + "; no word came from " + ranks_text(silent, nodes);
}

}  // namespace convoy::comm
