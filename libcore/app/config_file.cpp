// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>

#include "libcore/app/suggest.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"

namespace convoy::app {
namespace {

using Texts = std::vector<std::string>;

bool contains(const Texts& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The text that a flag would have had; nothing for a date, a table or an array.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return fmt::format("{}", integer->get());
  if (const auto* real = node.as_floating_point()) {
    const double value = real->get();
    return std::isfinite(value) ? json_number(value) : std::isnan(value) ? "nan" : "inf";
  }
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  return std::nullopt;
}

struct Problem {
  toml::source_index line;
  std::string text;
};

class Problems {
 public:
  explicit Problems(const Path& path) : path_(path) {}

  void add(const toml::node& node, const std::string& text) {
    const toml::source_index line = node.source().begin.line;
    found_.push_back({line, fmt::format("{}:{}: {}", path_.string(), line, text)});
  }

  Texts sorted() {
    std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
    Texts texts;
    for (const Problem& problem : found_) texts.push_back(problem.text);
    return texts;
  }

 private:
  const Path& path_;
  std::vector<Problem> found_;
};

toml::table parse(const Path& path) {
  const std::string content = read_file(path, "configuration file");
  try {
    return toml::parse(content, path.string());
  } catch (const toml::parse_error& error) {
    throw ConfigError(fmt::format("{}:{}:{}: not valid TOML: {}", path.string(), error.source().begin.line,
                                  error.source().begin.column, error.description()));
  }
}

// The keys of one table, set through its options.
class TableReader {
 public:
  TableReader(const ConfigScope& scope, const std::vector<Option>& options, Texts& given, Problems& problems)
      : scope_(scope), options_(options), given_(given), problems_(problems) {}

  const Texts& refused() const { return refused_; }

  void apply(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const auto option =
          std::find_if(options_.begin(), options_.end(), [&name](const Option& o) { return o.name == name; });
      if (option != options_.end() && option->in_config) {
        set(*option, node);
      } else if (option != options_.end()) {
        problems_.add(node, fmt::format("'{}' can only be given on the command line", name));
      } else if (!contains(scope_.known_elsewhere, name) && !(node.is_table() && contains(scope_.commands, name))) {
        unknown(name, node);
      }
    }
  }

 private:
  void unknown(const std::string& name, const toml::node& node) {
    Texts names = scope_.known_elsewhere;
    for (const Option& option : options_) {
      if (option.in_config) names.push_back(option.name);
    }
    const std::string near = close_enough(name, names);
    problems_.add(node, fmt::format("unknown key '{}' in [{}]{}", name, scope_.table,
                                    near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }

  void set(const Option& option, const toml::node& node) {
    if (option.clear) option.clear();
    given_.push_back(option.name);
    const toml::array* array = node.as_array();
    if (array == nullptr) {
      set_one(option, node);
    } else if (!option.is_list) {
      refuse(option, node, fmt::format("{}: takes one value, not a list", option.name));
    } else {
      for (const toml::node& item : *array) set_one(option, item);
    }
  }

  void set_one(const Option& option, const toml::node& node) {
    const std::optional<std::string> text = scalar_text(node);
    if (!text) {
      refuse(option, node, fmt::format("{}: must be a string, a number or a boolean", option.name));
    } else if (const std::string wrong = option.set(*text); !wrong.empty()) {
      refuse(option, node, fmt::format("{} = {}: {}", option.name, *text, wrong));
    }
  }

  void refuse(const Option& option, const toml::node& node, const std::string& problem) {
    refused_.push_back(option.name);
    problems_.add(node, problem);
  }

  const ConfigScope& scope_;
  const std::vector<Option>& options_;
  Texts& given_;
  Problems& problems_;
  Texts refused_;
};

std::string tables_of(const toml::table& root) {
  Texts names;
  for (const auto& [key, node] : root) {
    if (node.is_table()) names.push_back(fmt::format("[{}]", key.str()));
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

void unknown_table(const std::string& name, const toml::node& node, const std::vector<ConfigTable>& tables,
                   Problems& problems) {
  Texts names, shown;
  for (const ConfigTable& table : tables) {
    names.push_back(table.name);
    shown.push_back(fmt::format("[{}]", table.name));
  }
  const std::string near = close_enough(name, names);
  problems.add(node, fmt::format("unknown table [{}]; {}", name,
                                 near.empty() ? fmt::format("expected some of {}", fmt::join(shown, ", "))
                                              : fmt::format("did you mean [{}]?", near)));
}

std::string written_value(const Option& option, const Texts& texts) {
  Texts shown;
  for (const std::string& text : texts) shown.push_back(option.is_quoted ? json_quoted(text) : text);
  return option.is_list ? fmt::format("[{}]", fmt::join(shown, ", ")) : shown.front();
}

std::string setting_line(const Option& option) {
  const Texts texts = option.get();
  return texts.empty() ? fmt::format("# {} = {}\n", option.name, option.value)
                       : fmt::format("{} = {}\n", option.name, written_value(option, texts));
}

}  // namespace

std::vector<std::string> read_config(const Path& path, const ConfigScope& scope, const std::vector<Option>& options,
                                     std::vector<std::string>& given) {
  const toml::table root = parse(path);
  Problems problems(path);
  const toml::table* table = nullptr;
  for (const auto& [key, node] : root) {
    if (!node.is_table()) {
      problems.add(node, fmt::format("key '{}' stands outside of a table; move it below [{}]", key.str(), scope.table));
    } else if (key == scope.table) {
      table = node.as_table();
    }
  }
  if (table == nullptr) {
    problems.add(root, fmt::format("there is no table [{}]; the file has {}", scope.table, tables_of(root)));
    return problems.sorted();
  }
  TableReader reader(scope, options, given, problems);
  reader.apply(*table);
  if (const toml::node* own = table->get(scope.command); own != nullptr && own->is_table())
    reader.apply(*own->as_table());
  return problems.sorted();
}

std::vector<std::string> read_tables(const Path& path, std::vector<ConfigTable>& tables) {
  const toml::table root = parse(path);
  Problems problems(path);
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    const auto found =
        std::find_if(tables.begin(), tables.end(), [&name](const ConfigTable& table) { return table.name == name; });
    if (!node.is_table()) {
      problems.add(node, fmt::format("key '{}' stands outside of a table", name));
    } else if (found == tables.end()) {
      unknown_table(name, node, tables, problems);
    } else {
      found->present = true;
      const ConfigScope scope{found->name, "", {}, {}};
      TableReader reader(scope, found->options, found->given, problems);
      reader.apply(*node.as_table());
      found->refused = reader.refused();
    }
  }
  return problems.sorted();
}

std::string write_config(const std::string& table, const std::vector<Option>& options) {
  std::string toml = fmt::format("[{}]\n", table);
  for (const std::string& heading : headings(options)) {
    std::string lines;
    for (const Option& option : options) {
      if (option.in_config && option.group == heading) lines += setting_line(option);
    }
    if (!heading.empty() && !lines.empty()) toml += fmt::format("\n# {}\n", heading);
    toml += lines;
  }
  return toml;
}

std::string config_library() { return fmt::format("toml++ {}.{}.{}", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH); }

}  // namespace convoy::app
