// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/base/version.h"
#include "libcore/train/run_log.h"
#include "libcore/train/trainer.h"
#include "libcore/train/weights.h"

namespace convoy::train {
namespace {

std::string count_text(std::int64_t count) { return format_count(static_cast<double>(count)); }

std::string model_line(const PreparedRun& run, const std::vector<model::Parameter>& table) {
  const model::Config& config = run.model;
  return fmt::format(
      "model   {}: {} parameters, {} layers, width {}, {} heads ({} key/value), ffn {}, vocabulary {}, {} head",
      run.model_name, count_text(model::parameter_count(table)), config.layers, config.width, config.heads,
      config.key_value_heads, config.ffn_width, config.vocabulary, config.tied_embeddings ? "tied" : "untied");
}

std::string decay_line(const std::vector<model::Parameter>& table) {
  const DecayGroups groups = decay_groups(table);
  return fmt::format("decay   {} tensors with {} parameters; none on {} tensors with {}", groups.decayed_tensors,
                     count_text(groups.decayed_parameters), groups.other_tensors, count_text(groups.other_parameters));
}

std::string data_line(const PreparedRun& run) {
  const std::int64_t windows = (run.data.tokens() - 1) / run.resolved.sequence_length;
  const double epochs =
      static_cast<double>(run.resolved.steps * run.resolved.global_batch) / static_cast<double>(windows);
  return fmt::format("data    {}: {} tokens, {} samples of {} tokens; this run reads {:.2f} epochs, {}",
                     run.data.prefix().string(), count_text(run.data.tokens()), windows, run.resolved.sequence_length,
                     epochs, run.options.data.order);
}

std::string batch_line(const PreparedRun& run) {
  const config::Resolved& resolved = run.resolved;
  return fmt::format("batch   {} sequences = {} micro-batch{} of {}; {} steps, {} tokens", resolved.global_batch,
                     resolved.micro_batches, resolved.micro_batches == 1 ? "" : "es", resolved.micro_batch,
                     resolved.steps, count_text(resolved.steps * resolved.global_batch * resolved.sequence_length));
}

std::string rate_line(const PreparedRun& run) {
  const config::OptimizerOptions& options = run.options.optimizer;
  std::string line = fmt::format("rate    {:.3g}", options.lr);
  if (options.warmup_steps > 0) line += fmt::format(" after {} steps of warm-up", options.warmup_steps);
  if (options.schedule == "constant") return line + ", constant";
  return line + fmt::format(", cosine down to {:.3g} at update {}", run.resolved.min_lr, run.resolved.decay_steps);
}

void log_summary(const PreparedRun& run, const Trainer& trainer) {
  const std::vector<model::Parameter> table = model::parameter_table(run.model);
  log_info(model_line(run, table));
  log_info(decay_line(table));
  log_info(data_line(run));
  log_info(batch_line(run));
  log_info(rate_line(run));
  log_info(fmt::format("device  cpu, {} thread{}, {}", run.resolved.threads, run.resolved.threads == 1 ? "" : "s",
                       run.options.device.precision));
  log_info(fmt::format("memory  {}", trainer.memory_summary()));
}

void warn_about_unused(const config::OptimizerOptions& options) {
  if (options.schedule != "constant") return;
  if (options.min_lr) log_warning("--min-lr has no effect with --lr-schedule constant");
  if (options.decay_steps) log_warning("--decay-steps has no effect with --lr-schedule constant");
}

RunLogOptions log_options(const PreparedRun& run) {
  const config::OutputOptions& output = run.options.output;
  return {.steps = run.resolved.steps,
          .tokens_per_step = run.resolved.global_batch * run.resolved.sequence_length,
          .flops_per_token = model::training_flops_per_token(run.model, run.resolved.sequence_length),
          .peak_tflops = output.peak_tflops,
          .log_every = output.log_every,
          .tensorboard = output.tensorboard};
}

std::string dataset_record(const std::string& name, const data::IndexedDataset& dataset) {
  JsonObject record;
  record.add("name", name)
      .add("prefix", dataset.prefix().string())
      .add("tokens", dataset.tokens())
      .add("documents", dataset.documents());
  record.add_raw("tokenizer_sha256", dataset.meta() ? json_quoted(dataset.meta()->tokenizer_sha256) : "null");
  return record.text();
}

std::string resolved_record(const PreparedRun& run) {
  return JsonObject()
      .add("sequence_length", run.resolved.sequence_length)
      .add("global_batch_size", run.resolved.global_batch)
      .add("micro_batch_size", run.resolved.micro_batch)
      .add("steps", run.resolved.steps)
      .add("decay_steps", run.resolved.decay_steps)
      .add("lr", run.options.optimizer.lr)
      .add("min_lr", run.resolved.min_lr)
      .add("threads", run.resolved.threads)
      .add("precision", run.options.device.precision)
      .add("seed", run.options.data.seed)
      .add("device", "cpu")
      .text();
}

// The same JSON without its indentation: no string holds a line break as such.
std::string on_one_line(std::string_view json) {
  std::string line;
  bool in_indent = false;
  for (const char c : json) {
    in_indent = c == '\n' || (in_indent && c == ' ');
    if (!in_indent) line.push_back(c);
  }
  return line;
}

std::string quoted_list(const std::vector<std::string>& items) {
  std::vector<std::string> quoted;
  for (const std::string& item : items) quoted.push_back(json_quoted(item));
  return fmt::format("[{}]", fmt::join(quoted, ","));
}

// Runs `work` and leaves its failure in the log on the way up.
template <class Work>
void with_failure_recorded(RunLog& log, Work&& work) {
  try {
    work();
  } catch (const std::exception& error) {
    log.failed(error.what(), static_cast<int>(exit_code_of(error)));
    throw;
  }
}

}  // namespace

std::string run_record(const PreparedRun& run, const Identity& identity, const Invocation& invocation) {
  JsonObject libraries;
  for (const auto& [name, version] : invocation.libraries) libraries.add(name, version);
  std::vector<std::string> valid;
  for (const NamedDataset& set : run.valid) valid.push_back(dataset_record(set.name, set.dataset));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return JsonObject()
      .add("version", version())
      .add_raw("libraries", libraries.text())
      .add_raw("command", quoted_list(invocation.arguments))
      .add("started", static_cast<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count()))
      .add_raw("hosts", quoted_list({identity.host}))
      .add("pid", identity.pid)
      .add_raw("job_ids", identity.job_id.empty() ? "[]" : quoted_list({identity.job_id}))
      .add_raw("layout", R"({"world":1,"tensor_parallel":1,"pipeline_parallel":1,"data_parallel":1})")
      .add("model_name", run.model_name)
      .add_raw("model", on_one_line(model::to_json(run.model, "float32")))
      .add("parameters", model::parameter_count(model::parameter_table(run.model)))
      .add_raw("resolved", resolved_record(run))
      .add_raw("data", dataset_record("train", run.data))
      .add_raw("valid_data", fmt::format("[{}]", fmt::join(valid, ",")))
      .add_raw("init_from", run.options.model.init_from.empty() ? "null" : json_quoted(run.options.model.init_from))
      .text();
}

void run(const PreparedRun& prepared, const Identity& identity, const Invocation& invocation) {
  const RunDirectory directory(prepared.options.output.out, identity);
  write_file_atomically(directory.config(), invocation.resolved_config);
  write_file_atomically(directory.record(), run_record(prepared, identity, invocation) + "\n");
  RunLog log(directory, identity, log_options(prepared));
  with_failure_recorded(log, [&] {
    warn_about_unused(prepared.options.optimizer);
    Trainer trainer(prepared, directory, log);
    log_summary(prepared, trainer);
    trainer.train();
  });
}

}  // namespace convoy::train
