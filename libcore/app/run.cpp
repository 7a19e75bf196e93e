// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "libcore/app/command_line.h"
#include "libcore/app/config_file.h"
#include "libcore/app/help.h"
#include "libcore/app/suggest.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/version.h"

namespace convoy::app {
namespace {

using Texts = std::vector<std::string>;

// The options that every command has.
struct Common {
  bool help = false, version = false, print_config = false, json = false;
  std::optional<std::string> config;
  std::string log_level = "info";
};

std::vector<Option> all_options(const Command& command, Common& common) {
  constexpr const char* kHeading = "Common options";
  std::vector<Option> options = command.options;
  if (command.has_json)
    options.push_back(toggle("json", common.json, "print one JSON document on stdout").in(kHeading).flag_only());
  options.push_back(
      text("config", "FILE", common.config, "TOML file with settings; flags win").in(kHeading).flag_only());
  options.push_back(
      toggle("print-config", common.print_config, "print the settings as TOML and stop").in(kHeading).flag_only());
  options.push_back(
      choice("log-level", common.log_level, {"debug", "info", "warning", "error", "off"}, "what to tell on stderr")
          .in(kHeading)
          .flag_only());
  options.push_back(
      toggle("version", common.version, "versions of the program and its libraries").in(kHeading).flag_only());
  options.push_back(toggle("help", common.help, "this text").in(kHeading).flag_only());
  return options;
}

LogLevel level_of(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  return name == "off" ? LogLevel::kOff : LogLevel::kInfo;
}

const Command* find_command(const Program& program, const std::string& name) {
  const auto found = std::find_if(program.commands.begin(), program.commands.end(),
                                  [&name](const Command& c) { return c.name == name; });
  return found == program.commands.end() ? nullptr : &*found;
}

// "--version and the libraries it runs on".
std::string version_text(const Program& program) {
  std::string text = fmt::format("{} {}\n", program.name, version());
  for (const auto& [name, library_version] : program.libraries) text += fmt::format("  {} {}\n", name, library_version);
  text += fmt::format("  {}\n  {}\n  fmt {}.{}.{}\n", command_line_library(), config_library(), FMT_VERSION / 10000,
                      FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  return text;
}

// Flags that may stand before the command and take a value.
bool takes_value(const std::string& argument) { return argument == "--config" || argument == "--log-level"; }

// Takes the command's name out of `arguments`; empty if there is none.
std::string take_command(Texts& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (takes_value(arguments[i])) {
      ++i;
    } else if (!arguments[i].starts_with('-')) {
      const std::string name = arguments[i];
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
      return name;
    }
  }
  return "";
}

bool contains(const Texts& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Texts command_names(const Program& program) {
  Texts names;
  for (const Command& command : program.commands) names.push_back(command.name);
  return names;
}

std::string unknown_flag(const Program& program, const Command& command, const std::vector<Option>& options,
                         const std::string& flag) {
  const std::string name = flag.substr(flag.find_first_not_of('-'), flag.find('=') - flag.find_first_not_of('-'));
  Texts names;
  for (const Option& option : options) {
    if (!option.is_positional) names.push_back(option.name);
  }
  const std::string near = close_enough(name, names);
  if (!near.empty()) return fmt::format("unknown flag {}; did you mean --{}?", flag, near);
  for (const Command& other : program.commands) {
    for (const Option& option : other.options) {
      if (option.name == name)
        return fmt::format("unknown flag {}: it belongs to '{} {}'", flag, program.name, other.name);
    }
  }
  return fmt::format("unknown flag {}; '{} {} --help' lists the flags", flag, program.name, command.name);
}

void report_unknown(const Program& program, const Command& command, const std::vector<Option>& options,
                    const Texts& unknown, Texts& problems) {
  bool after_flag = false;
  for (const std::string& argument : unknown) {
    const bool flag =
        argument.size() > 1 && argument.starts_with('-') && argument.find_first_not_of('-') != std::string::npos;
    if (flag) problems.push_back(unknown_flag(program, command, options, argument));
    // What follows an unknown flag is its value.
    if (!flag && !after_flag) problems.push_back(fmt::format("unexpected operand '{}'", argument));
    after_flag = flag;
  }
}

void apply_flags(const std::vector<Option>& options, const CommandLine& line, Texts& problems, Texts& given) {
  for (const Option& option : options) {
    const auto found = line.values.find(option.name);
    if (found == line.values.end()) continue;
    given.push_back(option.name);
    if (option.clear) option.clear();
    const Texts texts = option.is_list ? found->second : Texts{found->second.back()};
    for (const std::string& text : texts) {
      const std::string problem = option.set(text);
      if (problem.empty()) continue;
      const std::string name = option.is_positional ? option.value : "--" + option.name;
      problems.push_back(fmt::format("{} {}: {}", name, text.empty() ? "''" : text, problem));
    }
  }
}

// A flag without its value is told of once.
bool is_told(const Texts& problems, const Option& option) {
  const std::string start = "--" + option.name + ": ";
  return std::any_of(problems.begin(), problems.end(), [&](const std::string& p) { return p.starts_with(start); });
}

void require(const std::vector<Option>& options, const Texts& given, Texts& problems) {
  for (const Option& option : options) {
    if (!option.is_required || contains(given, option.name) || is_told(problems, option)) continue;
    problems.push_back(option.is_positional
                           ? fmt::format("{} is missing: {}", option.value, option.help)
                           : fmt::format("--{} {} is missing: {}", option.name, option.value, option.help));
  }
}

ConfigScope scope_of(const Program& program, const Command& command) {
  ConfigScope scope{program.config_table, command.name, command_names(program), {}};
  for (const Command& other : program.commands) {
    for (const Option& option : other.options) {
      if (option.in_config) scope.known_elsewhere.push_back(option.name);
    }
  }
  return scope;
}

// Settings from the defaults, the file and the flags; throws with every problem of all three.
void resolve(const Program& program, const Command& command, const std::vector<Option>& options,
             const CommandLine& line, const Common& common) {
  Texts problems = line.problems, given;
  report_unknown(program, command, options, line.unknown, problems);
  if (const auto file = line.values.find("config"); file != line.values.end()) {
    const Texts wrong = read_config(file->second.back(), scope_of(program, command), options, given);
    problems.insert(problems.end(), wrong.begin(), wrong.end());
  }
  apply_flags(options, line, problems, given);
  if (!common.print_config) require(options, given, problems);
  if (!problems.empty()) throw ConfigError(problems);
}

// What cannot be written shows when the buffers are written out.
int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return static_cast<int>(ExitCode::kDone);
}

int run_command(const Program& program, const Command& command, const Texts& arguments, const Texts& whole) {
  Common common;
  const std::vector<Option> options = all_options(command, common);
  const CommandLine line = parse_command_line(options, arguments);
  if (line.values.contains("help")) return print(command_help(program, command, options));
  if (line.values.contains("version")) return print(version_text(program));
  resolve(program, command, options, line, common);
  set_log_level(level_of(common.log_level));

  Session session{program.name, command.name, whole, common.json, write_config(program.config_table, command.options)};
  if (common.print_config) return print(session.resolved_config);
  std::signal(SIGPIPE, command.survives_closed_output ? SIG_IGN : SIG_DFL);
  return command.run(session);
}

int completion(const Program& program, const Texts& arguments) {
  if (arguments != Texts{"bash"}) throw ConfigError(fmt::format("usage: {} completion bash", program.name));
  std::vector<CompletedCommand> commands;
  Common common;
  for (const Command& command : program.commands) commands.push_back({command.name, all_options(command, common)});
  return print(bash_completion(program.name, commands));
}

int dispatch(const Program& program, Texts arguments, std::string& title) {
  const Texts whole = arguments;
  arguments.erase(arguments.begin());
  const std::string name = take_command(arguments);
  const Command* command = find_command(program, name);
  if (command != nullptr) {
    title += ' ' + name;
    return run_command(program, *command, arguments, whole);
  }
  if (name == "completion") return completion(program, arguments);
  if (contains(arguments, "--help") || contains(arguments, "-h") || name == "help") return print(program_help(program));
  if (contains(arguments, "--version")) return print(version_text(program));
  if (name.empty() && !arguments.empty())
    throw ConfigError(fmt::format("a command is missing before {}", arguments.front()));
  if (name.empty()) throw ConfigError("a command is missing");
  const std::string near = close_enough(name, command_names(program));
  throw ConfigError(
      fmt::format("unknown command '{}'{}", name, near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

// A full disk behind stdout shows only when the buffers are written out.
int flushed(int code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return code;
  if (errno == EPIPE) return code;
  throw EnvironmentError(fmt::format("cannot write to stdout: {}", std::strerror(errno)));
}

// How long the launcher has to end the other ranks of a job whose rank 0 has told them all what is wrong.
constexpr std::chrono::seconds kHeadStart(2);

void tell(const std::string& title, std::string_view place, std::string_view message) {
  fmt::print(stderr, "{}: {}{}error: {}\n", title, place, place.empty() ? "" : ": ", message);
}

// An error that this rank met, and perhaps all of them.
int failed(const Program& program, const std::string& title, ExitCode code, std::string_view message) {
  if (program.rank != 0) std::this_thread::sleep_for(kHeadStart);
  tell(title, program.place, message);
  return static_cast<int>(code);
}

int refused(const Program& program, const std::string& title, const ConfigError& error) {
  const std::string message = fmt::format("{}\n'{} --help' explains the usage.", error.what(), title);
  if (program.rank != 0) return failed(program, title, error.code(), message);
  tell(title, "", message);
  return static_cast<int>(error.code());
}

}  // namespace

int run(const Program& program, int argc, const char* const* argv) {
  std::string title = program.name;
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is an error of the write, which says so and cleans up
  try {
    return flushed(dispatch(program, Texts(argv, argv + argc), title));
  } catch (const ConfigError& error) {
    return refused(program, title, error);
  } catch (const Error& error) {
    return failed(program, title, error.code(), error.what());
  } catch (const std::bad_alloc& error) {
    return failed(program, title, exit_code_of(error), "out of memory; give the job more, or make its work smaller");
  } catch (const std::system_error& error) {  // of the file system, of starting threads, of a full stdout
    return failed(program, title, exit_code_of(error), error.what());
  } catch (const std::exception& error) {
    return failed(program, title, exit_code_of(error), fmt::format("internal error: {}", error.what()));
  } catch (...) {
    return failed(program, title, ExitCode::kInternal, "internal error: an exception of an unknown type");
  }
}

}  // namespace convoy::app
