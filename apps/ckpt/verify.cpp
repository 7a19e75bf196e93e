// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "apps/ckpt/commands.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/checkpoint/save.h"
#include "libcore/checkpoint/step_directory.h"

namespace convoy::apps::ckpt {
namespace {

std::int64_t bytes_of_files(const Source& source) {
  std::int64_t bytes = 0;
  if (source.checkpoint() == nullptr) return bytes;
  for (const checkpoint::StoredFile& file : source.checkpoint()->manifest().files)
    bytes += static_cast<std::int64_t>(file.size);
  return bytes;
}

// Of a run, the newest step that was committed, and not one before it that happens to open.
std::string newest_committed(const std::string& path) {
  const Path folder = checkpoint::checkpoints_folder(path);
  const std::vector<std::int64_t> steps = checkpoint::committed_steps(folder);
  return steps.empty() ? path : (folder / checkpoint::step_directory_name(steps.back())).string();
}

int run(const VerifyArguments& arguments, const app::Session& session) {
  const auto start = std::chrono::steady_clock::now();
  const Source source = open_source(newest_committed(arguments.checkpoint));
  const bool checksums = arguments.deep && source.checkpoint() != nullptr;
  if (checksums) source.checkpoint()->verify();
  if (arguments.deep && !checksums) {
    log_warning(fmt::format("{}: a Hugging Face folder has no checksums; its structure alone was checked",
                            source.folder().string()));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (session.json) {
    JsonObject json;
    json.add("checkpoint", source.folder().string()).add("ok", true).add("deep", checksums);
    if (source.checkpoint() != nullptr) {
      json.add("files", static_cast<std::int64_t>(source.checkpoint()->manifest().files.size()));
      json.add("bytes", bytes_of_files(source)).add("digest", source.checkpoint()->digest());
    }
    fmt::print("{}\n", json.add("seconds", elapsed.count()).text());
  } else if (source.checkpoint() == nullptr) {
    fmt::print("{}: structure sound, {} tensors\n", source.folder().string(), source.table.size());
  } else {
    fmt::print("{}: {} sound, {} in {} files\ndigest {}\n", source.folder().string(),
               checksums ? "every byte" : "structure", format_bytes(static_cast<double>(bytes_of_files(source))),
               source.checkpoint()->manifest().files.size(), source.checkpoint()->digest());
  }
  return 0;
}

}  // namespace

app::Command verify_command(VerifyArguments& arguments) {
  app::Command command;
  command.name = "verify";
  command.purpose = "check that a checkpoint is whole and sound";
  command.details =
      "Without --deep: COMMIT, manifest, names and sizes of the files, that the boxes tile every tensor of the model. "
      "With it, every "
      "byte of every file is read and held against its checksum, and every tensor against its digest. The first fault "
      "ends it with "
      "exit code 3 and names file, tensor and offset.";
  command.examples = {"convoy-ckpt verify runs/first", "convoy-ckpt verify runs/first --deep"};
  command.options = {
      source_operand(arguments.checkpoint),
      app::toggle("deep", arguments.deep, "read every byte against its checksum"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

}  // namespace convoy::apps::ckpt
