// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <optional>

#include "apps/ckpt/commands.h"
#include "apps/ckpt/tokenizer_files.h"
#include "libcore/app/progress.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/checkpoint/hf_export.h"

namespace convoy::apps::ckpt {
namespace {

using tensor::DType;

std::optional<DType> asked_dtype(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name == "fp16") return DType::kF16;
  return name == "bf16" ? DType::kBF16 : DType::kF32;
}

std::optional<data::Tokenizer> open_tokenizer(const ExportArguments& arguments, const model::Config& config) {
  if (arguments.tokenizer.empty()) return std::nullopt;
  data::Tokenizer tokenizer(arguments.tokenizer);
  check_tokenizer(tokenizer, arguments.tokenizer, config);
  return tokenizer;
}

checkpoint::HfExportReport write(const Source& source, const ExportArguments& arguments, DType dtype) {
  const std::optional<data::Tokenizer> tokenizer = open_tokenizer(arguments, source.config);
  prepare_place(arguments.out);
  AtomicDirectory directory(arguments.out);
  const std::int64_t parameters = model::parameter_count(source.table);
  app::Progress progress("export", parameters * static_cast<std::int64_t>(tensor::size_of(dtype)), "bytes");
  const checkpoint::HfExportReport report =
      checkpoint::export_hf_folder(directory.temporary(), source.weights, checkpoint::expected_tensors(source.table),
                                   {.dtype = asked_dtype(arguments.dtype),
                                    .shard_bytes = static_cast<std::uint64_t>(arguments.max_shard_size),
                                    .config_json = model::to_json(source.config, torch_name(dtype))},
                                   [&](std::uint64_t done) { progress.update(static_cast<std::int64_t>(done)); });
  if (tokenizer) write_tokenizer_files(directory.temporary(), *tokenizer, arguments.tokenizer, source.config);
  directory.commit();
  progress.finish();
  return report;
}

int run(const ExportArguments& arguments, const app::Session& session) {
  const Source source = open_source(arguments.checkpoint);
  const DType dtype = asked_dtype(arguments.dtype).value_or(widest_dtype(source));
  const checkpoint::HfExportReport report = write(source, arguments, dtype);
  const std::int64_t parameters = model::parameter_count(source.table);
  if (!session.json) {
    fmt::print("{}: {} parameters as {}, {} in {} {}, from {}\n", arguments.out,
               format_count(static_cast<double>(parameters)), tensor::name_of(dtype),
               format_bytes(static_cast<double>(report.bytes)), report.files.size(),
               report.files.size() == 1 ? "file" : "files", source.folder().string());
    return 0;
  }
  std::vector<std::string> files;
  for (const std::string& file : report.files) files.push_back(json_quoted(file));
  fmt::print("{}\n", JsonObject()
                         .add("checkpoint", source.folder().string())
                         .add("out", arguments.out)
                         .add("dtype", tensor::name_of(dtype))
                         .add("parameters", parameters)
                         .add("bytes", static_cast<std::int64_t>(report.bytes))
                         .add_raw("files", fmt::format("[{}]", fmt::join(files, ",")))
                         .text());
  return 0;
}

}  // namespace

app::Command export_command(ExportArguments& arguments) {
  app::Command command;
  command.name = "export";
  command.purpose = "write a checkpoint's weights as a Hugging Face folder";
  command.details =
      "Writes config.json, generation_config.json and model.safetensors, or several files with their index, as "
      "transformers does "
      "where one would be too large. Tensors are written one by one, so that memory stays small. DIR must not exist, "
      "and "
      "appears as a whole.";
  command.examples = {
      "convoy-ckpt export runs/first --out exported --to hf --dtype bf16 --tokenizer tokenizer.model",
      "convoy-ckpt export runs/first/checkpoints/step_000001000 --out step-1000 --to hf --max-shard-size 2GB"};
  command.options = {
      source_operand(arguments.checkpoint),
      app::text("out", "DIR", arguments.out, "folder to create").required(),
      app::choice("to", arguments.to, {"hf"}, "format: a Hugging Face folder"),
      app::choice("dtype", arguments.dtype, {"fp32", "bf16", "fp16"},
                  "of the written tensors; bf16 and fp16 round to nearest even, and what fp16 cannot hold is refused. "
                  "Left out: as they are stored"),
      app::bytes("max-shard-size", arguments.max_shard_size, {1, std::numeric_limits<std::int64_t>::max()},
                 "bytes of tensors in a file"),
      app::text("tokenizer", "M.model", arguments.tokenizer,
                "SentencePiece model or tokenizer.json to put beside the weights, with the files that transformers reads it by"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

}  // namespace convoy::apps::ckpt
