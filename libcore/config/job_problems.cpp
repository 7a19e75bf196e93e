// SPDX-License-Identifier: Apache-2.0
// What can be known to be wrong with a chain before any of it is submitted.
#include <fmt/format.h>

#include <algorithm>

#include "libcore/config/job_file.h"
#include "libcore/config/sbatch_values.h"

namespace convoy::config {
namespace {

using Texts = std::vector<std::string>;

constexpr std::int64_t kCoresOfElement = 4;  // what preprocess.sbatch asks for by itself

class Table {
 public:
  Table(const char* name, Texts& problems) : name_(name), problems_(problems) {}
  void add(const std::string& problem) { problems_.push_back(fmt::format("[{}] {}", name_, problem)); }
  // A key whose value was refused has no value either, and is told of once.
  void require(const char* key, bool given, const Texts& refused, const char* what) {
    if (given || std::find(refused.begin(), refused.end(), key) != refused.end()) return;
    add(fmt::format("{} is missing: {}", key, what));
  }

 private:
  const char* name_;
  Texts& problems_;
};

void check_memory(Table& table, const std::string& memory) {
  if (memory.empty() || is_memory(memory)) return;
  table.add(
      fmt::format("mem = '{}': expected a size as sbatch takes it, of a node: 16G, 500M, or 0 for all of it", memory));
}

void check_sbatch(Table& table, const Texts& options) {
  for (const std::string& option : options) {
    if (const std::string problem = problem_of_option(option); !problem.empty()) table.add("sbatch: " + problem);
  }
}

// Where a path stands alone on a command line, and in the scripts.
void check_path(Table& table, const char* key, const std::string& path) {
  if (path.starts_with('-')) table.add(fmt::format("{} = '{}' looks like a flag; write ./{}", key, path, path));
}

void check_resources(Table& table, const Resources& resources) {
  if (!resources.time.empty() && seconds_of_limit(resources.time) == 0) {
    table.add(
        fmt::format("time = '{}': expected a limit as sbatch takes it: minutes (90), hours:minutes:seconds (4:00:00) "
                    "or days-hours:minutes:seconds (2-12:00:00)",
                    resources.time));
  }
  check_memory(table, resources.memory);
  if (resources.gres.find_first_of(" \t\r\n") != std::string::npos)
    table.add(
        fmt::format("gres = '{}': expected NAME:COUNT or NAME:TYPE:COUNT, without blanks: gpu:4", resources.gres));
  if (!resources.gres.empty() && resources.gpus_per_node) table.add("gres and gpus-per-node are both given: keep one");
  check_sbatch(table, resources.sbatch);
}

void check_preprocess(const JobFile& job, Texts& problems) {
  const PreprocessStage& stage = *job.preprocess;
  Table table("preprocess", problems);
  check_resources(table, stage.resources);
  table.require("inputs", !stage.inputs.empty(), stage.refused, "files, folders, globs or @lists of text");
  table.require("tokenizer", !stage.tokenizer.empty(), stage.refused, "a SentencePiece model or a tokenizer.json");
  table.require("shards", stage.shards.has_value(), stage.refused, "how many elements the array has");
  table.require("out-dir", !stage.out_folder.empty(), stage.refused, "the folder of plan.json and the shards");
  check_path(table, "out-dir", stage.out_folder);
  for (const std::string& input : stage.inputs) {
    if (input == "-") table.add("inputs: '-' is the standard input, which a job has none of; name files");
    if (input.starts_with('-') && input != "-")
      table.add(fmt::format("inputs: '{}' looks like a flag; write ./{}", input, input));
  }
  const std::int64_t cores = stage.resources.cpus_per_task.value_or(kCoresOfElement);
  if (stage.threads && *stage.threads > cores) {
    table.add(
        fmt::format("threads = {} is more than cpus-per-task = {}: ask for as many processors, or leave threads out",
                    *stage.threads, cores));
  }
}

void check_merge(const JobFile& job, Texts& problems) {
  Table table("merge", problems);
  check_resources(table, job.merge->resources);
  table.require("out", !job.merge->out.empty(), job.merge->refused, "PREFIX of the pair that it writes");
  check_path(table, "out", job.merge->out);
  if (job.merge->out.ends_with('/'))
    table.add(fmt::format("out = '{}' is a folder; expected a prefix such as data/corpus", job.merge->out));
  if (!job.preprocess)
    table.add("joins the shards of [preprocess], which is left out: add it, or leave [merge] out too");
}

std::optional<std::int64_t> gpus_of_node(const Resources& own, const Resources& site) {
  return own.gpus_per_node ? own.gpus_per_node : gpus_of(own.gres.empty() ? site.gres : own.gres);
}

void check_train(const JobFile& job, Texts& problems) {
  const TrainStage& stage = *job.train;
  Table table("train", problems);
  check_resources(table, stage.resources);
  check_path(table, "out", stage.run);
  if (job.preprocess && !job.merge)
    table.add("waits for shards that nothing joins: add [merge], or leave [preprocess] out");
  const std::string& time = stage.resources.time.empty() ? job.site.resources.time : stage.resources.time;
  const std::int64_t limit = seconds_of_limit(time);
  if (stage.warning && limit > 0 && *stage.warning >= limit) {
    table.add(
        fmt::format("warning-seconds = {} is the whole time limit ({} s) or more: the run would stop as it starts; ask "
                    "for more time",
                    *stage.warning, limit));
  }
  const std::optional<std::int64_t> gpus = gpus_of_node(stage.resources, job.site.resources);
  const std::int64_t tasks = stage.resources.tasks_per_node.value_or(1);
  if (gpus && stage.device != "cpu" && tasks > *gpus) {
    table.add(
        fmt::format("ntasks-per-node = {} is more than the {} GPUs of a node: a rank has a GPU of its own; ask for as "
                    "many, or add device = \"cpu\"",
                    tasks, *gpus));
  }
}

void check_export(const JobFile& job, Texts& problems) {
  const ExportStage& stage = *job.export_;
  Table table("export", problems);
  check_resources(table, stage.resources);
  check_path(table, "checkpoint", stage.checkpoint);
  check_path(table, "out", stage.out);
  if (stage.checkpoint.empty() && !job.train)
    table.add("takes the run of [train], which is left out: add checkpoint = RUN, or leave [export] out too");
  if (stage.out.empty() && !stage.arguments.empty()) table.add("says how to export, but not where: add out = FOLDER");
  if (stage.out.empty() && !stage.verify) table.add("neither exports (out = FOLDER) nor verifies: leave it out");
}

void check_report(const JobFile& job, Texts& problems) {
  Table table("report", problems);
  check_resources(table, job.report->resources);
  check_path(table, "run", job.report->run);
  check_path(table, "html", job.report->html);
  if (job.report->run.empty() && !job.train)
    table.add("looks at the run of [train], which is left out: add run = RUN, or leave [report] out too");
}

// Words that job scripts divide at blanks.
void check_words(Table& table, const char* key, const std::string& words) {
  if (words.find_first_of("\r\n'\"") == std::string::npos) return;
  table.add(fmt::format(
      "{} = {}: expected words on one line; they are divided at blanks, and quotes do not keep them together", key,
      words));
}

// No command line can hold the character NUL, and a shell drops it without a word.
void check_nul(const JobFile& job, Texts& problems) {
  for (const Stage stage : kStages) {
    for (const Assignment& assignment : assignments(job, stage)) {
      for (const std::string& value : assignment.values) {
        if (value.find('\0') == std::string::npos) continue;
        problems.push_back(
            fmt::format("[{}] '{}...' goes on with the character U+0000, which no command line can hold; remove it",
                        name_of(stage), value.c_str()));
        return;
      }
    }
  }
}

void check_site(const JobFile& job, Texts& problems) {
  Table table("site", problems);
  check_resources(table, job.site.resources);
  check_path(table, "log-dir", job.site.log_folder);
  check_words(table, "container", job.site.container);
  check_words(table, "launcher", job.site.launcher);
  if (job.site.log_folder.empty()) table.add("log-dir is empty: expected a folder");
  if (job.site.log_folder.find('%') != std::string::npos)
    table.add(fmt::format("log-dir = '{}': '%' is Slurm's, and a folder of such a name would not be made",
                          job.site.log_folder));
}

}  // namespace

std::vector<std::string> job_problems(const JobFile& job) {
  Texts problems;
  check_site(job, problems);
  if (job.preprocess) check_preprocess(job, problems);
  if (job.merge) check_merge(job, problems);
  if (job.train) check_train(job, problems);
  if (job.export_) check_export(job, problems);
  if (job.report) check_report(job, problems);
  if (!job.preprocess && !job.merge && !job.train && !job.export_ && !job.report)
    problems.push_back("there is no stage: add [preprocess] and [merge], [train], [export] or [report]");
  if (problems.empty()) check_nul(job, problems);
  return problems;
}

}  // namespace convoy::config
