// SPDX-License-Identifier: Apache-2.0
// A SentencePiece model as a kind of TokenModel: piece_encoder.h encodes, the library decodes, and encodes what is left to it.
#pragma once

#include <memory>
#include <string>

#include "libcore/data/token_model.h"

namespace convoy::data {

// DataError with a clause ("is no SentencePiece model: ...") if the bytes are none.
std::unique_ptr<TokenModel> make_piece_model(const std::string& bytes);

}  // namespace convoy::data
