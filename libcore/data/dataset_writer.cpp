// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/dataset_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/data/index_format.h"
#include "libcore/data/json_fields.h"

namespace convoy::data {
namespace {

constexpr std::int32_t kLargestU16 = std::numeric_limits<std::uint16_t>::max();

// Collects small values and passes them on in blocks.
class IndexOutput {
 public:
  IndexOutput(AtomicFile& file, Xxh3Stream& sum) : file_(file), sum_(sum) {}
  ~IndexOutput() = default;

  template <class T>
  void put(T value) {
    block_.append(reinterpret_cast<const char*>(&value), sizeof value);
    if (block_.size() >= kBlock) flush();
  }
  void put(std::string_view bytes) { block_ += bytes; }
  void flush() {
    sum_.update(std::as_bytes(std::span(block_)));
    file_.write(block_);
    block_.clear();
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{64} << 10;
  AtomicFile& file_;
  Xxh3Stream& sum_;
  std::string block_;
};

struct IndexShape {
  std::int64_t documents;
  TokenType type;
};

void write_index(const IndexShape& shape, const EachLength& lengths, AtomicFile& file, Xxh3Stream& sum) {
  IndexOutput out(file, sum);
  const auto count = static_cast<std::uint64_t>(shape.documents);
  out.put(kIndexMagic);
  out.put(kIndexVersion);
  out.put(static_cast<std::uint8_t>(shape.type));
  out.put(count);
  out.put(count + 1);
  lengths([&](std::int32_t length) { out.put(length); });
  std::int64_t at = 0;
  lengths([&](std::int32_t length) {
    out.put(at);
    at += length * size_of(shape.type);
  });
  for (std::uint64_t d = 0; d <= count; ++d) out.put(static_cast<std::int64_t>(d));
  out.flush();
}

void remove_or_refuse(const Path& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) throw EnvironmentError(fmt::format("cannot remove '{}': {}", path.string(), error.message()));
}

// Whether `path` is metadata of ours, under whatever name, of a pair with `bin_bytes` of tokens.
bool describes(const Path& path, std::uintmax_t bin_bytes) {
  const JsonFile file{path.string(), ""};
  try {
    return static_cast<std::uintmax_t>(count_field(parse_object(read_file(path, "metadata"), file), "bin_bytes", file)) == bin_bytes;
  } catch (const Error&) {
    return false;  // half-written, or gone
  }
}

// Metadata are complete under their temporary name before the tokens get theirs, so a commit that was killed in between leaves both.
bool is_of_interrupted_commit(const Path& prefix) {
  const Path folder = prefix.has_parent_path() ? prefix.parent_path() : Path(".");
  const std::string start = fmt::format(".{}.", meta_path(prefix).filename().string());
  std::error_code error;
  const auto size = std::filesystem::file_size(bin_path(prefix), error);
  if (error) return false;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(start) && name.ends_with(".tmp") && describes(entry.path(), size)) return true;
  }
  return false;
}

[[noreturn]] void refuse_more(const Path& prefix) {
  throw DataError(fmt::format("{}: a dataset holds at most {} documents, and each at most that many tokens: split the input", prefix.string(),
                              kMostDocuments));
}

void remove_quietly(const Path& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

}  // namespace

PairFiles::PairFiles(Path prefix, TokenType type) : prefix_(std::move(prefix)), type_(type), bin_(bin_path(prefix_)) {}

void PairFiles::append(std::span<const std::byte> tokens) {
  bin_sum_.update(tokens);
  bin_.write(tokens);
}

void PairFiles::prepare(std::int64_t documents, const EachLength& lengths,
                        const std::function<std::string(const PairSums&)>& metadata) {
  check(documents > 0, "an empty pair is never written: nothing could map its tokens");
  bin_.seal();
  idx_.emplace(idx_path(prefix_));
  Xxh3Stream idx_sum;
  write_index({documents, type_}, lengths, *idx_, idx_sum);
  idx_->seal();
  meta_.emplace(meta_path(prefix_));
  meta_->write(metadata({.bin_bytes = static_cast<std::int64_t>(bin_.size()),
                         .idx_bytes = static_cast<std::int64_t>(idx_->size()),
                         .bin_xxh3_128 = bin_sum_.hex(),
                         .idx_xxh3_128 = idx_sum.hex()}));
  meta_->seal();
}

void PairFiles::publish() {
  check(meta_.has_value(), "a pair is prepared before it is published");
  withdraw(prefix_);
  try {
    idx_->commit();  // first: tokens without metadata are refused by check_replaceable
    bin_.commit();
    meta_->commit();
  } catch (...) {
    remove_quietly(bin_path(prefix_));
    remove_quietly(idx_path(prefix_));
    throw;
  }
}

void DatasetWriter::add(std::span<const std::int32_t> ids) {
  begin(static_cast<std::int64_t>(ids.size()));
  add_part(ids);
}

void DatasetWriter::begin(std::int64_t tokens) {
  check(missing_ == 0, "a document is whole before the next begins");
  check(tokens > 0, "a document without tokens is never written");
  check_tokens(tokens, prefix());
  if (lengths_.size() >= kMostDocuments) refuse_more(prefix());
  lengths_.push_back(static_cast<std::int32_t>(tokens));
  missing_ = tokens;
  tokens_ += tokens;
}

void DatasetWriter::add_part(std::span<const std::int32_t> ids) {
  if (ids.empty()) return;
  missing_ -= static_cast<std::int64_t>(ids.size());
  check(missing_ >= 0, "a document has as many tokens as it began with");
  std::int32_t largest = largest_id_;  // a loop over a local is vectorised, std::max_element is not
  for (const std::int32_t id : ids) largest = std::max(largest, id);
  largest_id_ = largest;
  if (type() == TokenType::kU16) {
    check(largest_id_ <= kLargestU16, "u16 is refused for a vocabulary that it cannot hold");
    append_narrow(ids);
  } else {
    files_.append(std::as_bytes(ids));
  }
}

// Part by part: a document may be as large as memory.
void DatasetWriter::append_narrow(std::span<const std::int32_t> ids) {
  constexpr std::size_t kPart = 1 << 16;
  while (!ids.empty()) {
    const auto part = ids.first(std::min(kPart, ids.size()));
    narrow_.assign(part.begin(), part.end());
    files_.append(std::as_bytes(std::span(narrow_)));
    ids = ids.subspan(part.size());
  }
}

void DatasetWriter::prepare(const std::function<std::string(const PairSums&)>& metadata) {
  check(missing_ == 0, "the last document is whole");
  const EachLength each = [this](const std::function<void(std::int32_t)>& take) {
    for (const std::int32_t length : lengths_) take(length);
  };
  files_.prepare(documents(), each, metadata);
}

void DatasetWriter::commit(const std::function<std::string(const PairSums&)>& metadata) {
  prepare(metadata);
  publish();
}

void check_tokens(std::int64_t tokens, const Path& prefix) {
  if (tokens > static_cast<std::int64_t>(kMostDocuments)) refuse_more(prefix);
}

void check_replaceable(const Path& prefix) {
  const auto there = [](const Path& path) { return std::filesystem::exists(path); };
  if (!there(bin_path(prefix)) || there(meta_path(prefix))) return;
  if (is_of_interrupted_commit(prefix)) return remove_or_refuse(bin_path(prefix));
  throw ConfigError(fmt::format("--out {}: {} is there, but no {}, so it is not known to be ours to replace; remove it or choose "
                                "another --out",
                                prefix.string(), bin_path(prefix).filename().string(), meta_path(prefix).filename().string()));
}

void withdraw(const Path& prefix) {
  remove_or_refuse(bin_path(prefix));
  uncommit(prefix);
}

void uncommit(const Path& prefix) { remove_or_refuse(meta_path(prefix)); }

void remove_pair(const Path& prefix) {
  withdraw(prefix);
  remove_quietly(idx_path(prefix));
}

}  // namespace convoy::data
