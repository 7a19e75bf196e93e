// SPDX-License-Identifier: Apache-2.0
// The reader of SentencePiece models and the encoder that it feeds: any bytes are refused, left to the library, or give an
// encoder whose ids are of the model, and the same of a text in parts.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/data/piece_encoder.h"

namespace {

using namespace std::string_view_literals;
using convoy::data::EncoderRoom;
using convoy::data::PieceEncoder;

constexpr auto kText = "  aba\xc3\xa9 x<|user|>bab\xe2\x96\x81\xff\xe6\xb5\xb7 e\xcc\x81\tab"sv;

bool encode_in_parts(const convoy::data::ModelProto& model, std::string_view text, std::vector<std::int32_t>& ids) {
  const PieceEncoder encoder(model, {.part = 5, .long_unit = 1});
  const auto room = std::make_unique<EncoderRoom>();
  encoder.begin(*room);
  for (std::size_t at = 0; at < text.size(); at += 3) {
    if (!encoder.add(text.substr(at, 3), *room, ids)) return false;
  }
  return encoder.finish(*room, ids);
}

void use(const convoy::data::ModelProto& model) {
  const PieceEncoder encoder(model);
  if (!encoder.left_to_library().empty()) return;
  const auto room = std::make_unique<EncoderRoom>();
  std::string text(kText);
  for (std::size_t i = 0; i < model.pieces.size() && i < 20; ++i) text += model.pieces[i].text;
  text += text + text;
  std::vector<std::int32_t> once, twice, parts;
  if (!encoder.encode(text, *room, once)) return;
  if (!encoder.encode(text, *room, twice) || once != twice) std::abort();
  if (!encode_in_parts(model, text, parts) || once != parts) std::abort();
  for (const std::int32_t id : once) {
    if (id < 0 || static_cast<std::size_t>(id) >= model.pieces.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    use(convoy::data::parse_model({reinterpret_cast<const char*>(data), size}));
  } catch (const convoy::DataError&) {
  }
  return 0;
}
