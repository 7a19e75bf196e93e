// SPDX-License-Identifier: Apache-2.0
// The best path through a text's pieces under a unigram model (T. Kudo, "Subword Regularization", ACL 2018), with the
// SentencePiece library's own arithmetic: scores are summed from the beginning of the text in single precision, a candidate is
// compared in double precision, and of equal ones the longest last piece wins. So the path depends on the score before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "libcore/data/byte_trie.h"
#include "libcore/data/path_store.h"
#include "libcore/data/vocabulary.h"

namespace convoy::data {

// One thread's room for paths.
struct PathRoom {
  struct End {
    float score = 0.0F;
    std::int32_t id = -1;
    std::uint32_t bytes = 0;  // of the last piece; 0: not reached
  };
  struct Pair {
    double best = 0.0, second = 0.0;
  };
  std::vector<End> ends;
  std::vector<Pair> totals;
  std::vector<bool> live;
  // Of a unit that goes on and of whose beginning nothing is certain: the best paths so far, by where they end in what is left of
  // its text, and up to where its text was looked at.
  struct Open {
    std::size_t at = 0;
    float score = 0.0F;
    PathStore::Path path;
  };
  std::vector<Open> open;
  std::size_t known = 0;
  PathStore store;

  bool is_open() const { return !open.empty(); }
  void close();
};

class UnigramLattice {
 public:
  explicit UnigramLattice(const Vocabulary& vocabulary);

  // Appends the ids of one unit (unit_splitter.h), valid UTF-8, that begins at `score`, and moves `score` to its end. False if
  // one of its characters is no piece.
  bool encode(std::string_view unit, float& score, PathRoom& room, std::vector<std::int32_t>& ids) const;

  // Of the beginning of a unit, `known` bytes, whole characters, of which `text` has longest_piece() more at least: appends the ids
  // that are certain, moves `score`, and returns the bytes that are done with; the rest, with more text, is to be given next, to this
  // or to encode_end(). Is the room open after it, then the next call's `known` must be longest_piece() at least. nullopt: very
  // much is uncertain, and does not repeat itself.
  //
  // The proof. The best path of the whole unit has a first piece that ends behind the known bytes. That piece begins at one of
  // few places, and up to it the path is the best one to that place. If all of these go through one place, they are certain before
  // it, and going on from there with its score changes nothing: every candidate is the same or, if its path went around that
  // place, no longer there, so no place's score grows, and those on the paths in question stay as they were, ties included: what was
  // chosen is not below any other one, and above all that came before. Otherwise the paths to these few places are kept, and are
  // all that the rest depends on.
  std::optional<std::size_t> encode_beginning(std::string_view text, std::size_t known, float& score, PathRoom& room,
                                              std::vector<std::int32_t>& ids) const;
  // The rest of a unit whose room is open.
  void encode_end(std::string_view rest, float& score, PathRoom& room, std::vector<std::int32_t>& ids) const;
  std::size_t longest_piece() const { return longest_piece_; }  // in bytes

  // The greatest distance from zero of the score before `unit` up to which encode() provably chooses the same path; below zero
  // if there is none.
  //
  // The proof. Let the best path be better than every other one by `margin`, in exact arithmetic. Let |score| <= S, and A be the
  // unit's characters times the greatest score of a piece. No sum exceeds S + A, so each of the n additions of a path rounds by at
  // most e = 2^-24 (S + A). A stored score is never below what any path to it gives less n e, nor above what its own path gives
  // plus n e. So the path that is chosen is worse by 2 n e at most, and it is the best one if 2 n e < margin.
  float reach(std::string_view unit, PathRoom& room) const;

  // Moves `score` over a piece of a known path.
  void advance(float& score, std::int32_t id) const {
    score = static_cast<float>(scores_[static_cast<std::size_t>(id)] + static_cast<double>(score));
  }

 private:
  // Calls visit(begin, end, id) for the pieces within `unit` that begin before `stop`, in the library's order: by where they begin,
  // then by length; a character that is no piece last, with id kNoPiece.
  template <class Visit>
  void visit_pieces(std::string_view unit, std::size_t stop, Visit visit) const;
  void offer(std::size_t begin, std::size_t end, std::int32_t id, PathRoom& room) const;
  void begin(std::size_t bytes, float score, PathRoom& room) const;
  std::optional<std::size_t> common_place(const std::vector<std::size_t>& ends, PathRoom& room) const;
  bool keep(const std::vector<std::size_t>& ends, std::string_view text, PathRoom& room) const;
  void settle(std::string_view text, std::size_t end, float& score, PathRoom& room, std::vector<std::int32_t>& ids) const;
  std::size_t append_path(std::string_view unit, const PathRoom& room, std::vector<std::int32_t>& ids, bool& all_pieces) const;

  static constexpr std::int32_t kNoPiece = -1;
  static constexpr std::int32_t kBeginning = -2;  // where a path begins that is to go on

  const Vocabulary& vocabulary_;
  ByteTrie pieces_;  // but unused ones
  std::vector<double> scores_;
  float unknown_score_ = 0.0F;
  double greatest_ = 0.0;  // distance of a score from zero
  std::size_t longest_piece_ = 4;
};

}  // namespace convoy::data
