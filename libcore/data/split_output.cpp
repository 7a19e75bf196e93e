// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/split_output.h"

#include <algorithm>
#include <system_error>

namespace convoy::data {
namespace {

constexpr std::int64_t kPollEvery = 1 << 12;   // documents
constexpr std::int64_t kPart = 1 << 18;        // tokens in memory at once

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// The documents of a spool one after another.
class Spooled {
 public:
  Spooled(const ScratchFile& file, TokenType type) : reader_(file), type_(type) {}

  std::int64_t next_length() {
    std::int32_t length = 0;
    reader_.read(std::as_writable_bytes(std::span(&length, 1)));
    return length;
  }

  // All of the document's ids, in blocks.
  template <class Take>
  void for_each_part(std::int64_t length, const Take& take) {
    while (length > 0) {
      ids_.resize(static_cast<std::size_t>(std::min(length, kPart)));
      read_ids();
      take(std::span<const std::int32_t>(ids_));
      length -= static_cast<std::int64_t>(ids_.size());
    }
  }

 private:
  void read_ids() {
    if (type_ == TokenType::kI32) return reader_.read(std::as_writable_bytes(std::span(ids_)));
    narrow_.resize(ids_.size());
    reader_.read(std::as_writable_bytes(std::span(narrow_)));
    std::copy(narrow_.begin(), narrow_.end(), ids_.begin());
  }

  ScratchReader reader_;
  TokenType type_;
  std::vector<std::int32_t> ids_;
  std::vector<std::uint16_t> narrow_;
};

}  // namespace

SplitOutput::SplitOutput(const Path& prefix, TokenType type, const EncodeOptions& options, bool is_shard)
    : writer_(prefix, type), memory_(options.dedup_memory), is_shard_(is_shard) {
  if (options.dedup == Dedup::kOff) return;
  if (is_shard) {
    hashes_.emplace(hashes_path(prefix));
    hashes_sum_.emplace();
    return;
  }
  keys_.emplace(prefix);
  if (options.dedup == Dedup::kDrop) tokens_.emplace(prefix);
}

void SplitOutput::add(std::span<const std::int32_t> ids, const TextKey& key) {
  begin(static_cast<std::int64_t>(ids.size()), key);
  add_part(ids);
}

void SplitOutput::begin(std::int64_t tokens, const TextKey& key) {
  text_bytes_ += key.text_bytes;
  if (hashes_) {
    hashes_->write(bytes_of(key));
    hashes_sum_->update(bytes_of(key));
  }
  if (keys_) keys_->write(bytes_of(key));
  if (tokens_) {
    check_tokens(tokens, writer_.prefix());
    tokens_->write(bytes_of(static_cast<std::int32_t>(tokens)));
  } else {
    writer_.begin(tokens);
  }
}

void SplitOutput::add_part(std::span<const std::int32_t> ids) {
  if (!tokens_) return writer_.add_part(ids);
  if (writer_.type() == TokenType::kI32) {
    tokens_->write(std::as_bytes(ids));
  } else {
    narrow_.assign(ids.begin(), ids.end());
    tokens_->write(std::as_bytes(std::span(narrow_)));
  }
}

FoundDuplicates SplitOutput::finish(const std::function<void()>& poll) {
  FoundDuplicates found;
  if (!keys_) return found;
  keys_->flush();
  const auto count = static_cast<std::int64_t>(keys_->size() / sizeof(TextKey));
  const Duplicates duplicates = find_duplicates(keys_of(*keys_), count, {memory_, writer_.prefix(), poll});
  found.documents = duplicates.documents;
  if (tokens_) copy(duplicates, found, poll);
  return found;
}

void SplitOutput::copy(const Duplicates& duplicates, FoundDuplicates& found, const std::function<void()>& poll) {
  tokens_->flush();
  Spooled spooled(*tokens_, writer_.type());
  for (std::int64_t document = 0; document < static_cast<std::int64_t>(duplicates.is_duplicate.size()); ++document) {
    if (poll && document % kPollEvery == 0) poll();
    const std::int64_t length = spooled.next_length();
    const bool dropped = duplicates.contains(document);
    if (!dropped) writer_.begin(length);
    spooled.for_each_part(length, [&](std::span<const std::int32_t> ids) {
      if (poll && length > kPart) poll();
      if (!dropped) writer_.add_part(ids);
    });
    found.dropped_documents += dropped ? 1 : 0;
    found.dropped_tokens += dropped ? length : 0;
  }
  found.dropped_text_bytes = duplicates.text_bytes;
  text_bytes_ -= duplicates.text_bytes;
  tokens_.reset();
}

WrittenPair SplitOutput::prepare(std::size_t split, const std::function<std::string(const PairSums&)>& metadata) {
  WrittenPair pair{.split = split, .documents = writer_.documents(), .tokens = writer_.tokens()};
  writer_.prepare([&](const PairSums& sums) {
    pair.sums = sums;
    return metadata(sums);
  });
  if (hashes_) {
    hashes_->seal();
    pair.hashes_xxh3_128 = hashes_sum_->hex();
  }
  return pair;
}

void SplitOutput::publish() {
  const Path& prefix = writer_.prefix();
  std::error_code ignored;
  if (is_shard_) std::filesystem::remove(hashes_path(prefix), ignored);  // an older plan's, which may have had them
  if (writer_.documents() == 0) {
    remove_pair(prefix);
    return;
  }
  if (hashes_) hashes_->commit();
  writer_.publish();
}

}  // namespace convoy::data
