// SPDX-License-Identifier: Apache-2.0
// reshard and merge: the same states in the files of another layout.
#include "apps/ckpt/commands.h"

namespace convoy::apps::ckpt {
namespace {

int run(const ReshardArguments& arguments, const app::Session& session) {
  const Source source = open_checkpoint(arguments.checkpoint);
  return convert(source, source.checkpoint()->manifest().description, arguments.convert, session);
}

}  // namespace

app::Command reshard_command(ReshardArguments& arguments) {
  app::Command command;
  command.name = "reshard";
  command.purpose = "write a checkpoint as another layout has it, optimizer states included";
  command.details =
      "The files are those that a run of the layout would write itself. Rows are copied from file to file in bounded "
      "memory; every "
      "byte read is held against its checksum, and the result's digests against the source's. DIR must not exist, and "
      "appears as a whole.\n\n"
      "A run resumes from any layout; reshard is for moving a checkpoint to where its reader wants other files.";
  command.examples = {
      "convoy-ckpt reshard runs/first --out resharded --tensor-parallel 1 --pipeline-parallel 1 --zero-shards 2",
      "convoy-ckpt reshard runs/first --out resharded --zero-shards 4 --dry-run"};
  command.options = {checkpoint_operand(arguments.checkpoint)};
  for (app::Option& option : convert_options(arguments.convert)) command.options.push_back(std::move(option));
  command.options.push_back(
      app::toggle("dry-run", arguments.convert.dry_run, "print every copy, with its bytes, and write nothing"));
  for (app::Option& option : layout_options(arguments.convert.layout)) command.options.push_back(std::move(option));
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

app::Command merge_command(ReshardArguments& arguments) {
  app::Command command;
  command.name = "merge";
  command.purpose = "write a checkpoint as one file, weights and optimizer states";
  command.details = "The same as reshard to one rank.";
  command.examples = {"convoy-ckpt merge runs/first --out merged"};
  command.options = {checkpoint_operand(arguments.checkpoint)};
  for (app::Option& option : convert_options(arguments.convert)) command.options.push_back(std::move(option));
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

}  // namespace convoy::apps::ckpt
