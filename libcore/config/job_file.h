// SPDX-License-Identifier: Apache-2.0
// A chain of Slurm jobs as a file describes it: the site, and a table for each stage, from text to a report. What each
// stage asks of Slurm and what its program is called with, as shell assignments for slurm/submit.sh. Pure: the options
// of the programs themselves come in as finished arguments.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/config/shell_assignments.h"

namespace convoy::config {

// In the order in which they depend on each other.
enum class Stage { kPreprocess, kMerge, kTrain, kExport, kReport };
constexpr std::array<Stage, 5> kStages = {Stage::kPreprocess, Stage::kMerge, Stage::kTrain, Stage::kExport,
                                          Stage::kReport};
const char* name_of(Stage stage);  // the name of its table, "preprocess"

// What a job asks of Slurm, as sbatch spells it; empty: not asked for.
struct Resources {
  std::string partition, account, qos, reservation, constraint, gres;
  std::optional<std::int64_t> nodes, tasks_per_node, cpus_per_task, gpus_per_node;
  std::string time;                 // minutes, hours:minutes:seconds, days-hours, ...
  std::string memory;               // of a node: "16G"; "0" is all of it
  std::vector<std::string> sbatch;  // further options, as they are
};

struct SiteOptions {
  Resources resources;             // of every stage that does not ask for its own; gres: of train alone
  std::vector<std::string> setup;  // shell lines that every job begins with
  std::string launcher;            // words: what starts the ranks, instead of srun --mpi=pmix
  std::string container;           // words in front of every program
  std::string mail_user;
  std::string mail_type = "END,FAIL";
  std::string log_folder = "logs";
};

struct PreprocessStage {
  Resources resources;
  std::vector<std::string> inputs;
  std::string tokenizer;
  std::string out_folder;  // of plan.json and the shards
  std::optional<std::int64_t> shards, max_parallel, threads;
  std::string split;                   // NAME=SHARE,...: a pair of each name; empty: one pair
  std::vector<std::string> arguments;  // encode's other options, split among them, finished
  std::vector<std::string> refused = {};  // keys whose value is told of already
};

struct MergeStage {
  Resources resources;
  std::string out;                        // PREFIX
  std::vector<std::string> refused = {};  // as in PreprocessStage
};

struct TrainStage {
  Resources resources;
  std::string run;                                    // its run directory
  std::optional<std::int64_t> steps;                  // its length, where that is given in steps
  std::optional<std::int64_t> warning, max_requeues;  // seconds before the time limit; turns in the queue
  std::string device = "auto";
  bool has_data = false;               // names its data itself
  std::vector<std::string> arguments;  // of convoy-train run, finished
};

struct ExportStage {
  Resources resources;
  std::string checkpoint;  // default: train's run
  std::string out;         // the Hugging Face folder; empty: nothing is exported, only verified
  bool verify = true;
  std::vector<std::string> arguments;  // of convoy-ckpt export, but for checkpoint and out
};

struct ReportStage {
  Resources resources;
  std::string run;   // default: train's
  std::string html;  // default: RUN/report.html
  std::vector<std::string> arguments;
};

struct JobFile {
  std::string name;  // of the chain; jobs are called NAME-STAGE
  SiteOptions site;
  std::optional<PreprocessStage> preprocess = std::nullopt;
  std::optional<MergeStage> merge = std::nullopt;
  std::optional<TrainStage> train = std::nullopt;
  std::optional<ExportStage> export_ = std::nullopt;
  std::optional<ReportStage> report = std::nullopt;
};

// The name of the chain in a file: its stem, of letters, digits, '.', '_' and '-' alone.
std::string chain_name(const std::string& path);

// Everything that is wrong between and inside the stages, each behind its table's name: "[merge] ...".
std::vector<std::string> job_problems(const JobFile& job);

// The prefixes of the pairs that [merge] writes: OUT, or OUT.NAME for each split.
std::vector<std::string> merged_pairs(const JobFile& job);

// The pair to train on where [train] names none: OUT, or OUT.train; empty if there is no such.
std::string default_data(const JobFile& job);

// What slurm/submit.sh needs for one stage; the same variables for each, empty where they do not apply or the stage is
// left out (job_present=no):
//   job_stage job_present job_name job_log_folder
//   job_sbatch=(options)  job_site=(options of the job script)  job_arguments=(what the script's program gets)
//   job_pairs=(prefixes that merge writes)  job_plan_arguments=(of convoy-preprocess plan)  job_plan job_shards job_max_parallel job_out job_run job_steps
//   job_html
std::vector<Assignment> assignments(const JobFile& job, Stage stage);

}  // namespace convoy::config
