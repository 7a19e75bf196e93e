// SPDX-License-Identifier: Apache-2.0
// One document on one line, as large as the build says: the ids of its parts, in bounded memory and in a time that grows with it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <fstream>
#include <string>

#include "tests/support/run_program.h"
#include "tests/support/tmp_dir.h"

namespace convoy {
namespace {

using support::TmpDir;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
const std::string kModel = std::string(CONVOY_GOLDEN_DIR) + "/data/models/bpe.model";
// Whatever the size: what a run holds is bounded by the batches in flight (48 MiB) and the part of a huge record that is read whole (16 MiB), each with its ids; twice that for
// where they are copied.
constexpr std::int64_t kMostBytes = 192 * kMiB;

struct Usage {
  double seconds = 0.0;
  std::int64_t peak = 0;
};

Usage usage_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return {static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec), usage.ru_maxrss * 1024};
}

// Begins with an escaped newline, which is in no other piece of the model: what follows has the same ids wherever it stands.
std::string part(int number) { return fmt::format("\\nthe convoy sails at {} knots, and the slowest ship sets the pace", number % 100); }

// Seconds of the processor that `input` took.
double encode(const TmpDir& dir, const std::string& input, const std::string& out, int threads = 1) {
  const double before = usage_of_children().seconds;
  // The shell is between, because a process begins with the peak of the one that it was copied from.
  const std::string line = fmt::format("\"$0\" encode {} --tokenizer '{}' --out {} --threads {}; exit $?", input, kModel, out, threads);
  const auto result = support::run_program({.arguments = {"bash", "-c", line, CONVOY_PREPROCESS}, .directory = dir.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return usage_of_children().seconds - before;
}

TEST(PreprocessLimits, ALineOfAnyLengthHasTheIdsOfItsParts) {
  const TmpDir dir;
  constexpr std::int64_t kBytes = CONVOY_LINE_MIB * kMiB;
  std::int64_t written = 0, count = 0;
  {
    std::ofstream line(dir / "line.jsonl", std::ios::binary), parts(dir / "parts.jsonl", std::ios::binary);
    line << "{\"text\": \"";
    for (; written < kBytes; ++count) {
      const std::string text = part(static_cast<int>(count));
      line << text;
      parts << "{\"text\": \"" << text << "\"}\n";
      written += static_cast<std::int64_t>(text.size());
    }
    line << "\"}\n";
  }
  const double seconds_of_parts = encode(dir, "parts.jsonl", "parts");
  const double seconds = encode(dir, "line.jsonl", "line");
  const std::int64_t peak = usage_of_children().peak;
  fmt::print("{} MiB: {:.1f} s of the processor as one line, {:.1f} s as documents; peak {} MiB\n", CONVOY_LINE_MIB, seconds, seconds_of_parts,
             peak / kMiB);
  EXPECT_LT(peak, kMostBytes);
  EXPECT_LT(seconds, 1.5 * seconds_of_parts + 0.5);
  // A document begins with a blank of the tokenizer's; inside the line there is none.
  const auto tokens_in = [&dir](const char* name) { return static_cast<std::int64_t>(std::filesystem::file_size(dir / name)) / 2; };
  EXPECT_EQ(tokens_in("line.bin"), tokens_in("parts.bin") - (count - 1));
  EXPECT_EQ(support::run_program({.arguments = {CONVOY_PREPROCESS, "verify", "line"}, .directory = dir.path()}).exit_code, 0);
}

// Text of one file, read from standard input; every way of dropping and of looking at it is bounded, too.
TEST(PreprocessLimits, ADocumentOfAnyLengthIsWrittenAndReadInBoundedMemory) {
  const TmpDir dir;
  constexpr std::int64_t kBytes = CONVOY_LINE_MIB * kMiB / 2;
  {
    std::ofstream text(dir / "text.txt", std::ios::binary);
    for (std::int64_t written = 0, count = 0; written < kBytes; ++count) {
      const std::string more = part(static_cast<int>(count)).replace(0, 2, "\n");
      text << more;
      written += static_cast<std::int64_t>(more.size());
    }
  }
  encode(dir, "- --format text --dedup drop < text.txt", "x", 3);
  const auto run = [&dir](const std::string& command) {
    const auto result = support::run_program({.arguments = {"bash", "-c", command, CONVOY_PREPROCESS}, .directory = dir.path()});
    EXPECT_EQ(result.exit_code, 0) << command << ": " << result.err;
  };
  run("\"$0\" verify x && exit 0");
  run("\"$0\" info x > info && exit 0");
  run("\"$0\" cat x --document 0 > ids && exit 0");
  run(fmt::format("\"$0\" cat x --document 0 --decode --tokenizer '{}' > back && exit 0", kModel));
  run("cmp text.txt back");
  const std::int64_t peak = usage_of_children().peak;
  fmt::print("{} MiB: peak {} MiB\n", kBytes / kMiB, peak / kMiB);
  EXPECT_LT(peak, kMostBytes);
}

TEST(PreprocessLimits, ADocumentWhoseUnigramSumsLoseDigitsIsSaidToTakeMoreTokens) {
  const TmpDir dir;
  {
    std::ofstream text(dir / "text.txt", std::ios::binary);
    for (std::int64_t written = 0, count = 0; written < 17 * kMiB; ++count) {
      const std::string more = part(static_cast<int>(count)).replace(0, 2, "\n");
      text << more;
      written += static_cast<std::int64_t>(more.size());
    }
  }
  const auto warnings = [&dir](const std::string& separator) {
    const std::string model = CONVOY_GOLDEN_DIR "/data/models/uni-bf.model";
    return support::run_program({.arguments = {CONVOY_PREPROCESS, "encode", "text.txt", "--tokenizer", model, "--out", separator, "--document-separator", separator},
                                 .directory = dir.path()})
        .err;
  };
  EXPECT_THAT(warnings("file"), testing::HasSubstr("documents too long for the sums of a unigram model: 1."));
  EXPECT_THAT(warnings("line"), testing::Not(testing::HasSubstr("too long")));
}

}  // namespace
}  // namespace convoy
