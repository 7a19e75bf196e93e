// SPDX-License-Identifier: Apache-2.0
// Normalisation form C as the tokenizers library has it: that of Unicode 9, whatever newer version the linked ICU knows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace convoy::data {

class NfcNormalizer {
 public:
  NfcNormalizer();
  ~NfcNormalizer();

  // `text` (valid UTF-8) itself if it is normalised, else what is then in `room`.
  std::string_view normalize(std::string_view text, std::string& room) const;
  // Whether the character with this code never changes with, nor is changed by, what stands before it.
  bool begins_alone(std::uint32_t code) const;

 private:
  struct Content;
  std::unique_ptr<const Content> content_;
};

}  // namespace convoy::data
