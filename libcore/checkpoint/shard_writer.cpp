// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/shard_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/checkpoint/digest.h"
#include "libcore/checkpoint/hdf5_file.h"
#include "libcore/checkpoint/manifest_check.h"
#include "libcore/checkpoint/shard_io.h"

namespace convoy::checkpoint {
namespace {

// Checksum, digest and write of one piece follow each other while it is in the cache.
constexpr std::size_t kPiece = std::size_t{256} << 10;
static_assert(kChecksumBlock % static_cast<std::int64_t>(kPiece) == 0);

// What a dataset costs in HDF5's own structures, at most about: for the check of free space.
constexpr std::uint64_t kDatasetOverhead = 1024, kFileOverhead = 64 << 10;

}  // namespace

struct ShardWriter::State {
  struct Fragment {
    FragmentPlan plan;
    std::uint64_t offset = 0, size = 0;
    std::vector<std::uint32_t> crc32c;
    std::atomic<std::uint64_t> digest = 0, written = 0;  // written: bytes; where write() goes on
  };

  Path path;
  std::vector<Fragment> fragments;
  std::uint64_t needed = 0, bytes = 0;
  std::optional<FileHandle> file;
  std::uint32_t crc32c_outside = 0;

  explicit State(std::size_t count) : fragments(count) {}
  void put(Fragment& fragment, std::uint64_t position, std::span<const std::byte> data);
  std::vector<DatasetPlan> datasets() const;
};

// A piece within one checksum block, whose CRC goes on from what it is.
void ShardWriter::State::put(Fragment& fragment, std::uint64_t position, std::span<const std::byte> data) {
  const FragmentPlan& plan = fragment.plan;
  const std::size_t element = tensor::size_of(plan.dtype);
  std::uint32_t& crc = fragment.crc32c[static_cast<std::size_t>(position / static_cast<std::uint64_t>(kChecksumBlock))];
  std::uint64_t digest = 0;
  for (std::size_t done = 0; done < data.size();) {
    const auto piece = data.subspan(done, std::min(kPiece, data.size() - done));
    crc = crc32c(piece, crc);
    digest +=
        digest_part(piece, plan.dtype, plan.shape, plan.box, static_cast<std::int64_t>((position + done) / element));
    file->write(fragment.offset + position + done, piece, needed);
    done += piece.size();
  }
  if (data.size() >= kPiece) file->start_write_back(fragment.offset + position, data.size());
  fragment.digest += digest;
  fragment.written += data.size();
}

std::vector<DatasetPlan> ShardWriter::State::datasets() const {
  std::map<std::pair<std::string, std::string>, std::size_t> counts, numbers;
  for (const Fragment& fragment : fragments) ++counts[{fragment.plan.name, fragment.plan.state}];
  std::vector<DatasetPlan> plans;
  for (const Fragment& fragment : fragments) {
    const auto& [name, state, dtype, shape, box] = fragment.plan;
    plans.push_back({.path = dataset_path(state, name, numbers[{name, state}]++, counts[{name, state}]),
                     .dtype = dtype,
                     .shape = shape,
                     .box = box});
  }
  return plans;
}

ShardWriter::ShardWriter(const Path& file, const std::string& save_id, std::vector<FragmentPlan> fragments)
    : state_(std::make_unique<State>(fragments.size())) {
  state_->path = file;
  state_->needed = estimated_shard_bytes(fragments);
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    State::Fragment& fragment = state_->fragments[i];
    fragment.plan = std::move(fragments[i]);
    fragment.size = static_cast<std::uint64_t>(fragment.plan.box.count()) * tensor::size_of(fragment.plan.dtype);
    check(fragment.size > 0, fmt::format("{}: an empty box is not stored", fragment.plan.name));
    fragment.crc32c.resize(blocks_of(fragment.size));
  }
  const std::string problem =
      room_problem(file.has_parent_path() ? file.parent_path() : ".", state_->needed, state_->needed);
  if (!problem.empty()) throw EnvironmentError(fmt::format("cannot write '{}': {}", file.string(), problem));
  const std::vector<std::uint64_t> offsets = create_shard_file(file, save_id, state_->datasets());
  for (std::size_t i = 0; i < offsets.size(); ++i) state_->fragments[i].offset = offsets[i];
  state_->file.emplace(file, FileHandle::Mode::kWrite);
  state_->bytes = state_->file->size();
  const std::string text = user_block(save_id);
  state_->file->write(0, std::as_bytes(std::span(text)), state_->needed);
}

ShardWriter::~ShardWriter() = default;

void ShardWriter::write(std::size_t index, std::span<const std::byte> bytes) {
  State::Fragment& fragment = state_->fragments.at(index);
  check(bytes.size() <= fragment.size - fragment.written, "no more is written than a fragment has");
  check(bytes.size() % tensor::size_of(fragment.plan.dtype) == 0, "a piece has whole elements");
  constexpr auto kBlock = static_cast<std::uint64_t>(kChecksumBlock);
  while (!bytes.empty()) {
    const std::uint64_t position = fragment.written;
    const std::size_t size = std::min<std::uint64_t>(bytes.size(), kBlock - position % kBlock);
    state_->put(fragment, position, bytes.first(size));
    bytes = bytes.subspan(size);
  }
}

void ShardWriter::write_block(std::size_t index, std::size_t block, std::span<const std::byte> bytes) {
  State::Fragment& fragment = state_->fragments.at(index);
  const std::uint64_t position = std::uint64_t{block} * static_cast<std::uint64_t>(kChecksumBlock);
  check(position < fragment.size && bytes.size() == std::min<std::uint64_t>(kChecksumBlock, fragment.size - position),
        "a block is written whole");
  state_->put(fragment, position, bytes);
}

std::vector<WrittenFragment> ShardWriter::finish() {
  std::vector<WrittenFragment> written;
  std::vector<ByteRange> ranges;
  for (State::Fragment& fragment : state_->fragments) {
    check(fragment.written == fragment.size, fmt::format("{} is written whole", fragment.plan.name));
    written.push_back({.offset = fragment.offset, .crc32c = fragment.crc32c, .digest = fragment.digest});
    ranges.push_back({fragment.offset, fragment.size});
  }
  state_->crc32c_outside = crc32c_outside(*state_->file, state_->bytes, std::move(ranges));
  state_->file->sync();
  return written;
}

std::uint64_t ShardWriter::bytes() const { return state_->bytes; }

StoredFile ShardWriter::file() const {
  return {.name = state_->path.filename().string(), .size = state_->bytes, .crc32c = state_->crc32c_outside};
}

std::uint64_t estimated_shard_bytes(const std::vector<FragmentPlan>& fragments) {
  std::uint64_t bytes = kFileOverhead;
  for (const FragmentPlan& plan : fragments)
    bytes += static_cast<std::uint64_t>(plan.box.count()) * tensor::size_of(plan.dtype) + kDatasetOverhead;
  return bytes;
}

}  // namespace convoy::checkpoint
