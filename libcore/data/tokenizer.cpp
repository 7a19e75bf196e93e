// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/tokenizer.h"

#include <fmt/format.h>

#include <mutex>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/data/byte_level_model.h"
#include "libcore/data/piece_model.h"
#include "libcore/data/tokenizer_json.h"

namespace convoy::data {

struct Tokenizer::Content {
  std::unique_ptr<const TokenModel> model;
  std::string sha256;
  std::mutex mutex;
  std::vector<std::unique_ptr<TextEncoder>> encoders;  // that no thread uses now; guarded by `mutex`
};

Tokenizer::Tokenizer(const Path& model, bool special_tokens_are_text) : content_(std::make_unique<Content>()) {
  const std::string bytes = read_file(model, "tokenizer model");
  try {
    content_->model = looks_like_json(bytes) ? make_byte_level_model(bytes, model, special_tokens_are_text) : make_piece_model(bytes);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: the tokenizer {}", model.string(), error.what()));
  }
  content_->sha256 = sha256_hex(bytes);
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;

std::int64_t Tokenizer::vocabulary() const { return facts().vocabulary; }
std::int32_t Tokenizer::eos_id() const { return facts().eos_id; }
std::int32_t Tokenizer::bos_id() const { return facts().bos_id; }
const std::string& Tokenizer::sha256() const { return content_->sha256; }
const TokenizerFacts& Tokenizer::facts() const { return content_->model->facts(); }
const std::string& Tokenizer::lossy_reason() const { return content_->model->lossy_reason(); }
const std::string& Tokenizer::left_to_library() const { return content_->model->left_to_reference(); }
std::string_view Tokenizer::reference() const { return content_->model->reference(); }

void Tokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) const { Lane(*this).encode(text, ids); }

void Tokenizer::encode_by_library(std::string_view text, std::vector<std::int32_t>& ids) const {
  content_->model->encode_by_reference(text, ids);
}

Tokenizer::Lane::Lane(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  if (!tokenizer.left_to_library().empty()) return;
  {
    const std::lock_guard lock(tokenizer.content_->mutex);
    auto& encoders = tokenizer.content_->encoders;
    if (!encoders.empty()) {
      encoder_ = std::move(encoders.back());
      encoders.pop_back();
    }
  }
  if (!encoder_) encoder_ = tokenizer.content_->model->make_encoder();
}

Tokenizer::Lane::~Lane() {
  if (!encoder_) return;
  const std::lock_guard lock(tokenizer_.content_->mutex);
  tokenizer_.content_->encoders.push_back(std::move(encoder_));
}

void Tokenizer::Lane::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  if (encoder_ && encoder_->encode(text, ids)) return;
  tokenizer_.encode_by_library(text, ids);
}

bool Tokenizer::streams() const { return content_->model->streams(); }

Tokenizer::Stream::Stream(Lane& lane) : lane_(lane) {
  check(lane.tokenizer_.streams(), "the tokenizer encodes texts in parts");
  lane.encoder_->begin();
}

bool Tokenizer::Stream::add(std::string_view text, std::vector<std::int32_t>& ids) { return lane_.encoder_->add(text, ids); }
bool Tokenizer::Stream::finish(std::vector<std::int32_t>& ids) { return lane_.encoder_->finish(ids); }

std::string Tokenizer::decode(const std::vector<std::int32_t>& ids) const {
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < vocabulary()) continue;
    throw DataError(fmt::format("token id {} is beyond the tokenizer's vocabulary of {} pieces: is it the tokenizer that "
                                "encoded this text?",
                                id, vocabulary()));
  }
  return content_->model->decode(ids);
}

std::string Tokenizer::piece(std::int32_t id) const {
  check(id >= 0 && id < vocabulary(), "a piece's id is below the vocabulary");
  return content_->model->piece(id);
}

}  // namespace convoy::data
