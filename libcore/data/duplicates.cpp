// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/duplicates.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/scratch_file.h"
#include "libcore/base/units.h"

namespace convoy::data {
namespace {

constexpr int kPartBits = 6;  // files open at once: 64 a level, two levels for 2^31 documents at the default memory
constexpr std::size_t kParts = std::size_t{1} << kPartBits;
constexpr std::size_t kRecordBytes = sizeof(Hash128) + sizeof(std::uint32_t);
constexpr std::uint32_t kPollEvery = 1 << 16;

// Distinct hashes, by linear probing in a table that is at most three quarters full.
class HashSet {
 public:
  enum class Added : std::uint8_t { kNew, kSeen, kFull };

  HashSet(std::int64_t memory, std::size_t most_keys)
      : slots_(std::min(std::bit_floor(static_cast<std::size_t>(memory) / sizeof(Hash128)), std::bit_ceil(2 * most_keys + 2))),
        most_(slots_.size() / 4 * 3) {}

  Added add(const Hash128& hash) {
    if (hash == Hash128{}) return std::exchange(has_zero_, true) ? Added::kSeen : Added::kNew;
    std::size_t at = hash.low & (slots_.size() - 1);
    for (; slots_[at] != Hash128{}; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at] == hash) return Added::kSeen;
    }
    if (used_ == most_) return Added::kFull;
    ++used_;
    slots_[at] = hash;
    return Added::kNew;
  }

 private:
  std::vector<Hash128> slots_;  // zero: free
  std::size_t most_, used_ = 0;
  bool has_zero_ = false;
};

// Calls its argument with the hash and the number of documents, rising, until it returns false.
using EachHash = std::function<void(const std::function<bool(const Hash128&, std::uint32_t)>& take)>;

class Search {
 public:
  Search(const DedupSpace& space, std::vector<bool>& is_duplicate) : space_(space), is_duplicate_(is_duplicate) {}

  // `count` documents, whose hashes agree in the bits of the levels above.
  void find(const EachHash& hashes, std::size_t count, int level) {
    if (mark(hashes, count)) return;
    std::vector<ScratchFile> parts = deal_out(hashes, level);
    while (!parts.empty()) {
      const ScratchFile part = std::move(parts.back());
      parts.pop_back();
      find([&part](const auto& take) { read_records(part, take); }, static_cast<std::size_t>(part.size()) / kRecordBytes, level + 1);
    }
  }

 private:
  // False if the set has no room for all; what is marked by then is right.
  bool mark(const EachHash& hashes, std::size_t count) {
    HashSet seen(space_.memory, count);
    bool fits = true;
    hashes([&](const Hash128& hash, std::uint32_t document) {
      poll(document);
      const HashSet::Added added = seen.add(hash);
      if (added == HashSet::Added::kSeen) is_duplicate_[document] = true;
      return fits = added != HashSet::Added::kFull;
    });
    return fits;
  }

  std::vector<ScratchFile> deal_out(const EachHash& hashes, int level) {
    const int shift = 64 - kPartBits * (level + 1);
    check(shift >= 0, "equal leading bits of that many distinct hashes do not happen");
    const auto buffer = static_cast<std::size_t>(space_.memory) / kParts;
    std::vector<ScratchFile> parts;
    for (std::size_t i = 0; i < kParts; ++i) parts.emplace_back(space_.sibling, buffer);
    hashes([&](const Hash128& hash, std::uint32_t document) {
      poll(document);
      std::array<std::byte, kRecordBytes> record;
      std::memcpy(record.data(), &hash, sizeof hash);
      std::memcpy(record.data() + sizeof hash, &document, sizeof document);
      parts[hash.high >> shift & (kParts - 1)].write(record);
      return true;
    });
    for (ScratchFile& part : parts) part.flush();
    return parts;
  }

  static void read_records(const ScratchFile& part, const std::function<bool(const Hash128&, std::uint32_t)>& take) {
    ScratchReader reader(part);
    for (bool more = true; more && !reader.at_end();) {
      std::array<std::byte, kRecordBytes> record;
      reader.read(record);
      Hash128 hash;
      std::uint32_t document = 0;
      std::memcpy(&hash, record.data(), sizeof hash);
      std::memcpy(&document, record.data() + sizeof hash, sizeof document);
      more = take(hash, document);
    }
  }

  void poll(std::uint32_t document) const {
    if (space_.poll && document % kPollEvery == 0) space_.poll();
  }

  const DedupSpace& space_;
  std::vector<bool>& is_duplicate_;
};

constexpr const char* kAskForLess = "ask for less: what does not fit is compared on disk, and a plan made again with less keeps its shards";

std::string spelled(std::int64_t memory) { return format_bytes(static_cast<double>(memory)); }

}  // namespace

void check_dedup_memory(std::int64_t memory) {
  const std::int64_t present = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  if (present <= 0 || memory <= present) return;
  throw ConfigError(fmt::format("--dedup-memory {}: this machine has {}; {}", spelled(memory), spelled(present), kAskForLess));
}

Duplicates find_duplicates(const EachKey& keys, std::int64_t count, const DedupSpace& space) {
  check(space.memory >= kLeastDedupMemory, "the options refuse less");
  Duplicates result;
  result.is_duplicate.resize(static_cast<std::size_t>(count));
  const EachHash hashes = [&keys](const auto& take) {
    std::uint32_t document = 0;
    bool more = true;
    keys([&](const TextKey& key) { more = more && take(key.hash, document++); });
  };
  try {
    Search(space, result.is_duplicate).find(hashes, static_cast<std::size_t>(count), 0);
  } catch (const std::bad_alloc&) {
    throw EnvironmentError(fmt::format("--dedup-memory {}: this process cannot get so much; {}", spelled(space.memory), kAskForLess));
  }
  std::size_t document = 0;
  keys([&](const TextKey& key) {
    if (!result.is_duplicate[document++]) return;
    ++result.documents;
    result.text_bytes += key.text_bytes;
  });
  return result;
}

}  // namespace convoy::data
