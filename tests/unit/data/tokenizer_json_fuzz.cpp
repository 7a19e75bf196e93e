// SPDX-License-Identifier: Apache-2.0
// The reader of tokenizer.json and the encoder that it feeds: any bytes are refused, or give a tokenizer whose two ways of
// encoding agree.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/data/byte_level_encoder.h"
#include "libcore/data/byte_level_reference.h"

namespace {

using namespace convoy::data;

void use(const ByteLevelBpe& bpe) {
  const ByteLevelEncoder encoder(bpe);
  const ByteLevelReference reference(bpe);
  std::string text = " It's 12345  caf\xc3\xa9 e\xcc\x81\xff\n\n \xe6\xb5\xb7";
  for (std::size_t i = 0; i < bpe.added.size() && i < 8; ++i) text += bpe.added[i].content + " x";
  const auto room = std::make_unique<ByteLevelRoom>();
  std::vector<std::int32_t> ids, plain;
  encoder.encode(text, *room, ids);
  reference.encode(text, plain);
  if (ids != plain) std::abort();
  for (const std::int32_t id : ids) {
    if (id < 0 || id > bpe.highest_id) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    use(parse_tokenizer_json({reinterpret_cast<const char*>(data), size}));
  } catch (const convoy::DataError&) {
  }
  return 0;
}
