// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/summary.h"

#include <fmt/format.h>

#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/optim/loss_scaler.h"
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

// A line for each set, with its share where they are several.
std::string data_line(const PreparedRun& run, std::size_t set) {
  const data::IndexedDataset& dataset = run.data[set];
  const std::int64_t samples = run.resolved.batches.advance(0, run.resolved.steps);
  const std::string share =
      run.data.size() == 1 ? "" : fmt::format("{:.4g} % of the samples; ", 100.0 * run.sampler.share(set));
  return fmt::format("data    {}: {} tokens, {} samples of {} tokens; {}this run reads {:.2f} epochs, {}",
                     dataset.prefix().string(), count_text(dataset.tokens()), run.sampler.sampler(set).windows(),
                     run.resolved.sequence_length, share, run.sampler.epochs(samples, set), run.options.data.order);
}

std::string batch_line(const PreparedRun& run) {
  const config::Resolved& resolved = run.resolved;
  const std::string replicas = resolved.layout.data == 1 ? "" : fmt::format("{} replicas x ", resolved.layout.data);
  const std::string& ramp = run.options.batch.ramp;
  return fmt::format("batch   {}{} sequences = {}{} micro-batch{} of {}; {} steps, {} tokens",
                     ramp.empty() ? "" : fmt::format("by tokens read {}; at most ", ramp), resolved.global_batch,
                     replicas, resolved.micro_batches, resolved.micro_batches == 1 ? "" : "es", resolved.micro_batch,
                     resolved.steps,
                     count_text(resolved.batches.advance(0, resolved.steps) * resolved.sequence_length));
}

std::string layout_line(const parallel::Layout& layout) {
  std::string schedule = layout.pipeline == 1 ? "" : fmt::format(", {}", parallel::name_of(layout.schedule));
  if (layout.virtual_stages > 1) schedule += fmt::format(" of {} chunks a stage", layout.virtual_stages);
  if (layout.sequence_parallel) schedule += ", sequence parallel";
  return fmt::format("layout  {} ranks = {} tensor x {} pipeline x {} data parallel, neighbours {}, ZeRO {}{}",
                     layout.world(), layout.tensor, layout.pipeline, layout.data, parallel::text_of(layout.rank_order),
                     layout.zero, schedule);
}

std::string rate_line(const PreparedRun& run) {
  const config::OptimizerOptions& options = run.options.optimizer;
  std::string line = fmt::format("rate    {:.3g}", options.lr);
  if (options.warmup_steps > 0) line += fmt::format(" after {} steps of warm-up", options.warmup_steps);
  if (options.schedule == "constant") return line + ", constant";
  const std::int64_t end = run.resolved.decay_steps;
  if (options.schedule == "wsd")
    line += fmt::format(", constant to update {}", config::wsd_decay_start(end, options.wsd_decay_share));
  return line + fmt::format(", {} down to {:.3g} at update {}", options.schedule, run.resolved.min_lr, end);
}

std::string precision_text(const PreparedRun& run) {
  const std::string& precision = run.options.device.precision;
  if (precision != "fp16") return precision;
  const std::string scale = run.resolved.loss_scale ? fmt::format("{}", *run.resolved.loss_scale)
                                                    : fmt::format("dynamic, from {}", optim::kInitialLossScale);
  return fmt::format("fp16 with loss scale {}", scale);
}

}  // namespace

void log_summary(const PreparedRun& run, const std::vector<std::string>& nodes, const std::string& memory) {
  const std::vector<model::Parameter> table = model::parameter_table(run.model);
  log_info(model_line(run, table));
  log_info(decay_line(table));
  for (std::size_t set = 0; set < run.data.size(); ++set) log_info(data_line(run, set));
  if (run.model.dropout.largest() > 0.0)
    log_info(fmt::format("dropout {} ({})", model::text_of(run.model.dropout),
                         run.options.model.dropout ? "--dropout" : "the model's; --dropout 0 trains without"));
  log_info(batch_line(run));
  log_info(rate_line(run));
  log_info(fmt::format("device  cpu, {} thread{}, {}", run.resolved.threads, run.resolved.threads == 1 ? "" : "s",
                       precision_text(run)));
  if (run.options.layout.offload == "optimizer")
    log_info("offload the optimizer's states are in host memory, where the CPU has all of it: nothing moves");
  if (run.options.device.precision == "fp16")
    log_warning(
        "--precision fp16 is slow on the CPU, which multiplies it in fp32: it is there to check fp16 runs; bf16 needs "
        "as much memory and no loss scale");
  const std::string& recompute = run.options.layout.recompute;
  log_info(fmt::format("memory  {}{}{}", memory, recompute == "none" ? "" : "; recomputes: " + recompute,
                       nodes.size() == 1 ? "" : " (rank 0)"));
  if (nodes.size() == 1) return;
  log_info(layout_line(run.resolved.layout));
  log_info("mesh\n" + parallel::mesh_table(run.resolved.layout, run.model.layers, nodes));
}

void warn_about_unused(const config::OptimizerOptions& options) {
  if (options.schedule != "wsd" && options.wsd_decay_share != config::OptimizerOptions{}.wsd_decay_share)
    log_warning(fmt::format("--wsd-decay-share has no effect with --lr-schedule {}", options.schedule));
  if (options.schedule != "constant") return;
  if (options.min_lr) log_warning("--min-lr has no effect with --lr-schedule constant");
  if (options.decay_steps) log_warning("--decay-steps has no effect with --lr-schedule constant");
}

}  // namespace convoy::train
