// SPDX-License-Identifier: Apache-2.0
// convoy-train job: a job file, checked, for the scripts in slurm/.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "apps/train/commands.h"
#include "apps/train/job_options.h"
#include "libcore/app/command_line.h"
#include "libcore/base/error.h"
#include "libcore/config/shell_assignments.h"
#include "libcore/data/encode_options.h"
#include "libcore/data/json_record.h"
#include "libcore/train/prepare.h"

namespace convoy::apps::train {
namespace {

using Texts = std::vector<std::string>;

// The machine on which the run will be, of which only the number of ranks is known.
config::MachineFacts machine_of(const config::Resources& resources) {
  config::MachineFacts machine;
  machine.cores = std::numeric_limits<int>::max();
  machine.world = static_cast<int>(resources.nodes.value_or(1) * resources.tasks_per_node.value_or(1));
  return machine;
}

// What `run` itself would say, as far as it can be known before the data are there.
Texts run_problems(const JobKeys& keys, const config::JobFile& job) {
  config::RunOptions options = keys.run;
  if (const std::string data = config::default_data(job); options.data.data.empty() && !data.empty())
    options.data.data = {data};
  Texts problems;
  for (const std::string& problem : convoy::train::problems_before_data(options, machine_of(keys.train.resources)))
    problems.push_back(fmt::format("[train] {}", problem));
  return problems;
}

// What `convoy-preprocess plan` itself would say of its options.
Texts encode_problems(const EncodeKeys& keys, const Texts& given) {
  Texts problems = data::idle_options({.format = keys.format,
                                       .separator = keys.separator,
                                       .on_error = keys.on_error,
                                       .dedup = keys.dedup,
                                       .keys = keys.keys,
                                       .max_errors = keys.max_errors.has_value(),
                                       .dedup_memory = std::find(given.begin(), given.end(), "dedup-memory") != given.end()});
  const auto told = [&problems](const char* key, const std::string& value, const auto& parse) {
    try {
      parse();
    } catch (const ConfigError& error) {
      problems.push_back(fmt::format("{} = '{}': {}", key, value, error.what()));
    }
  };
  if (!keys.keys.empty()) told("key", fmt::format("{}", fmt::join(keys.keys, "', '")), [&keys] { data::RecordParser(keys.keys); });
  if (!keys.split.empty()) told("split", keys.split, [&keys] { data::parse_splits(keys.split); });
  for (std::string& problem : problems) problem.insert(0, "[preprocess] ");
  return problems;
}

config::JobFile job_of(const std::string& path, JobKeys& keys, const std::vector<app::ConfigTable>& tables) {
  config::JobFile job{.name = config::chain_name(path), .site = keys.site};
  if (tables[1].present) {
    keys.preprocess.split = keys.encode.split;
    job.preprocess = keys.preprocess;
    job.preprocess->arguments = app::arguments_of(encode_options(keys.encode), tables[1].given);
    job.preprocess->refused = tables[1].refused;
  }
  if (tables[2].present) {
    job.merge = keys.merge;
    job.merge->refused = tables[2].refused;
  }
  if (tables[3].present) {
    keys.train.run = keys.run.output.out;
    keys.train.steps = keys.run.batch.steps;
    keys.train.device = keys.run.device.device;
    keys.train.has_data = !keys.run.data.data.empty();
    job.train = keys.train;
    job.train->arguments = app::arguments_of(run_options(keys.run), tables[3].given);
  }
  if (tables[4].present) {
    job.export_ = keys.exports;
    job.export_->arguments = app::arguments_of(export_options(keys.export_flags), tables[4].given);
  }
  if (tables[5].present) {
    job.report = keys.report;
    job.report->arguments = app::arguments_of(report_options(keys.report_flags), tables[5].given);
  }
  return job;
}

// Paths in the file are relative to its folder, where the jobs run too.
config::JobFile read_job(const std::string& path) {
  JobKeys keys;
  std::vector<app::ConfigTable> tables = job_tables(keys);
  Texts problems = app::read_tables(path, tables);
  const config::JobFile job = job_of(path, keys, tables);
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::current_path(folder);
  for (std::string& problem : config::job_problems(job)) problems.push_back(fmt::format("{}: {}", path, problem));
  for (std::string& problem : encode_problems(keys.encode, tables[1].given)) problems.push_back(fmt::format("{}: {}", path, problem));
  if (job.train) {
    for (const std::string& problem : run_problems(keys, job)) problems.push_back(fmt::format("{}: {}", path, problem));
  }
  if (!problems.empty()) throw ConfigError(problems);
  return job;
}

config::Stage stage_of(const std::string& name) {
  for (const config::Stage stage : config::kStages) {
    if (name == config::name_of(stage)) return stage;
  }
  throw InternalError(fmt::format("no stage '{}'", name));
}

int print(const JobArguments& arguments, const app::Session& session) {
  const config::JobFile job = read_job(arguments.file);
  const std::vector<config::Assignment> values = config::assignments(job, stage_of(arguments.stage));
  if (session.json) {
    fmt::print("{}\n", config::json_text(values));
  } else {
    fmt::print("{}", config::shell_text(values));
  }
  return 0;
}

}  // namespace

app::Command job_command(JobArguments& arguments) {
  Texts stages;
  for (const config::Stage stage : config::kStages) stages.emplace_back(config::name_of(stage));
  app::Command command;
  command.name = "job";
  command.purpose = "check a file that describes a chain of Slurm jobs, and print one stage for slurm/submit.sh";
  command.details =
      "JOB.toml has [site] and a table for each stage: [preprocess], [merge], [train], [export], [report]; a table "
      "that is "
      "left out leaves its stage out. The whole file is checked, whatever the stage. Paths are relative to its folder. "
      "docs/slurm.md lists the keys.\n\n"
      "Prints assignments for a shell's eval, every value quoted: job_sbatch=(options of sbatch), job_site=(options of "
      "the "
      "job script), job_arguments=(of its program), and more. Of a stage that is left out, job_present=no.";
  command.examples = {"convoy-train job chain.toml --stage train",
                      "convoy-train job chain.toml --stage preprocess --json"};
  command.options = {
      app::positional("JOB.toml", arguments.file, "the job file"),
      app::choice("stage", arguments.stage, stages, "which stage to print").required().flag_only(),
  };
  command.has_json = true;
  command.run = [&arguments](const app::Session& session) { return print(arguments, session); };
  return command;
}

}  // namespace convoy::apps::train
