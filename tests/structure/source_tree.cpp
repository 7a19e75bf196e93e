// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/source_tree.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

namespace convoy::structure {
namespace {

const std::set<std::string> kCpp = {".h", ".cpp"};
const std::set<std::string> kCommented = {".h", ".cpp", ".cmake", ".sh", ".sbatch", ".py", ".toml", ".supp"};
const std::vector<std::string> kFolders = {".ci", "apps", "cmake", "libcore", "scripts", "slurm", "tests"};
const std::regex kInclude("\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"].*");

SourceFile load(const std::filesystem::path& file) {
  SourceFile source{std::filesystem::relative(file, root()).generic_string(), {}, {}};
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    source.lines.push_back(line);
    std::smatch match;
    if (std::regex_match(line, match, kInclude))
      source.includes.push_back({static_cast<int>(source.lines.size()), match[1]});
  }
  return source;
}

template <class Wanted>
std::vector<SourceFile> files_below(const std::string& folder, Wanted wanted) {
  std::vector<SourceFile> found;
  if (!std::filesystem::exists(root() / folder)) return found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root() / folder)) {
    if (entry.is_regular_file() && wanted(entry.path())) found.push_back(load(entry.path()));
  }
  std::sort(found.begin(), found.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return found;
}

// Test data is as its makers wrote it.
bool is_data(const std::filesystem::path& file) {
  const std::string path = file.generic_string();
  return path.find("/golden/") != std::string::npos || path.find("_corpus/") != std::string::npos ||
         path.find("/__pycache__/") != std::string::npos;
}

bool is_script(const std::filesystem::path& file) {
  if (file.has_extension()) return false;
  std::string start(2, ' ');
  std::ifstream(file).read(start.data(), 2);
  return start == "#!";
}

bool is_commented(const std::filesystem::path& file) {
  return !is_data(file) &&
         (kCommented.contains(file.extension().string()) || file.filename() == "CMakeLists.txt" || is_script(file));
}

}  // namespace

bool SourceFile::is_header() const { return path.ends_with(".h"); }

std::string SourceFile::unit() const {
  const std::size_t first = path.find('/');
  const std::string folder = path.substr(0, first);
  const std::size_t second = path.find('/', first + 1);
  if (second == std::string::npos || (folder != "libcore" && folder != "apps")) return folder;
  return folder == "apps" ? path.substr(0, second) : path.substr(first + 1, second - first - 1);
}

std::vector<SourceFile> sources_below(const std::string& folder) {
  return files_below(folder,
                     [](const std::filesystem::path& file) { return kCpp.contains(file.extension().string()); });
}

std::vector<SourceFile> commented_files() {
  std::vector<SourceFile> all;
  for (const std::string& folder : kFolders) {
    for (SourceFile& file : files_below(folder, is_commented)) all.push_back(std::move(file));
  }
  all.push_back(load(root() / "CMakeLists.txt"));
  return all;
}

std::filesystem::path root() { return CONVOY_SOURCE_DIR; }

std::string code_of(const std::string& line) {
  std::string code;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == '\\')
        ++i;
      else if (line[i] == quote)
        quote = 0;
    } else if (line[i] == '"') {
      quote = line[i];
    } else if (line.compare(i, 2, "//") == 0) {
      break;
    } else {
      code += line[i];
    }
  }
  return code;
}

}  // namespace convoy::structure
