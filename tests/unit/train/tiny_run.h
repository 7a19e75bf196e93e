// SPDX-License-Identifier: Apache-2.0
// A model and data small enough to train in milliseconds: 2 layers, width 16, vocabulary 37, and a stream of
// pseudo-random tokens.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/file.h"
#include "libcore/base/random.h"
#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/hf_folder.h"
#include "libcore/comm/self.h"
#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"
#include "libcore/train/prepare.h"
#include "libcore/train/run.h"
#include "libcore/train/weights.h"
#include "tests/support/megatron_pair.h"
#include "tests/support/tmp_dir.h"

namespace convoy::train {

constexpr std::int64_t kTinyVocabulary = 37;

inline std::string tiny_llama() {
  return R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","vocab_size":37,"hidden_size":16,"intermediate_size":24,
    "num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"max_position_embeddings":16,"rms_norm_eps":1e-5,
    "rope_theta":10000.0,"tie_word_embeddings":false,"hidden_act":"silu"})";
}

using support::TmpDir;

using support::write_pair;

inline std::vector<std::int32_t> random_tokens(std::int64_t count) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(
        static_cast<std::int32_t>(mix64(static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(kTinyVocabulary)));
  }
  return tokens;
}

inline std::vector<std::string> lines_of(const Path& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Writes model and data into `folder` and says how to train on them: B 8 as 2 micro-batches, T 8, 6 steps, fp32, one
// thread.
inline config::RunOptions tiny_options(const TmpDir& folder, const std::string& run = "run") {
  folder.write("config.json", tiny_llama());
  write_pair(folder / "train", random_tokens(1001), {1001});
  write_pair(folder / "valid", random_tokens(101), {101});
  config::RunOptions options;
  options.model.model = (folder / "config.json").string();
  options.model.sequence_length = 8;
  options.data.data = {(folder / "train").string()};
  options.data.valid_data = {(folder / "valid").string()};
  options.data.foreign = true;
  options.batch.global_batch = 8;
  options.batch.micro_batch = 4;
  options.batch.steps = 6;
  options.optimizer.lr = 1e-2;
  options.device.precision = "fp32";
  options.device.threads = 1;
  options.output.out = (folder / run).string();
  options.output.tensorboard = false;
  return options;
}

inline config::MachineFacts tiny_machine(int world = 1) {
  config::MachineFacts machine;
  machine.cores = 2;
  machine.default_threads = 2;
  machine.world = world;
  return machine;
}

// Asked on rank `rank`, as often as it looks for a signal.
using StopOf = std::function<cluster::StopReason(int rank)>;

// Trains on `ranks` threads; the exit code is the same on all.
inline ExitCode train_tiny(const config::RunOptions& options, int ranks = 1, const StopOf& stop = {}) {
  std::vector<ExitCode> codes(static_cast<std::size_t>(ranks));
  const auto body = [&](comm::Communicator& world) {
    const int rank = world.rank();
    Rank self{world, {"here", 1 + rank, "", "process 1 on here"}, tiny_machine(ranks)};
    if (stop) self.stop_requested = [&stop, rank] { return stop(rank); };
    codes[static_cast<std::size_t>(rank)] = run(options, self, {{"convoy-train", "run"}, "[train]\n", {{"fmt", "9"}}});
  };
  if (ranks == 1) {
    const std::unique_ptr<comm::Communicator> world = comm::make_self();
    body(*world);
  } else {
    comm::run_ranks(ranks, body);
  }
  for (const ExitCode code : codes) check(code == codes.front(), "all ranks end with one code");
  return codes.front();
}

// A fresh tiny model as a Hugging Face folder, `added` to element `index` of its tensor `name`.
inline void write_tiny_folder(const Path& folder, const std::string& name = "", std::int64_t index = 0,
                              float added = 0.0f) {
  const model::Config config = model::parse_config(tiny_llama(), "tiny");
  device::Stream stream(ops::cpu_backend(), 1);
  model::Parameters parameters(model::parameter_table(config), tensor::DType::kF32, true);
  optim::AdamW optimizer(parameters, {});
  initialise(stream, parameters, 1, optimizer);
  std::vector<checkpoint::NamedTensor> tensors;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters.table()[i].name == name) parameters.weight(i).as<float>()[index] += added;
    tensors.push_back({parameters.table()[i].name, parameters.weight(i)});
  }
  std::filesystem::create_directories(folder);
  checkpoint::write_hf_folder(folder, tensors,
                              {.dtype = tensor::DType::kF32, .config_json = model::to_json(config, "float32")});
}

inline std::string digest_of(const Path& step_directory) { return checkpoint::Checkpoint(step_directory).digest(); }

}  // namespace convoy::train
