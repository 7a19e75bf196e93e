// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/input_list.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/base/file.h"

namespace convoy::data {
namespace {

namespace fs = std::filesystem;

struct Expansion {
  std::vector<InputFile> files;
  std::vector<std::string> problems;
};

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

void add_file(const fs::path& path, Expansion& out) {
  std::error_code unknown;
  const auto bytes = fs::is_regular_file(path) ? fs::file_size(path, unknown) : 0;
  out.files.push_back({path.string(), unknown ? 0 : static_cast<std::int64_t>(bytes)});
}

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const bool hidden = is_hidden(at->path());
    if (hidden && at->is_directory()) at.disable_recursion_pending();
    if (!hidden && at->is_regular_file()) names.push_back(at->path().string());
  }
  if (error) throw EnvironmentError(fmt::format("cannot list '{}': {}", folder.string(), error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

void add_folder(const fs::path& folder, Expansion& out) {
  const std::vector<std::string> names = files_below(folder);
  if (names.empty()) out.problems.push_back(fmt::format("'{}': the folder holds no files", folder.string()));
  for (const std::string& name : names) add_file(name, out);
}

void add_path(const fs::path& path, Expansion& out) {
  if (fs::is_directory(path)) {
    add_folder(path, out);
  } else {
    add_file(path, out);
  }
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> names;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) names.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::sort(names.begin(), names.end());
  return names;
}

void add_plain(const std::string& input, Expansion& out) {
  std::error_code refused;
  if (input == "-") {
    out.files.push_back({"-", 0});
  } else if (fs::exists(input, refused)) {
    add_path(input, out);
  } else if (refused) {
    throw EnvironmentError(fmt::format("cannot look at '{}': {}", input, refused.message()));
  } else if (input.find_first_of("*?[") != std::string::npos) {
    const std::vector<std::string> names = matches_of(input);
    if (names.empty()) out.problems.push_back(fmt::format("'{}': no file matches this pattern", input));
    for (const std::string& name : names) add_path(name, out);
  } else {
    out.problems.push_back(fmt::format("'{}': no such file or folder", input));
  }
}

void add_list(const std::string& name, Expansion& out) {
  std::string content;
  try {
    content = read_file(name, "input list");
  } catch (const ConfigError& error) {
    out.problems.push_back(error.what());
    return;
  }
  std::size_t entries = 0, line = 1;
  for (std::size_t begin = 0; begin < content.size(); ++line) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    std::string entry = content.substr(begin, end - begin);
    if (entry.ends_with('\r')) entry.pop_back();
    if (!entry.empty()) {
      const std::size_t before = out.problems.size();
      add_plain(entry, out);
      if (out.problems.size() > before) out.problems.back() = fmt::format("{}: line {}: {}", name, line, out.problems.back());
      ++entries;
    }
    begin = end + 1;
  }
  if (entries == 0) out.problems.push_back(fmt::format("'@{}': the list names no input", name));
}

void check_standard_input(Expansion& out) {
  const auto is_standard = [](const InputFile& file) { return file.name == "-"; };
  if (std::count_if(out.files.begin(), out.files.end(), is_standard) > 1) {
    out.problems.push_back("'-': standard input can be read once, but it is named several times");
  }
}

}  // namespace

std::vector<InputFile> expand_inputs(const std::vector<std::string>& inputs) {
  Expansion out;
  for (const std::string& input : inputs) {
    if (input.size() > 1 && input.starts_with('@')) {
      add_list(input.substr(1), out);
    } else {
      add_plain(input, out);
    }
  }
  check_standard_input(out);
  if (out.problems.empty() && out.files.empty()) out.problems.push_back("no input was given");
  if (!out.problems.empty()) throw ConfigError(out.problems);
  return out.files;
}

}  // namespace convoy::data
