// SPDX-License-Identifier: Apache-2.0
// equivalence: whether every layout trains the model that one rank trains, as a table.
#include <fmt/format.h>

#include <cstdio>

#include "libcore/app/run.h"
#include "libcore/base/exit_code.h"
#include "tests/equivalence/matrix.h"
#include "tests/equivalence/seeded_faults.h"

namespace convoy::equivalence {
namespace {

struct Arguments {
  bool all = false, pairs = false, list = false;
  std::int64_t most = 1'000'000'000;
  std::int64_t steps = kSteps;
  std::string only, fault;
};

std::vector<Row> rows_of(const Arguments& arguments) {
  std::vector<Row> rows;
  const auto add = [&](const std::vector<Row>& more) {
    for (const Row& row : more) {
      if (text_of(row).find(arguments.only) != std::string::npos) rows.push_back(row);
    }
  };
  if (!arguments.pairs) add(all_meshes());
  add(arguments.all ? full_rows(arguments.most) : covering_rows());
  return rows;
}

int run(const Arguments& arguments) {
  const std::vector<Row> rows = rows_of(arguments);
  if (arguments.list) {
    for (const Row& row : rows) fmt::print("{}\n", text_of(row));
    return 0;
  }
  Matrix matrix(static_cast<int>(arguments.steps));
  fmt::print("{}\n", table_head());
  std::size_t different = 0;
  for (const Row& row : rows) {
    const Outcome outcome = matrix.run(row, [&](train::CheckSettings& settings) {
      if (!arguments.fault.empty()) seed_fault(arguments.fault, settings);
    });
    different += !outcome.report.equal();
    fmt::print("{}\n", text_of(outcome));
    std::fflush(stdout);
  }
  fmt::print("{} rows, {} runs on one rank beside them: {} different\n", rows.size(), matrix.references(), different);
  return static_cast<int>(different == 0 ? ExitCode::kDone : ExitCode::kAnswerIsNo);
}

app::Command matrix_command(Arguments& arguments) {
  app::Command command;
  command.name = "matrix";
  command.purpose = "train in many layouts and on one rank, and compare";
  command.details =
      "Rows: all 38 meshes (dp, tp, pp) of at most 8 ranks in fp32, then layouts in which every pair of values occurs "
      "(schedule, ZeRO, sequence parallelism, micro-batch, precision, documents, model ..). Ranks are threads of this "
      "process. A row shows the largest differences from one rank in fp32, relative to loss, norm, and the largest "
      "gradient and weight of a tensor: over the first three steps, and over all. Exit code 6 if any row differs by "
      "more than it may.";
  command.examples = {"convoy-equivalence matrix", "convoy-equivalence matrix --fault drop-tied-sum --only 'pp 2'"};
  command.options = {
      app::toggle("all", arguments.all, "every legal combination in place of every pair of values"),
      app::toggle("pairs", arguments.pairs, "without the rows of all meshes"),
      app::count("most", arguments.most, {1}, "with --all: that many rows, evenly spread"),
      app::text("only", "TEXT", arguments.only, "rows whose line holds this text"),
      app::toggle("list", arguments.list, "print the rows and train nothing"),
      app::count("steps", arguments.steps, {1, 1000}, "updates of a row in fp32 (of others at most 8)"),
      app::choice("fault", arguments.fault, fault_names(), "make this mistake on the layouts' ranks"),
  };
  command.run = [&arguments](const app::Session&) { return run(arguments); };
  return command;
}

}  // namespace
}  // namespace convoy::equivalence

int main(int argc, char** argv) {
  using namespace convoy::equivalence;
  Arguments arguments;
  convoy::app::Program program;
  program.name = "convoy-equivalence";
  program.purpose = "whether every layout trains the model that one rank trains";
  program.commands = {matrix_command(arguments)};
  return convoy::app::run(program, argc, argv);
}
