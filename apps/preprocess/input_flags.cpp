// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "apps/preprocess/commands.h"
#include "libcore/base/error.h"
#include "libcore/data/json_record.h"

namespace convoy::apps::preprocess {

std::vector<app::Option> InputFlags::options() {
  return {
      app::positionals("INPUT", inputs,
                       "file, folder, glob, @list.txt or -; .txt .jsonl .json .md and others, each also .gz or .zst"),
      app::choice("format", format, {"auto", "text", "jsonl"}, "auto: .jsonl, .json, .ndjson are JSON Lines, the rest is text"),
      checked(app::texts("key", "KEY", keys, "JSON Lines: the key of the text, a.b for b in a; several are joined by newlines (default: text)"),
              [](const std::string& key) { data::RecordParser({key}); }),
      app::choice("document-separator", separator, {"file", "line", "blank-line"}, "text: what ends a document"),
  };
}

data::ReadOptions InputFlags::read() const {
  const std::vector<std::string> problems = data::idle_options({.format = format, .separator = separator, .keys = keys});
  if (!problems.empty()) throw ConfigError(problems);
  return {.format = format, .separator = *data::separator_named(separator)};
}

std::vector<std::string> InputFlags::keys_or_default() const { return keys.empty() ? std::vector<std::string>{"text"} : keys; }

app::Option checked(app::Option option, std::function<void(const std::string&)> parse) {
  option.set = [set = std::move(option.set), parse = std::move(parse)](const std::string& text) -> std::string {
    try {
      parse(text);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return set(text);
  };
  return option;
}

int default_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace convoy::apps::preprocess
