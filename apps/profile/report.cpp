// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/report.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "apps/profile/flags.h"
#include "libcore/analysis/report_writers.h"
#include "libcore/base/error.h"
#include "libcore/base/file.h"
#include "libcore/cluster/environment.h"

namespace convoy::apps::profile {
namespace {

using analysis::Answer;
using analysis::Report;

constexpr int kFileColumns = 100;
constexpr int kMostColumns = 120;

int terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kFileColumns;
  return std::min<int>(size.ws_col, kMostColumns);
}

void print_text(const Report& report) {
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  // https://no-color.org: set and not empty.
  const bool colour = terminal && cluster::process_environment()("NO_COLOR").value_or("").empty();
  fmt::print("{}", analysis::report_text(report, terminal ? terminal_columns() : kFileColumns, colour));
}

// All conditions are told before one that cannot be judged ends it.
int judge_all(const ReportArguments& arguments, const Report& report) {
  bool any = false;
  std::string unknown;
  for (const analysis::Condition& condition : arguments.conditions) {
    const analysis::Outcome outcome = analysis::judge(condition, report);
    if (outcome.answer == Answer::kHolds)
      fmt::print(stderr, "convoy-profile report: --fail-on '{}' holds: {}\n", condition.text, outcome.found);
    if (outcome.answer == Answer::kNotMeasured && unknown.empty()) unknown = condition.text;
    any = any || outcome.answer == Answer::kHolds;
  }
  if (!any && !unknown.empty()) {
    throw DataError(fmt::format("--fail-on '{}' cannot be judged: '{}' was not measured in {}", unknown,
                                unknown.substr(0, unknown.find_first_of("<> ")), arguments.run));
  }
  return static_cast<int>(any ? ExitCode::kAnswerIsNo : ExitCode::kDone);
}

int run(const ReportArguments& arguments, const app::Session& session) {
  const Report report = analysis::make_report(arguments.run, {arguments.range, arguments.peak_tflops});
  if (!arguments.html.empty()) write_file_atomically(arguments.html, analysis::report_html(report));
  if (session.json) {
    fmt::print("{}\n", analysis::report_json(report));
  } else {
    print_text(report);
  }
  return judge_all(arguments, report);
}

app::Option fail_on_flag(ReportArguments& arguments) {
  app::Option option = app::texts("fail-on", "CONDITION", arguments.fail_on,
                                  "exit with 6 where it holds: straggler>5%, step_seconds.p95>250ms, incomplete. See "
                                  "above");
  option.set = [&arguments](const std::string& text) {
    analysis::Condition condition;
    std::string problem = analysis::parse_condition(text, condition);
    if (!problem.empty()) return problem;
    arguments.fail_on.push_back(text);
    arguments.conditions.push_back(std::move(condition));
    return problem;
  };
  option.clear = [&arguments] {
    arguments.fail_on.clear();
    arguments.conditions.clear();
  };
  return option;
}

}  // namespace

app::Command report_command(ReportArguments& arguments) {
  app::Command command;
  command.name = "report";
  command.purpose = "say how fast a run is, where its time goes, and which rank holds it up";
  command.details =
      "Names a rank only where its own work, without waiting and without run-delay, is longer than its peers' by more "
      "than chance; else nobody. docs/profile.md has every number's formula.\n\n"
      "--fail-on takes QUANTITY>LIMIT or QUANTITY<LIMIT. Quantities: " +
      analysis::condition_help() + ". A quantity that was not measured ends with 3.";
  command.examples = {"convoy-profile report runs/slow", "convoy-profile report runs/slow --html report.html",
                      "convoy-profile report runs/slow --steps 20-60 --json --fail-on 'straggler>500%'"};
  command.options = {
      run_operand(arguments.run),
      step_range("steps", arguments.range, "steps to look at"),
      app::text("html", "FILE", arguments.html, "write the report as one page for a browser too"),
      fail_on_flag(arguments),
      app::real("peak-tflops", arguments.peak_tflops, {1e-6, 1e6},
                "dense peak of one rank in TFLOP/s, for MFU; of its device, in the precision it computes in"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

}  // namespace convoy::apps::profile
