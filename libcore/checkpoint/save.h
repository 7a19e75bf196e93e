// SPDX-License-Identifier: Apache-2.0
// Saves a checkpoint from all ranks of a run: every rank stages what it holds, writes its shard, and then all commit
// together or none does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libcore/checkpoint/manifest.h"
#include "libcore/checkpoint/shard_writer.h"
#include "libcore/comm/communicator.h"
#include "libcore/tensor/view.h"

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

// One save at a time. The three parts are apart so that training may go on between them: stage() copies, write() touches
// files alone and calls no communicator, commit() is collective.
class Saver {
 public:
  // `file`: this rank's, shard_file_name(). `threads` write.
  Saver(comm::Communicator& world, std::string file, int threads);
  ~Saver();

  // Copies the states into memory that is kept from save to save. `description` is the same on every rank.
  void stage(const Path& directory, const Description& description, const std::vector<LocalState>& states);
  // Writes the staged shard under the temporary sibling of the directory. Errors are kept for commit().
  void write() noexcept;
  // Collective. All shards are there: rank 0 writes common.h5, the manifest and COMMIT and renames. Else nothing is left
  // but what was there before, and every rank throws the same error, which names rank, host and reason.
  SaveReport commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string shard_file_name(int tensor, int pipeline, int data);  // "shard_tp000_pp000_dp00000.h5"

// What an interrupted save of this run left behind under `checkpoints` is removed. One rank calls it, before training.
void remove_leftovers(const Path& checkpoints);

// Which of the committed steps go once `newest` is there: all but the last `keep_last` (0: none goes) and those that
// `keep_every` divides (0: no such). Pure.
std::vector<std::int64_t> steps_to_remove(std::vector<std::int64_t> committed, std::int64_t keep_last,
                                          std::int64_t keep_every);
// Removes a committed step so that a crash on the way leaves nothing that looks complete.
void remove_step(const Path& step_directory);

// Writes manifest, common.h5 and COMMIT into a folder whose shard files lie there, for programs that write checkpoints
// alone (the folder is committed by AtomicDirectory).
void write_manifest(const Path& folder, const Manifest& manifest);

}  // namespace convoy::checkpoint
