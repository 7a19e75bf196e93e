// SPDX-License-Identifier: Apache-2.0
// The repository's own sources as the structure tests see them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convoy::structure {

struct Include {
  int line = 0;
  std::string path;
};

struct SourceFile {
  std::string path;  // from the root of the repository: "libcore/base/log.cpp"
  std::vector<std::string> lines;
  std::vector<Include> includes;

  bool is_header() const;
  std::string unit() const;  // "base" for libcore/base/..., "apps/train" for apps/train/..., else the first folder
  std::string at(std::size_t line) const { return path + ":" + std::to_string(line); }
};

// Every C++ file below `folder` of the repository ("libcore"), sorted by path.
std::vector<SourceFile> sources_below(const std::string& folder);

// Every file that a person wrote and that can hold a comment: sources, build files, scripts.
std::vector<SourceFile> commented_files();

std::filesystem::path root();

// The text without comments and string literals, so that a name in them is no use of it.
std::string code_of(const std::string& line);

}  // namespace convoy::structure
