// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <optional>

#include "apps/profile/commands.h"
#include "apps/profile/flags.h"
#include "libcore/analysis/trace_export.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"

namespace convoy::apps::profile {
namespace {

using analysis::TraceSet;

// That what is asked for is there, before anything is written.
void check_wishes(const TraceSet& traces, const ExportArguments& arguments) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  int world = 0;
  for (const analysis::Segment& segment : traces.segments()) {
    world = std::max(world, segment.header.world);
    if (segment.last_step < segment.first_step) continue;
    first = std::min(first, segment.first_step);
    last = std::max(last, segment.last_step);
  }
  if (!arguments.ranks.empty() && arguments.ranks.back() >= world) {
    throw ConfigError(
        fmt::format("--ranks: rank {} does not exist; the run has ranks 0 to {}", arguments.ranks.back(), world - 1));
  }
  if (last == 0) throw DataError(fmt::format("{}: no step was recorded", arguments.run));
  if (arguments.steps.first > last || arguments.steps.last < first) {
    throw ConfigError(fmt::format("--steps: none of those was recorded; the run has steps {} to {}", first, last));
  }
}

analysis::ExportSummary write(const TraceSet& traces, const ExportArguments& arguments) {
  const analysis::ExportOptions options = {
      .range = arguments.steps, .ranks = arguments.ranks, .most_bytes = static_cast<std::uint64_t>(arguments.max_size)};
  const auto convert = arguments.to == "csv" ? analysis::export_csv : analysis::export_chrome;
  if (arguments.out.empty()) {
    const auto summary = convert(traces, options, [](std::string_view text) {
      if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        throw EnvironmentError("cannot write to stdout");
    });
    if (std::fflush(stdout) != 0) throw EnvironmentError("cannot write to stdout");
    return summary;
  }
  AtomicFile file(arguments.out);
  const auto summary = convert(traces, options, [&file](std::string_view text) { file.write(text); });
  file.commit();
  return summary;
}

int run(const ExportArguments& arguments) {
  const TraceSet traces = TraceSet::open(arguments.run);
  for (const std::string& lacking : traces.incomplete()) log_warning(lacking);
  check_wishes(traces, arguments);
  const analysis::ExportSummary summary = write(traces, arguments);
  if (summary.left_out > 0) {
    log_warning(
        fmt::format("--max-size {}: {} steps and events are left out; choose fewer with --steps and --ranks, or "
                    "allow more",
                    format_bytes(static_cast<double>(arguments.max_size)), summary.left_out));
  }
  if (!summary.clocks_are_aligned)
    log_warning("the traces do not say when they began: every rank begins at its own zero");
  if (!arguments.out.empty()) {
    fmt::print("{}: {} steps and {} events, {}\n", arguments.out, summary.steps, summary.events,
               format_bytes(static_cast<double>(summary.bytes)));
  }
  return 0;
}

app::Option format_flag(ExportArguments& arguments) {
  app::Option option = app::choice("to", arguments.to, {"chrome", "csv"}, "form: a Chrome trace, or a table of steps");
  option.is_required = true;
  option.set = [known = option.set](const std::string& text) {
    if (text == "perfetto") return std::string("is not written; use chrome: Perfetto opens it");
    return known(text);
  };
  return option;
}

}  // namespace

app::Command export_command(ExportArguments& arguments) {
  app::Command command;
  command.name = "export";
  command.purpose = "write a run's traces as a Chrome trace or as a table";
  command.details =
      "--to chrome: the JSON that chrome://tracing and ui.perfetto.dev open: a process a rank; its steps, and the "
      "events "
      "of those steps whose events were kept (--trace-window, and the last ones before the end); overlapped "
      "communication "
      "on a thread of its own. Hosts are put on one axis by their real-time clocks, which may be milliseconds apart. "
      "--to csv: a row a step and rank with every phase, in ns.";
  command.examples = {"convoy-profile export runs/slow --to chrome --steps 1-2 --ranks 0-3 --out trace.json",
                      "convoy-profile export runs/slow --to csv --steps 10-20 > steps.csv"};
  command.options = {
      run_operand(arguments.run),
      format_flag(arguments),
      step_range("steps", arguments.steps, "to write"),
      rank_list("ranks", arguments.ranks, "to write"),
      app::text("out", "FILE", arguments.out, "to write; left out: stdout"),
      app::bytes("max-size", arguments.max_size, {std::int64_t{64} << 10, std::numeric_limits<std::int64_t>::max()},
                 "of the output: what is beyond it is left out, with a warning. Browsers fail at some hundred MiB"),
  };
  command.run = [&arguments](const app::Session&) { return run(arguments); };
  return command;
}

}  // namespace convoy::apps::profile
