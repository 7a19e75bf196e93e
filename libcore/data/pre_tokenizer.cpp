// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/pre_tokenizer.h"

#include <algorithm>

namespace convoy::data {
namespace {

using Behavior = SplitStep::Behavior;

struct Piece {
  std::size_t begin = 0, end = 0;
  bool found = false;
};
using Pieces = std::vector<Piece>;

// The found ones and what lies between them.
Pieces pieces_of(const std::vector<std::pair<std::size_t, std::size_t>>& matches, std::size_t bytes, bool invert) {
  Pieces pieces;
  std::size_t done = 0;
  for (const auto& [begin, end] : matches) {
    if (done != begin) pieces.push_back({done, begin, invert});
    pieces.push_back({begin, end, !invert});
    done = end;
  }
  if (done != bytes) pieces.push_back({done, bytes, invert});
  return pieces;
}

Pieces joined_contiguous(const Pieces& pieces) {
  Pieces out;
  for (const Piece& piece : pieces) {
    if (!out.empty() && out.back().found == piece.found) {
      out.back().end = piece.end;
    } else {
      out.push_back(piece);
    }
  }
  return out;
}

// A found one goes to the one before it unless that was found, too.
Pieces joined_with_previous(const Pieces& pieces) {
  Pieces out;
  bool previous = false;
  for (const Piece& piece : pieces) {
    if (piece.found && !previous && !out.empty()) {
      out.back().end = piece.end;
    } else {
      out.push_back(piece);
    }
    previous = piece.found;
  }
  return out;
}

Pieces joined_with_next(const Pieces& pieces) {
  Pieces out;
  bool next = false;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (piece->found && !next && !out.empty()) {
      out.back().begin = piece->begin;
    } else {
      out.push_back(*piece);
    }
    next = piece->found;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

void find_text(std::string_view wanted, std::string_view text, std::vector<std::pair<std::size_t, std::size_t>>& matches) {
  if (wanted.empty()) return;
  for (std::size_t at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + wanted.size())) {
    matches.emplace_back(at, at + wanted.size());
  }
}

}  // namespace

PreTokenizer::PreTokenizer(const std::vector<SplitStep>& steps, const ByteLevelStep& byte_level, const CharacterClasses& classes, bool plain)
    : classes_(classes), adds_blank_(byte_level.adds_blank) {
  const auto compiled = [&](const SplitStep& step) {
    Step made{step, std::nullopt, std::nullopt};
    if (step.search != SplitStep::Search::kRegex) return made;
    const std::optional<WordPattern> known = known_pattern(step.pattern);
    if (known && !plain) {
      made.scanner.emplace(*known, classes_);
    } else {
      made.regex.emplace(step.pattern);
    }
    return made;
  };
  for (const SplitStep& step : steps) steps_.push_back(compiled(step));
  if (byte_level.splits) last_.emplace(compiled({.pattern = std::string(kGpt2Pattern)}));
  if (adds_blank_ || steps_.size() + byte_level.splits != 1) return;
  const Step& only = byte_level.splits ? *last_ : steps_[0];
  // The matches of a known pattern leave nothing between them: to remove what is not one of them changes nothing.
  const bool keeps_all = only.what.behavior == Behavior::kIsolated || (only.what.behavior == Behavior::kRemoved && only.what.invert);
  if (keeps_all) scanner_ = only.scanner;
}

void PreTokenizer::find(const Step& step, std::string_view text, Matches& matches) const {
  if (step.scanner) {
    step.scanner->split(text, [&](const char* begin, const char* end) { matches.emplace_back(begin - text.data(), end - text.data()); });
  } else if (step.regex) {
    step.regex->find(text, matches);
  } else if (step.what.search == SplitStep::Search::kText) {
    find_text(step.what.pattern, text, matches);
  } else {
    for (std::size_t at = 0; at < text.size();) {
      const DecodedCharacter character = decode_valid_character(text.data() + at);
      if (classes_.of(character.code) & kNumeric) matches.emplace_back(at, at + character.bytes);
      at += character.bytes;
    }
  }
}

void PreTokenizer::apply(const Step& step, std::string_view text, Parts& parts) const {
  Matches matches;
  find(step, text, matches);
  Pieces pieces = pieces_of(matches, text.size(), step.what.invert);
  switch (step.what.behavior) {
    case Behavior::kIsolated:
    case Behavior::kRemoved: break;
    case Behavior::kContiguous: pieces = joined_contiguous(pieces); break;
    case Behavior::kMergedWithPrevious: pieces = joined_with_previous(pieces); break;
    case Behavior::kMergedWithNext: pieces = joined_with_next(pieces); break;
  }
  for (const Piece& piece : pieces) {
    const bool goes = piece.begin == piece.end || (step.what.behavior == Behavior::kRemoved && piece.found);
    if (!goes) parts.push_back(text.substr(piece.begin, piece.end - piece.begin));
  }
}

void PreTokenizer::split(std::string_view text, std::string& room, Parts& units) const {
  if (scanner_) {
    scanner_->split(text, [&units](const char* begin, const char* end) { units.emplace_back(begin, static_cast<std::size_t>(end - begin)); });
    return;
  }
  Parts parts{text}, finer;
  for (const Step& step : steps_) {
    finer.clear();
    for (const std::string_view part : parts) apply(step, part, finer);
    parts.swap(finer);
  }
  if (adds_blank_) {
    room.clear();
    room.reserve(text.size() + parts.size() + kPadding);  // so that it does not move
    for (std::string_view& part : parts) {
      const std::size_t begin = room.size();
      if (part[0] != ' ') room += ' ';
      room += part;
      part = std::string_view(room).substr(begin);
    }
    room.append(kPadding, '\0');
  }
  for (const std::string_view part : parts) {
    if (last_) {
      apply(*last_, part, units);
    } else {
      units.push_back(part);
    }
  }
}

}  // namespace convoy::data
