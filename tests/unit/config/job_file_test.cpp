// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/job_file.h"

#include <algorithm>

#include "libcore/config/sbatch_values.h"

namespace convoy::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Texts = std::vector<std::string>;

// All five stages, each with the least that it needs.
JobFile whole_chain() {
  JobFile job;
  job.name = "first";
  PreprocessStage preprocess;
  preprocess.inputs = {"corpus"};
  preprocess.tokenizer = "t.model";
  preprocess.out_folder = "shards";
  preprocess.shards = 8;
  job.preprocess = preprocess;
  job.merge.emplace().out = "data/docs";
  TrainStage train;
  train.run = "runs/first";
  train.steps = 100;
  train.arguments = {"--steps=100"};
  job.train = train;
  job.export_.emplace().out = "hf";
  job.report.emplace();
  return job;
}

Texts values(const JobFile& job, Stage stage, const std::string& name) {
  for (const Assignment& assignment : assignments(job, stage)) {
    if (assignment.name == name) return assignment.values;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

std::string value(const JobFile& job, Stage stage, const std::string& name) { return values(job, stage, name).front(); }

TEST(JobFile, OfAWholeChainIsSound) { EXPECT_THAT(job_problems(whole_chain()), IsEmpty()); }

TEST(JobFile, PassesPlanDataAndRunFromStageToStage) {
  const JobFile job = whole_chain();
  EXPECT_THAT(values(job, Stage::kPreprocess, "job_plan_arguments"),
              ElementsAre("corpus", "--shards=8", "--tokenizer=t.model", "--out-dir=shards"));
  EXPECT_THAT(values(job, Stage::kPreprocess, "job_arguments"), ElementsAre("--plan=shards/plan.json"));
  EXPECT_THAT(values(job, Stage::kMerge, "job_arguments"), ElementsAre("--plan=shards/plan.json", "--out=data/docs"));
  EXPECT_THAT(values(job, Stage::kTrain, "job_arguments"), ElementsAre("--steps=100", "--data=data/docs"));
  EXPECT_THAT(values(job, Stage::kExport, "job_arguments"),
              ElementsAre("verify", "runs/first", "--deep", "--", "export", "runs/first", "--out=hf"));
  EXPECT_THAT(values(job, Stage::kReport, "job_arguments"),
              ElementsAre("report", "runs/first", "--html=runs/first/report.html"));
}

TEST(JobFile, LeavesTheDataOfTrainAloneWhereItHasItsOwn) {
  JobFile job = whole_chain();
  job.train->has_data = true;
  EXPECT_THAT(values(job, Stage::kTrain, "job_arguments"), ElementsAre("--steps=100"));
}

TEST(JobFile, ASplitMakesAPairOfEachName) {
  JobFile job = whole_chain();
  EXPECT_THAT(values(job, Stage::kMerge, "job_pairs"), ElementsAre("data/docs"));
  job.preprocess->split = "train=0.9,valid=0.1";
  EXPECT_THAT(values(job, Stage::kMerge, "job_pairs"), ElementsAre("data/docs.train", "data/docs.valid"));
  EXPECT_THAT(values(job, Stage::kTrain, "job_arguments"), ElementsAre("--steps=100", "--data=data/docs.train"));
  job.preprocess->split = "a=0.9,b=0.1";
  EXPECT_THAT(values(job, Stage::kTrain, "job_arguments"), ElementsAre("--steps=100"));
}

TEST(JobFile, VerifiesAloneExportsAloneOrBoth) {
  JobFile job = whole_chain();
  job.export_->verify = false;
  EXPECT_THAT(values(job, Stage::kExport, "job_arguments"), ElementsAre("export", "runs/first", "--out=hf"));
  job.export_->verify = true;
  job.export_->out.clear();
  EXPECT_THAT(values(job, Stage::kExport, "job_arguments"), ElementsAre("verify", "runs/first", "--deep"));
  job.export_->verify = false;
  EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("[export] neither exports")));
}

TEST(JobFile, AStageAsksForItsOwnResourcesAndElseForTheSites) {
  JobFile job = whole_chain();
  job.site.resources.partition = "batch";
  job.site.resources.account = "p17";
  job.site.resources.sbatch = {"--exclusive"};
  job.train->resources.partition = "gpu";
  job.train->resources.nodes = 2;
  job.train->resources.tasks_per_node = 4;
  job.train->resources.time = "4:00:00";
  job.train->warning = 300;
  EXPECT_THAT(
      values(job, Stage::kTrain, "job_sbatch"),
      ElementsAre("--job-name=first-train", "--output=logs/first-train-%j.log", "--nodes=2", "--ntasks-per-node=4",
                  "--time=4:00:00", "--partition=gpu", "--account=p17", "--signal=B:USR2@300", "--exclusive"));
  EXPECT_THAT(values(job, Stage::kMerge, "job_sbatch"),
              ElementsAre("--job-name=first-merge", "--output=logs/first-merge-%j.log", "--partition=batch",
                          "--account=p17", "--exclusive"));
}

TEST(JobFile, TheSitesDevicesAreForTrainingAlone) {
  JobFile job = whole_chain();
  job.site.resources.gres = "gpu:4";
  EXPECT_THAT(values(job, Stage::kTrain, "job_sbatch"), Contains("--gres=gpu:4"));
  for (const Stage stage : {Stage::kPreprocess, Stage::kMerge, Stage::kExport, Stage::kReport})
    EXPECT_THAT(values(job, stage, "job_sbatch"), Not(Contains("--gres=gpu:4"))) << name_of(stage);
  job.train->resources.gpus_per_node = 2;
  EXPECT_THAT(values(job, Stage::kTrain, "job_sbatch"), Not(Contains("--gres=gpu:4")));
}

TEST(JobFile, TheElementsOfTheArrayHaveALogEach) {
  EXPECT_THAT(values(whole_chain(), Stage::kPreprocess, "job_sbatch"),
              Contains("--output=logs/first-preprocess-%A_%a.log"));
}

TEST(JobFile, AStageThatIsLeftOutHasTheSameVariablesAllEmpty) {
  JobFile job = whole_chain();
  job.report.reset();
  const auto with = assignments(whole_chain(), Stage::kReport), without = assignments(job, Stage::kReport);
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < with.size(); ++i) EXPECT_EQ(with[i].name, without[i].name);
  EXPECT_EQ(value(job, Stage::kReport, "job_present"), "no");
  EXPECT_THAT(values(job, Stage::kReport, "job_arguments"), IsEmpty());
}

TEST(JobFile, SaysWhatAStageThatIsLeftOutIsNeededFor) {
  JobFile job = whole_chain();
  job.preprocess.reset();
  job.train.reset();
  EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("[merge] joins the shards of [preprocess], which is left out"),
                                             HasSubstr("[export] takes the run of [train], which is left out"),
                                             HasSubstr("[report] looks at the run of [train], which is left out")));
  job.merge.reset();
  job.export_->checkpoint = "runs/other";
  job.report->run = "runs/other";
  EXPECT_THAT(job_problems(job), IsEmpty());
  EXPECT_THAT(values(job, Stage::kReport, "job_arguments"),
              ElementsAre("report", "runs/other", "--html=runs/other/report.html"));
}

TEST(JobFile, RefusesShardsThatNothingJoins) {
  JobFile job = whole_chain();
  job.merge.reset();
  EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("[train] waits for shards that nothing joins")));
}

TEST(JobFile, IsRefusedWithoutAnyStage) { EXPECT_THAT(job_problems(JobFile{}), ElementsAre(HasSubstr("no stage"))); }

TEST(JobFile, TellsAllProblemsAtOnceEachWithItsTable) {
  JobFile job = whole_chain();
  job.site.resources.memory = "lots";
  job.preprocess->tokenizer.clear();
  job.preprocess->inputs = {"-"};
  job.preprocess->threads = 4;
  job.preprocess->resources.cpus_per_task = 2;
  job.merge->out.clear();
  job.train->resources.time = "4h";
  job.train->resources.sbatch = {"--array=0-3", "exclusive"};
  EXPECT_THAT(
      job_problems(job),
      ElementsAre(HasSubstr("[site] mem = 'lots'"), HasSubstr("[preprocess] tokenizer is missing"),
                  HasSubstr("[preprocess] inputs: '-'"), HasSubstr("[preprocess] threads = 4 is more than"),
                  HasSubstr("[merge] out is missing"), HasSubstr("[train] time = '4h'"),
                  HasSubstr("[train] sbatch: --array is given by submit.sh"), HasSubstr("'exclusive' is no option")));
}

TEST(JobFile, RefusesMoreRanksThanGpusOfANode) {
  JobFile job = whole_chain();
  job.train->resources.tasks_per_node = 4;
  for (const char* gres : {"gpu:2", "gpu:a100:2"}) {
    job.train->resources.gres = gres;
    EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("ntasks-per-node = 4 is more than the 2 GPUs"))) << gres;
  }
  job.train->device = "cpu";
  EXPECT_THAT(job_problems(job), IsEmpty());
}

TEST(JobFile, CountsTheGpusAmongOtherDevices) {
  JobFile job = whole_chain();
  job.train->resources.tasks_per_node = 4;
  for (const char* gres : {"gpu:4,shard:2", "shard:2,gpu:a100:4(S:0-1)", "gpu:a100:2,gpu:h100:2", "gpus:2", "tmp:1"}) {
    job.train->resources.gres = gres;
    EXPECT_THAT(job_problems(job), IsEmpty()) << gres;
  }
  for (const char* gres : {"gpu", "shard:4,gpu:3", "gpu:1,gpu:a100:2"}) {
    job.train->resources.gres = gres;
    EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("ntasks-per-node = 4 is more than the"))) << gres;
  }
}

TEST(JobFile, RefusesInAnySpellingWhatSubmitGivesItselfOrSubmitsNothing) {
  JobFile job = whole_chain();
  for (const char* option : {"--array=1-3", "--arr=1-3", "-a1-3", "-d afterok:1", "--dep=singleton", "-ox.log",
                             "--outp=x", "-Jx", "-D/tmp"}) {
    job.train->resources.sbatch = {option};
    EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("is given by submit.sh itself"))) << option;
  }
  for (const char* option : {"--help", "-h", "-V", "--version", "--test-only", "--usage"}) {
    job.train->resources.sbatch = {option};
    EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("nothing is submitted"))) << option;
  }
  for (const char* option : {"-", "--", "", "--comment text", "x"}) {
    job.train->resources.sbatch = {option};
    EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("is no option"))) << option;
  }
  job.train->resources.sbatch = {"--exclusive", "--comment=a b", "-Cbig", "-H",          "--open-mode=append",
                                 "--wait",      "--export=NONE", "-N2",   "--no-requeue"};
  EXPECT_THAT(job_problems(job), IsEmpty());
}

TEST(JobFile, RefusesPathsThatLookLikeFlags) {
  JobFile job = whole_chain();
  job.site.log_folder = "-logs";
  job.preprocess->out_folder = "-s";
  job.merge->out = "--help";
  job.train->run = "--help";
  job.export_->checkpoint = "-c";
  job.export_->out = "-x";
  job.report->run = "-r";
  job.report->html = "-h";
  EXPECT_THAT(job_problems(job),
              ElementsAre(HasSubstr("[site] log-dir = '-logs' looks like a flag; write ./-logs"),
                          HasSubstr("[preprocess] out-dir"), HasSubstr("[merge] out"), HasSubstr("[train] out"),
                          HasSubstr("[export] checkpoint"), HasSubstr("[export] out"), HasSubstr("[report] run"),
                          HasSubstr("[report] html")));
}

TEST(JobFile, RefusesWhatNoScriptWouldReadAsItIsWritten) {
  JobFile job = whole_chain();
  job.site.container = "env\napptainer exec x.sif";
  job.site.launcher = "mpirun --bind 'a b'";
  job.merge->out = "data/";
  EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("[site] container"), HasSubstr("[site] launcher"),
                                             HasSubstr("[merge] out = 'data/' is a folder")));
  job = whole_chain();
  job.site.setup = {std::string("module\0load", 11)};
  EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("U+0000")));
  job.site.setup = {"module load a\nmodule load b; echo '\"$x\"'"};
  EXPECT_THAT(job_problems(job), IsEmpty());
}

TEST(JobFile, AnElementHasFourCoresUnlessItAsksForOthers) {
  JobFile job = whole_chain();
  job.preprocess->threads = 4;
  EXPECT_THAT(job_problems(job), IsEmpty());
  job.preprocess->threads = 5;
  EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("threads = 5 is more than cpus-per-task = 4")));
}

TEST(JobFile, RefusesAWarningThatIsTheWholeTime) {
  JobFile job = whole_chain();
  job.train->resources.time = "5";
  job.train->warning = 300;
  EXPECT_THAT(job_problems(job), ElementsAre(HasSubstr("warning-seconds = 300 is the whole time limit (300 s)")));
}

// sbatch(1), --time: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes,
// days-hours:minutes:seconds.
TEST(TimeLimit, IsReadAsSbatchReadsIt) {
  EXPECT_EQ(seconds_of_limit("90"), 5400);
  EXPECT_EQ(seconds_of_limit("90:30"), 5430);
  EXPECT_EQ(seconds_of_limit("4:00:05"), 14405);
  EXPECT_EQ(seconds_of_limit("2-12"), 216000);
  EXPECT_EQ(seconds_of_limit("2-12:30"), 217800);
  EXPECT_EQ(seconds_of_limit("2-12:30:15"), 217815);
  EXPECT_GT(seconds_of_limit("UNLIMITED"), 1000000);
  for (const char* text : {"", "4h", "0", ":", "1:2:3:4", "-3", "1-", "1-2-3", "1.5", "99999999"})
    EXPECT_EQ(seconds_of_limit(text), 0) << text;
}

TEST(ChainName, IsTheStemOfPlainLetters) {
  EXPECT_EQ(chain_name("jobs/first run.toml"), "first_run");
  EXPECT_EQ(chain_name("a%j.toml"), "a_j");
  EXPECT_EQ(chain_name("llama-1b.v2.toml"), "llama-1b.v2");
}

}  // namespace
}  // namespace convoy::config
