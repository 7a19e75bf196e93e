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
constexpr Real kPositiveShare{.least = 1e-9, .most = 1.0};
constexpr Real kBeta{.least = 0.0, .most = 0.999999999};
constexpr Count kRanks{.least = 1, .most = 1048576};
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
          app::text("init-from", "FOLDER", o.init_from,
                    "start from the weights of a Hugging Face folder or a step directory (weights only)"),
          app::count("sequence-length", o.sequence_length, kFromOne,
                     "tokens a sample, T (default: the model's positions, at most 2048)"),
          app::choice("tie-embeddings", o.tie_embeddings, {"auto", "yes", "no"},
                      "share the embedding with the head; auto: as the model says"),
          app::toggle("attention-reset-at-document", o.attention_reset_at_document,
                      "attend and count positions inside a document only"),
          app::real("dropout", o.dropout, kShare,
                    "rate of all dropouts that the model has, below 1 (default: the model's own rates)"),
      });
}

void add_data(std::vector<Option>& all, config::DataOptions& o) {
  add(all, "Data",
      {
          app::texts("data", "PREFIX", o.data, "training tokens, PREFIX.bin and PREFIX.idx; several are blended"),
          app::reals("data-weights", o.weights, kAboveZero,
                     "how much of the samples each --data gives, 0.7,0.3 (default: by their numbers of samples)"),
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
          app::count("global-batch-size", o.global_batch, kFromOne, "sequences a step (default: 32)"),
          app::count("micro-batch-size", o.micro_batch, kFromOne,
                     "sequences at a time (default: the largest divisor up to 8)"),
          app::text("batch-ramp", "TOKENS:N,...", o.ramp,
                    "instead: sequences a step that grow with the tokens read (0:32,1B:64)"),
          app::count("steps", o.steps, kFromOne, "length of the run in global batches"),
          app::count("tokens", o.tokens, kFromOne, "length of the run in tokens, rounded up to a whole step"),
      });
}

void add_optimizer(std::vector<Option>& all, config::OptimizerOptions& o) {
  add(all, "Optimizer (AdamW)",
      {
          app::real("lr", o.lr, kFromZeroReal, "peak learning rate"),
          app::real("min-lr", o.min_lr, kFromZeroReal, "rate at the end of the decay (default: lr / 10)"),
          app::choice("lr-schedule", o.schedule, {"constant", "linear", "cosine", "wsd"},
                      "what follows the warm-up; wsd: constant, then down in the last share of the updates"),
          app::count("warmup-steps", o.warmup_steps, kFromZero, "updates of linear warm-up"),
          app::count("decay-steps", o.decay_steps, kFromOne,
                     "update at which the decay ends, warm-up included (default: the run's steps)"),
          app::real("wsd-decay-share", o.wsd_decay_share, kPositiveShare,
                    "of the updates, the last, in which wsd decays"),
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
          app::choice("precision", o.precision, {"fp32", "bf16", "fp16"},
                      "of weights and activations; bf16 and fp16 keep fp32 master weights; fp16 is slow on the CPU"),
          app::text("loss-scale", "dynamic|N", o.loss_scale,
                    "that keeps the gradients of fp16 in its range; dynamic: from 65536, by 2 and 1/2"),
          app::choice("device", o.device, {"auto", "cpu", "cuda"}, "where to train"),
          app::count(
              "threads", o.threads, kThreads,
              "of the CPU, a rank (default: OMP_NUM_THREADS, else the cores that the rank may use, divided by the "
              "ranks that share them)"),
          app::toggle("oversubscribe", o.oversubscribe, "allow more threads than cores"),
      });
}

void add_layout(std::vector<Option>& all, config::LayoutOptions& o) {
  add(all, "Layout (data parallel: world / (tensor x pipeline))",
      {
          app::count("tensor-parallel", o.tensor_parallel, kRanks, "ranks that share every matrix"),
          app::toggle("allow-tensor-parallel-across-nodes", o.tensor_across_nodes,
                      "train even where ranks that share matrices are on several nodes: slow"),
          app::toggle("sequence-parallel", o.sequence_parallel,
                      "tensor-parallel ranks share the rows between the products too: fewer activations a rank"),
          app::count("pipeline-parallel", o.pipeline_parallel, kRanks, "stages that share the layers"),
          app::choice("schedule", o.schedule, {"gpipe", "1f1b", "interleaved"},
                      "of the pipeline; interleaved takes --virtual-stages"),
          app::count("virtual-stages", o.virtual_stages, kRanks,
                     "chunks of layers a stage, which micro-batches go through in turn (interleaved)"),
          app::text("pipeline-split", "5,6,6,5", o.pipeline_split,
                    "layers of each stage, or of each chunk in model order (default: near-equal)"),
          app::choice("rank-order", o.rank_order,
                      {"tp,pp,dp", "tp,dp,pp", "pp,tp,dp", "pp,dp,tp", "dp,tp,pp", "dp,pp,tp"},
                      "which ranks are neighbours: the first dimension's, then those of the second"),
          app::choice("recompute", o.recompute, {"none", "selective", "full"},
                      "what backward makes again instead of keeping it: norm and activation outputs; all but each "
                      "layer's input"),
          app::count("zero", o.zero, {.least = 0, .most = 3},
                     "what replicas keep a share of each: 1 the optimizer's states, 2 gradients too, 3 weights too"),
          app::count("bucket-mib", o.bucket_mib, {.least = 1, .most = 65536},
                     "MiB of gradients that are summed over the replicas at a time"),
          app::yes_no(
              "overlap", o.overlap,
              "sum gradients while backward passes still run; under --zero 3 gather weights ahead of their use"),
          app::choice(
              "reduction", o.reduction, {"bucket", "tree"},
              "order of the gradients' sums; tree: that of a tree over the micro-batches, so that any number of "
              "replicas gives the same bytes; takes more memory"),
          app::count(
              "check-replicas-every", o.check_replicas_every, kFromZero,
              "steps after which ranks that must hold the same weights and states compare them, and before every "
              "save; a difference ends the run with code 4; 0: never"),
          app::choice("offload", o.offload, {"none", "optimizer"},
                      "what is kept in host memory instead of the device's; on the CPU all of it is there"),
          app::count("expect-world", o.expect_world, kRanks, "refuse to start on another number of ranks"),
      });
}

void add_checkpoints(std::vector<Option>& all, config::RunOptions& o) {
  add(all, "Checkpoints and resuming",
      {
          app::text("checkpoint-every", "STEPS|TIME", o.output.checkpoint_every,
                    "save after so many steps (1000) or so long (30m); always at the end"),
          app::count("keep-last", o.output.keep_last, kFromZero, "remove all but the newest so many; 0: keep all"),
          app::count("keep-every", o.output.keep_every, kFromZero,
                     "never remove those whose step this divides; 0: no such"),
          app::choice("resume", o.resume.mode, {"auto", "never", "require"},
                      "go on from RUN's newest checkpoint: where there is one, never, or refuse where there is none"),
          app::text("resume-from", "CKPT", o.resume.from,
                    "start an empty RUN with the full state of another run's checkpoint, of any layout"),
          app::texts("allow-change", "KEY", o.resume.allow_change,
                     "let this setting differ from the checkpoint's (the refusal lists the keys)"),
          app::toggle("ignore-space", o.output.ignore_space, "start even if the disk cannot hold the checkpoints"),
      });
}

void add_stopping(std::vector<Option>& all, config::StopOptions& o) {
  add(all, "Stopping (a signal to any rank: all save after the step and exit with 75)",
      {
          app::choice("stop-signal", o.signal, {"USR1", "USR2", "HUP", "ALRM", "CONT"},
                      "that stops, beside TERM and INT"),
          app::seconds("stop-after", o.after, kFromZeroReal, "stop when the program has run so long (3h50m); 0: never"),
          app::seconds("grace-seconds", o.grace_seconds, kFromZeroReal,
                       "that saving may wait for a rank once the run is stopping; 0: as --watchdog-seconds"),
          app::seconds("watchdog-seconds", o.watchdog_seconds, kFromZeroReal,
                       "that a rank waits for the others before it names the missing ones and gives up; 0: for ever"),
      });
}

void add_observation(std::vector<Option>& all, config::ObservationOptions& o) {
  add(all, "Observation (convoy-profile reads it)",
      {
          app::choice("trace", o.trace, {"off", "steps", "window"},
                      "what RUN/traces keeps: nothing; where the time of every step went and the events of the last "
                      "steps; also all events of --trace-window"),
          app::text("trace-window", "FIRST-LAST", o.trace_window,
                    "steps of which every collective, message and micro-batch is kept (implies --trace window)"),
      });
}

void add_rehearsal(std::vector<Option>& all, config::RehearsalOptions& o) {
  add(all, "Rehearsal",
      {
          app::texts("fault", "FAULT", o.faults,
                     "kill:step=7,rank=2 | hang:step=7,rank=2 | nan-gradient:step=5,rank=1 | flip-bit:step=5,rank=1 | "
                     "slow:rank=3,factor=1.5,phase=forward[,steps=10-20] | slow:rank=3,sleep=20ms,phase=data | "
                     "slow-write:bytes-per-second=50M"),
          app::toggle("log-samples", o.log_samples, "write the samples of every step to RUN/events.jsonl"),
      });
}

void add_output(std::vector<Option>& all, config::OutputOptions& o) {
  add(all, "Output and evaluation",
      {
          app::text("out", "RUN", o.out, "run directory: metrics, checkpoints, TensorBoard events"),
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
  add_layout(all, options.layout);
  add_output(all, options.output);
  add_checkpoints(all, options);
  add_stopping(all, options.stop);
  add_observation(all, options.observation);
  add_rehearsal(all, options.rehearsal);
  return all;
}

}  // namespace convoy::apps::train
