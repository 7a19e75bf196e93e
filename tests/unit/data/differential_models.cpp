// SPDX-License-Identifier: Apache-2.0
#include "differential_models.h"

#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace convoy::data::golden {
namespace {

constexpr const char* kSymbols = "<|user|>,::=,aba,ab,bab,\xe2\x96\x81the,\xe2\x96\x81\xe2\x96\x81\xe2\x96\x81,a b,\xc3\xa9,</s>x,9";
const std::string kCommon =
    " --vocab_size=600 --hard_vocab_limit=false --character_coverage=0.98 --minloglevel=2 --num_threads=1";
constexpr const char* kLossless =
    " --normalization_rule_name=identity --remove_extra_whitespaces=false --byte_fallback=true --split_digits=true "
    "--allow_whitespace_only_pieces=true";

const std::vector<std::pair<std::string, std::string>>& settings() {
  static const std::vector<std::pair<std::string, std::string>> all{
      {"lossless", kLossless},
      {"default", ""},
      {"cross", std::string(kLossless) + " --split_by_whitespace=false"},
      {"suffix", " --treat_whitespace_as_suffix=true --normalization_rule_name=nfkc_cf --byte_fallback=true"},
      {"no-dummy", std::string(kLossless) + " --add_dummy_prefix=false"},
      {"symbols", std::string(kLossless) + " --user_defined_symbols=" + kSymbols},
      {"symbols-nfkc", std::string(" --split_by_unicode_script=false --split_by_number=false --user_defined_symbols=") + kSymbols},
      {"keeps-blanks", " --normalization_rule_name=nmt_nfkc_cf --remove_extra_whitespaces=false"},
  };
  return all;
}

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& texts) : texts_(texts) {}
  bool done() const override { return at_ == texts_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return texts_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& texts_;
  std::size_t at_ = 0;
};

// " --name=value --name=value", where a value may hold blanks.
void add_options(const std::string& text, std::unordered_map<std::string, std::string>& options) {
  for (std::size_t at = text.find(" --"); at != std::string::npos;) {
    const std::size_t next = text.find(" --", at + 1), equals = text.find('=', at);
    options[text.substr(at + 3, equals - at - 3)] = text.substr(equals + 1, std::min(next, text.size()) - equals - 1);
    at = next;
  }
}

struct Piece {
  std::string text;
  float score = 0.0F;
  int kind = 1;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
};

Piece read_piece(protozero::pbf_reader reader) {
  Piece piece;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: piece.text = reader.get_string(); break;
      case 2: piece.score = reader.get_float(); break;
      case 3: piece.kind = reader.get_enum(); break;
      default: reader.skip();
    }
  }
  return piece;
}

// The pieces of a model, and the bytes of everything else.
std::pair<std::vector<Piece>, std::string> taken_apart(const std::string& bytes) {
  std::vector<Piece> pieces;
  std::string rest;
  protozero::pbf_writer writer(rest);
  protozero::pbf_reader reader(bytes);
  while (reader.next()) {
    const auto tag = reader.tag();
    const auto message = reader.get_view();
    if (tag == 1) {
      pieces.push_back(read_piece(protozero::pbf_reader(message)));
    } else if (tag != 4) {  // the self-test expects what is altered
      writer.add_message(tag, message);
    }
  }
  return {std::move(pieces), std::move(rest)};
}

std::string put_together(const std::vector<Piece>& pieces, const std::string& rest) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const Piece& piece : pieces) {
    protozero::pbf_writer message(writer, 1);
    message.add_string(1, piece.text);
    message.add_float(2, piece.score);
    message.add_enum(3, piece.kind);
  }
  return bytes + rest;
}

// Instead of the normal pieces, strings over a few characters: all overlaps and all orders of merges occur.
void use_tiny_alphabet(std::vector<Piece>& pieces, std::mt19937_64& random) {
  static const std::vector<std::string> alphabet{"a", "b", "\xe2\x96\x81", "\xc3\xa9", "\xe6\xb5\xb7", "x"};
  std::erase_if(pieces, [](const Piece& piece) { return piece.kind == 1 || piece.kind == 4; });
  std::set<std::string> texts;
  for (std::size_t i = 5 + random() % 60; i > 0; --i) {
    std::string text;
    for (std::size_t length = 1 + random() % 5; length > 0; --length) text += alphabet[random() % alphabet.size()];
    texts.insert(text);
  }
  for (const std::string& text : texts) pieces.push_back({text, -static_cast<float>(random() % 40) / 4.0F, 1});
}

void change_kinds(std::vector<Piece>& pieces, std::mt19937_64& random) {
  for (Piece& piece : pieces) {
    if (piece.kind != 1 || random() % 12 != 0) continue;
    piece.kind = random() % 3 == 0 ? 4 : 5;
  }
}

}  // namespace

std::vector<TrainedModel> train_models(const std::vector<std::string>& sentences) {
  std::vector<TrainedModel> models;
  for (const char* kind : {"bpe", "unigram"}) {
    for (const auto& [name, options] : settings()) {
      std::unordered_map<std::string, std::string> arguments{{"model_type", kind}};
      add_options(kCommon + options, arguments);
      TrainedModel model{fmt::format("{} {}", kind, name), {}};
      Sentences all(sentences);
      const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &all, &model.bytes);
      if (!status.ok()) throw std::runtime_error(fmt::format("{}: {}", model.name, status.ToString()));
      models.push_back(std::move(model));
    }
  }
  return models;
}

std::string altered_model(const std::string& bytes, std::mt19937_64& random) {
  auto [pieces, rest] = taken_apart(bytes);
  if (random() % 4 == 0) use_tiny_alphabet(pieces, random);
  if (random() % 3 == 0) {
    const auto levels = static_cast<float>(1 + random() % 5);
    for (Piece& piece : pieces) piece.score = piece.kind == 1 ? -static_cast<float>(static_cast<int>(-piece.score) % static_cast<int>(levels)) : piece.score;
  }
  if (random() % 3 == 0) change_kinds(pieces, random);
  protozero::pbf_writer writer(rest);
  if (random() % 4 == 0) {
    // A message that occurs twice is merged; fields 3 to 5 are the dummy prefix, extra blanks and marks.
    protozero::pbf_writer normalizer(writer, 3);
    normalizer.add_bool(3 + static_cast<protozero::pbf_tag_type>(random() % 3), random() % 2 == 0);
  }
  return put_together(pieces, rest);
}

std::vector<std::string> pieces_of(const std::string& bytes) {
  std::vector<std::string> texts;
  for (const Piece& piece : taken_apart(bytes).first) texts.push_back(piece.text);
  return texts;
}

}  // namespace convoy::data::golden
