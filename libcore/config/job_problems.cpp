// SPDX-License-Identifier: Apache-2.0
// What can be known to be wrong with a chain before any of it is submitted.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "libcore/config/job_file.h"

namespace convoy::config {
namespace {

using Texts = std::vector<std::string>;

constexpr std::int64_t kUnlimited = std::int64_t{1} << 40;  // seconds, of "UNLIMITED"

// What submit.sh gives itself.
constexpr std::string_view kOwnOptions[] = {
    "array", "dependency", "kill-on-invalid-dep", "parsable", "wrap", "output", "job-name", "chdir"};

class Table {
 public:
  Table(const char* name, Texts& problems) : name_(name), problems_(problems) {}
  void add(const std::string& problem) { problems_.push_back(fmt::format("[{}] {}", name_, problem)); }
  void require(const char* key, bool given, const char* what) {
    if (!given) add(fmt::format("{} is missing: {}", key, what));
  }

 private:
  const char* name_;
  Texts& problems_;
};

// The numbers between the colons of "4:00:00"; empty if there is anything else.
std::vector<std::int64_t> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    if (part.empty() || part.size() > 7 || part.find_first_not_of("0123456789") != std::string_view::npos) return {};
    std::int64_t value = 0;
    for (const char c : part) value = 10 * value + (c - '0');
    numbers.push_back(value);
    begin = end + 1;
  }
  return numbers;
}

void check_memory(Table& table, const std::string& memory) {
  const std::size_t digits = std::min(memory.find_first_not_of("0123456789"), memory.size());
  const std::string_view unit = std::string_view(memory).substr(digits);
  const bool sound =
      digits > 0 &&
      (unit.empty() || (unit.size() == 1 && std::string_view("KMGT").find(unit[0]) != std::string_view::npos));
  if (memory.empty() || sound) return;
  table.add(
      fmt::format("mem = '{}': expected a size as sbatch takes it, of a node: 16G, 500M, or 0 for all of it", memory));
}

void check_sbatch(Table& table, const Texts& options) {
  for (const std::string& option : options) {
    if (!option.starts_with('-')) {
      table.add(
          fmt::format("sbatch: '{}' is no option; write each as one text: '--exclusive', '--comment=text'", option));
      continue;
    }
    const std::string_view name = std::string_view(option).substr(
        option.find_first_not_of('-') == std::string::npos ? option.size() : option.find_first_not_of('-'));
    const std::string_view key = name.substr(0, name.find('='));
    if (std::find(std::begin(kOwnOptions), std::end(kOwnOptions), key) != std::end(kOwnOptions))
      table.add(fmt::format("sbatch: --{} is given by submit.sh itself; remove it", key));
  }
}

void check_resources(Table& table, const Resources& resources) {
  if (!resources.time.empty() && seconds_of_limit(resources.time) == 0) {
    table.add(
        fmt::format("time = '{}': expected a limit as sbatch takes it: minutes (90), hours:minutes:seconds (4:00:00) "
                    "or days-hours:minutes:seconds (2-12:00:00)",
                    resources.time));
  }
  check_memory(table, resources.memory);
  if (resources.gres.find_first_of(" \t") != std::string::npos)
    table.add(
        fmt::format("gres = '{}': expected NAME:COUNT or NAME:TYPE:COUNT, without blanks: gpu:4", resources.gres));
  if (!resources.gres.empty() && resources.gpus_per_node) table.add("gres and gpus-per-node are both given: keep one");
  check_sbatch(table, resources.sbatch);
}

void check_preprocess(const JobFile& job, Texts& problems) {
  const PreprocessStage& stage = *job.preprocess;
  Table table("preprocess", problems);
  check_resources(table, stage.resources);
  table.require("inputs", !stage.inputs.empty(), "files, folders, globs or @lists of text");
  table.require("tokenizer", !stage.tokenizer.empty(), "a SentencePiece model");
  table.require("shards", stage.shards.has_value(), "how many elements the array has");
  table.require("out-dir", !stage.out_folder.empty(), "the folder of plan.json and the shards");
  for (const std::string& input : stage.inputs) {
    if (input == "-") table.add("inputs: '-' is the standard input, which a job has none of; name files");
    if (input.starts_with('-') && input != "-")
      table.add(fmt::format("inputs: '{}' looks like a flag; write ./{}", input, input));
  }
  if (stage.threads && *stage.threads > stage.resources.cpus_per_task.value_or(1)) {
    table.add(
        fmt::format("threads = {} is more than cpus-per-task = {}: ask for as many processors, or leave threads out",
                    *stage.threads, stage.resources.cpus_per_task.value_or(1)));
  }
}

void check_merge(const JobFile& job, Texts& problems) {
  Table table("merge", problems);
  check_resources(table, job.merge->resources);
  table.require("out", !job.merge->out.empty(), "PREFIX of the pair that it writes");
  if (!job.preprocess)
    table.add("joins the shards of [preprocess], which is left out: add it, or leave [merge] out too");
}

// GPUs of a node, as asked for with "gpu:4", "gpu:a100:4" or gpus-per-node; none if it cannot be told.
std::optional<std::int64_t> gpus_of(const Resources& own, const Resources& site) {
  if (own.gpus_per_node) return own.gpus_per_node;
  const std::string& gres = own.gres.empty() ? site.gres : own.gres;
  if (!gres.starts_with("gpu")) return std::nullopt;
  const std::vector<std::int64_t> count = numbers_of(std::string_view(gres).substr(gres.find_last_of(':') + 1));
  return count.size() == 1 ? std::optional(count.front()) : std::nullopt;
}

void check_train(const JobFile& job, Texts& problems) {
  const TrainStage& stage = *job.train;
  Table table("train", problems);
  check_resources(table, stage.resources);
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
  const std::optional<std::int64_t> gpus = gpus_of(stage.resources, job.site.resources);
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
  if (stage.checkpoint.empty() && !job.train)
    table.add("takes the run of [train], which is left out: add checkpoint = RUN, or leave [export] out too");
  if (stage.out.empty() && !stage.arguments.empty()) table.add("says how to export, but not where: add out = FOLDER");
  if (stage.out.empty() && !stage.verify) table.add("neither exports (out = FOLDER) nor verifies: leave it out");
}

void check_report(const JobFile& job, Texts& problems) {
  Table table("report", problems);
  check_resources(table, job.report->resources);
  if (job.report->run.empty() && !job.train)
    table.add("looks at the run of [train], which is left out: add run = RUN, or leave [report] out too");
}

void check_site(const JobFile& job, Texts& problems) {
  Table table("site", problems);
  check_resources(table, job.site.resources);
  if (job.site.log_folder.empty()) table.add("log-dir is empty: expected a folder");
  if (job.site.log_folder.find('%') != std::string::npos)
    table.add(fmt::format("log-dir = '{}': '%' is Slurm's, and a folder of such a name would not be made",
                          job.site.log_folder));
}

}  // namespace

std::int64_t seconds_of_limit(const std::string& time) {
  if (time == "UNLIMITED" || time == "INFINITE") return kUnlimited;
  const std::size_t dash = time.find('-');
  const std::vector<std::int64_t> parts =
      numbers_of(std::string_view(time).substr(dash == std::string::npos ? 0 : dash + 1));
  if (parts.empty() || parts.size() > 3) return 0;
  if (dash == std::string::npos) {
    if (parts.size() == 1) return 60 * parts[0];
    if (parts.size() == 2) return 60 * parts[0] + parts[1];
    return 3600 * parts[0] + 60 * parts[1] + parts[2];
  }
  const std::vector<std::int64_t> days = numbers_of(std::string_view(time).substr(0, dash));
  if (days.size() != 1) return 0;
  std::int64_t seconds = 86400 * days[0], unit = 3600;
  for (const std::int64_t part : parts) {
    seconds += unit * part;
    unit /= 60;
  }
  return seconds;
}

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
  return problems;
}

}  // namespace convoy::config
