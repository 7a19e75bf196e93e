// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

namespace convoy::app {
namespace {

CLI::Option* declare(CLI::App& parser, const Option& option) {
  if (option.is_positional) {
    CLI::Option* operand = parser.add_option(option.name)->expected(1);
    return operand->allow_extra_args(option.is_list);
  }
  const std::string flag = (option.name == "help" ? "-h,--" : "--") + option.name;
  if (option.value.empty()) return parser.add_flag(flag);
  return parser.add_option(flag)->expected(1)->allow_extra_args(false);
}

// CLI11 splits an operand "[a,b]" at its commas unless something stands before the bracket.
constexpr char kShield = '\x1f';

std::string shielded(const std::string& text) { return text.starts_with('[') ? kShield + text : text; }
std::string unshielded(const std::string& text) { return text.starts_with(kShield) ? text.substr(1) : text; }

std::vector<std::string> unshielded(std::vector<std::string> texts) {
  for (std::string& text : texts) text = unshielded(text);
  return texts;
}

// CLI11 takes the argument after "--name=" for its value.
void refuse_empty_values(const std::vector<std::string>& arguments, std::vector<std::string>& problems) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      problems.push_back(
          fmt::format("{}: the value is empty; write {} VALUE", argument, argument.substr(0, argument.size() - 1)));
    }
  }
}

}  // namespace

CommandLine parse_command_line(const std::vector<Option>& options, const std::vector<std::string>& arguments) {
  CommandLine line;
  refuse_empty_values(arguments, line.problems);
  if (!line.problems.empty()) return line;

  CLI::App parser;
  parser.set_help_flag();
  parser.allow_extras();
  std::vector<CLI::Option*> declared;
  for (const Option& option : options) {
    declared.push_back(declare(parser, option));
    declared.back()->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  std::vector<std::string> reversed;
  std::transform(arguments.rbegin(), arguments.rend(), std::back_inserter(reversed), shielded);
  try {
    parser.parse(reversed);
  } catch (const CLI::ParseError& error) {
    // Only the last argument can lack its value; whatever stands before it has been taken.
    line.problems.push_back(error.get_name() == "ArgumentMismatch"
                                ? fmt::format("{}: a value is missing", arguments.back())
                                : std::string(error.what()));
  }
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (!declared[i]->results().empty()) line.values[options[i].name] = unshielded(declared[i]->results());
  }
  line.unknown = unshielded(parser.remaining());
  // "--" itself, which ends the flags, is among what is left.
  if (const auto end = std::find(line.unknown.begin(), line.unknown.end(), "--"); end != line.unknown.end())
    line.unknown.erase(end);
  return line;
}

std::vector<std::string> arguments_of(const std::vector<Option>& options, const std::vector<std::string>& given) {
  std::vector<std::string> arguments;
  for (const Option& option : options) {
    if (std::find(given.begin(), given.end(), option.name) == given.end()) continue;
    for (const std::string& text : option.get()) {
      if (option.is_positional) {
        arguments.push_back(text);
      } else if (option.value.empty()) {
        if (text == "true") arguments.push_back(fmt::format("--{}", option.name));
      } else if (text.empty() || text.starts_with('[')) {  // which "--name=" would lose or split
        arguments.push_back(fmt::format("--{}", option.name));
        arguments.push_back(text);
      } else {
        arguments.push_back(fmt::format("--{}={}", option.name, text));
      }
    }
  }
  return arguments;
}

std::string command_line_library() { return "CLI11 " CLI11_VERSION; }

}  // namespace convoy::app
