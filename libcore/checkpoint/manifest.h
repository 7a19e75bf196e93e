// SPDX-License-Identifier: Apache-2.0
// What a checkpoint directory says of itself (manifest.json): which tensors there are, which box of which lies where,
// with which checksums, and the counters of the run. docs/formats.md describes the files.
//
//   step_000001000/ manifest.json  common.h5  shard_tp000_pp000_dp00000.h5 ..  COMMIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/tensor/box.h"
#include "libcore/tensor/dtype.h"

namespace convoy::checkpoint {

constexpr int kFormatVersion = 1;
constexpr std::int64_t kChecksumBlock = std::int64_t{4} << 20;  // bytes of a fragment under one CRC

// The states of a tensor: its fp32 weights (the masters, in a bf16 or fp16 run), and AdamW's moments.
constexpr std::string_view kWeight = "weight", kFirstMoment = "exp_avg", kSecondMoment = "exp_avg_sq";

// What a dynamic loss scale remembers beside its value.
struct LossScaleHistory {
  std::int64_t finite_steps = 0;    // in a row
  std::int64_t overflows_left = 0;  // until it falls
  friend bool operator==(const LossScaleHistory&, const LossScaleHistory&) = default;
};

// The counters of a run. All but `skipped_in_a_row` enter the digest.
struct Progress {
  std::int64_t step = 0;
  std::int64_t update = 0;
  std::int64_t consumed_samples = 0;
  std::int64_t skipped_in_a_row = 0;
  std::optional<double> loss_scale;                         // of fp16
  std::optional<LossScaleHistory> loss_scale_history = {};  // of a dynamic one
};

// Over how many ranks the states were spread when they were written; a record, nothing depends on it.
struct StoredLayout {
  int tensor = 1, pipeline = 1, zero_shards = 1;
};

// Everything of a checkpoint but its tensors.
struct Description {
  Progress progress;
  StoredLayout layout;
  std::string model_config;  // config.json's text
  // Key and value of everything that must be the same, or be named by --allow-change, where the run goes on: "model",
  // "sequence-length", "seed", "data", "lr", ... Sorted by key.
  std::vector<std::pair<std::string, std::string>> fingerprint;
  std::vector<std::pair<std::string, std::string>> aliases;  // "lm_head.weight" -> "model.embed_tokens.weight"
  std::string origin;                                        // run id, version and host that wrote it: for people
};

// One state of one tensor.
struct StoredTensor {
  std::string name, state;
  tensor::DType dtype = tensor::DType::kF32;
  tensor::Shape shape;
  std::uint64_t digest = 0;  // invariant of the layout: digest.h
};

// A box of a state that lies in one file, dense and row-major. Where a file has several of one state, they are listed
// in the order in which they were given to ShardWriter.
struct StoredFragment {
  std::size_t tensor = 0;  // index into Manifest::tensors
  std::size_t file = 0;    // index into Manifest::files
  tensor::Box box;
  std::uint64_t offset = 0;           // bytes from the start of the file
  std::vector<std::uint32_t> crc32c;  // of every kChecksumBlock bytes
};

struct StoredFile {
  std::string name;
  std::uint64_t size = 0;
  std::uint32_t crc32c = 0;  // of all its bytes outside of fragments, in file order
};

struct Manifest {
  Description description;
  std::string save_id;                // the same in all files of one save
  std::vector<StoredTensor> tensors;  // sorted by (name, state)
  std::vector<StoredFragment> fragments;
  std::vector<StoredFile> files;
};

// The text of manifest.json; the manifest's tensors are sorted.
std::string to_json(const Manifest& manifest);
// DataError naming `where`, the field, what was expected and found: also for boxes that overlap, leave a hole, or lie
// outside of their tensor or file. Unknown fields are passed over; memory stays proportional to the text.
Manifest parse_manifest(std::string_view json, std::string_view where);

// SHA-256 over the sorted lines `name state dtype shape digest`, aliases as `alias:NAME`, then the progress: nothing
// about layouts, hosts, times or paths.
std::string digest_of(const Manifest& manifest);

}  // namespace convoy::checkpoint
