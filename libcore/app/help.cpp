// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/help.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::app {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kHelpColumn = 30;
constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 data, 4 numerics, 5 communication,\n"
    "6 the answer is no, 7 environment, 75 stopped early and resumable (docs/troubleshooting.md).\n";

// `text` broken at blanks, every line after the first indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::size_t length = end - start;
    if (column > indent && column + 1 + length > kWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out.append(text, start, length);
    column += length;
    start = end + 1;
  }
  return out;
}

std::string paragraphs(const std::string& text) {
  std::string out;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    out += wrapped(text.substr(start, end - start), 0) + '\n';
    start = end + 1;
  }
  return out;
}

std::string entry(const std::string& left, const std::string& right) {
  std::string line = "  " + left;
  if (line.size() + 2 > kHelpColumn) {
    line += '\n' + std::string(kHelpColumn, ' ');
  } else {
    line.resize(kHelpColumn, ' ');
  }
  return line + wrapped(right, kHelpColumn) + '\n';
}

std::string spelled(const Option& option) {
  if (option.is_positional) return option.value + (option.is_list ? "..." : "");
  return "--" + option.name + (option.value.empty() ? "" : " " + option.value);
}

std::string explained(const Option& option) {
  std::string text = option.help;
  if (option.is_list && !option.is_positional) text += " (may be repeated)";
  if (option.is_required && !option.is_positional) text += " (required)";
  if (!option.shown_default.empty()) text += fmt::format(" [default: {}]", option.shown_default);
  return text;
}

std::string usage(const Program& program, const Command& command) {
  std::string line = fmt::format("Usage: {} {}", program.name, command.name);
  for (const Option& option : command.options) {
    if (option.is_positional)
      line += option.is_required ? ' ' + spelled(option) : fmt::format(" [{}]", spelled(option));
    if (!option.is_positional && option.is_required) line += ' ' + spelled(option);
  }
  return line + " [options]\n";
}

std::string examples_text(const std::vector<std::string>& examples) {
  std::string text = examples.empty() ? "" : "\nExamples:\n";
  for (const std::string& example : examples) text += "  " + example + '\n';
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

// "convoy-train" as a shell function: "_convoy_train".
std::string function_name(const std::string& program) {
  std::string name = '_' + program;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

std::string program_help(const Program& program) {
  std::string text =
      fmt::format("{}: {}\n\nUsage: {} COMMAND [options]\n\nCommands:\n", program.name, program.purpose, program.name);
  for (const Command& command : program.commands) text += entry(command.name, command.purpose);
  text += fmt::format("\n'{} COMMAND --help' explains a command; --version names the libraries.\n", program.name);
  return text + examples_text(program.examples) + '\n' + kExitCodes;
}

std::string command_help(const Program& program, const Command& command, const std::vector<Option>& options) {
  std::string text =
      fmt::format("{} {}: {}\n\n{}", program.name, command.name, command.purpose, usage(program, command));
  if (!command.details.empty()) text += '\n' + paragraphs(command.details);
  for (const std::string& heading : headings(options)) {
    text += fmt::format("\n{}:\n", heading.empty() ? "Options" : heading);
    for (const Option& option : options) {
      if (option.group == heading) text += entry(spelled(option), explained(option));
    }
  }
  return text + examples_text(command.examples) + '\n' + kExitCodes;
}

std::string bash_completion(const std::string& program, const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> names;
  std::string flags_of, values_of;
  for (const CompletedCommand& command : commands) {
    names.push_back(command.name);
    std::vector<std::string> flags;
    for (const Option& option : command.options) {
      if (!option.is_positional) flags.push_back("--" + option.name);
      if (option.choices.empty()) continue;
      values_of += fmt::format("    {},--{}) words=\"{}\" ;;\n", command.name, option.name, joined(option.choices));
    }
    flags_of += fmt::format("    {}) words=\"{}\" ;;\n", command.name, joined(flags));
  }
  return fmt::format(
      "# Bash completion of {0}: source this file, or put it into a bash-completion folder.\n"
      "{1}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} "
      "words=\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"{2} --help --version\" -- \"$word\")\n"
      "    return\n"
      "  fi\n"
      "  case $command,$before in\n{4}  esac\n"
      "  if [[ -z $words && $word == -* ]]; then\n"
      "    case $command in\n{3}    esac\n"
      "  fi\n"
      "  [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
      "}}\n"
      "complete -o default -F {1} {0}\n",
      program, function_name(program), joined(names), flags_of, values_of);
}

}  // namespace convoy::app
