// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/prefetch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "libcore/base/file.h"
#include "tests/support/tmp_dir.h"

namespace convoy {
namespace {

// Pages of `part`, which starts at one, that are in memory.
std::size_t resident(std::span<const std::byte> part, std::size_t page) {
  std::vector<unsigned char> pages((part.size() + page - 1) / page);
  EXPECT_EQ(::mincore(const_cast<std::byte*>(part.data()), part.size(), pages.data()), 0);
  std::size_t count = 0;
  for (const unsigned char one : pages) count += one & 1;
  return count;
}

TEST(Prefetch, BringsThePagesOfAPartAndNoOthersFarAway) {
  const support::TmpDir folder;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const Path path = folder.write("file", std::string(4096 * page, 'x'));
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  ASSERT_GE(descriptor, 0);
  ::fsync(descriptor);
  const MappedFile file(path, "file");
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
  if (resident(file.bytes(), page) > 0) GTEST_SKIP() << "this file system keeps files in memory";
  const std::span<const std::byte> part = file.bytes().subspan(1000 * page, 20 * page);
  prefetch(file.bytes().subspan(1000 * page + 17, 20 * page - 34));
  for (int i = 0; i < 500 && resident(part, page) < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(resident(part, page), 20u);
  EXPECT_EQ(resident(file.bytes().subspan(3000 * page), page), 0u);
}

TEST(Prefetch, OfNothingIsNothing) { prefetch({}); }

}  // namespace
}  // namespace convoy
