// SPDX-License-Identifier: Apache-2.0
// Lines of JSON in parts: any bytes give what RecordParser makes of the whole line. Its size says how large the parts are.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "libcore/data/json_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace convoy::data;
  static const std::vector<std::string> keys{"text", "meta.text"};
  static const RecordParser parser(keys);
  static const convoy::Path sibling = std::filesystem::temp_directory_path() / "json_parts_fuzz";
  const std::size_t part = 1 + size % 16;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  std::string expected, text;
  const auto expected_bad = parser.parse(line, expected);
  JsonParts parts(keys, sibling);
  for (std::size_t at = 0; at < line.size(); at += part) parts.add(line.substr(at, part));
  const auto bad = parts.finish();
  if (bad.has_value() != expected_bad.has_value()) std::abort();
  if (bad && bad->kind != expected_bad->kind) std::abort();
  if (bad && bad->kind != BadRecordKind::kJson && bad->reason != expected_bad->reason) std::abort();
  if (bad) return 0;
  parts.for_each_part([&text](std::string_view more) { text += more; });
  if (text != expected) std::abort();
  return 0;
}
