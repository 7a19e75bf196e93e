// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/unigram_lattice.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "libcore/base/error.h"
#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

// Of the library's unigram_model.cc.
constexpr float kUnknownPenalty = 10.0F;
constexpr double kSymbolPenalty = 0.1;

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr std::size_t kRoomToKeep = 1 << 16;
constexpr std::size_t kMostBlocks = std::size_t{1} << 19;  // of uncertain paths: some 30 MiB

void offer_total(PathRoom::Pair& pair, double total) {
  if (total > pair.best) {
    pair.second = pair.best;
    pair.best = total;
  } else if (total > pair.second) {
    pair.second = total;
  }
}

}  // namespace

UnigramLattice::UnigramLattice(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
  float least = FLT_MAX, most = FLT_MIN;
  std::int32_t last = 0;
  std::vector<std::pair<std::string, std::int32_t>> keys;
  for (const TextPiece& piece : vocabulary.pieces) {
    last = std::max(last, piece.id);
    longest_piece_ = std::max(longest_piece_, piece.text.size());
    if (piece.kind != PieceKind::kUnused) keys.emplace_back(piece.text, piece.id);
    if (piece.kind != PieceKind::kNormal) continue;
    least = std::min(least, piece.score);
    most = std::max(most, piece.score);
  }
  pieces_ = ByteTrie(std::move(keys));
  unknown_score_ = least - kUnknownPenalty;
  greatest_ = std::abs(static_cast<double>(unknown_score_));
  scores_.resize(static_cast<std::size_t>(last) + 1);
  for (const TextPiece& piece : vocabulary.pieces) {
    const bool is_symbol = piece.kind == PieceKind::kUserDefined;
    const float bonus = static_cast<float>(piece.marked_bytes) * most;
    const double score = is_symbol ? static_cast<double>(bonus) - kSymbolPenalty : static_cast<double>(piece.score);
    scores_[static_cast<std::size_t>(piece.id)] = score;
    greatest_ = std::max(greatest_, std::abs(score));
  }
}

template <class Visit>
void UnigramLattice::visit_pieces(std::string_view unit, std::size_t stop, Visit visit) const {
  for (std::size_t begin = 0; begin < stop;) {
    const std::size_t character = decode_valid_character(unit.data() + begin).bytes;
    bool has_character = false;
    std::uint32_t node = ByteTrie::kRoot;
    for (std::size_t at = begin; at < unit.size() && pieces_.step(node, static_cast<unsigned char>(unit[at])); ++at) {
      const std::int32_t id = pieces_.value(node);
      if (id == ByteTrie::kNoValue) continue;
      visit(begin, at + 1, id);
      has_character = has_character || at + 1 - begin == character;
    }
    if (!has_character) visit(begin, begin + character, kNoPiece);
    begin += character;
  }
}

// Of the best path to the unit's end. Returns where it begins.
std::size_t UnigramLattice::append_path(std::string_view unit, const PathRoom& room, std::vector<std::int32_t>& ids, bool& all_pieces) const {
  const std::size_t first = ids.size();
  std::size_t end = unit.size();
  all_pieces = true;
  for (; room.ends[end].id != kBeginning; end -= room.ends[end].bytes) {
    const PathRoom::End& last = room.ends[end];
    if (last.id != kNoPiece) {
      ids.push_back(last.id);
      continue;
    }
    all_pieces = false;
    const auto before = static_cast<std::ptrdiff_t>(ids.size());
    vocabulary_.append_unknown(unit.substr(end - last.bytes, last.bytes), ids);
    std::reverse(ids.begin() + before, ids.end());
  }
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
  return end;
}

// A piece from `begin` to `end` is the last one of the best path to `end`, if it is better than those before.
inline void UnigramLattice::offer(std::size_t begin, std::size_t end, std::int32_t id, PathRoom& room) const {
  const float before = room.ends[begin].score;
  const double candidate =
      id == kNoPiece ? static_cast<double>(unknown_score_ + before) : scores_[static_cast<std::size_t>(id)] + static_cast<double>(before);
  PathRoom::End& there = room.ends[end];
  if (there.bytes != 0 && candidate <= static_cast<double>(there.score)) return;
  there = {static_cast<float>(candidate), id, static_cast<std::uint32_t>(end - begin)};
}

void UnigramLattice::begin(std::size_t bytes, float score, PathRoom& room) const {
  check(bytes < UINT32_MAX, "pieces are shorter than 4 GiB");
  room.ends.assign(bytes + 1, {});
  if (!room.is_open()) room.ends[0] = {score, kBeginning, 0};
  for (const PathRoom::Open& open : room.open) room.ends[open.at] = {open.score, kBeginning, 0};
}

bool UnigramLattice::encode(std::string_view unit, float& score, PathRoom& room, std::vector<std::int32_t>& ids) const {
  begin(unit.size(), score, room);
  visit_pieces(unit, unit.size(), [&](std::size_t begin, std::size_t end, std::int32_t id) { offer(begin, end, id, room); });
  score = room.ends[unit.size()].score;
  bool all_pieces = true;
  append_path(unit, room, ids, all_pieces);
  if (room.ends.capacity() > kRoomToKeep) room = {};
  return all_pieces;
}

// The last one that the best paths to all of `ends` (ascending) go through; none if they do not meet in this text.
std::optional<std::size_t> UnigramLattice::common_place(const std::vector<std::size_t>& ends, PathRoom& room) const {
  room.live.assign(ends.back() + 1, false);
  for (const std::size_t end : ends) room.live[end] = true;
  std::size_t paths = ends.size();
  for (std::size_t at = ends.back(); true; --at) {
    if (!room.live[at]) continue;
    if (paths == 1) return at;
    if (room.ends[at].id == kBeginning) return std::nullopt;
    const std::size_t before = at - room.ends[at].bytes;
    if (room.live[before]) --paths;
    room.live[before] = true;
  }
}

// False if that is too much.
bool UnigramLattice::keep(const std::vector<std::size_t>& ends, std::string_view text, PathRoom& room) const {
  std::vector<PathRoom::Open> open;
  std::vector<std::int32_t> ids;
  for (const std::size_t end : ends) {
    ids.clear();
    bool all_pieces = true;
    const std::size_t beginning = append_path(text.substr(0, end), room, ids, all_pieces);
    const auto before = std::find_if(room.open.begin(), room.open.end(), [&](const PathRoom::Open& path) { return path.at == beginning; });
    open.push_back({end - ends.front(), room.ends[end].score, before == room.open.end() ? PathStore::Path() : before->path});
    for (const std::int32_t id : ids) room.store.push_back(open.back().path, id);
  }
  room.open = std::move(open);
  return room.store.blocks() <= kMostBlocks;
}

void UnigramLattice::settle(std::string_view text, std::size_t end, float& score, PathRoom& room, std::vector<std::int32_t>& ids) const {
  std::vector<std::int32_t> last;
  bool all_pieces = true;
  const std::size_t beginning = append_path(text.substr(0, end), room, last, all_pieces);
  for (const PathRoom::Open& open : room.open) {
    if (open.at == beginning) room.store.append_to(open.path, ids);
  }
  ids.insert(ids.end(), last.begin(), last.end());
  score = room.ends[end].score;
  room.close();
}

std::optional<std::size_t> UnigramLattice::encode_beginning(std::string_view text, std::size_t known, float& score, PathRoom& room,
                                                            std::vector<std::int32_t>& ids) const {
  check(known > room.known, "there is more text than before");
  begin(text.size(), score, room);
  std::vector<std::size_t> ends;  // of paths that may go on
  visit_pieces(text, known, [&](std::size_t begin, std::size_t end, std::int32_t id) {
    const bool was_seen = end <= room.known || (begin < room.known && room.ends[begin].id != kBeginning);
    if (was_seen) return;
    offer(begin, end, id, room);
    if (end > known && (ends.empty() || ends.back() != begin)) ends.push_back(begin);
  });
  ends.push_back(known);
  if (const auto common = common_place(ends, room); common && (*common > 0 || room.is_open())) {
    settle(text, *common, score, room, ids);
    return common;
  }
  if (!keep(ends, text, room)) return std::nullopt;
  room.known = known - ends.front();
  return ends.front();
}

void UnigramLattice::encode_end(std::string_view rest, float& score, PathRoom& room, std::vector<std::int32_t>& ids) const {
  begin(rest.size(), score, room);
  visit_pieces(rest, rest.size(), [&](std::size_t begin, std::size_t end, std::int32_t id) {
    const bool was_seen = end <= room.known || (begin < room.known && room.ends[begin].id != kBeginning);
    if (!was_seen) offer(begin, end, id, room);
  });
  settle(rest, rest.size(), score, room, ids);
}

void PathRoom::close() {
  open.clear();
  known = 0;
  store.clear();
}

float UnigramLattice::reach(std::string_view unit, PathRoom& room) const {
  constexpr double kRounding = 0x1p-24, kSlack = 0.95, kDoubleRounding = 0x1p-50;
  auto& totals = room.totals;
  totals.assign(unit.size() + 1, {kNone, kNone});
  totals[0].best = 0.0;
  visit_pieces(unit, unit.size(), [&](std::size_t begin, std::size_t end, std::int32_t id) {
    const double score = id == kNoPiece ? static_cast<double>(unknown_score_) : scores_[static_cast<std::size_t>(id)];
    offer_total(totals[end], totals[begin].best + score);
    offer_total(totals[end], totals[begin].second + score);
  });
  const PathRoom::Pair total = totals[unit.size()];
  if (total.second == kNone) return FLT_MAX;
  const auto additions = static_cast<double>(unit.size());  // as many as characters, at most
  const double most = additions * greatest_;
  const double margin = kSlack * (total.best - total.second) - kDoubleRounding * additions * most;
  return static_cast<float>(std::clamp(margin / (2.0 * additions * kRounding) - most, -1.0, static_cast<double>(FLT_MAX) / 2.0));
}

}  // namespace convoy::data
