// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "apps/ckpt/commands.h"
#include "libcore/base/error.h"
#include "libcore/base/version.h"

namespace convoy::apps::ckpt {
namespace {

checkpoint::Description description_of(const Source& source) {
  checkpoint::Description description;
  description.model_config = model::to_json(source.config, torch_name(widest_dtype(source)));
  if (source.config.tied_embeddings) description.aliases = {{"lm_head.weight", source.table.front().name}};
  description.origin = fmt::format("imported from {} by convoy-ckpt {}", source.folder().string(), version());
  return description;
}

int run(const ImportArguments& arguments, const app::Session& session) {
  const Source source = open_source(arguments.folder);
  if (source.checkpoint() != nullptr) {
    throw ConfigError(
        fmt::format("{}: is a checkpoint already, expected a Hugging Face folder; `convoy-ckpt reshard` "
                    "changes its layout",
                    source.folder().string()));
  }
  return convert(source, description_of(source), arguments.convert, session);
}

}  // namespace

app::Command import_command(ImportArguments& arguments) {
  app::Command command;
  command.name = "import";
  command.purpose = "make a checkpoint of a Hugging Face folder";
  command.details =
      "Reads config.json (GPT2LMHeadModel, LlamaForCausalLM, Qwen2ForCausalLM) with model.safetensors, or the files that "
      "model.safetensors.index.json names, and writes a step directory of step 0 with the weights as they are stored "
      "(fp32, bf16, "
      "fp16) and no optimizer states: what `convoy-train run --init-from` starts from. A folder that holds anything "
      "else than the "
      "model of its config.json is refused, never repaired. DIR must not exist, and appears as a whole.";
  command.examples = {"convoy-ckpt export runs/first --out hf --to hf && convoy-ckpt import hf --out imported"};
  command.options = {app::positional("HF_DIR", arguments.folder, "a Hugging Face folder")};
  for (app::Option& option : convert_options(arguments.convert)) command.options.push_back(std::move(option));
  for (app::Option& option : layout_options(arguments.convert.layout)) command.options.push_back(std::move(option));
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return run(arguments, session); };
  return command;
}

}  // namespace convoy::apps::ckpt
