// SPDX-License-Identifier: Apache-2.0
// Where the data tests find their reference results, and the few conversions that those need.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::data::golden {

using Path = std::filesystem::path;

inline Path folder() { return Path(CONVOY_GOLDEN_DIR) / "data"; }

inline std::string content(const Path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline nlohmann::json json(const Path& path) { return nlohmann::json::parse(content(path)); }

inline std::vector<nlohmann::json> json_lines(const Path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
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

// A folder of the test's own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = Path(testing::TempDir()) /
            (std::string("convoy-") + info->test_suite_name() + "-" + info->name() + "-" + std::to_string(::getpid()));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  Path operator/(const char* name) const { return path_ / name; }
  const Path& path() const { return path_; }
  Path write(const char* name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }

 private:
  Path path_;
};

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
