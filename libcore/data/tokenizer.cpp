// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <mutex>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/data/model_proto.h"
#include "libcore/data/piece_encoder.h"

namespace convoy::data {
namespace {

using sentencepiece::SentencePieceProcessor;

void load(const std::string& bytes, SentencePieceProcessor& processor) {
  const auto status = processor.LoadFromSerializedProto(bytes);
  if (!status.ok()) {
    throw DataError(fmt::format("is no SentencePiece model that the library accepts: {}", status.ToString()));
  }
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  return json_quoted(text.size() <= kMost ? text : text.substr(0, kMost));
}

}  // namespace

struct Tokenizer::Content {
  SentencePieceProcessor processor;
  PieceEncoder encoder;
  std::once_flag told;
  std::mutex mutex;
  std::vector<std::unique_ptr<EncoderRoom>> rooms;  // that no thread uses now; guarded by `mutex`
  TokenizerFacts facts;
  std::string sha256;
  std::string lossy_reason;

  Content(const std::string& bytes, const ModelProto& model) : encoder(model) {
    load(bytes, processor);
    facts = {.kind = name_of(model.kind), .normalizer = model.normalizer_name, .add_dummy_prefix = model.add_dummy_prefix,
             .unk_id = processor.unk_id(), .pad_id = processor.pad_id()};
    sha256 = sha256_hex(bytes);
    lossy_reason = probe();
  }

  std::string round_trip(std::string_view text) const {
    std::vector<int> ids;
    std::string back;
    if (!processor.Encode(text, &ids).ok() || !processor.Decode(ids, &back).ok()) return {};
    return back;
  }

  // The library puts blanks for newlines, folds runs of blanks and rewrites characters if the model's normaliser says so.
  std::string probe() const {
    for (const char* text : {"a\nb", "a\n\nb", "a\tb", "a\r\nb", "a  b", " a", "a ", "  a", "\xef\xac\x81 \xef\xbc\xa1",
                             "e\xcc\x81", "\xf0\x9f\x9a\xa2 \xe6\xb5\xb7"}) {
      const std::string back = round_trip(text);
      if (back != text) return fmt::format("{} comes back as {}", shown(text), shown(back));
    }
    return {};
  }
};

Tokenizer::Tokenizer(const Path& model) {
  const std::string bytes = read_file(model, "tokenizer model");
  try {
    content_ = std::make_unique<Content>(bytes, parse_model(bytes));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: the tokenizer {}", model.string(), error.what()));
  }
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;

std::int64_t Tokenizer::vocabulary() const { return content_->processor.GetPieceSize(); }
std::int32_t Tokenizer::eos_id() const { return content_->processor.eos_id(); }
std::int32_t Tokenizer::bos_id() const { return content_->processor.bos_id(); }
const std::string& Tokenizer::sha256() const { return content_->sha256; }
const TokenizerFacts& Tokenizer::facts() const { return content_->facts; }
const std::string& Tokenizer::lossy_reason() const { return content_->lossy_reason; }

const std::string& Tokenizer::left_to_library() const { return content_->encoder.left_to_library(); }

void Tokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) const { Lane(*this).encode(text, ids); }

void Tokenizer::encode_by_library(std::string_view text, std::vector<std::int32_t>& ids) const {
  std::vector<int> part;
  const auto status = content_->processor.Encode(text, &part);
  if (!status.ok()) {
    throw DataError(fmt::format("the tokenizer cannot encode a text that begins with {}: SentencePiece: {}; a control symbol of one character does "
                                "that, in a model of type BPE",
                                shown(text), status.ToString()));
  }
  ids.insert(ids.end(), part.begin(), part.end());
}

Tokenizer::Lane::Lane(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  if (!tokenizer.left_to_library().empty()) return;
  const std::lock_guard lock(tokenizer.content_->mutex);
  auto& rooms = tokenizer.content_->rooms;
  if (rooms.empty()) {
    room_ = std::make_unique<EncoderRoom>();
  } else {
    room_ = std::move(rooms.back());
    rooms.pop_back();
  }
}

Tokenizer::Lane::~Lane() {
  if (!room_) return;
  const std::lock_guard lock(tokenizer_.content_->mutex);
  tokenizer_.content_->rooms.push_back(std::move(room_));
}

void Tokenizer::Lane::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  if (room_) {
    if (tokenizer_.content_->encoder.encode(text, *room_, ids)) return;
    std::call_once(tokenizer_.content_->told, [] {
      log_info("some texts hold an unused piece of the tokenizer that comes apart in several ways; the SentencePiece library encodes them");
    });
  }
  tokenizer_.encode_by_library(text, ids);
}

std::string Tokenizer::decode(const std::vector<std::int32_t>& ids) const {
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < vocabulary()) continue;
    throw DataError(fmt::format("token id {} is beyond the tokenizer's vocabulary of {} pieces: is it the tokenizer that "
                                "encoded this text?",
                                id, vocabulary()));
  }
  std::string text;
  const auto status = content_->processor.Decode(ids, &text);
  check(status.ok(), "the library decodes any ids of its vocabulary");
  return text;
}

std::string Tokenizer::piece(std::int32_t id) const {
  check(id >= 0 && id < vocabulary(), "a piece's id is below the vocabulary");
  return content_->processor.IdToPiece(id);
}

}  // namespace convoy::data
