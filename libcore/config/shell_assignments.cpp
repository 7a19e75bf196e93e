// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/shell_assignments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "libcore/base/json.h"

namespace convoy::config {
namespace {

// A word of these needs no quotes anywhere in a command. No '~', which expands; no '=' at the front, which zsh expands.
constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:,%@+-=";

}  // namespace

std::string shell_quoted(std::string_view text) {
  if (!text.empty() && text.front() != '=' && text.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(text);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_text(const std::vector<Assignment>& assignments) {
  std::string text;
  for (const Assignment& assignment : assignments) {
    std::vector<std::string> words;
    for (const std::string& value : assignment.values) words.push_back(shell_quoted(value));
    const std::string joined = fmt::format("{}", fmt::join(words, " "));
    text += assignment.is_list ? fmt::format("{}=({})\n", assignment.name, joined)
                               : fmt::format("{}={}\n", assignment.name, joined);
  }
  return text;
}

std::string json_text(const std::vector<Assignment>& assignments) {
  JsonObject json;
  for (const Assignment& assignment : assignments) {
    if (assignment.is_list) {
      json.add_raw(assignment.name, json_strings(assignment.values));
    } else {
      json.add(assignment.name, assignment.values.empty() ? "" : assignment.values.front());
    }
  }
  return json.text();
}

}  // namespace convoy::config
