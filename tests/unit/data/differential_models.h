// SPDX-License-Identifier: Apache-2.0
// SentencePiece models of many settings, for comparing encoders: trained by the library in some seconds, and altered at random.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace convoy::data::golden {

struct TrainedModel {
  std::string name;
  std::string bytes;  // ModelProto
};

// BPE and unigram, lossless and with the trainer's defaults, pieces that span blanks, blanks as suffix, no dummy prefix, other
// rules of normalisation, user-defined symbols that overlap. Throws std::runtime_error if the library refuses one.
std::vector<TrainedModel> train_models(const std::vector<std::string>& sentences);

// The model with, by chance: equal scores, other kinds of some pieces, options of the normaliser turned, pieces over a tiny
// alphabet instead of its own.
std::string altered_model(const std::string& bytes, std::mt19937_64& random);

std::vector<std::string> pieces_of(const std::string& bytes);  // the text of each

}  // namespace convoy::data::golden
