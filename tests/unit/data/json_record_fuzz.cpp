// SPDX-License-Identifier: Apache-2.0
// The parser of JSON Lines records: any bytes give a record or a reason, and a record's text is valid UTF-8.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "libcore/base/utf8.h"
#include "libcore/data/json_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace convoy::data;
  static const RecordParser parser({"text", "meta.text"});
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  std::string text;
  const auto bad = parser.parse(line, text);
  if (!bad && convoy::find_invalid_utf8(text) != std::string_view::npos) std::abort();
  if (bad && bad->reason.empty()) std::abort();
  return 0;
}
