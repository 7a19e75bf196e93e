// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/data/model_proto.h"
#include "libcore/data/segmenter.h"

namespace convoy::data {
namespace {

using sentencepiece::SentencePieceProcessor;

constexpr std::size_t kSegmentBytes = 4096;  // the library is fastest on a few KiB, whose symbols stay in the cache

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
  SentencePieceProcessor whole;         // texts and first segments
  SentencePieceProcessor continuation;  // later segments: puts no blank before them
  Segmenter segmenter;
  TokenizerFacts facts;
  std::string sha256;
  std::string lossy_reason;

  Content(const std::string& bytes, const ModelProto& model) : segmenter(model) {
    load(bytes, whole);
    if (segmenter.can_cut()) load(without_dummy_prefix(bytes), continuation);
    facts = {.kind = name_of(model.kind), .normalizer = model.normalizer_name, .add_dummy_prefix = model.add_dummy_prefix,
             .unk_id = whole.unk_id(), .pad_id = whole.pad_id()};
    sha256 = sha256_hex(bytes);
    lossy_reason = probe();
  }

  std::string round_trip(std::string_view text) const {
    std::vector<int> ids;
    std::string back;
    if (!whole.Encode(text, &ids).ok() || !whole.Decode(ids, &back).ok()) return {};
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

std::int64_t Tokenizer::vocabulary() const { return content_->whole.GetPieceSize(); }
std::int32_t Tokenizer::eos_id() const { return content_->whole.eos_id(); }
std::int32_t Tokenizer::bos_id() const { return content_->whole.bos_id(); }
const std::string& Tokenizer::sha256() const { return content_->sha256; }
const TokenizerFacts& Tokenizer::facts() const { return content_->facts; }
const std::string& Tokenizer::lossy_reason() const { return content_->lossy_reason; }

void Tokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) const {
  thread_local std::vector<int> part;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = content_->segmenter.next_cut(text, std::min(text.size(), begin + kSegmentBytes));
    const SentencePieceProcessor& processor = begin == 0 ? content_->whole : content_->continuation;
    const auto status = processor.Encode(text.substr(begin, end - begin), &part);
    check(status.ok(), "the library encodes any bytes");
    ids.insert(ids.end(), part.begin(), part.end());
    begin = end;
  }
  if (part.capacity() > (std::size_t{1} << 20)) std::vector<int>().swap(part);
}

std::string Tokenizer::decode(const std::vector<std::int32_t>& ids) const {
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < vocabulary()) continue;
    throw DataError(fmt::format("token id {} is beyond the tokenizer's vocabulary of {} pieces: is it the tokenizer that "
                                "encoded this text?",
                                id, vocabulary()));
  }
  std::string text;
  const auto status = content_->whole.Decode(ids, &text);
  check(status.ok(), "the library decodes any ids of its vocabulary");
  return text;
}

std::string Tokenizer::piece(std::int32_t id) const {
  check(id >= 0 && id < vocabulary(), "a piece's id is below the vocabulary");
  return content_->whole.IdToPiece(id);
}

}  // namespace convoy::data
