// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>

#include "apps/profile/commands.h"
#include "libcore/analysis/jsonl_import.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"

namespace convoy::apps::profile {
namespace {

std::string counted(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// What was not taken as it stood, worst first; empty if all was.
std::string left_out(const analysis::ImportSummary& summary) {
  std::string text;
  const auto add = [&text](std::int64_t count, const char* one, const char* many) {
    if (count > 0) text += (text.empty() ? "" : ", ") + counted(count, one, many);
  };
  add(summary.bad_rows, "bad row left out", "bad rows left out");
  add(summary.repeated_rows, "repeated row left out", "repeated rows left out");
  add(summary.empty_steps, "step without duration left out", "steps without duration left out");
  add(summary.unknown_keys, "unknown key ignored", "unknown keys ignored");
  return text;
}

int run(const ImportArguments& arguments, const app::Session& session) {
  const analysis::ImportSummary summary =
      analysis::import_jsonl(arguments.file, arguments.out, arguments.skip_bad_rows);
  for (const std::string& complaint : summary.complaints) log_warning(complaint);
  if (session.json) {
    fmt::print("{}\n", JsonObject()
                           .add("run", arguments.out)
                           .add("rows", summary.rows)
                           .add("ranks", summary.ranks)
                           .add("steps", summary.steps)
                           .add("bad_rows", summary.bad_rows)
                           .add("repeated_rows", summary.repeated_rows)
                           .add("empty_steps", summary.empty_steps)
                           .add("unknown_keys", summary.unknown_keys)
                           .text());
    return 0;
  }
  fmt::print("{}: {} of {}, {} over all\n", arguments.out, counted(summary.rows, "row", "rows"),
             counted(summary.ranks, "rank", "ranks"), counted(summary.steps, "step", "steps"));
  if (const std::string rest = left_out(summary); !rest.empty()) fmt::print("{}\n", rest);
  return 0;
}

}  // namespace

app::Command import_command(ImportArguments& arguments) {
  app::Command command;
  command.name = "import";
  command.purpose = "make traces from another program's rows";
  command.details =
      "FORMAT jsonl: one JSON object a line, in any order, keys in any order: rank, step, kind (phase or collective), "
      "name, start_ns, duration_ns; of a collective also group (world, or tp, pp, dp with a number) and sequence; "
      "optionally host, tp, pp, dp, bytes, peer, overlapped. A step lasts from the begin of its first row to the end "
      "of "
      "its last; of rows that nest or overlap, the one that began last counts. docs/profile.md has every key. A row "
      "that "
      "is wrong, or contradicts another, ends the import with its line, and nothing is written.";
  command.examples = {"convoy-profile import jsonl rows.jsonl --out runs/imported",
                      "convoy-profile import jsonl rows.jsonl --out runs/imported --skip-bad-rows --json"};
  app::Option format = app::choice("FORMAT", arguments.format, {"jsonl"}, "of FILE: jsonl");
  format.is_positional = format.is_required = true;
  format.in_config = false;
  format.value = "FORMAT";
  command.options = {
      format,
      app::positional("FILE", arguments.file, "rows to import"),
      app::text("out", "RUN", arguments.out, "run directory to fill; it may exist, its traces/ must not").required(),
      app::toggle("skip-bad-rows", arguments.skip_bad_rows, "leave bad rows out, count them and name the first few"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

}  // namespace convoy::apps::profile
