// SPDX-License-Identifier: Apache-2.0
// convoy-preprocess from the outside: exit codes, what messages name, what is on stdout, and what is left behind.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/megatron_pair.h"
#include "tests/support/run_program.h"
#include "tests/support/tmp_dir.h"

namespace convoy {
namespace {

using support::ProgramResult;
using support::TmpDir;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kProgram = CONVOY_PREPROCESS;
const std::string kData = std::string(CONVOY_GOLDEN_DIR) + "/data";
const std::string kModel = kData + "/models/bpe.model";

std::string input(const char* name) { return kData + "/inputs/" + name; }

class Preprocess : public testing::Test {
 protected:
  ProgramResult run(std::vector<std::string> arguments, const std::string& text = "") const {
    arguments.insert(arguments.begin(), kProgram);
    return support::run_program({.arguments = std::move(arguments), .directory = folder.path(), .input = text});
  }
  ProgramResult encode(const std::string& file, std::vector<std::string> more = {}, const std::string& text = "") const {
    std::vector<std::string> arguments{"encode", file, "--tokenizer", kModel, "--out", "x"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, text);
  }
  TmpDir folder;
};

TEST_F(Preprocess, BadInputsHaveTheirExitCodesAndLeaveNothing) {
  struct Case {
    const char* file;
    int code;
    std::vector<const char*> names;
  };
  for (const Case& one : {Case{"none.jsonl", 2, {"none.jsonl", "no such file"}}, Case{"empty.jsonl", 3, {"empty.jsonl", "no documents"}},
                          Case{"cut.jsonl.gz", 3, {"cut.jsonl.gz", "truncated", "4644"}}, Case{"cut.jsonl.zst", 3, {"cut.jsonl.zst", "truncated"}},
                          Case{"crc.jsonl.gz", 3, {"crc.jsonl.gz", "checksum"}}, Case{"badline.jsonl", 3, {"badline.jsonl", "line 16"}},
                          Case{"utf16.jsonl", 3, {"utf16.jsonl", "UTF-16"}}}) {
    const ProgramResult result = encode(input(one.file));
    EXPECT_EQ(result.exit_code, one.code) << one.file;
    EXPECT_EQ(result.out, "");
    for (const char* name : one.names) EXPECT_THAT(result.err, HasSubstr(name));
    EXPECT_THAT(folder.names(), ElementsAre()) << one.file;
  }
}

TEST_F(Preprocess, ATokenizerThatIsNoneIsADataErrorAndAMissingOneAUsageError) {
  const std::string text = folder.write("notes.txt", "hello").string();
  const ProgramResult none = run({"encode", text, "--tokenizer", text, "--out", "x"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, AllOf(HasSubstr("notes.txt"), HasSubstr("no SentencePiece model")));
  const ProgramResult missing = run({"encode", text, "--tokenizer", "missing.model", "--out", "x"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("missing.model"));
}

TEST_F(Preprocess, AllWrongFlagsAreReportedAtOnce) {
  const ProgramResult result = encode(input("plain.jsonl"), {"--dtype", "u8", "--threads", "0", "--split", "a=1", "--key", ""});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--dtype u8"), HasSubstr("--threads 0"), HasSubstr("--split a=1"), HasSubstr("--key")));
}

TEST_F(Preprocess, TokensShorterThanTheirIndexAreRefusedByVerifyInfoAndCat) {
  ASSERT_EQ(encode(input("plain.jsonl")).exit_code, 0);
  std::filesystem::resize_file(folder / "x.bin", 1000);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"verify", "x"}, {"info", "x"}, {"cat", "x", "--document", "0"}}) {
    const ProgramResult result = run(command);
    EXPECT_EQ(result.exit_code, 3) << command[0];
    EXPECT_THAT(result.err, AllOf(HasSubstr("x.bin"), HasSubstr("1000 bytes"), HasSubstr("cut"))) << command[0];
  }
}

TEST_F(Preprocess, AFullDiskAndAnUnwritablePlaceAreTheEnvironments) {
  const std::string words(200000, 'w');
  folder.write("big.txt", words);
  // A limit on the size of files refuses what a full disk refuses.
  const std::string line = "ulimit -f 8; exec '" + kProgram + "' encode big.txt --tokenizer '" + kModel + "' --out out/x";
  const ProgramResult full = support::run_program({.arguments = {"bash", "-c", line}, .directory = folder.path()});
  EXPECT_EQ(full.exit_code, 7);
  EXPECT_THAT(full.err, AllOf(HasSubstr("out/x.bin"), HasSubstr("File too large"), HasSubstr("ulimit -f")));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
  const ProgramResult nowhere = run({"encode", "big.txt", "--tokenizer", kModel, "--out", "/proc/none/x"});
  EXPECT_EQ(nowhere.exit_code, 7);
  EXPECT_THAT(nowhere.err, HasSubstr("/proc/none"));
}

TEST_F(Preprocess, KilledAtAnyMomentTheNextRunGivesTheSamePair) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "{\"text\": \"number " + std::to_string(i * 7919 % 4001) + " of the convoy\"}\n";
  folder.write("in.jsonl", text);
  folder.write("out/keep", "");
  ASSERT_EQ(run({"encode", "in.jsonl", "--tokenizer", kModel, "--out", "clean"}).exit_code, 0);
  for (const char* delay : {"0.01", "0.03", "0.06", "0.1", "0.15", "0.2"}) {
    const std::string line = "'" + kProgram + "' encode in.jsonl --tokenizer '" + kModel + "' --out out/x & sleep " + delay + "; kill -9 $!; wait";
    support::run_program({.arguments = {"bash", "-c", line}, .directory = folder.path()});
    if (std::filesystem::exists(folder / "out/x.meta.json")) {
      EXPECT_EQ(run({"verify", "out/x"}).exit_code, 0);
    }
  }
  ASSERT_EQ(run({"encode", "in.jsonl", "--tokenizer", kModel, "--out", "out/x"}).exit_code, 0);
  for (const char* suffix : {".bin", ".idx"})
    EXPECT_TRUE(support::content_of(folder / ("out/x" + std::string(suffix))) == support::content_of(folder / ("clean" + std::string(suffix))));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out")) files += entry.is_regular_file();
  EXPECT_EQ(files, 4) << "nothing of the killed ones is left";
}

TEST_F(Preprocess, ASignalEndsItWithoutTracesEvenWhileItWaitsForInput) {
  const std::string line = "exec 3> >(exec '" + kProgram + "' encode - --format jsonl --tokenizer '" + kModel +
                           "' --out out/x); pid=$!; echo '{\"text\": \"a\"}' >&3; for i in $(seq 100); do [ -d out ] && break; sleep 0.05; done; "
                           "sleep 0.2; kill -TERM $pid; wait $pid";
  const ProgramResult result = support::run_program({.arguments = {"bash", "-c", line}, .directory = folder.path()});
  EXPECT_EQ(result.exit_code, 128 + 15);
  EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
}

TEST_F(Preprocess, JsonOutputHasTheDocumentedKeys) {
  const ProgramResult result = encode("-", {"--json", "--append-eos"}, "{\"text\": \"a\"}\n{\"text\": \"\"}\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* key : {"\"documents\":1", "\"tokens\":", "\"bytes_in\":27", "\"empty\":1", "\"bad_records\":0", "\"duplicates\":0",
                          "\"dtype\":\"u16\"", "\"outputs\":[\"x\"]", "\"seconds\":", "\"mb_per_s\":"}) {
    EXPECT_THAT(result.out, HasSubstr(key));
  }
}

TEST_F(Preprocess, DuplicatesAreCountedOrDropped) {
  const std::string text = "{\"text\": \"a\"}\n{\"text\": \"b\"}\n{\"text\": \"a\"}\n";
  const ProgramResult reported = encode("-", {"--json", "--dedup", "report"}, text);
  EXPECT_THAT(reported.out, AllOf(HasSubstr("\"documents\":3"), HasSubstr("\"duplicates\":1")));
  EXPECT_THAT(reported.err, HasSubstr("1 document has the text of an earlier one and is kept (--dedup drop leaves such out)"));
  const ProgramResult dropped = encode("-", {"--json", "--dedup", "drop", "--dedup-memory", "1MiB"}, text);
  EXPECT_THAT(dropped.out, AllOf(HasSubstr("\"documents\":2"), HasSubstr("\"duplicates\":1")));
  EXPECT_THAT(dropped.err, HasSubstr("1 document has the text of an earlier one and was left out"));
  EXPECT_EQ(run({"verify", "x"}).exit_code, 0);
  EXPECT_THAT(folder.names(), ElementsAre("x.bin", "x.idx", "x.meta.json"));
  const ProgramResult refused = encode("-", {"--dedup-memory", "1MiB"}, text);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--dedup-memory: goes with"));
  EXPECT_EQ(encode("-", {"--dedup", "drop", "--dedup-memory", "1000"}, text).exit_code, 2);
  const ProgramResult beyond = encode("-", {"--dedup", "drop", "--dedup-memory", "4096TiB"}, text);
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_THAT(beyond.err, AllOf(HasSubstr("--dedup-memory"), HasSubstr("this machine has"), HasSubstr("compared on disk")));
}

TEST_F(Preprocess, EveryContradictionOfTheFlagsIsToldAtOnce) {
  const ProgramResult result = encode("-", {"--dedup-memory", "1MiB", "--max-errors", "3", "--format", "jsonl", "--document-separator", "line"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("3 problems"), HasSubstr("--dedup-memory: goes"), HasSubstr("--max-errors: goes"), HasSubstr("--document-separator line:")));
  std::vector<std::string> keys;
  for (int i = 0; i < 33; ++i) keys.insert(keys.end(), {"--key", "k" + std::to_string(i)});
  std::vector<std::string> plan{"plan", input("plain.jsonl"), "--tokenizer", kModel, "--shards", "1", "--out-dir", "s"};
  plan.insert(plan.end(), keys.begin(), keys.end());
  EXPECT_EQ(run(plan).exit_code, 2) << "not first by the elements";
}

TEST_F(Preprocess, AFolderInTheWayOfAFileIsTheUsers) {
  for (const char* out : {".", "..", "x/", "x/.", ""}) {
    const ProgramResult result = run({"encode", input("plain.jsonl"), "--tokenizer", kModel, "--out", out});
    EXPECT_EQ(result.exit_code, 2) << out;
    EXPECT_THAT(result.err, HasSubstr("expected a prefix such as"));
  }
  for (const std::vector<std::string>& command : {std::vector<std::string>{"status", "--plan", "."}, {"encode", "--plan", ".", "--shard", "0"},
                                                  {"encode", input("plain.jsonl"), "--tokenizer", ".", "--out", "x"}}) {
    const ProgramResult result = run(command);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr("it is a folder; name a file"));
  }
  EXPECT_THAT(folder.names(), ElementsAre());
}

// Every kind that the table in docs/preprocess.md has, through a list with a folder, a glob and a file.
TEST_F(Preprocess, OddBytesAreReadAndCountedAsDocumented) {
  const std::string mark = "\xef\xbb\xbf";
  using namespace std::string_literals;
  folder.write("d/t.txt", mark + "a\r\nb\0c\r\n\xff\r\n\r\n"s);
  folder.write("j.jsonl", mark + "{\"text\": \"a\"}\r\n\n{\"text\": \"\\u0000\\r\"}\n{\"text\": \"\\ud800\"}\n{\"text\": \"\xff\"}\n{\"text\": \"\"}\n"
                          "{\"text\": {\"b\": \"c\"}}\n{\"text\": \"x\0\"}\n{\"text\": \"y\", \"other\": \"\\ud800\"}\n"s + mark + "{\"text\": \"z\"}\n");
  folder.write("m.jsonl", "{\"text\": \"of a member\"}\n");
  folder.write("list", "d\r\n\n*.gz\nj.jsonl");
  const std::string members = "gzip -c m.jsonl > m.jsonl.gz; gzip -c m.jsonl >> m.jsonl.gz";
  ASSERT_EQ(support::run_program({.arguments = {"bash", "-c", members}, .directory = folder.path()}).exit_code, 0);
  const ProgramResult result = encode("@list", {"--document-separator", "line", "--on-error", "skip", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\"documents\":8,"), HasSubstr("\"empty\":2,"), HasSubstr("\"bad_records\":5,"), HasSubstr("\"invalid_utf8\":1,")));
  const auto text = [&](const char* document) {
    return run({"cat", "x", "--document", document, "--decode", "--tokenizer", kModel}).out;
  };
  EXPECT_EQ(text("0"), "a");
  EXPECT_EQ(text("1"), "b\0c"s);
  EXPECT_EQ(text("2"), "\xef\xbf\xbd");
  EXPECT_EQ(text("3"), "of a member");
  EXPECT_EQ(text("4"), "of a member");
  EXPECT_EQ(text("6"), "\0\r"s);
  EXPECT_EQ(text("7"), "y");
  const std::string keys = "{\"a\": {\"b\": \"one\"}, \"c\": \"two\"}\n{\"c\": \"alone\"}\n";
  EXPECT_THAT(encode("-", {"--key", "c", "--key", "a.b", "--on-error", "skip", "--json"}, keys).out, AllOf(HasSubstr("\"documents\":1,"), HasSubstr("\"bad_records\":1,")));
  EXPECT_EQ(text("0"), "two\none");
}

TEST_F(Preprocess, CatDecodesADocumentByteForByte) {
  const std::string text = "  two\nlines\t\xe6\xb5\xb7 ::= <|user|>\r\n\n";
  folder.write("a.txt", text);
  ASSERT_EQ(encode("a.txt", {"--append-eos", "--prepend-bos"}).exit_code, 0);
  const ProgramResult decoded = run({"cat", "x", "--document", "0", "--decode", "--tokenizer", kModel});
  EXPECT_EQ(decoded.out, text);
  EXPECT_THAT(run({"cat", "x", "--document", "0"}).out, AllOf(testing::StartsWith("1 "), testing::EndsWith(" 2\n")));
  EXPECT_EQ(run({"cat", "x", "--document", "1"}).exit_code, 2);
  const ProgramResult other = run({"cat", "x", "--document", "0", "--decode", "--tokenizer", kData + "/models/uni.model"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("sha256"));
}

TEST_F(Preprocess, ALossyTokenizerWarnsUnlessItIsMeant) {
  const auto lossy = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"encode", input("plain.jsonl"), "--tokenizer", kData + "/models/uni.model", "--out", "x", "--log-level", "warning"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  const ProgramResult warned = lossy({});
  EXPECT_EQ(warned.exit_code, 0);
  EXPECT_THAT(warned.err, HasSubstr("loses text"));
  EXPECT_EQ(lossy({"--allow-lossy"}).err, "");
}

TEST_F(Preprocess, InfoMeasuresOneDatasetUnderTheCountsOfAnother) {
  ASSERT_EQ(encode(kData + "/megatron/docs.jsonl", {"--append-eos", "--split", "a=0.7,b=0.3"}).exit_code, 0);
  const ProgramResult text = run({"info", "x.a", "--against", "x.b"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("x.a"), HasSubstr("x.b"), HasSubstr("bigram")));
  const ProgramResult json = run({"info", "x.a", "--against", "x.b", "--json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"against\":{\"prefix\":\"x.b\""), HasSubstr("\"unigram_nats\":"), HasSubstr("\"bigram_nats\":")));
}

TEST_F(Preprocess, InfoTellsLengthsIdsAndBytesAToken) {
  // "a" is one id, the end-of-document id the other.
  ASSERT_EQ(encode("-", {"--append-eos"}, "{\"text\": \"a\"}\n{\"text\": \"a\"}\n{\"text\": \"\xe6\xb5\xb7!\"}\n").exit_code, 0);
  const ProgramResult text = run({"info", "x"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("different ones"), HasSubstr("% of the vocabulary"), HasSubstr("bytes a token"), HasSubstr("########")));
  const ProgramResult json = run({"info", "x", "--json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"histogram\":[{\"from\":2,\"to\":3,\"documents\":2}"), HasSubstr("\"bytes_per_token\":"),
                              HasSubstr("\"distinct_ids\":"), HasSubstr("\"vocab_share\":")));
}

// Memory that goes by the largest id would be 16 GiB here.
TEST_F(Preprocess, InfoCountsIdsOfAnySizeInBoundedMemory) {
  support::write_pair(folder / "x", {2147483647, 5, 2147483647, 0}, {3, 1});
  const std::string line = "ulimit -v 2000000; exec '" + kProgram + "' info x --foreign --json --html x.html";
  const ProgramResult result = support::run_program({.arguments = {"bash", "-c", line}, .directory = folder.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\"distinct_ids\":3"), HasSubstr("\"vocab_size\":2147483648")));
}

TEST_F(Preprocess, InfoWritesAPageThatNeedsNothingFromOutside) {
  ASSERT_EQ(encode(kData + "/megatron/docs.jsonl", {"--append-eos"}).exit_code, 0);
  ASSERT_EQ(run({"info", "x", "--html", "x.html"}).exit_code, 0);
  const std::string page = support::content_of(folder / "x.html");
  EXPECT_THAT(page, AllOf(testing::StartsWith("<!DOCTYPE html>"), testing::EndsWith("</html>\n"), HasSubstr("Documents by length"),
                          HasSubstr("Tokens by rank"), HasSubstr("<polyline"), HasSubstr("<rect"), HasSubstr("prefers-color-scheme: dark")));
  for (const char* outside : {"http:", "https:", "@import", "url(", "src=", "nan", "inf,"}) EXPECT_THAT(page, Not(HasSubstr(outside))) << outside;
  const ProgramResult own = run({"info", "x", "--html", "./x.bin"});
  EXPECT_EQ(own.exit_code, 2);
  EXPECT_THAT(own.err, HasSubstr("it is a file of the dataset"));
  const ProgramResult device = run({"info", "x", "--html", "/dev/null"});
  EXPECT_EQ(device.exit_code, 7);
  EXPECT_THAT(device.err, AllOf(HasSubstr("/dev/null"), HasSubstr("device")));
}

}  // namespace
}  // namespace convoy
