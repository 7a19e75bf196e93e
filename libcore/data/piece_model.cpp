// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/piece_model.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <mutex>

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

class PieceModel : public TokenModel {
 public:
  PieceModel(const std::string& bytes, const ModelProto& model) : encoder_(model) {
    load(bytes, processor_);
    facts_ = {.kind = "sentencepiece-" + name_of(model.kind),
              .normalizer = model.normalizer_name,
              .add_dummy_prefix = model.add_dummy_prefix,
              .bos_id = processor_.bos_id(),
              .eos_id = processor_.eos_id(),
              .unk_id = processor_.unk_id(),
              .pad_id = processor_.pad_id(),
              .vocabulary = processor_.GetPieceSize()};
    lossy_reason_ = probe();
  }

  const std::string& left_to_reference() const override { return encoder_.left_to_library(); }
  std::unique_ptr<TextEncoder> make_encoder() const override;
  void encode_by_reference(std::string_view text, std::vector<std::int32_t>& ids) const override;
  std::string_view reference() const override { return "the SentencePiece library"; }
  std::string decode(const std::vector<std::int32_t>& ids) const override;
  std::string piece(std::int32_t id) const override { return processor_.IdToPiece(id); }

 private:
  friend class PieceTextEncoder;
  std::string round_trip(std::string_view text) const;
  std::string probe() const;

  SentencePieceProcessor processor_;
  PieceEncoder encoder_;
  mutable std::once_flag told_;
};

class PieceTextEncoder : public TextEncoder {
 public:
  explicit PieceTextEncoder(const PieceModel& model) : model_(model) {}

  bool encode(std::string_view text, std::vector<std::int32_t>& ids) override { return told(model_.encoder_.encode(text, room_, ids)); }
  void begin() override { model_.encoder_.begin(room_); }
  bool add(std::string_view part, std::vector<std::int32_t>& ids) override { return told(model_.encoder_.add(part, room_, ids)); }
  bool finish(std::vector<std::int32_t>& ids) override { return told(model_.encoder_.finish(room_, ids)); }

 private:
  bool told(bool is_exact) const {
    if (is_exact) return true;
    std::call_once(model_.told_, [] {
      log_info(
          "some texts hold an unused piece of the tokenizer that comes apart in several ways, or many MiB of one pattern without an end; the SentencePiece "
          "library encodes them");
    });
    return false;
  }

  const PieceModel& model_;
  EncoderRoom room_;
};

std::unique_ptr<TextEncoder> PieceModel::make_encoder() const { return std::make_unique<PieceTextEncoder>(*this); }

void PieceModel::encode_by_reference(std::string_view text, std::vector<std::int32_t>& ids) const {
  std::vector<int> part;
  const auto status = processor_.Encode(text, &part);
  if (!status.ok()) {
    throw DataError(fmt::format("the tokenizer cannot encode a text that begins with {}: SentencePiece: {}; a control symbol of one character does "
                                "that, in a model of type BPE",
                                shown(text), status.ToString()));
  }
  ids.insert(ids.end(), part.begin(), part.end());
}

std::string PieceModel::decode(const std::vector<std::int32_t>& ids) const {
  std::string text;
  const auto status = processor_.Decode(ids, &text);
  check(status.ok(), "the library decodes any ids of its vocabulary");
  return text;
}

std::string PieceModel::round_trip(std::string_view text) const {
  std::vector<int> ids;
  std::string back;
  if (!processor_.Encode(text, &ids).ok() || !processor_.Decode(ids, &back).ok()) return {};
  return back;
}

// The library puts blanks for newlines, folds runs of blanks and rewrites characters if the model's normaliser says so.
std::string PieceModel::probe() const {
  for (const char* text :
       {"a\nb", "a\n\nb", "a\tb", "a\r\nb", "a  b", " a", "a ", "  a", "\xef\xac\x81 \xef\xbc\xa1", "e\xcc\x81", "\xf0\x9f\x9a\xa2 \xe6\xb5\xb7"}) {
    const std::string back = round_trip(text);
    if (back != text) return fmt::format("{} comes back as {}", shown(text), shown(back));
  }
  return {};
}

}  // namespace

std::unique_ptr<TokenModel> make_piece_model(const std::string& bytes) { return std::make_unique<PieceModel>(bytes, parse_model(bytes)); }

}  // namespace convoy::data
