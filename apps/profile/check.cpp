// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "apps/profile/commands.h"
#include "apps/profile/flags.h"
#include "libcore/analysis/display.h"
#include "libcore/analysis/text_table.h"
#include "libcore/analysis/trace_check.h"
#include "libcore/base/exit_code.h"
#include "libcore/base/json.h"

namespace convoy::apps::profile {
namespace {

using analysis::CheckedFile;
using analysis::printable;
using analysis::TraceCheck;

constexpr int kColumns = 120;
constexpr std::size_t kMostRows = 32;  // of a table; beyond, sound files are left out

std::vector<std::string> table_row(const CheckedFile& file) {
  const std::string state = file.problems.empty() ? "sound" : "see below";
  if (!file.is_readable) return {printable(file.name), "-", "-", "-", "-", "-", "-", state};
  return {printable(file.name),
          fmt::format("{}", file.header.rank),
          fmt::format("{}", file.header.attempt),
          printable(file.header.host),
          file.steps == 0 ? "none" : fmt::format("{}-{}", file.first_step, file.last_step),
          fmt::format("{}", file.steps),
          fmt::format("{}", file.events),
          state};
}

void print_table(const TraceCheck& check) {
  std::vector<std::vector<std::string>> rows;
  std::size_t left_out = 0;
  for (const CheckedFile& file : check.files) {
    if (check.files.size() > kMostRows && (file.problems.empty() || rows.size() >= kMostRows)) {
      ++left_out;
    } else {
      rows.push_back(table_row(file));
    }
  }
  if (!rows.empty()) {
    for (const std::string& line : analysis::table_lines({{"file"},
                                                          {"rank", true},
                                                          {"attempt", true},
                                                          {"host"},
                                                          {"steps", true},
                                                          {"records", true},
                                                          {"events", true},
                                                          {"state"}},
                                                         rows, kColumns))
      fmt::print("{}\n", line);
  }
  if (left_out > 0) fmt::print("{}{} files\n", rows.empty() ? "" : "and ", left_out);
}

void print_text(const TraceCheck& check) {
  print_table(check);
  for (const CheckedFile& file : check.files)
    for (const std::string& problem : file.problems) fmt::print("{}: {}\n", printable(file.name), printable(problem));
  for (const std::string& problem : check.problems) fmt::print("{}\n", printable(problem));
  for (const std::string& note : check.notes) fmt::print("note: {}\n", note);
  const auto faulty =
      std::ranges::count_if(check.files, [](const CheckedFile& file) { return !file.problems.empty(); });
  if (check.is_sound()) {
    fmt::print("sound: {} {}\n", check.files.size(), check.files.size() == 1 ? "file" : "files");
  } else {
    fmt::print("not sound: {} of {} files, and {} {} of the run\n", faulty, check.files.size(), check.problems.size(),
               check.problems.size() == 1 ? "problem" : "problems");
  }
}

std::string json_of(const CheckedFile& file) {
  JsonObject json;
  json.add("file", file.name).add("readable", file.is_readable);
  if (file.is_readable) {
    json.add("rank", file.header.rank).add("attempt", file.header.attempt).add("host", file.header.host);
    json.add("records", file.steps).add("events", file.events);
    if (file.steps > 0) json.add("first_step", file.first_step).add("last_step", file.last_step);
    json.add("damaged_bytes", static_cast<std::int64_t>(file.damage.bytes));
  }
  return json.add_raw("problems", json_strings(file.problems)).text();
}

void print_json(const std::string& run, const TraceCheck& check) {
  std::vector<std::string> files;
  for (const CheckedFile& file : check.files) files.push_back(json_of(file));
  fmt::print("{}\n", JsonObject()
                         .add("run", run)
                         .add("sound", check.is_sound())
                         .add_raw("files", json_array(files))
                         .add_raw("problems", json_strings(check.problems))
                         .add_raw("notes", json_strings(check.notes))
                         .text());
}

int run(const CheckArguments& arguments, const app::Session& session) {
  const TraceCheck check = analysis::check_traces(arguments.run);
  if (session.json) {
    print_json(arguments.run, check);
  } else {
    print_text(check);
  }
  return check.is_sound() ? 0 : static_cast<int>(ExitCode::kData);
}

}  // namespace

app::Command check_command(CheckArguments& arguments) {
  app::Command command;
  command.name = "check";
  command.purpose = "check that the traces of a run are whole and agree with each other";
  command.details =
      "Reads every trace file: header, checksums, records, steps that lack or are there twice, a clock that goes back, "
      "holes in the sequences of collectives and messages; then across files: ranks without a trace, attempts, "
      "layouts, "
      "ranks that begin late or end early. Several attempts that did the same steps are no fault, but are told. The "
      "exit "
      "code is 0 if all is sound, 3 if anything is not; `report` uses what is sound all the same, and lists the rest.";
  command.examples = {"convoy-profile check runs/slow", "convoy-profile check runs/slow --json"};
  command.options = {run_operand(arguments.run)};
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

}  // namespace convoy::apps::profile
