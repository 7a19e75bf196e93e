// SPDX-License-Identifier: Apache-2.0
// convoy-ckpt: looks into checkpoints and turns them into other forms.
#include "apps/ckpt/commands.h"

int main(int argc, char** argv) {
  using namespace convoy::apps::ckpt;
  InspectArguments inspect;
  ExportArguments exporting;
  convoy::app::Program program;
  program.name = "convoy-ckpt";
  program.purpose = "inspect and export checkpoints";
  program.examples = {"convoy-ckpt inspect runs/first", "convoy-ckpt export runs/first --out exported --to hf"};
  program.config_table = "ckpt";
  program.commands = {inspect_command(inspect), export_command(exporting)};
  return convoy::app::run(program, argc, argv);
}
