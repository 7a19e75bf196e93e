// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>

#include "apps/ckpt/commands.h"
#include "apps/ckpt/weights.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/units.h"
#include "libcore/tensor/tensor.h"

namespace convoy::apps::ckpt {
namespace {

using tensor::DType;
using tensor::Tensor;

// Creates the folders above `out`, which itself must be new.
void prepare_place(const std::string& out) {
  if (out.empty()) throw ConfigError("--out '': expected the name of a folder to create");
  const Path path(out);
  const Path parent = (path.has_filename() ? path : path.parent_path()).parent_path();
  if (!parent.empty()) ensure_directory(parent);
}

void write(const Weights& weights, const Path& out, DType dtype) {
  AtomicDirectory directory(out);
  std::vector<Tensor> values;
  std::vector<checkpoint::NamedTensor> tensors;
  values.reserve(weights.table.size());
  for (const model::Parameter& parameter : weights.table) {
    Tensor& value = values.emplace_back(parameter.shape, DType::kF32);
    weights.tensors->read(parameter.name, value.mutable_view());
    tensors.push_back({parameter.name, value.view()});
  }
  const std::string config = model::to_json(weights.config, dtype == DType::kBF16 ? "bfloat16" : "float32");
  checkpoint::write_hf_folder(directory.temporary(), tensors, {.dtype = dtype, .config_json = config});
  directory.commit();
}

int run(const ExportArguments& arguments, const app::Session& session) {
  const DType dtype = arguments.dtype == "bf16" ? DType::kBF16 : DType::kF32;
  const Weights weights = open_weights(arguments.checkpoint);
  prepare_place(arguments.out);
  write(weights, arguments.out, dtype);
  const std::int64_t parameters = model::parameter_count(weights.table);
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(Path(arguments.out) / "model.safetensors"));
  if (session.json) {
    fmt::print("{}\n", JsonObject()
                           .add("checkpoint", weights.folder.string())
                           .add("out", arguments.out)
                           .add("dtype", arguments.dtype)
                           .add("parameters", parameters)
                           .add("bytes", bytes)
                           .text());
  } else {
    fmt::print("{}: {} parameters as {}, {}, from {}\n", arguments.out, format_count(static_cast<double>(parameters)),
               arguments.dtype, format_bytes(static_cast<double>(bytes)), weights.folder.string());
  }
  return 0;
}

}  // namespace

app::Command export_command(ExportArguments& arguments) {
  app::Command command;
  command.name = "export";
  command.purpose = "write a checkpoint's weights as a Hugging Face folder";
  command.details =
      "Writes config.json, generation_config.json and model.safetensors, committed as a whole: DIR must not exist.";
  command.examples = {"convoy-ckpt export runs/first --out exported --to hf --dtype bf16",
                      "convoy-ckpt export runs/first/checkpoints/step_000001000 --out step-1000 --to hf"};
  command.options = {
      app::positional("CKPT", arguments.checkpoint,
                      "a run directory (its newest step), a step directory, or a Hugging Face folder"),
      app::text("out", "DIR", arguments.out, "folder to create").required(),
      app::choice("to", arguments.to, {"hf"}, "format: a Hugging Face folder"),
      app::choice("dtype", arguments.dtype, {"fp32", "bf16"}, "of the written tensors; bf16 rounds to nearest even"),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

}  // namespace convoy::apps::ckpt
