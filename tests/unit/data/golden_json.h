// SPDX-License-Identifier: Apache-2.0
// Reference results that come as JSON; apart from golden.h because the JSON library takes seconds to compile.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden.h"

namespace convoy::data::golden {

inline nlohmann::json json(const Path& path) { return nlohmann::json::parse(content(path)); }

inline std::vector<nlohmann::json> json_lines(const Path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace convoy::data::golden
