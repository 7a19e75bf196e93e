// SPDX-License-Identifier: Apache-2.0
// Compares PieceEncoder with the SentencePiece library, id for id, on random texts (nasty_text.h) and models of many settings
// (differential_models.h), each text whole and in random parts, with room for little: --seconds N or --texts N, --seed N. Prints the
// first difference, shortened, and ends with 1.
#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

#include "differential_models.h"
#include "golden_json.h"
#include "libcore/base/json.h"
#include "libcore/data/piece_encoder.h"
#include "nasty_text.h"

namespace {

using convoy::data::EncoderRoom;
using convoy::data::PieceEncoder;

constexpr std::uint64_t kTextsAModel = 800;

struct Settings {
  double seconds = 20;
  std::uint64_t texts = UINT64_MAX, seed = 1;
};

struct Counts {
  std::uint64_t models = 0, texts = 0, left_models = 0, left_texts = 0, bytes = 0;
};

// Both encoders of one model.
class Pair {
 public:
  Pair(const std::string& bytes, std::uint64_t seed)
      : own_(convoy::data::parse_model(bytes)),
        little_(convoy::data::parse_model(bytes), {.part = 1 + seed % 64, .long_unit = 3 + seed / 64 % 64}) {
    const auto status = library_.LoadFromSerializedProto(bytes);
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }
  std::vector<int> library(const std::string& text) const {
    std::vector<int> ids;
    const auto status = library_.Encode(text, &ids);
    if (!status.ok()) throw std::runtime_error(status.ToString());
    return ids;
  }
  // False: the text is left to the library.
  bool own(const std::string& text, std::vector<int>& ids) { return own_.encode(text, room_, ids); }
  // The same of the text in parts, cut where `seed` says, by an encoder that soon takes a unit for a long one.
  bool in_parts(std::string_view text, std::uint64_t seed, std::vector<int>& ids) {
    std::mt19937_64 random(seed);
    const std::uint64_t most = std::uint64_t{1} << random() % 12;
    little_.begin(little_room_);
    while (!text.empty()) {
      const std::size_t bytes = std::min<std::size_t>(text.size(), random() % (most + 1));
      if (!little_.add(text.substr(0, bytes), little_room_, ids)) return false;
      text.remove_prefix(bytes);
    }
    return little_.finish(little_room_, ids);
  }
  bool differs(const std::string& text, std::uint64_t cuts) {
    std::vector<int> ids, parts;
    const bool is_exact = own(text, ids);
    if (is_exact != in_parts(text, cuts, parts)) return true;
    return is_exact && (ids != parts || ids != library(text));
  }
  const std::string& left_to_library() const { return own_.left_to_library(); }

 private:
  sentencepiece::SentencePieceProcessor library_;
  PieceEncoder own_, little_;
  EncoderRoom room_, little_room_;
};

// Leaves out what is not needed for a difference, by halves, then quarters, down to bytes.
std::string shortened(Pair& pair, std::string text, std::uint64_t cuts) {
  for (std::size_t part = text.size() / 2; part > 0; part /= 2) {
    for (std::size_t at = 0; at < text.size();) {
      const std::string less = text.substr(0, at) + (at + part < text.size() ? text.substr(at + part) : "");
      if (pair.differs(less, cuts)) {
        text = less;
      } else {
        at += part;
      }
    }
  }
  return text;
}

std::string shown(const std::string& text) {
  std::string hex;
  for (const char c : text) hex += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return hex;
}

std::string joined(const std::vector<int>& ids) {
  std::string text;
  for (const int id : ids) text += fmt::format("{} ", id);
  return text;
}

void tell(Pair& pair, const std::string& name, const std::string& text, std::uint64_t cuts) {
  const std::string least = shortened(pair, text, cuts);
  std::vector<int> ids, parts;
  pair.own(least, ids);
  pair.in_parts(least, cuts, parts);
  const auto expected = pair.library(least);
  std::cout << fmt::format("DIFFERENCE: {}, cuts {}\n  text {}\n  library  {}\n  own      {}\n  in parts {}\n", name, cuts, shown(least), joined(expected),
                           joined(ids), joined(parts));
}

// False if a difference was found.
bool compare(const std::string& name, const std::string& model, std::uint64_t seed, const auto& is_over, Counts& counts) {
  Pair pair(model, seed);
  ++counts.models;
  if (!pair.left_to_library().empty()) {
    ++counts.left_models;
    return true;
  }
  convoy::data::golden::NastyText source(seed, convoy::data::golden::pieces_of(model));
  std::vector<int> ids;
  for (std::uint64_t i = 0; i < kTextsAModel && !is_over(); ++i) {
    const std::string text = source.next();
    ++counts.texts;
    counts.bytes += text.size();
    ids.clear();
    if (pair.differs(text, seed + i)) {
      tell(pair, fmt::format("{}, seed {}", name, seed), text, seed + i);
      return false;
    }
    counts.left_texts += !pair.own(text, ids);
  }
  return true;
}

std::vector<std::string> sentences() {
  std::vector<std::string> lines;
  for (const auto& row : convoy::data::golden::json_lines(convoy::data::golden::folder() / "megatron" / "docs.jsonl")) {
    std::string text = row["text"].get<std::string>();
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      if (end > begin) lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  for (int i = 0; i < 40; ++i) lines.push_back("ababa aba baab xaab caf\xc3\xa9 \xe6\xb5\xb7\xe9\x81\x8b the  the   ship 42::=7");
  return lines;
}

Settings read_settings(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    if (name == "--seconds") settings.seconds = std::strtod(arguments[i + 1], nullptr);
    if (name == "--seed") settings.seed = std::strtoull(arguments[i + 1], nullptr, 10);
    if (name != "--texts") continue;
    settings.texts = std::strtoull(arguments[i + 1], nullptr, 10);
    settings.seconds = 1e9;
  }
  return settings;
}

int run(const Settings& settings) {
  const auto models = convoy::data::golden::train_models(sentences());
  const auto start = std::chrono::steady_clock::now();
  Counts counts;
  const auto is_over = [&] {
    return counts.texts >= settings.texts ||
           std::chrono::steady_clock::now() - start > std::chrono::duration<double>(settings.seconds);
  };
  std::mt19937_64 random(settings.seed);
  for (std::uint64_t round = 0; !is_over(); ++round) {
    for (const auto& model : models) {
      if (is_over()) break;
      const std::uint64_t seed = random();
      const std::string bytes = round == 0 ? model.bytes : convoy::data::golden::altered_model(model.bytes, random);
      if (!compare(fmt::format("{}, round {}", model.name, round), bytes, seed, is_over, counts)) return 1;
    }
  }
  std::cout << fmt::format("{} texts ({} MB) of {} models: 0 differences; left to the library: {} models, {} texts\n", counts.texts,
                           counts.bytes / 1000000, counts.models, counts.left_models, counts.left_texts);
  return counts.texts > 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(read_settings(count, arguments));
  } catch (const std::exception& error) {
    std::cout << error.what() << "\n";
    return 1;
  }
}
