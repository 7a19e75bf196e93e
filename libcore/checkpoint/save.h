// SPDX-License-Identifier: Apache-2.0
// Saves a checkpoint from all ranks of a run: every rank stages what it holds, writes its shard, and then all commit
// together or none does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/checkpoint/manifest.h"
#include "libcore/checkpoint/shard_writer.h"
#include "libcore/comm/communicator.h"
#include "libcore/tensor/view.h"
#include "libcore/trace/lane.h"

namespace convoy::checkpoint {

// A flat piece of a tensor that this rank stores: contiguous boxes of it, one after another, lie at `data`.
struct LocalState {
  std::string name, state;
  tensor::Shape shape;             // global
  std::vector<tensor::Box> boxes;  // in the order of the data; none: nothing of it is stored here
  tensor::View data;               // flat, dense; its dtype is the stored one
};

struct SaveReport {
  std::string digest;
  std::uint64_t bytes = 0;  // of all ranks
  double stall_seconds = 0.0, write_seconds = 0.0;
};

// One save at a time. The three parts are apart so that training may go on between them: stage() copies, write()
// touches files alone and calls no communicator, commit() ends the save.
class Saver {
 public:
  // `file`: this rank's, shard_file_name(). `threads` copy and write. The collectives are recorded on `lane`.
  Saver(comm::Communicator& world, std::string file, int threads, const trace::Lane& lane = {});
  ~Saver();

  // Collective. Rank 0 creates a temporary sibling of the directory (whose parents exist), all make sure that they see
  // it and that the disk has room, and each copies its states into memory that is kept from save to save. On failure
  // nothing is left, and every rank throws the same error. `description` is the same on every rank (rank 0's is
  // written).
  void stage(const Path& directory, const Description& description, const std::vector<LocalState>& states);
  // Writes the staged shard into the temporary sibling. Errors are kept for commit(). Any thread may call it.
  void write() noexcept;
  // Collective. If all shards are there, rank 0 writes common.h5, the manifest and COMMIT and renames; a step of that
  // name that was there before is exchanged for it and goes. Else nothing is left but what was there before, and every
  // rank throws the same EnvironmentError, which names rank, host, path and reason. A rank without fragments writes no
  // file.
  SaveReport commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string shard_file_name(int tensor, int pipeline, int data);  // "shard_tp000_pp000_dp00000.h5"

// What interrupted saves of this run left behind under `checkpoints` is removed: hidden siblings of step directories,
// named
// ".step_000001000.HOST.PID-N.tmp" (or .trash). One rank calls it before training, while it holds the run's lock: so a
// save of another process is a dead one. Those of a process that still lives on this host are left alone, and so is
// every other name.
void remove_leftovers(const Path& checkpoints);

// The steps of a folder of checkpoints that have a COMMIT, ascending; cheap, nothing is opened.
std::vector<std::int64_t> committed_steps(const Path& checkpoints);

// Which of the committed steps go: all but the last `keep_last` (0: none goes) and those that `keep_every` divides (0:
// no such). Steps after `saved`, the one just saved, are of a future that a resumed run left: they neither count nor
// go. Pure.
std::vector<std::int64_t> steps_to_remove(std::vector<std::int64_t> committed, std::int64_t keep_last,
                                          std::int64_t keep_every, std::optional<std::int64_t> saved = std::nullopt);
// Removes a committed step so that a crash on the way leaves nothing that looks complete: it is renamed first.
void remove_step(const Path& step_directory);

// Writes common.h5, manifest.json and, last, COMMIT into a folder whose shard files lie there, for programs that write
// checkpoints alone (the folder is committed by AtomicDirectory). The manifest lists the shards; sizes and checksums of
// files are taken from what lies there, and the files are complete: ShardWriter::finish() has been called. Tensors are
// sorted; their digests are the sums of WrittenFragment::digest. DataError if fragments do not tile the tensors.
void write_manifest(const Path& folder, const Manifest& manifest);

}  // namespace convoy::checkpoint
