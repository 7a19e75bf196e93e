// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/scratch_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>

#include "libcore/base/error.h"
#include "tests/support/tmp_dir.h"

namespace convoy {
namespace {

using support::TmpDir;
using testing::IsEmpty;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(ScratchReader& reader, std::size_t size) {
  std::string text(size, '\0');
  reader.read(std::as_writable_bytes(std::span(text)));
  return text;
}

TEST(ScratchFile, HasNoNameFromTheStart) {
  const TmpDir dir;
  ScratchFile file(dir / "pair");
  file.write(bytes_of("abc"));
  file.flush();
  EXPECT_THAT(dir.names(), IsEmpty()) << "nothing is left, however the process ends";
}

TEST(ScratchFile, GivesBackWhatWasWrittenAcrossItsBuffers) {
  const TmpDir dir;
  ScratchFile file(dir / "pair", 7);
  for (const char* part : {"", "one", "twotwo", "threethreethree", "x"}) file.write(bytes_of(part));
  file.flush();
  EXPECT_EQ(file.size(), 25u);
  for (const std::size_t buffer : {1, 4, 100}) {
    ScratchReader reader(file, buffer);
    EXPECT_EQ(text_of(reader, 4), "onet");
    EXPECT_EQ(text_of(reader, 10), "wotwothree");
    EXPECT_FALSE(reader.at_end());
    EXPECT_EQ(text_of(reader, 11), "threethreex");
    EXPECT_TRUE(reader.at_end());
  }
}

TEST(ScratchFile, AMoveTakesTheFileAlong) {
  const TmpDir dir;
  ScratchFile file(dir / "pair");
  file.write(bytes_of("one"));
  ScratchFile moved = std::move(file);
  moved.write(bytes_of("second"));
  moved.flush();
  ScratchReader reader(moved);
  EXPECT_EQ(text_of(reader, 9), "onesecond");
}

TEST(ScratchFile, BeginsAnewWhenCleared) {
  const TmpDir dir;
  ScratchFile file(dir / "pair", 4);
  file.write(bytes_of("on the disk"));
  file.clear();
  file.write(bytes_of("b"));
  file.clear();
  EXPECT_EQ(file.size(), 0u);
  file.write(bytes_of("second"));
  file.flush();
  EXPECT_EQ(file.size(), 6u);
  ScratchReader reader(file);
  EXPECT_EQ(text_of(reader, 6), "second");
}

TEST(ScratchFile, WhatTheFileSystemRefusesNamesThePlace) {
  EXPECT_THROW(ScratchFile("/proc/none/pair"), EnvironmentError);
  const TmpDir dir;
  ScratchFile file(dir / "pair");
  file.write(bytes_of(std::string(5000, 'x')));
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files stands in for the full disk
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit limit = old;
  limit.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &limit);
  try {
    file.flush();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr((dir / "pair").string()));
  }
  setrlimit(RLIMIT_FSIZE, &old);
}

}  // namespace
}  // namespace convoy
