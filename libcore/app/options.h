// SPDX-License-Identifier: Apache-2.0
// Options as data. A program lists what it takes; app::run turns the list into flags, a configuration table, help and
// --print-config. Values arrive as text and are converted here, so that all problems are reported at once.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::app {

// One flag. The functions below build them; `target`s must outlive the parse.
struct Option {
  std::string name;    // "learning-rate": the flag is --learning-rate, the configuration key learning-rate
  std::string value;   // stands for the value in the help, "N"; empty for a switch
  std::string help;    // one line; units and default included by whoever writes it unless `shown_default` is set
  std::string group;   // heading in --help; empty for the command's own list
  bool is_list = false;      // may be repeated; repeating adds up, and on the command line replaces the file's list
  bool is_required = false;
  bool is_positional = false;
  bool in_config = true;     // false: a flag only
  bool is_quoted = true;     // false: the value stands bare in TOML (numbers, booleans)
  std::string shown_default;
  std::vector<std::string> choices;                              // for help and completion
  std::function<std::string(const std::string& text)> set;       // returns the problem, or an empty string
  std::function<void()> clear;                                   // for lists: forget what the file said
  std::function<std::vector<std::string>()> get;                 // the present values as text; empty if unset

  Option& in(std::string heading) { group = std::move(heading); return *this; }
  Option& required() { is_required = true; return *this; }
  Option& optional() { is_required = false; return *this; }  // for operands, which are required otherwise
  Option& flag_only() { in_config = false; return *this; }
};

template <class T>
struct Range {
  T least = std::numeric_limits<T>::lowest();
  T most = std::numeric_limits<T>::max();
};

Option text(std::string name, std::string value, std::string& target, std::string help);
Option text(std::string name, std::string value, std::optional<std::string>& target, std::string help);
Option texts(std::string name, std::string value, std::vector<std::string>& target, std::string help);
Option toggle(std::string name, bool& target, std::string help);                  // a switch without a value
Option yes_no(std::string name, bool& target, std::string help);                  // --name yes|no
Option count(std::string name, std::int64_t& target, Range<std::int64_t> range, std::string help);
Option count(std::string name, int& target, Range<std::int64_t> range, std::string help);
Option count(std::string name, std::optional<std::int64_t>& target, Range<std::int64_t> range, std::string help);
Option bytes(std::string name, std::int64_t& target, Range<std::int64_t> range, std::string help);
Option seconds(std::string name, double& target, Range<double> range, std::string help);
Option real(std::string name, double& target, Range<double> range, std::string help);
Option real(std::string name, std::optional<double>& target, Range<double> range, std::string help);
// Each value a list with commas; repeating adds up.
Option reals(std::string name, std::vector<double>& target, Range<double> range, std::string help);
// The value must be one of `choices`; `target` gets the text.
Option choice(std::string name, std::string& target, std::vector<std::string> choices, std::string help);
// An operand without a name: one (must be given unless optional), or all that are left.
Option positional(std::string value, std::string& target, std::string help);
Option positionals(std::string value, std::vector<std::string>& target, std::string help);

// The groups of `options` in order of first appearance; the command's own list ("") comes first if it is there.
std::vector<std::string> headings(const std::vector<Option>& options);

}  // namespace convoy::app
