// SPDX-License-Identifier: Apache-2.0
// convoy-ckpt: looks into checkpoints and turns them into other forms.
#include "apps/ckpt/commands.h"

int main(int argc, char** argv) {
  using namespace convoy::apps::ckpt;
  InspectArguments inspect;
  VerifyArguments verify;
  DiffArguments diff;
  ReshardArguments reshard, merge;
  ImportArguments importing;
  ExportArguments exporting;
  convoy::app::Program program;
  program.name = "convoy-ckpt";
  program.purpose = "inspect, verify, compare, reshard, import and export checkpoints";
  program.examples = {"convoy-ckpt inspect runs/first", "convoy-ckpt verify runs/first --deep",
                      "convoy-ckpt export runs/first --out exported --to hf"};
  program.config_table = "ckpt";
  program.commands = {inspect_command(inspect), verify_command(verify), diff_command(diff),
                      reshard_command(reshard), merge_command(merge),   export_command(exporting),
                      import_command(importing)};
  return convoy::app::run(program, argc, argv);
}
