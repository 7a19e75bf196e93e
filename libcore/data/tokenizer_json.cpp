// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/tokenizer_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/utf8.h"
#include "libcore/data/tokenizer_json_parts.h"

namespace convoy::data {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostIds = std::int64_t{1} << 24;
constexpr std::size_t kMostProblems = 20;
constexpr int kDeepest = 100;  // messages show values, at a call a level; the tokenizers library reads no more than 127

// GPT-2's table: printable bytes stand for themselves, the others for the letters from U+0100 on, in their order.
std::array<std::uint32_t, 256> letters_of_bytes() {
  std::array<std::uint32_t, 256> letters{};
  std::uint32_t next = 0x100;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    letters[byte] = printable ? byte : next++;
  }
  return letters;
}

// Bytes that no valid UTF-8 has need no piece.
bool occurs_in_utf8(int byte) { return byte != 0xc0 && byte != 0xc1 && byte < 0xf5; }

// -1 if it is none.
std::int64_t id_of(const json& value) {
  if (!value.is_number_integer()) return -1;
  const auto id = value.get<std::int64_t>();
  return id < 0 || id >= kMostIds ? -1 : id;
}

class Reader {
 public:
  ByteLevelBpe read(std::string_view bytes);

 private:
  void problem(std::string text) { problems_.push_back(std::move(text)); }
  void read_model(const json& model);
  void read_vocabulary(const json& vocabulary);
  void read_merges(const json& merges);
  void add_merge(std::string_view left, std::string_view right, std::size_t place);
  void read_added(const json& added);
  void add_token(const json& token, std::int32_t& next);
  void check_bytes();

  ByteLevelBpe bpe_;
  std::vector<std::string> problems_;
  std::unordered_map<std::string_view, std::int32_t> ids_;        // of the model's pieces
  std::unordered_map<std::uint64_t, std::size_t> places_;         // of merges, by their pair
  std::unordered_set<std::string> added_;
};

void Reader::read_vocabulary(const json& vocabulary) {
  if (!vocabulary.is_object()) return problem("model.vocab is no object of pieces and ids");
  std::unordered_set<std::int64_t> taken;
  for (const auto& [text, value] : vocabulary.items()) {
    const std::int64_t id = id_of(value);
    if (id < 0) return problem(fmt::format("model.vocab: {} has no id that is a whole number below {}", json_quoted(text), kMostIds));
    if (!taken.insert(id).second) return problem(fmt::format("model.vocab has the id {} twice", id));
    bpe_.pieces.emplace_back(text, static_cast<std::int32_t>(id));
    bpe_.highest_id = std::max(bpe_.highest_id, static_cast<std::int32_t>(id));
  }
  for (const auto& [text, id] : bpe_.pieces) ids_.emplace(text, id);
  check_bytes();
}

void Reader::check_bytes() {
  const auto letters = letters_of_bytes();
  std::vector<std::string> missing;
  for (int byte = 0; byte < 256; ++byte) {
    std::string letter;
    append_character(letters[static_cast<std::size_t>(byte)], letter);
    if (occurs_in_utf8(byte) && !ids_.contains(letter)) missing.push_back(fmt::format("{:02x}", byte));
  }
  if (missing.empty()) return;
  problem(fmt::format("model.vocab lacks the pieces of {} bytes ({}{}), so it is no byte-level vocabulary", missing.size(),
                      fmt::join(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(missing.size(), 4)), " "), missing.size() > 4 ? " ..." : ""));
}

void Reader::add_merge(std::string_view left, std::string_view right, std::size_t place) {
  const auto l = ids_.find(left), r = ids_.find(right), both = ids_.find(std::string(left).append(right));
  if (l == ids_.end() || r == ids_.end() || both == ids_.end()) {
    return problem(fmt::format("model.merges[{}]: {} and {} are not both pieces that together are a piece", place, json_quoted(left), json_quoted(right)));
  }
  const std::uint64_t pair = (std::uint64_t{static_cast<std::uint32_t>(l->second)} << 32) | static_cast<std::uint32_t>(r->second);
  const auto [found, is_new] = places_.emplace(pair, bpe_.merges.size());
  if (is_new) bpe_.merges.emplace_back();
  bpe_.merges[found->second] = {.left = static_cast<std::uint32_t>(l->second),
                                .right = static_cast<std::uint32_t>(r->second),
                                .symbol = static_cast<std::uint32_t>(both->second),
                                .rank = static_cast<std::uint32_t>(place)};  // of a pair that is there twice the last counts
}

void Reader::read_merges(const json& merges) {
  if (!merges.is_array()) return problem("model.merges is no array");
  std::size_t place = 0;
  for (const json& merge : merges) {
    if (merge.is_string()) {
      const std::string_view text = merge.get_ref<const std::string&>();
      const std::size_t blank = text.find(' ');
      if (text.starts_with("#version")) continue;
      if (blank == std::string_view::npos || text.find(' ', blank + 1) != std::string_view::npos) {
        problem(fmt::format("model.merges[{}]: {} is not two pieces with a blank between them", place, json_quoted(text)));
      } else {
        add_merge(text.substr(0, blank), text.substr(blank + 1), place);
      }
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      add_merge(merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>(), place);
    } else {
      problem(fmt::format("model.merges[{}] is neither a text nor an array of two", place));
    }
    ++place;
    if (problems_.size() > kMostProblems) return;
  }
}

void Reader::read_model(const json& model) {
  expect_keys(model, "model",
              {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"},
              problems_);
  const std::string type = text_or(model, "type", "BPE", problems_);
  if (type != "BPE") return problem(fmt::format("model.type is {}; supported: BPE", json_quoted(type)));
  const json& dropout = part_of(model, "dropout");
  if (!dropout.is_null() && dropout != 0) problem("model.dropout is not 0: ids would be random; supported: null or 0");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (const std::string text = text_or(model, affix, "", problems_); !text.empty()) {
      problem(fmt::format("model.{} is {}; supported: none", affix, json_quoted(text)));
    }
  }
  bpe_.ignores_merges = truth_or(model, "ignore_merges", false, problems_);
  read_vocabulary(part_of(model, "vocab"));
  if (problems_.empty()) read_merges(part_of(model, "merges"));
}

// The library gives a token the id of the piece of its name, else the next free one, whatever the file says.
void Reader::add_token(const json& token, std::int32_t& next) {
  AddedToken made{.content = text_or(token, "content", "", problems_),
                  .special = truth_or(token, "special", false, problems_),
                  .single_word = truth_or(token, "single_word", false, problems_),
                  .lstrip = truth_or(token, "lstrip", false, problems_),
                  .rstrip = truth_or(token, "rstrip", false, problems_),
                  .normalized = truth_or(token, "normalized", true, problems_)};
  if (made.content.empty()) return;  // the library leaves it out, too
  const std::int64_t id = id_of(part_of(token, "id"));
  const auto piece = ids_.find(made.content);
  made.id = piece != ids_.end() ? piece->second : next;
  next = std::max(next, made.id + 1);
  if (id != made.id) {
    problem(fmt::format("added_tokens: {} has the id {} (-1: none), but the tokenizers library gives it {}; save the file again with that library", json_quoted(made.content), id, made.id));
  }
  if (!added_.insert(made.content).second) return problem(fmt::format("added_tokens: {} is there twice", json_quoted(made.content)));
  bpe_.highest_id = std::max(bpe_.highest_id, made.id);
  bpe_.added.push_back(std::move(made));
}

void Reader::read_added(const json& added) {
  if (added.is_null()) return;
  if (!added.is_array()) return problem("added_tokens is no array");
  auto next = static_cast<std::int32_t>(bpe_.pieces.size());
  for (const json& token : added) {
    if (!token.is_object()) return problem("added_tokens holds what is no object");
    add_token(token, next);
    if (problems_.size() > kMostProblems) return;
  }
}

ByteLevelBpe Reader::read(std::string_view bytes) {
  bool is_deep = false;
  const auto look_at_depth = [&is_deep](int depth, json::parse_event_t, const json&) { return !(is_deep = is_deep || depth > kDeepest); };
  const json root = json::parse(bytes, look_at_depth, false);
  if (is_deep) throw DataError(fmt::format("is no tokenizer.json: its values are nested more than {} deep; expected the file that the tokenizers library saves", kDeepest));
  if (root.is_discarded()) throw DataError("is no tokenizer.json: it is not valid JSON; bring a whole one");
  if (!part_of(root, "model").is_object()) {
    throw DataError("is no tokenizer.json: it has no object \"model\"; expected the file that the tokenizers library saves");
  }
  expect_keys(root, "", {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"}, problems_);
  read_model(part_of(root, "model"));
  read_added(part_of(root, "added_tokens"));
  bpe_.nfc = read_normalizer(part_of(root, "normalizer"), problems_);
  read_pre_tokenizer(part_of(root, "pre_tokenizer"), bpe_.steps, bpe_.byte_level, problems_);
  check_decoder(part_of(root, "decoder"), problems_);
  for (const char* key : {"truncation", "padding"}) {
    if (!part_of(root, key).is_null()) bpe_.remarks.push_back(fmt::format("its {} is not applied: documents are encoded whole", key));
  }
  if (problems_.empty()) return std::move(bpe_);
  if (problems_.size() > kMostProblems) problems_.resize(kMostProblems);
  throw DataError(fmt::format("is a tokenizer.json that Convoy does not encode with: {}", fmt::join(problems_, "; ")));
}

}  // namespace

bool looks_like_json(std::string_view bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && bytes[first] == '{';
}

ByteLevelBpe parse_tokenizer_json(std::string_view bytes) { return Reader().read(bytes); }

std::optional<std::string> bytes_of_piece(std::string_view piece) {
  static const std::unordered_map<std::uint32_t, char> kBytes = [] {
    std::unordered_map<std::uint32_t, char> bytes;
    const auto letters = letters_of_bytes();
    for (std::size_t byte = 0; byte < letters.size(); ++byte) bytes.emplace(letters[byte], static_cast<char>(byte));
    return bytes;
  }();
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const DecodedCharacter character = decode_valid_character(piece.data() + at);
    const auto found = kBytes.find(character.code);
    if (found == kBytes.end()) return std::nullopt;
    bytes += found->second;
    at += character.bytes;
  }
  return bytes;
}

}  // namespace convoy::data
