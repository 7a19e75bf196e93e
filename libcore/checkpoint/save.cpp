// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/save.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>

#include "libcore/base/clock.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/checkpoint/agree.h"
#include "libcore/checkpoint/commit.h"
#include "libcore/checkpoint/hidden_names.h"
#include "libcore/checkpoint/manifest_check.h"
#include "libcore/checkpoint/shard_io.h"
#include "libcore/checkpoint/shard_record.h"
#include "libcore/comm/agree.h"
#include "libcore/device/thread_pool.h"
#include "libcore/ops/backend.h"

namespace convoy::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kStagingAlignment = 64;

// Puts the folder under its name. What was there before, a step of a future that the run left, comes to lie where the
// folder was.
void put_in_place(const Path& folder, const Path& name) {
  if (::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EEXIST || errno == ENOTEMPTY) {
    if (::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) == 0) return;
  }
  if (errno == EINVAL || errno == ENOSYS) {  // a file system that only renames
    std::error_code ignored;
    const Path trash = hidden_sibling(name, Hidden::kTrash);
    const bool moved = std::filesystem::exists(name, ignored) && ::rename(name.c_str(), trash.c_str()) == 0;
    if (::rename(folder.c_str(), name.c_str()) == 0) {
      if (moved) std::filesystem::remove_all(trash, ignored);
      return;
    }
    const int error = errno;
    if (moved) std::filesystem::rename(trash, name, ignored);
    errno = error;
  }
  throw EnvironmentError(
      fmt::format("cannot rename '{}' to '{}': {}", folder.string(), name.string(), std::strerror(errno)));
}

struct StagedFragment {
  FragmentPlan plan;
  std::size_t begin = 0, size = 0;  // bytes in the staging memory
};

struct Copy {
  const std::byte* from;
  std::size_t to, size;
};

struct BlockTask {
  std::size_t fragment, block;
};

}  // namespace

struct Saver::State {
  State(comm::Communicator& group, std::string name, int threads)
      : world(group), file(std::move(name)), pool(threads), stream(ops::cpu_backend(), 1) {}

  comm::Communicator& world;
  std::string file;
  device::ThreadPool pool;
  device::Stream stream;  // of the collectives

  std::unique_ptr<std::byte[]> memory;  // kept from save to save
  std::size_t capacity = 0;
  Path directory, temporary;
  bool mine_to_remove = false;  // this rank made `temporary`, and it is not committed
  std::string save_id;
  Description description;
  std::vector<StagedFragment> fragments;
  ShardRecord record;
  std::optional<Failure> failure;  // of write()
  bool staged = false, wrote = false;
  SaveReport report;

  std::vector<Copy> plan_copies(const std::vector<LocalState>& states);
  void reserve();
  void create_temporary();
  void copy(const std::vector<Copy>& copies);
  void write_shard();
  std::string commit_all(const std::vector<std::string>& records);
  void abandon() noexcept;
};

// Lays the states out in the staging memory.
std::vector<Copy> Saver::State::plan_copies(const std::vector<LocalState>& states) {
  fragments.clear();
  std::vector<Copy> copies;
  std::size_t end = 0;
  for (const LocalState& state : states) {
    const std::size_t element = tensor::size_of(state.data.dtype);
    std::int64_t count = 0;
    for (const tensor::Box& box : state.boxes) {
      if (box.count() == 0) continue;
      const std::size_t size = static_cast<std::size_t>(box.count()) * element;
      fragments.push_back(
          {.plan = {state.name, state.state, state.data.dtype, state.shape, box}, .begin = end, .size = size});
      const auto* source = state.data.as<std::byte>() + static_cast<std::size_t>(count) * element;
      for (std::size_t done = 0; done < size; done += static_cast<std::size_t>(kChecksumBlock))
        copies.push_back({source + done, end + done, std::min<std::size_t>(kChecksumBlock, size - done)});
      end += (size + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
      count += box.count();
    }
    check(count == state.data.count() && state.data.dense(),
          fmt::format("{} {}: the boxes hold the elements of the data", state.name, state.state));
  }
  return copies;
}

void Saver::State::reserve() {
  const std::size_t needed = fragments.empty() ? 0 : fragments.back().begin + fragments.back().size;
  if (needed <= capacity) return;
  memory.reset();  // the old one first: both would be twice the states
  capacity = 0;
  memory.reset(new (std::nothrow) std::byte[needed]);
  if (!memory) {
    throw EnvironmentError(fmt::format("no memory for the copy of the states that a save stages: {} needed",
                                       format_bytes(static_cast<double>(needed))));
  }
  capacity = needed;
}

void Saver::State::create_temporary() {
  const Path path = hidden_sibling(directory, Hidden::kTemporary);
  if (::mkdir(path.c_str(), 0777) != 0)
    throw EnvironmentError(fmt::format("cannot create folder '{}': {}", path.string(), std::strerror(errno)));
  temporary = path;
  mine_to_remove = true;
  save_id = random_save_id();
}

void Saver::State::copy(const std::vector<Copy>& copies) {
  pool.parallel_for(static_cast<std::int64_t>(copies.size()), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Copy& piece = copies[static_cast<std::size_t>(i)];
      std::memcpy(memory.get() + piece.to, piece.from, piece.size);
    }
  });
}

void Saver::State::write_shard() {
  std::vector<FragmentPlan> plans;
  std::vector<BlockTask> tasks;
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    plans.push_back(fragments[i].plan);
    for (std::size_t block = 0; block < blocks_of(fragments[i].size); ++block) tasks.push_back({i, block});
  }
  record.plans = plans;
  if (plans.empty()) return;
  ShardWriter writer(temporary / file, save_id, std::move(plans));
  pool.parallel_for(static_cast<std::int64_t>(tasks.size()), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto [fragment, block] = tasks[static_cast<std::size_t>(i)];
      const std::size_t at = block * static_cast<std::size_t>(kChecksumBlock);
      writer.write_block(fragment, block,
                         {memory.get() + fragments[fragment].begin + at,
                          std::min<std::size_t>(kChecksumBlock, fragments[fragment].size - at)});
    }
  });
  record.written = writer.finish();
  record.file = writer.file();
}

// On rank 0: from the shards' records to a committed step. Returns its digest.
std::string Saver::State::commit_all(const std::vector<std::string>& records) {
  std::vector<ShardRecord> shards;
  for (const std::string& bytes : records) shards.push_back(parse_shard_record(bytes));
  Manifest manifest = merge_records(shards);
  manifest.description = description;
  manifest.save_id = save_id;
  check_manifest(manifest, fmt::format("the states of step {}", description.progress.step));
  std::string digest = digest_of(manifest);
  report.bytes = write_commit(temporary, std::move(manifest));
  sync_directory(temporary);
  put_in_place(temporary, directory);
  mine_to_remove = false;
  sync_directory(directory.parent_path());
  std::error_code error;
  std::filesystem::remove_all(temporary, error);  // the step that it replaced, if any
  return digest;
}

void Saver::State::abandon() noexcept {
  staged = false;
  if (!mine_to_remove) return;
  mine_to_remove = false;
  std::error_code error;
  std::filesystem::remove_all(temporary, error);
}

Saver::Saver(comm::Communicator& world, std::string file, int threads, const trace::Lane& lane)
    : state_(std::make_unique<State>(world, std::move(file), threads)) {
  state_->stream.set_lane(lane);
}

Saver::~Saver() { state_->abandon(); }

void Saver::stage(const Path& directory, const Description& description, const std::vector<LocalState>& states) {
  const Clock::time_point start = Clock::now();
  State& s = *state_;
  s.abandon();
  s.directory = directory.has_filename() ? directory : directory.parent_path();
  s.description = description;
  s.failure.reset();
  s.record = {};
  s.wrote = false;
  s.report = {};
  std::optional<Failure> failure;
  std::vector<Copy> copies;
  std::vector<FragmentPlan> plans;
  try {
    if (s.world.rank() == 0) s.create_temporary();
    copies = s.plan_copies(states);
    for (const StagedFragment& fragment : s.fragments) plans.push_back(fragment.plan);
    s.reserve();
  } catch (const std::exception& error) {
    failure = failure_of(error);
  }
  if (s.world.rank() != 0) s.temporary.clear();
  const std::string path = comm::broadcast_text(s.world, s.stream, failure ? "" : s.temporary.string(), 0);
  s.save_id = comm::broadcast_text(s.world, s.stream, s.save_id, 0);
  s.temporary = path;
  const auto needed = static_cast<std::int64_t>(plans.empty() ? 0 : estimated_shard_bytes(plans));
  const std::int64_t total = sum_of(s.world, s.stream, needed);
  std::error_code ignored;
  if (!failure && !path.empty()) {
    std::string problem;
    if (!std::filesystem::is_directory(s.temporary, ignored)) {
      problem = fmt::format(
          "cannot see '{}', which rank 0 created: checkpoints go to a file system that all ranks share", path);
    } else {
      problem = room_problem(s.temporary, static_cast<std::uint64_t>(total), static_cast<std::uint64_t>(needed));
    }
    if (!problem.empty()) failure = Failure{ExitCode::kEnvironment, problem};
  }
  try {
    agree(s.world, s.stream, failure);
  } catch (...) {
    s.abandon();
    throw;
  }
  s.copy(copies);
  s.staged = true;
  s.report.stall_seconds = seconds_since(start);
}

void Saver::write() noexcept {
  State& s = *state_;
  const Clock::time_point start = Clock::now();
  try {
    check(s.staged && !s.wrote, "what is written has been staged, once");
    s.wrote = true;
    s.write_shard();
  } catch (const std::exception& error) {
    s.failure = failure_of(error);
  }
  s.report.write_seconds = seconds_since(start);
}

SaveReport Saver::commit() {
  State& s = *state_;
  if (!s.failure && !s.wrote) s.failure = Failure{ExitCode::kInternal, "commit() follows write()"};
  try {
    agree(s.world, s.stream, s.failure);
    const std::vector<std::string> records = comm::gather_texts(s.world, s.stream, to_bytes(s.record), 0);
    std::optional<Failure> failure;
    std::string digest;
    if (s.world.rank() == 0) {
      try {
        digest = s.commit_all(records);
      } catch (const std::exception& error) {
        failure = failure_of(error);
      }
    }
    agree(s.world, s.stream, failure);
    s.report.digest = comm::broadcast_text(s.world, s.stream, digest, 0);
    auto bytes = static_cast<std::int64_t>(s.report.bytes);
    s.report.bytes = static_cast<std::uint64_t>(sum_of(s.world, s.stream, bytes));
  } catch (...) {
    s.abandon();
    throw;
  }
  s.staged = false;
  return s.report;
}

}  // namespace convoy::checkpoint
