// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/prepare.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/model/parameters.h"

namespace convoy::train {
namespace {

// Runs `work`; what it throws for the user joins the list instead of ending the search for more.
template <class Work>
void collect(config::Problems& problems, Work&& work) {
  try {
    work();
  } catch (const ConfigError& error) {
    problems.usage.insert(problems.usage.end(), error.problems().begin(), error.problems().end());
  } catch (const DataError& error) {
    problems.data.push_back(error.what());
  }
}

void apply_tie(const std::string& tie, model::Config& config) {
  if (tie != "auto") config.tied_embeddings = tie == "yes";
}

// The same weights under another epsilon or rotary base are another model, and shapes alone do not show it.
void warn_if_different(const model::Config& chosen, const checkpoint::WeightSource& source, const std::string& tie) {
  if (source.model_config().empty()) return;
  model::Config stored = model::parse_config(source.model_config(), source.config_name());
  apply_tie(tie, stored);
  stored.dropout = chosen.dropout;
  if (model::to_json(stored, "float32") == model::to_json(chosen, "float32")) return;
  log_warning(
      fmt::format("--model differs from {}: the weights were made for that model, training continues as --model says",
                  source.config_name()));
}

std::unique_ptr<checkpoint::WeightSource> open_weights(const std::string& init_from) {
  if (init_from.empty()) return nullptr;
  std::error_code refused;
  const bool is_folder = std::filesystem::is_directory(init_from, refused);
  if (is_folder) return std::make_unique<checkpoint::WeightSource>(init_from);
  if (refused == std::errc::permission_denied)
    throw EnvironmentError(fmt::format("--init-from: cannot look at '{}': {}", init_from, refused.message()));
  throw ConfigError(fmt::format(
      "--init-from {}: no such folder; expected a Hugging Face folder (config.json and model.safetensors) or "
      "a step directory of a run",
      init_from));
}

model::Config resolve_model(const config::ModelOptions& options, const checkpoint::WeightSource* source) {
  model::Config config = options.model.empty() ? model::parse_config(source->model_config(), source->config_name())
                                               : model::resolve(options.model);
  apply_tie(options.tie_embeddings, config);
  if (options.dropout) model::set_dropout(config, *options.dropout);
  if (!options.model.empty() && source != nullptr) warn_if_different(config, *source, options.tie_embeddings);
  return config;
}

config::ModelFacts facts_of(const model::Config& config, const std::string& name) {
  return {.name = name,
          .vocabulary = config.vocabulary,
          .positions = config.positions,
          .dropout = config.dropout.largest(),
          .eos_id = config.eos_id,
          .layers = config.layers,
          .heads = config.heads,
          .key_value_heads = config.key_value_heads,
          .ffn_width = config.ffn_width};
}

// Reads all of the tokens only where the commit marker does not bound them.
config::DataFacts facts_of(const data::IndexedDataset& dataset, const std::string& name, std::int64_t vocabulary) {
  config::DataFacts facts;
  facts.name = name;
  facts.prefix = dataset.prefix().string();
  facts.tokens = dataset.tokens();
  if (dataset.meta()) {
    facts.vocabulary = dataset.meta()->vocabulary;
    facts.eos_id = dataset.meta()->eos_id;
    facts.tokenizer = dataset.meta()->tokenizer_sha256;
  }
  const bool bounded = facts.vocabulary && *facts.vocabulary <= vocabulary;
  if (!bounded && dataset.tokens() > 0) facts.largest_id = dataset.largest_id();
  return facts;
}

struct Opened {
  std::optional<model::Config> model;
  std::string model_name;
  std::vector<data::IndexedDataset> data;
  std::vector<NamedDataset> valid;
  std::unique_ptr<checkpoint::WeightSource> init_from;
};

void open_data(const config::RunOptions& options, Opened& opened, config::Facts& facts, config::Problems& problems) {
  const std::int64_t vocabulary = opened.model ? opened.model->vocabulary : std::numeric_limits<std::int64_t>::max();
  for (const std::string& prefix : options.data.data) {
    collect(problems, [&] {
      opened.data.emplace_back(prefix, options.data.foreign);
      facts.train.push_back(facts_of(opened.data.back(), "", vocabulary));
    });
  }
  for (const std::string& text : options.data.valid_data) {
    collect(problems, [&] {
      const auto [name, prefix] = config::named_prefix(text);
      if (name.empty() || prefix.empty()) return;  // validate() says so
      opened.valid.push_back({name, data::IndexedDataset(prefix, options.data.foreign)});
      facts.valid.push_back(facts_of(opened.valid.back().dataset, name, vocabulary));
    });
  }
}

void open_model(const config::ModelOptions& choice, Opened& opened, config::Facts& facts, config::Problems& problems) {
  opened.model_name = choice.model.empty() ? choice.init_from : choice.model;
  collect(problems, [&] { opened.init_from = open_weights(choice.init_from); });
  if (!choice.model.empty() || opened.init_from)
    collect(problems, [&] { opened.model = resolve_model(choice, opened.init_from.get()); });
  if (opened.model) facts.model = facts_of(*opened.model, opened.model_name);
}

Opened open_all(const config::RunOptions& options, config::Facts& facts, config::Problems& problems) {
  Opened opened;
  open_model(options.model, opened, facts, problems);
  open_data(options, opened, facts, problems);
  if (opened.model && opened.init_from) {
    collect(problems, [&] {
      opened.init_from->expect(checkpoint::expected_tensors(model::parameter_table(*opened.model)),
                               opened.model->tied_embeddings);
    });
  }
  return opened;
}

data::BlendedSampler sampler_of(const config::DataOptions& options, const std::vector<data::IndexedDataset>& sets,
                                std::int64_t sequence_length) {
  const data::DataOrder order =
      options.order == "sequential" ? data::DataOrder::kSequential : data::DataOrder::kShuffled;
  std::vector<data::Sampler> samplers;
  for (std::size_t set = 0; set < sets.size(); ++set)
    samplers.emplace_back(sets[set].tokens(), sequence_length, order, static_cast<std::uint64_t>(options.seed), set);
  return {std::move(samplers), options.weights};
}

}  // namespace

PreparedRun prepare(const config::RunOptions& options, const config::MachineFacts& machine) {
  config::Facts facts{.model = std::nullopt, .train = {}, .valid = {}, .machine = machine};
  config::Problems problems;
  Opened opened = open_all(options, facts, problems);
  config::validate(options, facts, problems);
  config::throw_if_any(problems);
  config::Resolved resolved = config::resolve(options, facts);
  data::BlendedSampler sampler = sampler_of(options.data, opened.data, resolved.sequence_length);
  return {.options = options,
          .resolved = std::move(resolved),
          .model = *opened.model,
          .model_name = std::move(opened.model_name),
          .data = std::move(opened.data),
          .sampler = std::move(sampler),
          .valid = std::move(opened.valid),
          .init_from = std::move(opened.init_from)};
}

std::vector<std::string> problems_before_data(const config::RunOptions& options, const config::MachineFacts& machine) {
  config::Facts facts{.model = std::nullopt, .train = {}, .valid = {}, .machine = machine};
  config::Problems problems;
  Opened opened;
  open_model(options.model, opened, facts, problems);
  config::validate(options, facts, problems);
  std::vector<std::string> all = std::move(problems.usage);
  all.insert(all.end(), problems.data.begin(), problems.data.end());
  return all;
}

}  // namespace convoy::train
