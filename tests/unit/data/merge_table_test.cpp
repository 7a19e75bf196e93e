// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/merge_table.h"

#include <gmock/gmock.h>

namespace convoy::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Symbols are the letters and what merges make of them, by number.
class Table {
 public:
  Table(std::vector<std::string> texts, std::vector<MergeTable::Merge> merges) : texts_(std::move(texts)), table_(merges) {
    std::vector<std::pair<std::string, std::int32_t>> keys;
    for (std::size_t i = 0; i < texts_.size(); ++i) keys.emplace_back(texts_[i], static_cast<std::int32_t>(i));
    symbols_ = ByteTrie(keys);
  }
  std::vector<std::string> beginning(const std::string& text, std::size_t known) {
    load(text.substr(0, known));
    certain = table_.merge_beginning(text, known, symbols_, room_);
    return found();
  }
  std::vector<std::string> whole(const std::string& text) {
    load(text);
    table_.merge(room_);
    return found();
  }
  std::size_t certain = 0;

 private:
  void load(const std::string& text) {
    MergeTable::clear(room_);
    for (std::uint32_t i = 0; i < text.size(); ++i) {
      MergeTable::append(static_cast<std::uint32_t>(symbols_.longest_prefix(text.substr(i, 1)).value), i, room_);
    }
  }
  std::vector<std::string> found() const {
    std::vector<std::string> found;
    for (const auto& symbol : room_.symbols) found.push_back(texts_[symbol.number]);
    return found;
  }
  std::vector<std::string> texts_;
  MergeTable table_;
  ByteTrie symbols_;
  MergeRoom room_;
};

// The last a may become aa, then that and the one before aaaa: both are given up.
TEST(MergeTable, OfABeginningKeepsWhatNoMergeCanReach) {
  Table table({"a", "aa", "aaaa"}, {{0, 0, 1, 0}, {1, 1, 2, 1}});
  EXPECT_THAT(table.beginning("aaaaaaaaaaaa", 7), ElementsAre("aaaa"));
  EXPECT_EQ(table.certain, 4u);
  EXPECT_THAT(table.beginning("aaaaaaaaaaaa", 4), ElementsAre("aaaa")) << "nothing goes on from there";
  EXPECT_EQ(table.certain, 4u);
}

TEST(MergeTable, ABetterMergeOverTheFrontierComesFirst) {
  Table table({"a", "b", "aa", "ab"}, {{0, 0, 2, 1}, {0, 1, 3, 0}});
  EXPECT_THAT(table.beginning("aaabbbbb", 3), ElementsAre("aa")) << "the third a goes with b";
  EXPECT_EQ(table.certain, 2u);
  EXPECT_THAT(table.beginning("aabbbbbb", 2), IsEmpty()) << "the second one does, but for all that is kept of it, it might stay an a";
  EXPECT_EQ(table.certain, 0u);
}

// aa and a would come before aa and aa, but behind the frontier stands an aa that no longer is an a.
TEST(MergeTable, KnowsWhatASymbolWasWhenItWasGivenUp) {
  Table table({"a", "aa", "aaa", "aaaa"}, {{0, 0, 1, 0}, {1, 0, 2, 1}, {1, 1, 3, 2}});
  EXPECT_THAT(table.beginning("aaaaaaaaaaaaaaaa", 12), ElementsAre("aaaa", "aaaa"));
  EXPECT_THAT(table.whole("aaaaaaaaaaaaaaaa"), ElementsAre("aaaa", "aaaa", "aaaa", "aaaa"));
}

TEST(MergeTable, NothingIsCertainWhereEverySymbolMayGoOn) {
  Table table({"a", "b", "ab", "bb", "abb"}, {{1, 1, 3, 0}, {0, 3, 4, 1}, {0, 1, 2, 2}});
  EXPECT_THAT(table.beginning("abbbbbbb", 2), IsEmpty());
  EXPECT_EQ(table.certain, 0u);
}

TEST(MergeTable, WithoutTextBehindTheFrontierAnyMergeIsFeared) {
  Table table({"a", "aa"}, {{0, 0, 1, 0}});
  EXPECT_THAT(table.beginning("aaaa", 4), IsEmpty());
  EXPECT_THAT(table.beginning("aaaa-", 4), ElementsAre("aa", "aa"));
}

}  // namespace
}  // namespace convoy::data
