// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/reshard.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "libcore/base/error.h"
#include "libcore/checkpoint/box_copy.h"
#include "libcore/checkpoint/commit.h"
#include "libcore/checkpoint/shard_io.h"
#include "libcore/checkpoint/shard_writer.h"

namespace convoy::checkpoint {
namespace {

using tensor::Box;
using tensor::Shape;

constexpr std::size_t kOpenFiles = 64;  // at a time: descriptors are few
// Of the limit: what the program takes before it copies, and what a thread takes beside its rows (a block that is
// checked, and rows that are gathered).
constexpr std::int64_t kProgramMemory = std::int64_t{24} << 20, kThreadMemory = std::int64_t{6} << 20;
constexpr std::int64_t kLeastRows = std::int64_t{1} << 20;
constexpr std::size_t kGathered = std::size_t{1} << 20;

struct Threads {
  int count = 1;
  std::size_t bytes = 0;  // of rows that each holds
};

Threads share_memory(const ReshardLimits& limits) {
  check(limits.memory >= kLeastReshardMemory, "the memory suffices for one thread");
  const std::int64_t left = limits.memory - kProgramMemory;
  const int most = static_cast<int>(std::max<std::int64_t>(1, left / (kThreadMemory + kLeastRows)));
  const int count = std::clamp(limits.threads, 1, most);
  const std::int64_t most_bytes = left / count - kThreadMemory;
  return {count, static_cast<std::size_t>(limits.piece > 0 ? std::min(limits.piece, most_bytes) : most_bytes)};
}

Box bounding(const Box& a, const Box& b) {
  Box both = a;
  for (int d = 0; d < a.extent.rank(); ++d) {
    const std::int64_t begin = std::min(a.offset[d], b.offset[d]);
    const std::int64_t end = std::max(a.offset[d] + a.extent[d], b.offset[d] + b.extent[d]);
    both.offset = both.offset.with(d, begin);
    both.extent = both.extent.with(d, end - begin);
  }
  return both;
}

std::vector<FragmentPlan> fragments_of(const Manifest& source, const PlannedFile& file) {
  std::vector<FragmentPlan> fragments;
  for (const PlannedFragment& fragment : file.fragments) {
    const StoredTensor& tensor = source.tensors[fragment.tensor];
    fragments.push_back({tensor.name, tensor.state, tensor.dtype, tensor.shape, fragment.box});
  }
  return fragments;
}

// Files that are written together, and the tensors that have parts in them.
class FileGroup {
 public:
  FileGroup(const Manifest& source, const ReshardPlan& plan, std::size_t first, std::size_t last, const Path& folder,
            const std::string& save_id);

  struct Part {
    ShardWriter* writer;
    std::size_t fragment;
    const Box* box;
  };
  struct Task {
    std::size_t tensor = 0;
    std::vector<Part> parts;
  };
  const std::vector<Task>& tasks() const { return tasks_; }  // the largest first

  // Closes the files and adds them to `result`, and the digests of their parts to its tensors.
  void finish(Manifest& result);

 private:
  const ReshardPlan& plan_;
  std::size_t first_;
  std::vector<std::unique_ptr<ShardWriter>> writers_;
  std::vector<Task> tasks_;
};

FileGroup::FileGroup(const Manifest& source, const ReshardPlan& plan, std::size_t first, std::size_t last,
                     const Path& folder, const std::string& save_id)
    : plan_(plan), first_(first) {
  std::vector<Task> tasks(source.tensors.size());
  for (std::size_t file = first; file < last; ++file) {
    writers_.push_back(
        std::make_unique<ShardWriter>(folder / plan.files[file].name, save_id, fragments_of(source, plan.files[file])));
    for (std::size_t i = 0; i < plan.files[file].fragments.size(); ++i) {
      const PlannedFragment& fragment = plan.files[file].fragments[i];
      tasks[fragment.tensor].parts.push_back({writers_.back().get(), i, &fragment.box});
    }
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].tensor = i;
    if (!tasks[i].parts.empty()) tasks_.push_back(std::move(tasks[i]));
  }
  std::stable_sort(tasks_.begin(), tasks_.end(), [&](const Task& a, const Task& b) {
    return source.tensors[a.tensor].shape.count() > source.tensors[b.tensor].shape.count();
  });
}

void FileGroup::finish(Manifest& result) {
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    const std::vector<WrittenFragment> written = writers_[i]->finish();
    const std::vector<PlannedFragment>& planned = plan_.files[first_ + i].fragments;
    result.files.push_back(writers_[i]->file());
    for (std::size_t f = 0; f < written.size(); ++f) {
      result.fragments.push_back(
          {planned[f].tensor, result.files.size() - 1, planned[f].box, written[f].offset, written[f].crc32c});
      result.tensors[planned[f].tensor].digest += written[f].digest;
    }
    writers_[i].reset();
  }
}

// One thread's copying: rows of a tensor are read once and go to every file of the group that has a part of them.
class Copier {
 public:
  Copier(const Manifest& source, const BoxReader& read, std::size_t bytes)
      : source_(source), read_(read), rows_(bytes) {
    gathered_.reserve(kGathered);
  }

  // `done` is told the bytes of each step, and returns false where the work is to end.
  bool copy(const FileGroup::Task& task, const std::function<bool(std::uint64_t)>& done) {
    const StoredTensor& tensor = source_.tensors[task.tensor];
    const auto most = static_cast<std::int64_t>(rows_.size() / tensor::size_of(tensor.dtype));
    const std::int64_t row =
        tensor.shape.rank() == 0 ? 1 : tensor.shape.count() / std::max<std::int64_t>(1, tensor.shape[0]);
    const std::int64_t step = row > 0 && row <= most ? most / row * row : most;
    const std::int64_t count = tensor.shape.count();
    for (std::int64_t begin = 0; begin < count; begin += step) {
      std::uint64_t bytes = 0;
      for (const Box& part : tensor::boxes_of_range(tensor::whole(tensor.shape), begin, std::min(begin + step, count)))
        bytes += copy_part(task, tensor, part);
      if (!done(bytes)) return false;
    }
    return true;
  }

 private:
  std::uint64_t copy_part(const FileGroup::Task& task, const StoredTensor& tensor, const Box& part) {
    hits_.clear();
    std::optional<Box> needed;
    for (const FileGroup::Part& target : task.parts) {
      const std::optional<Box> common = tensor::intersection(part, *target.box);
      if (!common) continue;
      hits_.push_back({&target, *common});
      needed = needed ? bounding(*needed, *common) : *common;
    }
    if (!needed) return 0;
    read_(task.tensor, *needed, {rows_.data(), tensor.dtype, needed->extent});
    std::uint64_t bytes = 0;
    for (const Hit& hit : hits_) bytes += write(hit, *needed, tensor::size_of(tensor.dtype));
    return bytes;
  }

  struct Hit {
    const FileGroup::Part* target;
    Box box;
  };
  std::uint64_t write(const Hit& hit, const Box& held, std::size_t size) {
    gathered_.clear();
    const auto flush = [&] {
      if (!gathered_.empty()) hit.target->writer->write(hit.target->fragment, gathered_);
      gathered_.clear();
    };
    for_each_run(held, hit.box, hit.box, [&](std::int64_t place, std::int64_t /*to*/, std::int64_t run) {
      const std::span<const std::byte> bytes(rows_.data() + static_cast<std::size_t>(place) * size,
                                             static_cast<std::size_t>(run) * size);
      if (gathered_.size() + bytes.size() > kGathered) flush();
      if (bytes.size() >= kGathered) return hit.target->writer->write(hit.target->fragment, bytes);
      gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
    });
    flush();
    return static_cast<std::uint64_t>(hit.box.count()) * size;
  }

  const Manifest& source_;
  const BoxReader& read_;
  std::vector<std::byte> rows_, gathered_;
  std::vector<Hit> hits_;
};

// Runs the tasks on the copiers' threads; the first error ends them all and is thrown again.
class Team {
 public:
  Team(std::vector<Copier>& copiers, const std::function<void(std::uint64_t)>& progress)
      : copiers_(copiers), progress_(progress) {}

  void run(const std::vector<FileGroup::Task>& tasks) {
    next_ = 0;
    std::vector<std::jthread> threads;  // joins, also where the next one cannot be started
    for (std::size_t i = 1; i < copiers_.size(); ++i) threads.emplace_back([&, i] { work(copiers_[i], tasks); });
    work(copiers_[0], tasks);
    threads.clear();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void work(Copier& copier, const std::vector<FileGroup::Task>& tasks) {
    try {
      while (!failed_) {
        const std::size_t task = next_++;
        if (task >= tasks.size()) return;
        copier.copy(tasks[task], [&](std::uint64_t bytes) { return count(bytes); });
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_ = true;
    }
  }

  bool count(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    done_ += bytes;
    if (progress_ && !failed_) progress_(done_);
    return !failed_;
  }

  std::vector<Copier>& copiers_;
  const std::function<void(std::uint64_t)>& progress_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // of what follows, and of the calls of progress_
  std::uint64_t done_ = 0;
  std::exception_ptr error_;
};

// Before the first byte: a disk that fills up after an hour wastes the hour.
void check_room(const Manifest& source, const ReshardPlan& plan, const Path& folder) {
  std::uint64_t needed = 0, largest = 0;
  for (const PlannedFile& file : plan.files) {
    const std::uint64_t bytes = estimated_shard_bytes(fragments_of(source, file));
    needed += bytes;
    largest = std::max(largest, bytes);
  }
  if (const std::string problem = room_problem(folder.parent_path(), needed, largest); !problem.empty())
    throw EnvironmentError(problem);
}

// The content must have come over: digests do not depend on the layout.
void check_digests(const Manifest& source, const Manifest& result) {
  for (std::size_t i = 0; i < source.tensors.size(); ++i) {
    const StoredTensor &before = source.tensors[i], &after = result.tensors[i];
    if (before.digest == after.digest) continue;
    throw DataError(
        fmt::format("{} of {}: what was read has the digest {:016x}, the manifest says {:016x}; the manifest and the "
                    "files are not of "
                    "one save, or were changed: `convoy-ckpt verify --deep` says where",
                    before.state, before.name, after.digest, before.digest));
  }
}

}  // namespace

Manifest execute_reshard(const Manifest& source, bool digests, const ReshardPlan& plan, const StoredLayout& layout,
                         const BoxReader& read, const Path& folder, const ReshardLimits& limits,
                         const std::function<void(std::uint64_t)>& progress) {
  Manifest result;
  result.description = source.description;
  result.description.layout = layout;
  result.save_id = random_save_id();
  result.tensors = source.tensors;
  for (StoredTensor& tensor : result.tensors) tensor.digest = 0;
  check_room(source, plan, folder);
  const Threads share = share_memory(limits);
  std::vector<Copier> copiers;
  for (int i = 0; i < share.count; ++i) copiers.emplace_back(source, read, share.bytes);
  Team team(copiers, progress);
  for (std::size_t first = 0; first < plan.files.size(); first += kOpenFiles) {
    const std::size_t last = std::min(first + kOpenFiles, plan.files.size());
    FileGroup group(source, plan, first, last, folder, result.save_id);
    team.run(group.tasks());
    group.finish(result);
  }
  if (digests) check_digests(source, result);
  return result;
}

}  // namespace convoy::checkpoint
