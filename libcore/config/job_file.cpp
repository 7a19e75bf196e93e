// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "libcore/base/error.h"

namespace convoy::config {
namespace {

using Texts = std::vector<std::string>;

const Resources* resources_of(const JobFile& job, Stage stage) {
  switch (stage) {
    case Stage::kPreprocess:
      return job.preprocess ? &job.preprocess->resources : nullptr;
    case Stage::kMerge:
      return job.merge ? &job.merge->resources : nullptr;
    case Stage::kTrain:
      return job.train ? &job.train->resources : nullptr;
    case Stage::kExport:
      return job.export_ ? &job.export_->resources : nullptr;
    case Stage::kReport:
      return job.report ? &job.report->resources : nullptr;
  }
  throw InternalError("unknown stage");
}

const std::string& run_of_export(const JobFile& job) {
  return job.export_->checkpoint.empty() && job.train ? job.train->run : job.export_->checkpoint;
}

const std::string& run_of_report(const JobFile& job) {
  return job.report->run.empty() && job.train ? job.train->run : job.report->run;
}

void append(Texts& all, const Texts& more) { all.insert(all.end(), more.begin(), more.end()); }

void add_text(Texts& options, const char* name, const std::string& own, const std::string& site = "") {
  const std::string& value = own.empty() ? site : own;
  if (!value.empty()) options.push_back(fmt::format("--{}={}", name, value));
}

void add_count(Texts& options, const char* name, const std::optional<std::int64_t>& value) {
  if (value) options.push_back(fmt::format("--{}={}", name, *value));
}

// Options of sbatch, in the order in which a person would write them.
Texts sbatch_options(const JobFile& job, Stage stage) {
  const Resources& own = *resources_of(job, stage);
  const SiteOptions& site = job.site;
  const char* id = stage == Stage::kPreprocess ? "%A_%a" : "%j";  // an array's elements have a log each
  Texts options = {fmt::format("--job-name={}-{}", job.name, name_of(stage)),
                   fmt::format("--output={}/{}-{}-{}.log", site.log_folder, job.name, name_of(stage), id)};
  add_count(options, "nodes", own.nodes);
  add_count(options, "ntasks-per-node", own.tasks_per_node);
  add_count(options, "cpus-per-task", own.cpus_per_task);
  add_count(options, "gpus-per-node", own.gpus_per_node);
  const bool own_devices = own.gpus_per_node || stage != Stage::kTrain;
  add_text(options, "gres", own.gres, own_devices ? "" : site.resources.gres);
  add_text(options, "mem", own.memory, site.resources.memory);
  add_text(options, "time", own.time, site.resources.time);
  add_text(options, "partition", own.partition, site.resources.partition);
  add_text(options, "account", own.account, site.resources.account);
  add_text(options, "qos", own.qos, site.resources.qos);
  add_text(options, "reservation", own.reservation, site.resources.reservation);
  add_text(options, "constraint", own.constraint, site.resources.constraint);
  if (!site.mail_user.empty()) {
    add_text(options, "mail-user", site.mail_user);
    add_text(options, "mail-type", site.mail_type);
  }
  if (stage == Stage::kTrain && job.train->warning)
    options.push_back(fmt::format("--signal=B:USR2@{}", *job.train->warning));
  append(options, site.resources.sbatch);
  append(options, own.sbatch);
  return options;
}

// What the job scripts themselves are told, before the arguments of their programs.
Texts script_options(const JobFile& job, Stage stage) {
  Texts options;
  for (const std::string& line : job.site.setup) options.push_back(fmt::format("--setup={}", line));
  if (stage == Stage::kTrain) add_text(options, "launcher", job.site.launcher);
  add_text(options, "container", job.site.container);
  if (stage == Stage::kTrain) add_count(options, "max-requeues", job.train->max_requeues);
  return options;
}

std::string plan_of(const PreprocessStage& stage) { return fmt::format("{}/plan.json", stage.out_folder); }

// The variables that differ from stage to stage.
struct Values {
  Texts arguments, plan_arguments, pairs;
  std::string plan, shards, max_parallel, out, run, steps, html;
};

std::string text_of(const std::optional<std::int64_t>& value) { return value ? fmt::format("{}", *value) : ""; }

Values of_preprocess(const PreprocessStage& stage) {
  Values values;
  values.plan = plan_of(stage);
  values.shards = text_of(stage.shards);
  values.max_parallel = text_of(stage.max_parallel);
  values.out = stage.out_folder;
  values.plan_arguments = stage.inputs;
  append(values.plan_arguments,
         {fmt::format("--shards={}", values.shards), fmt::format("--tokenizer={}", stage.tokenizer),
          fmt::format("--out-dir={}", stage.out_folder)});
  append(values.plan_arguments, stage.arguments);
  values.arguments = {fmt::format("--plan={}", values.plan)};
  add_count(values.arguments, "threads", stage.threads);
  return values;
}

Values of_merge(const JobFile& job) {
  Values values;
  values.plan = plan_of(*job.preprocess);
  values.out = job.merge->out;
  values.pairs = merged_pairs(job);
  values.arguments = {fmt::format("--plan={}", values.plan), fmt::format("--out={}", values.out)};
  return values;
}

Values of_train(const JobFile& job) {
  Values values;
  values.run = job.train->run;
  values.steps = text_of(job.train->steps);
  values.arguments = job.train->arguments;
  if (const std::string data = default_data(job); !job.train->has_data && !data.empty())
    values.arguments.push_back(fmt::format("--data={}", data));
  return values;
}

Values of_export(const JobFile& job) {
  const ExportStage& stage = *job.export_;
  Values values;
  values.run = run_of_export(job);
  values.out = stage.out;
  if (stage.verify) values.arguments = {"verify", values.run, "--deep"};
  if (stage.out.empty()) return values;
  if (stage.verify) values.arguments.push_back("--");
  append(values.arguments, {"export", values.run, fmt::format("--out={}", stage.out)});
  append(values.arguments, stage.arguments);
  return values;
}

Values of_report(const JobFile& job) {
  Values values;
  values.run = run_of_report(job);
  values.html = job.report->html.empty() ? fmt::format("{}/report.html", values.run) : job.report->html;
  values.arguments = {"report", values.run, fmt::format("--html={}", values.html)};
  append(values.arguments, job.report->arguments);
  return values;
}

Values values_of(const JobFile& job, Stage stage) {
  switch (stage) {
    case Stage::kPreprocess:
      return of_preprocess(*job.preprocess);
    case Stage::kMerge:
      return of_merge(job);
    case Stage::kTrain:
      return of_train(job);
    case Stage::kExport:
      return of_export(job);
    case Stage::kReport:
      return of_report(job);
  }
  throw InternalError("unknown stage");
}

}  // namespace

const char* name_of(Stage stage) {
  switch (stage) {
    case Stage::kPreprocess:
      return "preprocess";
    case Stage::kMerge:
      return "merge";
    case Stage::kTrain:
      return "train";
    case Stage::kExport:
      return "export";
    case Stage::kReport:
      return "report";
  }
  throw InternalError("unknown stage");
}

std::string chain_name(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return name;
}

std::vector<std::string> merged_pairs(const JobFile& job) {
  Texts pairs;
  if (!job.merge) return pairs;
  const std::string split = job.preprocess ? job.preprocess->split : "";
  for (std::size_t begin = 0; begin < split.size();) {
    const std::size_t end = std::min(split.find(',', begin), split.size());
    const std::string name = split.substr(begin, std::min(split.find('=', begin), end) - begin);
    pairs.push_back(fmt::format("{}.{}", job.merge->out, name));
    begin = end + 1;
  }
  return pairs.empty() ? Texts{job.merge->out} : pairs;
}

std::string default_data(const JobFile& job) {
  const Texts pairs = merged_pairs(job);
  if (pairs.empty() || !job.preprocess) return "";
  if (job.preprocess->split.empty()) return pairs.front();
  const std::string train = fmt::format("{}.train", job.merge->out);
  return std::find(pairs.begin(), pairs.end(), train) == pairs.end() ? "" : train;
}

std::vector<Assignment> assignments(const JobFile& job, Stage stage) {
  const bool present = resources_of(job, stage) != nullptr;
  const Values values = present ? values_of(job, stage) : Values{};
  return {{"job_stage", {name_of(stage)}},
          {"job_present", {present ? "yes" : "no"}},
          {"job_name", {fmt::format("{}-{}", job.name, name_of(stage))}},
          {"job_log_folder", {job.site.log_folder}},
          {"job_sbatch", present ? sbatch_options(job, stage) : Texts{}, true},
          {"job_site", present ? script_options(job, stage) : Texts{}, true},
          {"job_arguments", values.arguments, true},
          {"job_pairs", values.pairs, true},
          {"job_plan_arguments", values.plan_arguments, true},
          {"job_plan", {values.plan}},
          {"job_shards", {values.shards}},
          {"job_max_parallel", {values.max_parallel}},
          {"job_out", {values.out}},
          {"job_run", {values.run}},
          {"job_steps", {values.steps}},
          {"job_html", {values.html}}};
}

}  // namespace convoy::config
