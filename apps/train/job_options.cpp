// SPDX-License-Identifier: Apache-2.0
// The keys of a job file. Those of [train] are the flags of `convoy-train run`; those of the other programs are passed
// on.
#include "apps/train/job_options.h"

#include "apps/train/commands.h"
#include "libcore/data/duplicates.h"
#include "libcore/data/shard_plan.h"

namespace convoy::apps::train {
namespace {

using app::Option;
using config::Resources;
using Options = std::vector<Option>;

constexpr std::int64_t kMost = 1'000'000;

Options operator+(Options a, const Options& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// What every stage may ask for, and [site] for all of them.
Options common(Resources& r) {
  return {
      app::text("partition", "NAME", r.partition, "where to run"),
      app::text("account", "NAME", r.account, "who pays"),
      app::text("qos", "NAME", r.qos, "quality of service"),
      app::text("reservation", "NAME", r.reservation, "nodes that are set aside"),
      app::text("constraint", "FEATURE", r.constraint, "of the nodes"),
      app::text("gres", "gpu:N", r.gres, "devices of a node"),
      app::text("time", "LIMIT", r.time, "90 (minutes), 4:00:00, 2-12:00:00"),
      app::text("mem", "SIZE", r.memory, "of a node: 16G; 0: all of it"),
      app::texts("sbatch", "OPTION", r.sbatch, "further options, each as it is"),
  };
}

Options of_stage(Resources& r, std::int64_t most_tasks) {
  return common(r) + Options{
                         app::count("nodes", r.nodes, {1, most_tasks}, "how many"),
                         app::count("ntasks-per-node", r.tasks_per_node, {1, most_tasks}, "a rank is a task"),
                         app::count("cpus-per-task", r.cpus_per_task, {1, kMost}, "threads of a task"),
                         app::count("gpus-per-node", r.gpus_per_node, {0, kMost}, "how many"),
                     };
}

Options of_site(config::SiteOptions& site) {
  return common(site.resources) + Options{
                                      app::texts("setup", "LINE", site.setup, "shell lines that every job begins with"),
                                      app::text("launcher", "WORDS", site.launcher, "what starts the ranks"),
                                      app::text("container", "WORDS", site.container, "in front of every program"),
                                      app::text("mail-user", "ADDRESS", site.mail_user, "who is told"),
                                      app::text("mail-type", "EVENTS", site.mail_type, "of what"),
                                      app::text("log-dir", "DIR", site.log_folder, "of the jobs' logs"),
                                  };
}

}  // namespace

Options encode_options(EncodeKeys& k) {
  return {
      app::choice("format", k.format, {"auto", "text", "jsonl"}, "of the inputs"),
      app::texts("key", "KEY", k.keys, "of the text in JSON Lines"),
      app::choice("document-separator", k.separator, {"file", "line", "blank-line"}, "what ends a document"),
      app::toggle("append-eos", k.append_eos, "end every document with the end-of-sentence id"),
      app::toggle("prepend-bos", k.prepend_bos, "begin every document with the beginning-of-sentence id"),
      app::choice("on-error", k.on_error, {"fail", "skip", "quarantine"}, "what becomes of bad records"),
      app::count("max-errors", k.max_errors, {.least = 0}, "more bad records than this end the run"),
      app::choice("dtype", k.dtype, {"auto", "u16", "i32"}, "of the tokens"),
      app::text("split", "NAME=SHARE,...", k.split, "several pairs OUT.NAME"),
      app::choice("dedup", k.dedup, {"off", "report", "drop"}, "documents with the text of an earlier one"),
      app::bytes("dedup-memory", k.dedup_memory, {.least = data::kLeastDedupMemory}, "to find them in"),
      app::count("verify-encoder", k.verify_encoder, {.least = 0}, "one of N documents is checked"),
      app::toggle("allow-lossy", k.allow_lossy, "do not warn about a tokenizer that loses newlines"),
      app::toggle("split-special-tokens", k.split_special_tokens, "names of control tokens in text stay text"),
  };
}

Options export_options(ExportKeys& k) {
  return {
      app::choice("to", k.to, {"hf"}, "a Hugging Face folder"),
      app::choice("dtype", k.dtype, {"fp32", "bf16", "fp16"}, "of the written tensors"),
      app::bytes("max-shard-size", k.max_shard_size, {.least = 1}, "of tensors in a file"),
      app::text("tokenizer", "M.model", k.tokenizer, "to put beside the weights"),
  };
}

Options report_options(ReportKeys& k) {
  return {
      app::text("steps", "FIRST-LAST", k.steps, "to look at"),
      app::texts("fail-on", "CONDITION", k.fail_on, "ends the job with 6 where it holds"),
      app::real("peak-tflops", k.peak_tflops, {.least = 1e-6}, "of one rank, for MFU"),
  };
}

std::vector<app::ConfigTable> job_tables(JobKeys& keys) {
  constexpr std::int64_t kOne = 1;
  using Count = app::Range<std::int64_t>;
  const Count from_one{.least = 1}, from_zero{.least = 0};
  Options preprocess = of_stage(keys.preprocess.resources, kOne);
  preprocess =
      preprocess + Options{
                       app::texts("inputs", "INPUT", keys.preprocess.inputs, "text"),
                       app::text("tokenizer", "M.model", keys.preprocess.tokenizer, "SentencePiece model or tokenizer.json"),
                       app::count("shards", keys.preprocess.shards, {.least = 1, .most = data::kMostShards}, "elements of the array"),
                       app::text("out-dir", "DIR", keys.preprocess.out_folder, "of plan.json and the shards"),
                       app::count("max-parallel", keys.preprocess.max_parallel, from_one, "elements at a time"),
                       app::count("threads", keys.preprocess.threads, {.least = 1, .most = data::kMostThreads}, "of an element"),
                   };
  const Options merge = of_stage(keys.merge.resources, kOne) +
                        Options{app::text("out", "PREFIX", keys.merge.out, "the pair that it writes")};
  Options train = of_stage(keys.train.resources, kMost);
  train = train + Options{
                      app::count("warning-seconds", keys.train.warning, from_one, "before the time limit"),
                      app::count("max-requeues", keys.train.max_requeues, from_zero, "turns in the queue"),
                  };
  Options exports = of_stage(keys.exports.resources, kOne);
  exports = exports + Options{
                          app::text("checkpoint", "CKPT", keys.exports.checkpoint, "default: the run of [train]"),
                          app::text("out", "DIR", keys.exports.out, "the folder to create"),
                          app::yes_no("verify", keys.exports.verify, "read every byte first"),
                      };
  Options report = of_stage(keys.report.resources, kOne);
  report = report + Options{
                        app::text("run", "RUN", keys.report.run, "default: that of [train]"),
                        app::text("html", "FILE", keys.report.html, "default: RUN/report.html"),
                    };
  return {{.name = "site", .options = of_site(keys.site)},
          {.name = "preprocess", .options = preprocess + encode_options(keys.encode)},
          {.name = "merge", .options = merge},
          {.name = "train", .options = train + run_options(keys.run)},
          {.name = "export", .options = exports + export_options(keys.export_flags)},
          {.name = "report", .options = report + report_options(keys.report_flags)}};
}

}  // namespace convoy::apps::train
