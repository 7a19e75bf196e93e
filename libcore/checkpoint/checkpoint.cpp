// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <tuple>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/checkpoint/box_copy.h"
#include "libcore/checkpoint/commit.h"
#include "libcore/checkpoint/digest.h"
#include "libcore/checkpoint/hdf5_file.h"
#include "libcore/checkpoint/manifest_check.h"
#include "libcore/checkpoint/shard_io.h"
#include "libcore/checkpoint/step_directory.h"
#include "libcore/checkpoint/widen.h"

namespace convoy::checkpoint {
namespace {

constexpr std::size_t kOpenFiles = 32;  // kept open between reads

// The text at the start of a file, for a message.
std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, text.find('\0'))) shown += c == '\n' ? ' ' : c >= ' ' && c <= '~' ? c : '?';
  return shown;
}

// The last files that were read, by their number. Safe to use from several threads.
class OpenFiles {
 public:
  std::shared_ptr<FileHandle> get(std::size_t number, const Path& path) {
    const std::lock_guard lock(mutex_);
    const auto it = std::find_if(files_.begin(), files_.end(), [number](const auto& f) { return f.first == number; });
    if (it != files_.end()) {
      files_.splice(files_.begin(), files_, it);
    } else {
      files_.emplace_front(number, std::make_shared<FileHandle>(path, FileHandle::Mode::kRead));
      if (files_.size() > kOpenFiles) files_.pop_back();
    }
    return files_.front().second;
  }

 private:
  std::mutex mutex_;
  std::list<std::pair<std::size_t, std::shared_ptr<FileHandle>>> files_;
};

}  // namespace

struct Checkpoint::Content {
  Path folder;
  Manifest manifest;
  std::string digest;
  std::vector<std::vector<std::size_t>> fragments, in_file;  // of each tensor, and in each file: indices
  OpenFiles files;

  std::shared_ptr<FileHandle> file_of(const StoredFragment& fragment) {
    return files.get(fragment.file, folder / manifest.files[fragment.file].name);
  }
  // A checksum block into `buffer`, held against its checksum.
  std::span<const std::byte> block(const StoredFragment& fragment, std::size_t number, std::vector<std::byte>& buffer);
  void check_file(const StoredFile& file) const;
  void verify_outside(std::size_t file);
  void verify_hdf5(std::size_t file) const;
  void verify_tensor(std::size_t tensor);
};

std::span<const std::byte> Checkpoint::Content::block(const StoredFragment& fragment, std::size_t number,
                                                      std::vector<std::byte>& buffer) {
  const std::uint64_t begin = std::uint64_t{number} * static_cast<std::uint64_t>(kChecksumBlock);
  const std::uint64_t size = std::min<std::uint64_t>(kChecksumBlock, bytes_of(manifest, fragment) - begin);
  if (buffer.size() < size) buffer.resize(size);
  const std::span bytes(buffer.data(), size);
  const std::shared_ptr<FileHandle> file = file_of(fragment);
  file->read(fragment.offset + begin, bytes);
  if (const std::uint32_t crc = crc32c(bytes); crc != fragment.crc32c[number]) {
    const StoredTensor& tensor = manifest.tensors[fragment.tensor];
    throw DataError(
        fmt::format("'{}' is corrupt: tensor {} {} {}, {} bytes at offset {}: expected CRC-32C {:08x}, found "
                    "{:08x}; use another checkpoint",
                    file->path().string(), tensor.name, tensor.state, fragment.box.text(), size,
                    fragment.offset + begin, fragment.crc32c[number], crc));
  }
  return bytes;
}

void Checkpoint::Content::check_file(const StoredFile& stored) const {
  const FileHandle file(folder / stored.name, FileHandle::Mode::kRead);
  const std::string expected = user_block(manifest.save_id);
  std::string found(kUserBlock, '\0');
  const std::uint64_t size = file.size();
  if (size >= kUserBlock) file.read(0, std::as_writable_bytes(std::span(found)));
  if (size >= kUserBlock && found != expected) {
    throw DataError(fmt::format("'{}' is not of this save: it begins with \"{}\", expected \"{}\"",
                                file.path().string(), printable(found), printable(expected)));
  }
  if (size != stored.size)
    throw DataError(fmt::format("'{}' has {} bytes, expected {}; it is truncated or of another save",
                                file.path().string(), size, stored.size));
}

Checkpoint::Checkpoint(const Path& step_directory) : content_(std::make_unique<Content>()) {
  content_->folder = step_directory;
  content_->manifest = read_committed(step_directory);
  content_->digest = digest_of(content_->manifest);
  for (const StoredFile& file : content_->manifest.files) content_->check_file(file);
  content_->fragments.resize(content_->manifest.tensors.size());
  content_->in_file.resize(content_->manifest.files.size());
  for (std::size_t i = 0; i < content_->manifest.fragments.size(); ++i) {
    content_->fragments[content_->manifest.fragments[i].tensor].push_back(i);
    content_->in_file[content_->manifest.fragments[i].file].push_back(i);
  }
}

Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;

const Path& Checkpoint::path() const { return content_->folder; }
const Manifest& Checkpoint::manifest() const { return content_->manifest; }
const std::string& Checkpoint::digest() const { return content_->digest; }

const StoredTensor* Checkpoint::find(std::string_view name, std::string_view state) const {
  for (const auto& [alias, target] : content_->manifest.description.aliases)
    if (alias == name) name = target;
  const std::vector<StoredTensor>& tensors = content_->manifest.tensors;
  const auto key = std::make_tuple(name, state);
  const auto it = std::lower_bound(tensors.begin(), tensors.end(), key, [](const StoredTensor& tensor, const auto& k) {
    return std::tuple<std::string_view, std::string_view>(tensor.name, tensor.state) < k;
  });
  return it != tensors.end() && it->name == name && it->state == state ? &*it : nullptr;
}

void Checkpoint::read(std::string_view name, std::string_view state, const tensor::Box& box,
                      tensor::MutableView out) const {
  const StoredTensor* stored = find(name, state);
  if (stored == nullptr) throw DataError(fmt::format("'{}' has no {} of {}", content_->folder.string(), state, name));
  check(out.count() == box.count() && out.dense(), "the result is as large as the box, and dense");
  check(out.dtype == stored->dtype || out.dtype == tensor::DType::kF32, "a box is read as it is stored, or as fp32");
  check(tensor::intersection(box, tensor::whole(stored->shape)) == box || box.count() == 0,
        fmt::format("the box {} lies in {}", box.text(), stored->shape.text()));
  const std::size_t size = tensor::size_of(stored->dtype), out_size = tensor::size_of(out.dtype);
  const auto block_elements = kChecksumBlock / static_cast<std::int64_t>(size);
  std::vector<std::byte> buffer;
  for (const std::size_t number :
       content_->fragments[static_cast<std::size_t>(stored - content_->manifest.tensors.data())]) {
    const StoredFragment& fragment = content_->manifest.fragments[number];
    const std::optional<tensor::Box> common = tensor::intersection(fragment.box, box);
    if (!common) continue;
    std::int64_t loaded = -1;
    std::span<const std::byte> block;
    for_each_run(fragment.box, box, *common, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
      while (count > 0) {
        if (from / block_elements != loaded) {
          loaded = from / block_elements;
          block = content_->block(fragment, static_cast<std::size_t>(loaded), buffer);
        }
        const std::int64_t within = from % block_elements, part = std::min(count, block_elements - within);
        copy_or_widen(block.data() + static_cast<std::size_t>(within) * size, stored->dtype, part, out.dtype,
                      out.as<std::byte>() + static_cast<std::size_t>(to) * out_size);
        from += part, to += part, count -= part;
      }
    });
  }
}

void Checkpoint::Content::verify_outside(std::size_t number) {
  const StoredFile& stored = manifest.files[number];
  const FileHandle file(folder / stored.name, FileHandle::Mode::kRead);
  std::vector<ByteRange> ranges;
  for (const std::size_t i : in_file[number])
    ranges.push_back({manifest.fragments[i].offset, bytes_of(manifest, manifest.fragments[i])});
  if (const std::uint32_t crc = crc32c_outside(file, stored.size, std::move(ranges)); crc != stored.crc32c) {
    throw DataError(
        fmt::format("'{}' is corrupt outside of its tensors' data, in HDF5's own structures: expected CRC-32C "
                    "{:08x}, found {:08x}; use another checkpoint",
                    file.path().string(), stored.crc32c, crc));
  }
}

void Checkpoint::Content::verify_hdf5(std::size_t number) const {
  const Path path = folder / manifest.files[number].name;
  if (manifest.files[number].name == kCommonFile)
    return check_common_file(path, manifest.save_id, manifest.description);
  std::map<std::size_t, std::size_t> counts, numbers;  // of each tensor's fragments
  for (const std::size_t i : in_file[number]) ++counts[manifest.fragments[i].tensor];
  std::vector<DatasetPlan> plans;
  std::vector<std::uint64_t> offsets;
  for (const std::size_t i : in_file[number]) {
    const StoredFragment& fragment = manifest.fragments[i];
    const StoredTensor& tensor = manifest.tensors[fragment.tensor];
    plans.push_back(
        {.path = dataset_path(tensor.state, tensor.name, numbers[fragment.tensor]++, counts[fragment.tensor]),
         .dtype = tensor.dtype,
         .shape = tensor.shape,
         .box = fragment.box});
    offsets.push_back(fragment.offset);
  }
  check_shard_file(path, manifest.save_id, plans, offsets);
}

void Checkpoint::Content::verify_tensor(std::size_t number) {
  const StoredTensor& tensor = manifest.tensors[number];
  std::vector<std::byte> buffer;
  std::uint64_t sum = 0;
  for (const std::size_t index : fragments[number]) {
    const StoredFragment& fragment = manifest.fragments[index];
    const std::int64_t block_elements = kChecksumBlock / static_cast<std::int64_t>(tensor::size_of(tensor.dtype));
    for (std::size_t i = 0; i < fragment.crc32c.size(); ++i) {
      sum += digest_part(block(fragment, i, buffer), tensor.dtype, tensor.shape, fragment.box,
                         static_cast<std::int64_t>(i) * block_elements);
    }
  }
  if (sum == tensor.digest) return;
  throw DataError(fmt::format("'{}': tensor {} {}: expected digest {:016x}, found {:016x}; use another checkpoint",
                              (folder / kManifestFile).string(), tensor.name, tensor.state, tensor.digest, sum));
}

void Checkpoint::verify() const {
  for (std::size_t i = 0; i < content_->manifest.files.size(); ++i) {
    content_->verify_outside(i);
    content_->verify_hdf5(i);
  }
  for (std::size_t i = 0; i < content_->manifest.tensors.size(); ++i) content_->verify_tensor(i);
}

Checkpoint open_step(const Path& checkpoints, std::int64_t step) {
  Checkpoint opened(checkpoints / step_directory_name(step));
  const std::int64_t held = opened.manifest().description.progress.step;
  if (held == step) return opened;
  throw DataError(fmt::format("'{}' holds step {}: it was renamed, or copied from elsewhere; name it {}, or remove it",
                              opened.path().string(), held, step_directory_name(held)));
}

std::optional<Path> newest_checkpoint(const Path& checkpoints, std::vector<std::string>& skipped,
                                      std::optional<std::int64_t> before) {
  std::vector<std::int64_t> steps = step_directories(checkpoints);
  std::sort(steps.rbegin(), steps.rend());
  for (const std::int64_t step : steps) {
    if (before && step >= *before) continue;
    try {
      return open_step(checkpoints, step).path();
    } catch (const EnvironmentError&) {
      throw;
    } catch (const Error& error) {
      skipped.emplace_back(error.what());
    }
  }
  return std::nullopt;
}

bool is_step_directory(const Path& folder) {
  std::error_code ignored;
  return has_commit(folder) || std::filesystem::is_regular_file(folder / kManifestFile, ignored);
}

}  // namespace convoy::checkpoint
