// SPDX-License-Identifier: Apache-2.0
// convoy-profile: says who is slow, from the traces that training leaves.
#include "apps/profile/commands.h"
#include "apps/profile/report.h"

int main(int argc, char** argv) {
  using namespace convoy::apps::profile;
  CheckArguments check;
  ExportArguments exporting;
  ImportArguments importing;
  ReportArguments report;
  SynthArguments synth;
  convoy::app::Program program;
  program.name = "convoy-profile";
  program.purpose = "find who is slow in a run, from the traces that training leaves";
  program.examples = {"convoy-profile synth --out runs/made --ranks 8 --layout tp=2,dp=4 --steps 50",
                      "convoy-profile report runs/slow --html report.html"};
  program.config_table = "profile";
  program.commands = {report_command(report), check_command(check), export_command(exporting),
                      import_command(importing), synth_command(synth)};
  return convoy::app::run(program, argc, argv);
}
