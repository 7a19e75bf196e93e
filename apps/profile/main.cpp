// SPDX-License-Identifier: Apache-2.0
// convoy-profile: says who is slow, from the traces that training leaves.
#include "apps/profile/commands.h"

int main(int argc, char** argv) {
  using namespace convoy::apps::profile;
  ImportArguments importing;
  SynthArguments synth;
  convoy::app::Program program;
  program.name = "convoy-profile";
  program.purpose = "find who is slow in a run, from the traces that training leaves";
  program.examples = {"convoy-profile synth --out runs/made --ranks 8 --layout tp=2,dp=4 --steps 50"};
  program.config_table = "profile";
  program.commands = {import_command(importing), synth_command(synth)};
  return convoy::app::run(program, argc, argv);
}
