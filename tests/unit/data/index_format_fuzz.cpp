// SPDX-License-Identifier: Apache-2.0
// The reader of PREFIX.idx: any bytes are refused, or give an index whose every value may be used.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "libcore/base/error.h"
#include "libcore/data/index_format.h"

namespace {

using convoy::data::IndexView;

void use(const IndexView& view, std::uint64_t tokens_bytes) {
  std::int64_t tokens = 0;
  for (std::int64_t s = 0; s < view.sequences; ++s) {
    if (view.length(s) < 0 || view.pointer(s) < 0) std::abort();
    tokens += view.length(s);
  }
  if (tokens != view.tokens) std::abort();
  if (static_cast<std::uint64_t>(tokens * convoy::data::size_of(view.type)) != tokens_bytes) std::abort();
  for (std::int64_t d = 0; d < view.documents; ++d) {
    if (view.first_sequence(d) > view.first_sequence(d + 1)) std::abort();
  }
}

}  // namespace

// The first byte chooses the reader's mood, the next four the size of .bin; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 5) return 0;
  std::uint32_t tokens_bytes = 0;
  std::memcpy(&tokens_bytes, data + 1, sizeof tokens_bytes);
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(5);
  try {
    use(convoy::data::parse_index(bytes, {"x.idx", "x.bin", tokens_bytes, (data[0] & 1) != 0}), tokens_bytes);
  } catch (const convoy::DataError&) {
  }
  return 0;
}
