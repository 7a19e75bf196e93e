// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/path_store.h"

#include <gtest/gtest.h>

namespace convoy::data {
namespace {

TEST(PathStore, GivesBackWhatWasPut) {
  PathStore store;
  std::vector<std::int32_t> expected;
  PathStore::Path path;
  for (std::int32_t i = 0; i < 1000; ++i) {
    std::vector<std::int32_t> ids;
    store.append_to(path, ids);
    ASSERT_EQ(ids, expected);
    expected.push_back(i % 7 == 0 ? 0 : i);
    store.push_back(path, expected.back());
  }
}

TEST(PathStore, APathThatBranchesKeepsBothWays) {
  PathStore store;
  PathStore::Path one;
  for (const int id : {1, 2, 3}) store.push_back(one, id);
  PathStore::Path other = one;
  store.push_back(one, 4);
  store.push_back(other, 5);
  std::vector<std::int32_t> ids;
  store.append_to(one, ids);
  store.append_to(other, ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{1, 2, 3, 4, 1, 2, 3, 5}));
}

// Of a pattern of three there are at most three blocks of each of 20 levels.
TEST(PathStore, RepetitionsAreStoredOnce) {
  PathStore store;
  PathStore::Path path;
  for (std::int32_t i = 0; i < 1 << 20; ++i) store.push_back(path, i % 3);
  EXPECT_LE(store.blocks(), 3u * 21u);
}

}  // namespace
}  // namespace convoy::data
