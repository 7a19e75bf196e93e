// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "tests/support/tmp_dir.h"

namespace convoy {
namespace {

using support::content_of;
using support::TmpDir;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class Error, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "the expected exception was not thrown";
  return "";
}

TEST(ReadFile, ReturnsEveryByte) {
  const TmpDir dir;
  const std::string content("a\0b\n\xff", 5);
  EXPECT_EQ(read_file(dir.write("file", content), "thing"), content);
  EXPECT_EQ(read_file(dir.write("empty", ""), "thing"), "");
}

TEST(ReadFile, OfAMissingPathIsTheUsersProblemAndNamesIt) {
  const std::string message = message_of<ConfigError>([] { read_file("/no/such/file", "model configuration"); });
  EXPECT_THAT(message, testing::AllOf(HasSubstr("model configuration"), HasSubstr("'/no/such/file'")));
}

TEST(ReadFile, OfAFolderIsRefused) {
  const TmpDir dir;
  EXPECT_THAT(message_of<ConfigError>([&] { read_file(dir.path(), "thing"); }), HasSubstr("it is a folder; name a file"));
}

TEST(AtomicFiles, AppearWithCommitOnly) {
  const TmpDir dir;
  {
    AtomicFile file(dir / "out");
    file.write("half");
    EXPECT_FALSE(std::filesystem::exists(dir / "out"));
  }
  EXPECT_THAT(dir.names(), IsEmpty());
  AtomicFile file(dir / "out");
  file.write("who");
  file.write("le");
  EXPECT_EQ(file.size(), 5u);
  file.commit();
  EXPECT_THAT(dir.names(), ElementsAre("out"));
  EXPECT_EQ(content_of(dir / "out"), "whole");
}

TEST(AtomicFiles, KeepTheOrderOfSmallAndLargeWrites) {
  const TmpDir dir;
  const std::string large(3 << 20, 'x');
  AtomicFile file(dir / "out");
  file.write("a");
  file.write(large);
  file.write("b");
  file.commit();
  EXPECT_EQ(content_of(dir / "out"), "a" + large + "b");
}

TEST(AtomicFiles, ReplaceWhatWasThere) {
  const TmpDir dir;
  dir.write("out", "old");
  write_file_atomically(dir / "out", "new");
  EXPECT_EQ(content_of(dir / "out"), "new");
}

TEST(AtomicFiles, MovedFromLeaveTheFileToTheirHeir) {
  const TmpDir dir;
  {
    AtomicFile first(dir / "out");
    first.write("kept");
    AtomicFile second(std::move(first));
    second.commit();
  }
  EXPECT_EQ(content_of(dir / "out"), "kept");
}

TEST(AtomicFiles, InAMissingFolderAreTheUsersProblem) {
  const TmpDir dir;
  EXPECT_THAT(message_of<ConfigError>([&] { AtomicFile(dir / "none/out"); }), HasSubstr("none/out"));
}

// A limit on the size of files stands in for the full disk: both end in a failed write.
TEST(AtomicFiles, LeaveNothingWhenTheDiskRefuses) {
  const TmpDir dir;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit small = old;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message =
      message_of<EnvironmentError>([&] { write_file_atomically(dir / "out", std::string(5000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_THAT(message, HasSubstr((dir / "out").string()));
  EXPECT_THAT(dir.names(), IsEmpty());
}

TEST(AtomicDirectories, AppearWholeWithCommitOnly) {
  const TmpDir dir;
  { const AtomicDirectory abandoned(dir / "out"); }
  EXPECT_THAT(dir.names(), IsEmpty());
  AtomicDirectory made(dir / "out/");
  std::filesystem::create_directory(made.temporary() / "inner");
  write_file_atomically(made.temporary() / "inner/file", "text");
  made.commit();
  EXPECT_THAT(dir.names(), ElementsAre("out"));
  EXPECT_EQ(content_of(dir / "out/inner/file"), "text");
}

TEST(AtomicDirectories, NeverReplaceWhatExists) {
  const TmpDir dir;
  std::filesystem::create_directory(dir / "out");
  EXPECT_THAT(message_of<EnvironmentError>([&] { AtomicDirectory(dir / "out"); }), HasSubstr("exists already"));
}

TEST(AtomicDirectories, NeverReplaceWhatAppearedMeanwhile) {
  const TmpDir dir;
  {
    AtomicDirectory made(dir / "out");
    std::filesystem::create_directory(dir / "out");
    EXPECT_THROW(made.commit(), EnvironmentError);
  }
  EXPECT_THAT(dir.names(), ElementsAre("out"));
}

TEST(LineAppenders, AddWholeLinesToWhatIsThere) {
  const TmpDir dir;
  dir.write("rows", "one\n");
  LineAppender rows(dir / "rows");
  rows.append("two");
  rows.append("three");
  EXPECT_EQ(content_of(dir / "rows"), "one\ntwo\nthree\n");
}

TEST(LineAppenders, DropTheUnfinishedLineOfACrash) {
  const TmpDir dir;
  dir.write("rows", "one\n{\"step\":");
  set_log_level(LogLevel::kError);
  LineAppender(dir / "rows").append("two");
  set_log_level(LogLevel::kInfo);
  EXPECT_EQ(content_of(dir / "rows"), "one\ntwo\n");
}

TEST(MappedFiles, ShowTheBytesAndMove) {
  const TmpDir dir;
  MappedFile first(dir.write("file", "abc"), "thing");
  MappedFile second(std::move(first));
  ASSERT_EQ(second.bytes().size(), 3u);
  EXPECT_EQ(static_cast<char>(second.bytes()[2]), 'c');
  EXPECT_TRUE(first.bytes().empty());  // NOLINT: the moved-from state is what is tested
  EXPECT_TRUE(MappedFile(dir.write("empty", ""), "thing").bytes().empty());
}

TEST(MappedFiles, OfMissingPathsAndFoldersAreRefused) {
  const TmpDir dir;
  EXPECT_THROW(MappedFile(dir / "none", "dataset index"), ConfigError);
  EXPECT_THROW(MappedFile(dir.path(), "dataset index"), ConfigError);
}

TEST(EnsureDirectory, MakesParentsAndRefusesAFileInTheWay) {
  const TmpDir dir;
  ensure_directory(dir / "a/b/c");
  EXPECT_TRUE(std::filesystem::is_directory(dir / "a/b/c"));
  dir.write("file", "");
  EXPECT_THROW(ensure_directory(dir / "file"), EnvironmentError);
  EXPECT_THROW(ensure_directory(dir / "file/below"), EnvironmentError);
}

TEST(FileLocks, RefuseASecondHolderAndNameTheFirst) {
  const TmpDir dir;
  const std::string message = message_of<EnvironmentError>([&] {
    const FileLock first(dir / "LOCK", "job 17 on node3");
    const FileLock second(dir / "LOCK", "job 18");
  });
  EXPECT_THAT(message, testing::AllOf(HasSubstr("job 17 on node3"), HasSubstr(dir.path().string())));
}

TEST(FileLocks, AreFreeAgainAfterTheirHolder) {
  const TmpDir dir;
  { const FileLock first(dir / "LOCK", "job 17 on a node with a long name"); }
  const FileLock second(dir / "LOCK", "job 18");
  EXPECT_EQ(content_of(dir / "LOCK"), "job 18\n");
}

}  // namespace
}  // namespace convoy
