// SPDX-License-Identifier: Apache-2.0
#include "apps/train/commands.h"

namespace convoy::apps::train {
namespace {

using app::Option;
using Count = app::Range<std::int64_t>;
using Real = app::Range<double>;

constexpr Count kFromOne{.least = 1};
constexpr Count kFromZero{.least = 0};
constexpr Real kFromZeroReal{.least = 0.0};
constexpr Real kAboveZero{.least = 1e-30};
constexpr Real kShare{.least = 0.0, .most = 1.0};
constexpr Real kBeta{.least = 0.0, .most = 0.999999999};
constexpr Count kThreads{.least = 1, .most = 1024};
constexpr Count kTokenIds{.least = 0, .most = 2147483647};

void add(std::vector<Option>& all, const char* heading, std::vector<Option> group) {
  for (Option& option : group) all.push_back(std::move(option.in(heading)));
}

void add_model(std::vector<Option>& all, config::ModelOptions& o) {
  add(all, "Model",
      {
          app::text("model", "PRESET|FILE", o.model,
                    "a preset (gpt2-124m, llama-15m, ...), a config.json, or a folder that holds one"),
          app::text("init-from", "HF_DIR", o.init_from,
                    "start from the weights of a Hugging Face folder (weights only)"),
          app::count("sequence-length", o.sequence_length, kFromOne,
                     "tokens a sample, T (default: the model's positions, at most 2048)"),
          app::choice("tie-embeddings", o.tie_embeddings, {"auto", "yes", "no"},
                      "share the embedding with the head; auto: as the model says"),
          app::toggle("attention-reset-at-document", o.attention_reset_at_document,
                      "attend and count positions inside a document only"),
          app::real("dropout", o.dropout, kShare,
                    "rate of all dropouts (default: the model's); this version trains with 0 alone"),
      });
}

void add_data(std::vector<Option>& all, config::DataOptions& o) {
  add(all, "Data",
      {
          app::texts("data", "PREFIX", o.data,
                     "training tokens, PREFIX.bin and PREFIX.idx; this version trains on one set"),
          app::texts("valid-data", "[NAME=]PREFIX", o.valid_data, "tokens to evaluate on"),
          app::choice("data-order", o.order, {"shuffled", "sequential"},
                      "order of the samples; shuffled anew every epoch"),
          app::count("seed", o.seed, kFromZero, "of the initial weights and of the order"),
          app::toggle("mask-loss-after-eos", o.mask_loss_after_eos,
                      "a position whose input is the end-of-text token does not count"),
          app::count("eos-id", o.eos_id, kTokenIds, "the end-of-text token where neither data nor model name it"),
          app::toggle("foreign-data", o.foreign, "take pairs that other tools wrote, without PREFIX.meta.json"),
      });
}

void add_batch(std::vector<Option>& all, config::BatchOptions& o) {
  add(all, "Batch and length",
      {
          app::count("global-batch-size", o.global_batch, kFromOne, "sequences a step"),
          app::count("micro-batch-size", o.micro_batch, kFromOne,
                     "sequences at a time (default: the largest divisor up to 8)"),
          app::count("steps", o.steps, kFromOne, "length of the run in global batches"),
          app::count("tokens", o.tokens, kFromOne, "length of the run in tokens, rounded up to a whole step"),
      });
}

void add_optimizer(std::vector<Option>& all, config::OptimizerOptions& o) {
  add(all, "Optimizer (AdamW)",
      {
          app::real("lr", o.lr, kFromZeroReal, "peak learning rate"),
          app::real("min-lr", o.min_lr, kFromZeroReal, "rate at the end of the decay (default: lr / 10)"),
          app::choice("lr-schedule", o.schedule, {"constant", "cosine"}, "what follows the warm-up"),
          app::count("warmup-steps", o.warmup_steps, kFromZero, "updates of linear warm-up"),
          app::count("decay-steps", o.decay_steps, kFromOne,
                     "update at which the decay ends, warm-up included (default: the run's steps)"),
          app::real("weight-decay", o.weight_decay, kFromZeroReal, "on two-dimensional tensors, embeddings included"),
          app::real("beta1", o.beta1, kBeta, "decay of the first moment"),
          app::real("beta2", o.beta2, kBeta, "decay of the second moment"),
          app::real("epsilon", o.epsilon, kAboveZero, "added to the root of the second moment"),
          app::real("clip-norm", o.clip_norm, kFromZeroReal, "largest gradient norm; 0 never clips"),
          app::count("max-skipped-steps", o.max_skipped_steps, kFromOne,
                     "non-finite steps in a row that end the run with code 4"),
      });
}

void add_device(std::vector<Option>& all, config::DeviceOptions& o) {
  add(all, "Device and precision",
      {
          app::choice("precision", o.precision, {"fp32", "bf16"},
                      "of weights and activations; bf16 keeps fp32 master weights"),
          app::choice("device", o.device, {"auto", "cpu", "cuda"}, "where to train"),
          app::count("threads", o.threads, kThreads,
                     "of the CPU (default: OMP_NUM_THREADS, else every core that this process may use)"),
          app::toggle("oversubscribe", o.oversubscribe, "allow more threads than cores"),
      });
}

void add_output(std::vector<Option>& all, config::OutputOptions& o) {
  add(all, "Output and evaluation",
      {
          app::text("out", "RUN", o.out, "run directory: metrics, checkpoints, TensorBoard events"),
          app::text("checkpoint-every", "STEPS|TIME", o.checkpoint_every,
                    "save after so many steps (1000) or so long (30m); always at the end"),
          app::count("eval-every", o.eval_every, kFromZero, "steps between evaluations; 0: at the end alone"),
          app::count("eval-steps", o.eval_steps, kFromZero,
                     "global batches an evaluation reads at most; 0: the whole set"),
          app::count("log-every", o.log_every, kFromZero, "steps between lines on the console; 0: every few seconds"),
          app::yes_no("tensorboard", o.tensorboard, "write RUN/tensorboard"),
          app::count("dump-gradients", o.dump_gradients, kFromOne,
                     "write the gradients of this step to RUN/debug/gradients-STEP.safetensors"),
          app::real("peak-tflops", o.peak_tflops, kAboveZero,
                    "the device's peak, for the model FLOPs utilisation (mfu)"),
      });
}

}  // namespace

std::vector<Option> run_options(config::RunOptions& options) {
  std::vector<Option> all;
  add_model(all, options.model);
  add_data(all, options.data);
  add_batch(all, options.batch);
  add_optimizer(all, options.optimizer);
  add_device(all, options.device);
  add_output(all, options.output);
  return all;
}

}  // namespace convoy::apps::train
