// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess plan, encode --plan, status and merge as the elements of a job array call them: killed, twice at once, again,
// and with plans that nobody should trust.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/run_program.h"
#include "tests/support/small_disk.h"
#include "tests/support/tmp_dir.h"

namespace convoy {
namespace {

using support::content_of;
using support::ProgramResult;
using support::TmpDir;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kProgram = CONVOY_PREPROCESS;
const std::string kData = std::string(CONVOY_GOLDEN_DIR) + "/data";
const std::string kModel = kData + "/models/bpe.model";

// Words of a fixed seed: the same text on every run.
std::string words(std::mt19937& random, int count) {
  static const std::vector<std::string> kWords = {"convoy", "the", "slowest ship", "and", "of", "token", "42", "\xe6\xb5\xb7", "shard", "(x)"};
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : " ") + kWords[random() % kWords.size()];
  return text;
}

std::string json_lines(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::string lines;
  for (int i = 0; i < count; ++i) lines += "{\"text\": \"" + words(random, static_cast<int>(random() % 40)) + "\"}\n";
  return lines;
}

std::string paragraphs(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < count; ++i) text += words(random, 30) + "\n" + words(random, 5) + std::string(1 + random() % 3, '\n');
  return text;
}

class PreprocessArray : public testing::Test {
 protected:
  ProgramResult run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), kProgram);
    return support::run_program({.arguments = std::move(arguments), .directory = folder.path()});
  }
  ProgramResult shell(const std::string& line) const {
    return support::run_program({.arguments = {"bash", "-c", line},
                                 .directory = folder.path(),
                                 .environment = {"PROGRAM=" + kProgram, "MODEL=" + kModel, "SLURM_ARRAY_TASK_COUNT=1"}});
  }
  // A corpus of every kind of input, in `inputs`.
  void write_corpus() {
    folder.write("corpus/a.jsonl", json_lines(400, 1));
    folder.write("corpus/b.txt", paragraphs(200, 2));
    folder.write("corpus/d.txt", "");
    folder.write("corpus/e.jsonl", json_lines(3, 3) + "{\"text\": \"without a newline\"}");
    std::filesystem::copy_file(kData + "/inputs/b.jsonl.gz", folder / "corpus/c.jsonl.gz");
    std::filesystem::copy_file(kData + "/inputs/c.jsonl.zst", folder / "corpus/f.jsonl.zst");
  }
  ProgramResult encode_whole(std::vector<std::string> more = {}) const { return with({"encode", "corpus", "--out", "whole"}, more); }
  ProgramResult plan(int shards, std::vector<std::string> more = {}) const {
    return with({"plan", "corpus", "--shards", std::to_string(shards), "--out-dir", "shards"}, more);
  }
  ProgramResult element(int shard) const { return run({"encode", "--plan", "shards/plan.json", "--shard", std::to_string(shard), "--threads", "2"}); }
  ProgramResult status() const { return run({"status", "--plan", "shards/plan.json"}); }
  ProgramResult merge() const { return run({"merge", "--plan", "shards/plan.json", "--out", "merged"}); }
  void expect_merged_is_whole() const {
    ASSERT_EQ(merge().exit_code, 0);
    EXPECT_TRUE(content_of(folder / "merged.bin") == content_of(folder / "whole.bin"));
    EXPECT_TRUE(content_of(folder / "merged.idx") == content_of(folder / "whole.idx"));
  }
  // Temporary files in the plan's folder.
  int leftovers() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "shards")) count += entry.path().extension() == ".tmp";
    return count;
  }
  TmpDir folder;

 private:
  ProgramResult with(std::vector<std::string> arguments, const std::vector<std::string>& more) const {
    arguments.insert(arguments.end(), {"--tokenizer", kModel, "--append-eos", "--document-separator", "blank-line"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

TEST_F(PreprocessArray, ShardsInAnyOrderMergeToThePairOfOneRun) {
  write_corpus();
  ASSERT_EQ(encode_whole().exit_code, 0);
  for (const int shards : {1, 3, 7}) {
    ASSERT_EQ(plan(shards).exit_code, 0);
    EXPECT_EQ(status().out, shards == 1 ? "0\n" : "0-" + std::to_string(shards - 1) + "\n");
    EXPECT_EQ(status().exit_code, 3);
    for (int shard = shards - 1; shard >= 0; --shard) ASSERT_EQ(element(shard).exit_code, 0) << shard;
    const ProgramResult done = status();
    EXPECT_EQ(done.exit_code, 0);
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, HasSubstr("all " + std::to_string(shards) + " shards are complete"));
    expect_merged_is_whole();
  }
}

TEST_F(PreprocessArray, APlanIsTheSameWhereverAnElementRuns) {
  write_corpus();
  ASSERT_EQ(encode_whole().exit_code, 0);
  ASSERT_EQ(plan(2).exit_code, 0);
  const std::string elsewhere = "cd / && \"$PROGRAM\" encode --plan '" + (folder / "shards/plan.json").string() + "' --shard ";
  EXPECT_EQ(shell(elsewhere + "0").exit_code, 0);
  // An array of one element, submitted again: Slurm counts 1, the plan says 2.
  EXPECT_EQ(shell(elsewhere + "1").exit_code, 0);
  expect_merged_is_whole();
  const std::string before = content_of(folder / "shards/plan.json");
  ASSERT_EQ(plan(2).exit_code, 0);
  EXPECT_EQ(content_of(folder / "shards/plan.json"), before) << "planned again, nothing is lost";
  EXPECT_EQ(status().exit_code, 0);
}

TEST_F(PreprocessArray, MissingShardsAreNamedByStatusAndMerge) {
  write_corpus();
  ASSERT_EQ(plan(7).exit_code, 0);
  for (const int shard : {0, 2, 3}) ASSERT_EQ(element(shard).exit_code, 0);
  EXPECT_EQ(status().out, "1,4-6\n");
  std::filesystem::resize_file(folder / "shards/shard-00002.bin", 100);
  const ProgramResult json = run({"status", "--plan", "shards/plan.json", "--json"});
  EXPECT_EQ(json.exit_code, 3);
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"shards\":7,\"complete\":2,\"missing\":\"1-2,4-6\",\"missing_shards\":[1,2,4,5,6]"),
                              HasSubstr("shard-00002.bin has 100 bytes")));
  const ProgramResult refused = merge();
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--array=1-2,4-6"), HasSubstr("encode --plan '" + (folder / "shards/plan.json").string()),
                                 HasSubstr("shard-00002.bin has 100 bytes")));
  EXPECT_FALSE(std::filesystem::exists(folder / "merged.bin"));
}

TEST_F(PreprocessArray, ACompleteElementSaysSoAndDoesNothing) {
  write_corpus();
  ASSERT_EQ(plan(2).exit_code, 0);
  ASSERT_EQ(element(1).exit_code, 0);
  const auto written = std::filesystem::last_write_time(folder / "shards/shard-00001.json");
  const ProgramResult again = element(1);
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.err, HasSubstr("complete already"));
  EXPECT_EQ(std::filesystem::last_write_time(folder / "shards/shard-00001.json"), written);
}

TEST_F(PreprocessArray, AnElementKilledAtAnyMomentLeavesNothingThatLooksComplete) {
  folder.write("corpus/a.jsonl", json_lines(4000, 4));
  ASSERT_EQ(encode_whole().exit_code, 0);
  ASSERT_EQ(plan(2).exit_code, 0);
  ASSERT_EQ(element(1).exit_code, 0);
  // From before the plan is read to after the commit, if the machine is quick.
  for (const char* delay : {"0.005", "0.02", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.4", "0.6"}) {
    shell(std::string("\"$PROGRAM\" encode --plan shards/plan.json --shard 0 & sleep ") + delay + "; kill -9 $!; wait");
    const ProgramResult now = status();
    if (now.exit_code == 0) {
      expect_merged_is_whole();  // it was faster: then it is whole, too
      for (const char* name : {"shard-00000.json", "shard-00000.bin"}) std::filesystem::remove(folder / "shards" / name);
    } else {
      EXPECT_EQ(now.out, "0\n") << delay;
      EXPECT_EQ(merge().exit_code, 3) << delay;
    }
  }
  ASSERT_EQ(element(0).exit_code, 0);
  expect_merged_is_whole();
  EXPECT_EQ(leftovers(), 0) << "what the killed ones left is removed by the next one on their host";
}

// The corpus twice: every document of the second half repeats one.
TEST_F(PreprocessArray, DuplicatesOfAnArrayThatLosesElementsAreThoseOfOneRun) {
  folder.write("corpus/a.jsonl", json_lines(3000, 4));
  folder.write("corpus/b.jsonl", json_lines(3000, 4));
  ASSERT_EQ(encode_whole({"--dedup", "drop"}).exit_code, 0);
  ASSERT_EQ(plan(5, {"--dedup", "drop", "--dedup-memory", "1MiB"}).exit_code, 0);
  for (int shard = 0; shard < 5; ++shard) {
    for (const char* delay : {"0.02", "0.1", "0.2"})
      shell("\"$PROGRAM\" encode --plan shards/plan.json --shard " + std::to_string(shard) + " & sleep " + delay + "; kill -9 $!; wait");
  }
  for (int shard = 0; shard < 5; ++shard) ASSERT_EQ(element(shard).exit_code, 0);
  EXPECT_EQ(leftovers(), 0);
  for (const char* delay : {"0.01", "0.03", "0.06"}) {
    shell(std::string("\"$PROGRAM\" merge --plan shards/plan.json --out merged & sleep ") + delay + "; kill -9 $!; wait");
  }
  expect_merged_is_whole();
  const ProgramResult json = run({"merge", "--plan", "shards/plan.json", "--out", "merged", "--json"});
  const std::string whole = content_of(folder / "whole.meta.json");
  const std::size_t begin = whole.find("\"documents\""), end = whole.find(",\"invalid_utf8\"");
  EXPECT_THAT(json.out, HasSubstr(whole.substr(begin, end - begin))) << "counts, duplicates among them";
  EXPECT_THAT(whole, Not(HasSubstr("\"duplicates\":0,")));
}

struct Unlucky {
  const char* name;
  std::vector<std::string> options;
  std::vector<std::string> pairs;  // what follows the prefix
};

// Twenty elements: killed at any moment, twice at once, out of disk, with inputs that are cut or rotten, or their files cut
// afterwards. Other moments: --gtest_shuffle --gtest_random_seed=N.
class TwentyElements : public PreprocessArray, public testing::WithParamInterface<Unlucky> {
 protected:
  TwentyElements() : random_(static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()) + 11) {
    write_corpus();
    folder.write("corpus/g.jsonl", json_lines(6000, 5));
    folder.write("big.jsonl", json_lines(9000, 6) + json_lines(4000, 5));
    shell("gzip -1 -c big.jsonl > corpus/h.jsonl.gz");
  }
  std::filesystem::path file(int shard, const std::string& suffix) const {
    return folder / ("shards/shard-000" + std::string(shard < 10 ? "0" : "") + std::to_string(shard) + suffix);
  }
  std::string command(int shard) const { return "\"$PROGRAM\" encode --plan shards/plan.json --shard " + std::to_string(shard); }
  // `line` once it has run for up to a tenth of a second.
  void kill_soon(const std::string& line) {
    shell(line + " & sleep 0.0" + std::to_string(10 + random_() % 90) + "; kill -9 $!; wait");
  }
  void run_out_of_disk(int shard) {
    const auto kOutOfDisk = testing::AnyOf(7, 3);  // 3: the bad input was met first
    const support::SmallDisk disk(folder / "shards", "size=4m");  // over the others' files; needs root, else a limit stands in
    if (!disk.mounted()) {
      EXPECT_THAT(shell("ulimit -f 1; exec " + command(shard)).exit_code, kOutOfDisk) << shard;
      return;
    }
    std::filesystem::copy_file(folder / "plan.json", folder / "shards/plan.json");
    support::fill_disk(folder / "shards", random_() % 3000);
    EXPECT_THAT(element(shard).exit_code, kOutOfDisk) << shard;
    EXPECT_EQ(leftovers(), 0) << shard;
  }
  // Of the same size and time as before: a disk that rots, or that was cut and is copied anew.
  void change(const std::string& name, const std::function<void(std::string&)>& edit) const {
    const auto time = std::filesystem::last_write_time(folder / name);
    std::string bytes = content_of(folder / name);
    edit(bytes);
    folder.write(name, bytes);
    std::filesystem::last_write_time(folder / name, time);
  }
  void expect_pairs_of_one_run() const {
    ASSERT_EQ(merge().exit_code, 0);
    for (const std::string& pair : GetParam().pairs) {
      for (const std::string suffix : {".bin", ".idx"})
        EXPECT_TRUE(content_of(folder / ("merged" + pair + suffix)) == content_of(folder / ("whole" + pair + suffix))) << pair << suffix;
    }
  }
  std::mt19937 random_;
};

TEST_P(TwentyElements, OfAnArrayThatLosesThemAreNamedAndEnough) {
  ASSERT_EQ(encode_whole(GetParam().options).exit_code, 0);
  ASSERT_EQ(plan(20, GetParam().options).exit_code, 0);
  std::filesystem::copy_file(folder / "shards/plan.json", folder / "plan.json");
  const std::string rotten = content_of(folder / "corpus/h.jsonl.gz"), cut = content_of(folder / "corpus/f.jsonl.zst");
  change("corpus/h.jsonl.gz", [](std::string& bytes) { bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4); });
  change("corpus/f.jsonl.zst", [](std::string& bytes) { bytes.resize(bytes.size() - 20); });
  for (int shard = 0; shard < 20; ++shard) {
    switch (random_() % 5) {
      case 0: run_out_of_disk(shard); break;
      case 1: shell(command(shard) + " & " + command(shard) + " & sleep 0.0" + std::to_string(10 + random_() % 90) + "; kill -9 $!; wait"); break;
      default: kill_soon(command(shard));
    }
  }
  // Three that were encoded lose a part of what they wrote: tokens, one of their files, the record.
  std::vector<int> spoiled;
  for (int shard = 0; shard < 20 && spoiled.size() < 3; ++shard) {
    if (element(shard).exit_code != 0 || !std::filesystem::exists(file(shard, GetParam().pairs[0] + ".bin"))) continue;
    if (spoiled.empty()) std::filesystem::resize_file(file(shard, GetParam().pairs[0] + ".bin"), 1);
    if (spoiled.size() == 1) std::filesystem::remove(file(shard, GetParam().pairs[0] + ".idx"));
    if (spoiled.size() == 2) std::filesystem::resize_file(file(shard, ".json"), 40);
    spoiled.push_back(shard);
  }
  ASSERT_EQ(spoiled.size(), 3U);
  std::vector<int> missing;
  std::string listed;
  for (int shard = 0; shard < 20; ++shard) {
    if (std::filesystem::exists(file(shard, ".json")) && std::find(spoiled.begin(), spoiled.end(), shard) == spoiled.end()) continue;
    missing.push_back(shard);
    listed += (listed.empty() ? "" : ",") + std::to_string(shard);
  }
  EXPECT_THAT(run({"status", "--plan", "shards/plan.json", "--json"}).out, HasSubstr("\"missing_shards\":[" + listed + "]"));
  EXPECT_EQ(merge().exit_code, 3);
  // With the inputs as they are, all but those that read the two bad ones come out.
  std::string bad;
  for (const int shard : missing) {
    if (element(shard).exit_code != 0) bad += (bad.empty() ? "" : ",") + std::to_string(shard);
  }
  EXPECT_NE(bad, "");
  EXPECT_THAT(run({"status", "--plan", "shards/plan.json", "--json"}).out, HasSubstr("\"missing_shards\":[" + bad + "]"));
  change("corpus/h.jsonl.gz", [&rotten](std::string& bytes) { bytes = rotten; });
  change("corpus/f.jsonl.zst", [&cut](std::string& bytes) { bytes = cut; });
  for (const int shard : missing) ASSERT_EQ(element(shard).exit_code, 0) << shard;
  EXPECT_EQ(status().exit_code, 0);
  expect_pairs_of_one_run();
  for (int shard = 0; shard < 20; ++shard) ASSERT_EQ(element(shard).exit_code, 0) << shard;
  EXPECT_EQ(leftovers(), 0) << "of those that were killed beside one that came through";
}

INSTANTIATE_TEST_SUITE_P(PreprocessArray, TwentyElements,
                         testing::Values(Unlucky{"Plain", {}, {""}}, Unlucky{"Dropping", {"--dedup", "drop", "--dedup-memory", "1MiB"}, {""}},
                                         Unlucky{"SplitAndReporting", {"--dedup", "report", "--split", "train=0.9,valid=0.1"}, {".train", ".valid"}}),
                         [](const testing::TestParamInfo<Unlucky>& array) { return std::string(array.param.name); });

TEST_F(PreprocessArray, TwoOfOneShardAtOnceEndWithOneGoodShard) {
  write_corpus();
  ASSERT_EQ(encode_whole().exit_code, 0);
  for (int round = 0; round < 5; ++round) {
    std::filesystem::remove_all(folder / "shards");
    ASSERT_EQ(plan(2).exit_code, 0);
    ASSERT_EQ(element(1).exit_code, 0);
    const ProgramResult both = shell(
        "for i in 1 2 3; do \"$PROGRAM\" encode --plan shards/plan.json --shard 0 & pids+=($!); done; "
        "for pid in \"${pids[@]}\"; do wait $pid || exit 9; done");
    EXPECT_EQ(both.exit_code, 0) << both.err;
    EXPECT_EQ(status().exit_code, 0);
    expect_merged_is_whole();
    EXPECT_EQ(leftovers(), 0);
  }
}

TEST_F(PreprocessArray, AChangedInputOrTokenizerIsRefusedByName) {
  write_corpus();
  ASSERT_EQ(plan(3).exit_code, 0);
  folder.write("corpus/a.jsonl", json_lines(401, 1));
  const ProgramResult refused = element(0);
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("corpus/a.jsonl"), HasSubstr("changed since it was planned"), HasSubstr("expected"), HasSubstr("found")));
  EXPECT_EQ(status().out, "0-2\n");
  ASSERT_EQ(plan(3).exit_code, 0);
  EXPECT_EQ(element(0).exit_code, 0);
}

TEST_F(PreprocessArray, FlagsThatThePlanHoldsAndShardsThatItLacksAreUsage) {
  write_corpus();
  ASSERT_EQ(plan(3).exit_code, 0);
  const auto refused = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"encode", "--plan", "shards/plan.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_THAT(refused({"--shard", "0", "--append-eos", "--split", "a=0.5,b=0.5", "--out", "x", "corpus"}),
              AllOf(HasSubstr("--append-eos"), HasSubstr("--split"), HasSubstr("--out"), HasSubstr("INPUT")));
  EXPECT_THAT(refused({}), AllOf(HasSubstr("--shard N is missing"), HasSubstr("$SLURM_ARRAY_TASK_ID")));
  EXPECT_THAT(refused({"--shard", "3"}), AllOf(HasSubstr("0 to 2"), HasSubstr("starts at 0")));
  EXPECT_THAT(refused({"--shard", "-1"}), HasSubstr("--shard -1"));
  EXPECT_THAT(refused({"--shard", ""}), HasSubstr("--shard"));
  EXPECT_THAT(run({"encode", "--shard", "1"}).err,
              AllOf(HasSubstr("INPUT is missing"), HasSubstr("--tokenizer"), HasSubstr("--out"), HasSubstr("--shard: goes with --plan")));
  EXPECT_THAT(run({"merge", "whole", "--plan", "shards/plan.json", "--out", "x"}).err, HasSubstr("either --plan or PREFIX"));
  EXPECT_THAT(run({"merge", "--out", "x"}).err, HasSubstr("nothing to merge"));
  EXPECT_THAT(plan(0).err, HasSubstr("--shards 0"));
  const ProgramResult inside = run({"plan", ".", "--shards", "2", "--tokenizer", kModel, "--out-dir", "shards"});
  EXPECT_EQ(inside.exit_code, 2);
  EXPECT_THAT(inside.err, AllOf(HasSubstr("--out-dir shards"), HasSubstr("shards/plan.json")));
  std::filesystem::create_directory_symlink("shards", folder / "link");
  const ProgramResult linked = run({"plan", ".", "--shards", "2", "--tokenizer", kModel, "--out-dir", "link"});
  EXPECT_EQ(linked.exit_code, 2);
  EXPECT_THAT(linked.err, HasSubstr("--out-dir link"));
  const ProgramResult nowhere = run({"plan", "corpus", "--shards", "2", "--tokenizer", kModel, "--out-dir", ""});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("--out-dir is empty"));
  const ProgramResult piped = run({"plan", "-", "--shards", "2", "--tokenizer", kModel, "--out-dir", "piped"});
  EXPECT_EQ(piped.exit_code, 2);
  EXPECT_THAT(piped.err, HasSubstr("standard input"));
  EXPECT_EQ(run({"status", "--plan", "nowhere/plan.json"}).exit_code, 2);
}

// Permissions mean nothing to root: then the program runs as another user.
TEST_F(PreprocessArray, WhatMayNotBeReadIsNeitherAChangeNorEmpty) {
  folder.write("in/a.jsonl", "{\"text\": \"one\"}\nno object\n{\"text\": \"two\"}\n");
  ASSERT_EQ(run({"plan", "in", "--shards", "1", "--tokenizer", kModel, "--on-error", "quarantine", "--out-dir", "shards"}).exit_code, 0);
  const std::string as_user = "as_user() { if [ $(id -u) = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"; else \"$@\"; fi; }; "
                              "cp -n \"$PROGRAM\" program; cp -n \"$MODEL\" a.model; chmod 755 program; chmod 777 . shards; ";
  const ProgramResult hidden = shell(as_user + "chmod 000 in; as_user ./program encode --plan shards/plan.json --shard 0; code=$?; chmod 755 in; exit $code");
  EXPECT_EQ(hidden.exit_code, 7);
  EXPECT_THAT(hidden.err, AllOf(HasSubstr("in/a.jsonl"), HasSubstr("Permission denied")));
  ASSERT_EQ(element(0).exit_code, 0);
  const ProgramResult unread = shell(as_user + "chmod 000 shards/shard-00000.quarantine.jsonl; as_user ./program merge --plan shards/plan.json --out merged");
  EXPECT_EQ(unread.exit_code, 7);
  EXPECT_THAT(unread.err, AllOf(HasSubstr("shard-00000.quarantine.jsonl"), HasSubstr("Permission denied")));
  EXPECT_FALSE(std::filesystem::exists(folder / "merged.meta.json"));
  const ProgramResult replaced = shell(as_user + "chmod 000 shards/plan.json; as_user ./program plan in --shards 2 --tokenizer a.model --out-dir shards");
  EXPECT_EQ(replaced.exit_code, 7) << "another's plan is not replaced unread";
}

TEST_F(PreprocessArray, APlanThatIsNoneIsOneErrorOfTheData) {
  write_corpus();
  ASSERT_EQ(plan(3).exit_code, 0);
  const std::string good = content_of(folder / "shards/plan.json");
  const auto replaced = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string path = (folder / "corpus/a.jsonl").string();
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), std::string("\x7f" "ELF\0\0", 6), std::string("[1, 2]"), std::string(100000, '['),
                                 replaced("[0,0,", "[0,-1,"), replaced("[0,0,", "[0,9223372036854775807,"), replaced("[0,0,", "[9,0,"),
                                 replaced("[[0,0,", "[[0,0,1],[0,0,"), replaced("\"append_eos\":true", "\"append_eos\":false"),
                                 replaced("\"" + path + "\"", "\"../../etc/passwd\""), replaced("\"split\":\"\"", "\"split\":\"../x=0.5,y=0.5\"")}) {
    folder.write("shards/plan.json", bad);
    for (const std::vector<std::string>& command : {std::vector<std::string>{"encode", "--plan", "shards/plan.json", "--shard", "0"},
                                                    {"status", "--plan", "shards/plan.json"},
                                                    {"merge", "--plan", "shards/plan.json", "--out", "merged"}}) {
      const ProgramResult result = run(command);
      EXPECT_EQ(result.exit_code, 3) << command[0] << " of " << bad.substr(0, 80) << ": " << result.err;
      EXPECT_THAT(result.err, HasSubstr("shards/plan.json"));
      EXPECT_EQ(result.out, "");
    }
  }
  folder.write("shards/plan.json", good);
  EXPECT_EQ(element(0).exit_code, 0);
}

TEST_F(PreprocessArray, IndicesBeyondAThousandAreOrdinary) {
  write_corpus();
  ASSERT_EQ(plan(1500).exit_code, 0);
  for (const int shard : {1001, 1499}) ASSERT_EQ(element(shard).exit_code, 0);
  EXPECT_EQ(status().out, "0-1000,1002-1498\n");
}

TEST_F(PreprocessArray, AFullDiskEndsAnElementWithoutTraces) {
  write_corpus();
  ASSERT_EQ(plan(1).exit_code, 0);
  const ProgramResult full = shell("ulimit -f 8; exec \"$PROGRAM\" encode --plan shards/plan.json --shard 0");
  EXPECT_EQ(full.exit_code, 7);
  EXPECT_THAT(full.err, HasSubstr("shard-00000.bin"));
  EXPECT_EQ(status().out, "0\n");
  EXPECT_EQ(leftovers(), 0);
}

TEST_F(PreprocessArray, HundredsOfPairsMergeToAWholeOne) {
  write_corpus();
  ASSERT_EQ(encode_whole().exit_code, 0);
  std::vector<std::string> arguments{"merge", "--out", "many"};
  for (int i = 0; i < 300; ++i) arguments.push_back("whole");
  const ProgramResult merged = run(arguments);
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_EQ(std::filesystem::file_size(folder / "many.bin"), 300 * std::filesystem::file_size(folder / "whole.bin"));
  EXPECT_EQ(run({"verify", "many"}).exit_code, 0);
}

}  // namespace
}  // namespace convoy
