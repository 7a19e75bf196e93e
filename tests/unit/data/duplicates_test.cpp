// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/duplicates.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

#include "golden.h"
#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using testing::HasSubstr;
using testing::IsEmpty;

// 2^20 bytes are 65,536 slots, of which three quarters are used: 49,152 distinct texts.
constexpr std::int64_t kSmall = kLeastDedupMemory;

EachKey each_of(const std::vector<TextKey>& keys) {
  return [&keys](const std::function<void(const TextKey&)>& take) {
    for (const TextKey& key : keys) take(key);
  };
}

Duplicates found_in(const std::vector<TextKey>& keys, const DedupSpace& space) {
  return find_duplicates(each_of(keys), static_cast<std::int64_t>(keys.size()), space);
}

// What the definition says: a document repeats if its hash was there before.
void expect_as_defined(const std::vector<TextKey>& keys, const DedupSpace& space) {
  const Duplicates found = found_in(keys, space);
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::int64_t documents = 0, bytes = 0;
  ASSERT_EQ(found.is_duplicate.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool repeats = !seen.insert({keys[i].hash.high, keys[i].hash.low}).second;
    ASSERT_EQ(found.is_duplicate[i], repeats) << i;
    documents += repeats;
    bytes += repeats ? keys[i].text_bytes : 0;
  }
  EXPECT_EQ(found.documents, documents);
  EXPECT_EQ(found.text_bytes, bytes);
}

std::vector<TextKey> random_keys(std::size_t count, std::size_t distinct) {
  std::mt19937_64 random(7);
  std::vector<TextKey> texts, keys;
  for (std::size_t i = 0; i < distinct; ++i) texts.push_back({{random(), random()}, static_cast<std::int64_t>(i % 100)});
  for (std::size_t i = 0; i < count; ++i) keys.push_back(texts[random() % distinct]);
  return keys;
}

TEST(FindDuplicates, TheFirstOfEqualTextsIsNone) {
  const TextKey a{{1, 2}, 10}, b{{1, 3}, 20}, c{{2, 2}, 40}, zero{{0, 0}, 80};
  const Duplicates found = found_in({a, b, a, zero, c, c, a, zero}, {kSmall, "unused"});
  EXPECT_THAT(found.is_duplicate, testing::ElementsAre(false, false, true, false, false, true, true, true));
  EXPECT_EQ(found.documents, 4);
  EXPECT_EQ(found.text_bytes, 10 + 40 + 10 + 80);
  EXPECT_EQ(found_in({}, {kSmall, "unused"}).documents, 0);
}

TEST(FindDuplicates, MoreTextsThanTheMemoryHoldsGoOverTheDisk) {
  const TemporaryFolder folder;
  expect_as_defined(random_keys(400'000, 150'000), {kSmall, folder / "pair"});
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(FindDuplicates, HashesThatBeginAlikeAreDealtOutAgain) {
  const TemporaryFolder folder;
  std::vector<TextKey> keys = random_keys(200'000, 120'000);
  for (TextKey& key : keys) key.hash.high = (key.hash.high >> 14) | (std::uint64_t{5} << 58);
  expect_as_defined(keys, {kSmall, folder / "pair"});
}

TEST(FindDuplicates, EqualTextsTakeNoRoom) {
  // Nowhere to write: the disk is not needed.
  expect_as_defined(random_keys(500'000, 49'000), {kSmall, "/nonexistent/pair"});
  EXPECT_THROW(found_in(random_keys(500'000, 60'000), {kSmall, "/nonexistent/pair"}), EnvironmentError);
}

TEST(FindDuplicates, StopsWhenPollThrows) {
  struct Stop {};
  EXPECT_THROW(found_in(random_keys(10, 10), {kSmall, "unused", [] { throw Stop{}; }}), Stop);
}

class KeyFileTest : public testing::Test {
 protected:
  // Hash and bytes of one document, written out by hand.
  const std::string bytes = std::string("\x88\x77\x66\x55\x44\x33\x22\x11", 8) + std::string("\x01\0\0\0\0\0\0\x80", 8) + std::string("\x05\0\0\0\0\0\0\0", 8);
  TemporaryFolder folder;
};

TEST_F(KeyFileTest, IsReadAsDocumented) {
  const Path path = folder.write("x.hashes", bytes + bytes);
  std::vector<TextKey> keys;
  for_each_key({path, 2, xxh3_128_hex(bytes + bytes)}, [&keys](const TextKey& key) { keys.push_back(key); });
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[1].hash.high, 0x1122334455667788u);
  EXPECT_EQ(keys[1].hash.low, 0x8000000000000001u);
  EXPECT_EQ(keys[1].text_bytes, 5);
}

TEST_F(KeyFileTest, AnotherSizeOrSumIsRefusedByName) {
  const Path path = folder.write("x.hashes", bytes);
  const auto ignore = [](const TextKey&) {};
  EXPECT_THAT(message_of<DataError>([&] { for_each_key({path, 2, xxh3_128_hex(bytes)}, ignore); }),
              testing::AllOf(HasSubstr("x.hashes has 24 bytes"), HasSubstr("expected 48")));
  EXPECT_THAT(message_of<DataError>([&] { for_each_key({path, 1, xxh3_128_hex(bytes + bytes)}, ignore); }),
              testing::AllOf(HasSubstr("x.hashes"), HasSubstr(xxh3_128_hex(bytes))));
}

}  // namespace
}  // namespace convoy::data
