// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/validate.h"

#include "libcore/base/error.h"

namespace convoy::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A run that nothing is wrong with: B 8, T 16, 100 tokens.
RunOptions sound_options() {
  RunOptions options;
  options.model.model = "tiny";
  options.model.sequence_length = 16;
  options.data.data = {"train"};
  options.batch.global_batch = 8;
  options.batch.micro_batch = 4;
  options.batch.steps = 10;
  options.output.out = "run";
  return options;
}

Facts sound_facts() {
  Facts facts;
  facts.model = ModelFacts{"tiny", 50, 32, 0.0, std::nullopt, 4, 4, 2, 24};
  facts.train.push_back({"", "train", 100, 50, std::nullopt, std::nullopt});
  facts.machine.cores = 2;
  facts.machine.default_threads = 2;
  return facts;
}

Problems problems_of(const RunOptions& options, const Facts& facts) {
  Problems problems;
  validate(options, facts, problems);
  return problems;
}

TEST(Validate, FindsNothingWrongWithASoundRun) {
  const Problems problems = problems_of(sound_options(), sound_facts());
  EXPECT_THAT(problems.usage, IsEmpty());
  EXPECT_THAT(problems.data, IsEmpty());
  EXPECT_NO_THROW(throw_if_any(problems));
}

TEST(Validate, ListsEveryProblemAtOnce) {
  RunOptions options = sound_options();
  options.model.sequence_length = 33;
  options.batch.micro_batch = 3;
  options.optimizer.warmup_steps = 11;
  options.optimizer.min_lr = 1.0;
  options.output.dump_gradients = 12;
  options.output.out.clear();
  const Problems problems = problems_of(options, sound_facts());
  EXPECT_THAT(problems.usage,
              testing::UnorderedElementsAre(HasSubstr("--sequence-length 33"), HasSubstr("--micro-batch-size 3"),
                                            HasSubstr("--warmup-steps 11"), HasSubstr("--min-lr 1"),
                                            HasSubstr("--dump-gradients 12"), HasSubstr("--out")));
  try {
    throw_if_any(problems);
    FAIL() << "six problems were let through";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems().size(), 6u);
    EXPECT_EQ(error.code(), ExitCode::kUsage);
  }
}

TEST(Validate, ATraceWindowHasStepsOfTheRunAndTracesToBeIn) {
  const auto problems = [](const char* trace, const char* window) {
    RunOptions options = sound_options();
    options.observation.trace = trace;
    options.observation.trace_window = window;
    return problems_of(options, sound_facts()).usage;
  };
  for (const auto& [trace, window] : {std::pair{"off", ""}, {"steps", ""}, {"steps", "2-3"}, {"window", "10-12"}})
    EXPECT_THAT(problems(trace, window), IsEmpty()) << trace << " " << window;
  EXPECT_THAT(problems("window", ""), ElementsAre(HasSubstr("add --trace-window FIRST-LAST")));
  EXPECT_THAT(problems("window", "3-2"), ElementsAre(HasSubstr("--trace-window '3-2' is no range of steps")));
  EXPECT_THAT(problems("steps", "11-12"), ElementsAre(HasSubstr("beyond the run's 10 steps")));
  EXPECT_THAT(problems("off", "2-3"), ElementsAre(HasSubstr("drop one of the two")));
}

TEST(Resolve, AWindowAloneAsksForItsEvents) {
  RunOptions options = sound_options();
  EXPECT_TRUE(resolve(options, sound_facts()).writes_traces);
  EXPECT_FALSE(resolve(options, sound_facts()).trace_window.contains(2));
  options.observation.trace_window = "2-3";
  EXPECT_TRUE(resolve(options, sound_facts()).trace_window.contains(3));
  EXPECT_FALSE(resolve(options, sound_facts()).trace_window.contains(4));
  options.observation = {.trace = "off", .trace_window = ""};
  EXPECT_FALSE(resolve(options, sound_facts()).writes_traces);
}

TEST(Validate, NamesTheNearestLegalBatchSizes) {
  RunOptions options = sound_options();
  options.batch.global_batch = 10;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("8, 12")));
  options.batch.global_batch = 3;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("nearest legal values: 4")));
}

TEST(Validate, EveryBatchOfARampDividesIntoTheReplicas) {
  RunOptions options = sound_options();
  Facts facts = sound_facts();
  facts.machine.world = 2;
  options.batch.global_batch.reset();
  options.batch.ramp = "0:8,1K:16";
  EXPECT_THAT(problems_of(options, facts).usage, IsEmpty());
  options.batch.ramp = "0:4,1K:16,2K:30";
  EXPECT_THAT(problems_of(options, facts).usage,
              testing::UnorderedElementsAre(
                  HasSubstr("its 4 sequences are not divisible by 2 replicas x --micro-batch-size 4; nearest legal "
                            "values: 8"),
                  HasSubstr("its 30 sequences are not divisible by 2 replicas x --micro-batch-size 4; nearest legal "
                            "values: 24, 32")));
  options.batch.ramp = "0:8,16";
  EXPECT_THAT(problems_of(options, facts).usage, ElementsAre(HasSubstr("--batch-ramp '0:8,16' is no list")));
  options.batch.ramp = "0:8";
  options.batch.global_batch = 8;
  EXPECT_THAT(problems_of(options, facts).usage, ElementsAre(HasSubstr("both given")));
}

TEST(Validate, AWarmupEndsBeforeTheDecayOfWsdBegins) {
  RunOptions options = sound_options();
  options.optimizer.schedule = "wsd";
  options.optimizer.warmup_steps = 8;  // of 10 steps, of which the last two decay
  EXPECT_THAT(problems_of(options, sound_facts()).usage, IsEmpty());
  options.optimizer.warmup_steps = 9;
  EXPECT_THAT(problems_of(options, sound_facts()).usage,
              ElementsAre(HasSubstr("the largest legal value of --warmup-steps is 8")));
  options.optimizer.decay_steps = 20;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, IsEmpty());
  options.optimizer.wsd_decay_share = 1.0;
  EXPECT_THAT(problems_of(options, sound_facts()).usage,
              ElementsAre(HasSubstr("the largest legal value of --warmup-steps is 0")));
}

TEST(Validate, ALossScaleIsOfFp16) {
  const auto problems = [](const char* precision, const char* scale) {
    RunOptions options = sound_options();
    options.device.precision = precision;
    options.device.loss_scale = scale;
    return problems_of(options, sound_facts()).usage;
  };
  EXPECT_THAT(problems("fp16", "dynamic"), IsEmpty());
  EXPECT_THAT(problems("fp16", "1024"), IsEmpty());
  EXPECT_THAT(problems("bf16", "dynamic"), IsEmpty());
  EXPECT_THAT(problems("bf16", "1024"), ElementsAre(HasSubstr("--loss-scale 1024 with --precision bf16")));
  for (const char* wrong : {"", "0", "-8", "inf", "nan", "often"})
    EXPECT_THAT(problems("fp16", wrong), ElementsAre(HasSubstr("neither dynamic nor a number above zero"))) << wrong;
}

TEST(Validate, NoDecayEndsBeforeTheWarmup) {
  for (const char* schedule : {"cosine", "linear"}) {
    RunOptions options = sound_options();
    options.optimizer.schedule = schedule;
    options.optimizer.warmup_steps = 5;
    options.optimizer.decay_steps = 4;
    EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("the smallest legal value is 5")))
        << schedule;
  }
}

TEST(Validate, RefusesSequencesBeyondThePositions) {
  RunOptions options = sound_options();
  options.model.sequence_length = 33;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("beyond the 32 positions")));
  options.model.sequence_length = 32;
  EXPECT_TRUE(problems_of(options, sound_facts()).empty());
}

TEST(Validate, RefusesATokenBeyondTheVocabularyAsADataError) {
  Facts facts = sound_facts();
  facts.train[0].largest_id = 50;
  const Problems problems = problems_of(sound_options(), facts);
  EXPECT_THAT(problems.data, ElementsAre(HasSubstr("token id 50")));
  EXPECT_THROW(throw_if_any(problems), DataError);
  facts.train[0].largest_id = 49;
  EXPECT_TRUE(problems_of(sound_options(), facts).empty());
}

TEST(Validate, RefusesDataShorterThanOneSample) {
  Facts facts = sound_facts();
  facts.valid.push_back({"v", "valid", 16, 50, std::nullopt, std::nullopt});
  EXPECT_THAT(problems_of(sound_options(), facts).data, ElementsAre(HasSubstr("holds 16 tokens")));
  facts.valid[0].tokens = 17;
  EXPECT_TRUE(problems_of(sound_options(), facts).empty());
}

TEST(Validate, UsageDecidesTheExitCodeWhereBothKindsOccur) {
  RunOptions options = sound_options();
  options.batch.micro_batch = 3;
  Facts facts = sound_facts();
  facts.train[0].largest_id = 99;
  const Problems problems = problems_of(options, facts);
  try {
    throw_if_any(problems);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("token id 99"));
    EXPECT_THAT(error.what(), HasSubstr("--micro-batch-size 3"));
  }
}

TEST(Validate, RefusesLayoutsThatTheWorldOrTheModelDoesNotAllow) {
  RunOptions options = sound_options();
  Facts facts = sound_facts();
  facts.machine.world = 6;
  options.layout.tensor_parallel = 5;
  options.layout.pipeline_split = "4,x";
  const Problems problems = problems_of(options, facts);
  EXPECT_THAT(problems.usage, ElementsAre(HasSubstr("--pipeline-split '4,x'")));
  options.layout.pipeline_split = "";
  EXPECT_THAT(problems_of(options, facts).usage,
              testing::IsSupersetOf({HasSubstr("2 key/value heads"), HasSubstr("6 ranks")}));
}

TEST(Validate, RefusesAnotherWorldThanTheExpectedOne) {
  RunOptions options = sound_options();
  options.layout.expect_world = 8;
  EXPECT_THAT(problems_of(options, sound_facts()).usage,
              ElementsAre(HasSubstr("--expect-world 8: the job has 1 rank;")));
  options.layout.expect_world = 1;
  EXPECT_TRUE(problems_of(options, sound_facts()).empty());
}

TEST(Validate, RefusesFaultsOfRanksThatAreNotThere) {
  RunOptions options = sound_options();
  options.rehearsal.faults = {"kill:step=2,rank=1", "explode:step=1"};
  EXPECT_THAT(problems_of(options, sound_facts()).usage,
              ElementsAre(HasSubstr("ranks are 0 to 0"), HasSubstr("'explode'")));
}

TEST(Validate, RefusesTwoOrigins) {
  RunOptions options = sound_options();
  options.resume.from = "a";
  options.model.init_from = "b";
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("--resume-from and --init-from")));
}

TEST(Validate, RanksThatShareCoresShareTheThreads) {
  RunOptions options = sound_options();
  options.device.threads = 2;
  Facts facts = sound_facts();
  facts.machine.ranks_sharing = 2;
  EXPECT_THAT(problems_of(options, facts).usage, ElementsAre(HasSubstr("2 ranks that share them")));
}

TEST(Validate, RefusesToDropEverythingWhoeverAsksForIt) {
  RunOptions options = sound_options();
  Facts facts = sound_facts();
  facts.model->dropout = 0.99;
  EXPECT_TRUE(problems_of(options, facts).empty());
  facts.model->dropout = 1.0;
  EXPECT_THAT(problems_of(options, facts).usage,
              ElementsAre(HasSubstr("a dropout rate of model 'tiny' is 1: nothing")));
  options.model.dropout = 1.0;
  EXPECT_THAT(problems_of(options, facts).usage, ElementsAre(HasSubstr("--dropout 1: nothing would be left")));
}

TEST(Validate, RefusesMoreThreadsThanCoresUnlessTold) {
  RunOptions options = sound_options();
  Facts facts = sound_facts();
  options.device.threads = 3;
  EXPECT_THAT(problems_of(options, facts).usage, ElementsAre(HasSubstr("--threads 3")));
  options.device.oversubscribe = true;
  EXPECT_TRUE(problems_of(options, facts).empty());
  options.device = {};
  facts.machine.omp_threads = 5;
  EXPECT_THAT(problems_of(options, facts).usage, ElementsAre(HasSubstr("OMP_NUM_THREADS 5")));
  options.device.threads = 2;
  EXPECT_TRUE(problems_of(options, facts).empty());
}

TEST(Validate, OneThreadIsNeverTooMany) {
  RunOptions options = sound_options();
  Facts facts = sound_facts();
  facts.machine.cores = 0;
  options.device.threads = 1;
  EXPECT_TRUE(problems_of(options, facts).empty());
}

TEST(Validate, WantsExactlyOneLength) {
  RunOptions options = sound_options();
  options.batch.tokens = 1000;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("both given")));
  options.batch.steps.reset();
  options.batch.tokens.reset();
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("length of the run is not given")));
}

TEST(Validate, WantsAWeightForEachDataSet) {
  RunOptions options = sound_options();
  options.data.data = {"a", "b"};
  EXPECT_TRUE(problems_of(options, sound_facts()).empty());
  options.data.weights = {0.7, 0.3};
  EXPECT_TRUE(problems_of(options, sound_facts()).empty());
  options.data.weights = {1.0};
  EXPECT_THAT(problems_of(options, sound_facts()).usage,
              ElementsAre(HasSubstr("--data-weights has 1 number for 2 --data")));
}

TEST(Validate, RefusesSetsOfDifferentTokenizers) {
  Facts facts = sound_facts();
  facts.train = {facts.train.front(), facts.train.front()};
  facts.train[0].tokenizer = facts.train[1].tokenizer = "aaaa";
  facts.train[1].prefix = "other";
  EXPECT_TRUE(problems_of(sound_options(), facts).empty());
  facts.train[1].tokenizer = "bbbb";
  EXPECT_THAT(problems_of(sound_options(), facts).data,
              ElementsAre(AllOf(HasSubstr("other was encoded with another tokenizer"), HasSubstr("bbbb"))));
  facts.train[1].tokenizer = "";
  EXPECT_TRUE(problems_of(sound_options(), facts).empty());
}

TEST(Validate, RefusesToMaskBehindTwoEndOfTextTokens) {
  RunOptions options = sound_options();
  options.data.mask_loss_after_eos = true;
  Facts facts = sound_facts();
  facts.train = {facts.train.front(), facts.train.front()};
  facts.train[0].eos_id = 2;
  facts.train[1].eos_id = 3;
  EXPECT_THAT(problems_of(options, facts).usage, ElementsAre(AllOf(HasSubstr("names 2"), HasSubstr("names 3"))));
  facts.train[1].eos_id = 2;
  EXPECT_TRUE(problems_of(options, facts).empty());
}

TEST(Validate, RefusesTwoValidationSetsOfOneName) {
  RunOptions options = sound_options();
  options.data.valid_data = {"a/v", "b/v"};
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("NAME=b/v")));
  options.data.valid_data = {"a/v", "other=b/v"};
  EXPECT_TRUE(problems_of(options, sound_facts()).empty());
}

TEST(Validate, WantsAnEndOfTextTokenToMaskAfter) {
  RunOptions options = sound_options();
  options.data.mask_loss_after_eos = true;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("--eos-id")));
  options.data.eos_id = 3;
  EXPECT_TRUE(problems_of(options, sound_facts()).empty());
}

TEST(Validate, RefusesAnEndOfTextTokenBeyondTheVocabulary) {
  RunOptions options = sound_options();
  options.data.mask_loss_after_eos = true;
  options.data.eos_id = 50;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("token 50 is beyond the vocabulary")));
  options.data.eos_id = 49;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, IsEmpty());
}

TEST(Validate, RefusesARunOfMoreTokensThanCanBeCounted) {
  RunOptions options = sound_options();
  options.batch.steps = std::int64_t{1} << 56;  // x 8 x 16 = 2^63
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("2^63 - 1 tokens")));
  options.batch.steps = (std::int64_t{1} << 56) - 1;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, IsEmpty());
  options.batch.micro_batch.reset();
  options.batch.global_batch = std::int64_t{1} << 60;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("2^63 - 1 tokens")));
  options.batch.steps.reset();
  options.batch.tokens = 5;
  EXPECT_THAT(problems_of(options, sound_facts()).usage, ElementsAre(HasSubstr("2^63 - 1 tokens")));
}

TEST(Resolve, CountsStepsOfATokenBudgetUpwards) {
  RunOptions options = sound_options();
  options.batch.steps.reset();
  options.batch.tokens = 8 * 16 * 3 + 1;
  EXPECT_EQ(resolve(options, sound_facts()).steps, 4);
}

// T 16: 8 sequences of the first two steps, then 24 a step; 3 x 16 x 8 tokens are two steps and a third of 24.
TEST(Resolve, ARampCountsItsStepsAndSharesOneMicroBatch) {
  RunOptions options = sound_options();
  options.batch.global_batch.reset();
  options.batch.micro_batch.reset();
  options.batch.ramp = "0:12,192:36";
  EXPECT_EQ(resolve(options, sound_facts()).micro_batch, 6);
  EXPECT_EQ(resolve(options, sound_facts()).global_batch, 36);
  EXPECT_EQ(resolve(options, sound_facts()).micro_batches, 6);
  options.batch.steps.reset();
  options.batch.ramp = "0:8,200:24";
  options.batch.tokens = 16 * 8 * 2;
  EXPECT_EQ(resolve(options, sound_facts()).steps, 2);
  options.batch.tokens = 16 * 8 * 3;
  EXPECT_EQ(resolve(options, sound_facts()).steps, 3);
  options.batch.tokens = 16 * (8 * 2 + 24) + 1;
  EXPECT_EQ(resolve(options, sound_facts()).steps, 4);
  EXPECT_EQ(resolve(options, sound_facts()).decay_steps, 4);
}

TEST(Resolve, FillsWhatDependsOnOtherValues) {
  RunOptions options = sound_options();
  options.model.sequence_length.reset();
  options.batch.micro_batch.reset();
  options.batch.global_batch = 12;
  options.optimizer.lr = 0.5;
  const Resolved resolved = resolve(options, sound_facts());
  EXPECT_EQ(resolved.sequence_length, 32);
  EXPECT_EQ(resolved.micro_batch, 6);
  EXPECT_EQ(resolved.micro_batches, 2);
  EXPECT_EQ(resolved.decay_steps, 10);
  EXPECT_DOUBLE_EQ(resolved.min_lr, 0.05);
  EXPECT_EQ(resolved.threads, 2);
}

TEST(Resolve, TakesTheEndOfTextOfTheDataBeforeTheModelsBeforeTheFlags) {
  RunOptions options = sound_options();
  Facts facts = sound_facts();
  options.data.eos_id = 3;
  EXPECT_EQ(resolve(options, facts).eos_id, std::nullopt);
  options.data.mask_loss_after_eos = true;
  EXPECT_EQ(resolve(options, facts).eos_id, 3);
  facts.model->eos_id = 2;
  EXPECT_EQ(resolve(options, facts).eos_id, 2);
  facts.train[0].eos_id = 1;
  EXPECT_EQ(resolve(options, facts).eos_id, 1);
}

TEST(Resolve, TakesThreadsFromTheFlagBeforeTheEnvironmentBeforeTheCores) {
  RunOptions options = sound_options();
  Facts facts = sound_facts();
  facts.machine.omp_threads = 1;
  EXPECT_EQ(resolve(options, facts).threads, 1);
  options.device.threads = 2;
  EXPECT_EQ(resolve(options, facts).threads, 2);
}

}  // namespace
}  // namespace convoy::config
