// SPDX-License-Identifier: Apache-2.0
// Where the data tests find their reference results, and the few conversions that those need.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/tmp_dir.h"

namespace convoy::data::golden {

using Path = std::filesystem::path;
using TemporaryFolder = support::TmpDir;

inline Path folder() { return Path(CONVOY_GOLDEN_DIR) / "data"; }

inline std::string content(const Path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string from_base64(std::string_view coded) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : coded) {
    if (c == '=') break;
    bits = (bits << 6) | static_cast<std::uint32_t>(kDigits.find(c));
    held += 6;
    if (held >= 8) bytes.push_back(static_cast<char>((bits >> (held -= 8)) & 0xffu));
  }
  return bytes;
}

// The message of the exception of type E that `action` throws; fails if it throws none.
template <class E, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing of the expected type was thrown";
  return {};
}

}  // namespace convoy::data::golden
