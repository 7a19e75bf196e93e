// SPDX-License-Identifier: Apache-2.0
// convoy-train: pretraining of language models.
#include <string>

#include "apps/train/commands.h"
#include "apps/train/machine.h"

int main(int argc, char** argv) {
  using namespace convoy::apps::train;
  convoy::config::RunOptions run, check_layout;
  ShowModelArguments show_model;
  SampleArguments sample;
  JobArguments job;
  convoy::app::Program program;
  program.name = "convoy-train";
  program.purpose = "pretrain GPT-2, Llama and Qwen 2 language models";
  program.examples = {"convoy-train run --model llama-15m --data data/docs.train --out runs/second --steps 1000",
                      "convoy-train show-model --model gpt2-124m"};
  program.config_table = "train";
  program.commands = {run_command(run), show_model_command(show_model), check_layout_command(check_layout),
                      sample_command(sample), job_command(job)};
  program.libraries = libraries();
  const convoy::cluster::Launch launch = launch_of_process();
  program.rank = launch.rank;
  if (launch.world > 1) program.place = "rank " + std::to_string(launch.rank) + " on " + launch.node;
  return convoy::app::run(program, argc, argv);
}
