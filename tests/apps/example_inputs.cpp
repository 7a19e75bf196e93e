// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/example_inputs.h"

#include <zstd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/support/run_program.h"

namespace convoy::examples {
namespace {

using std::filesystem::path;

std::string content_of(const path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// The documentation of this repository: English enough for a vocabulary of 1,000 pieces.
void write_docs(const path& folder) {
  const path source = CONVOY_SOURCE_DIR;
  std::filesystem::create_directories(folder / "docs");
  std::filesystem::copy_file(source / "LICENSE", folder / "docs/LICENSE.txt");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source / "libcore")) {
    const path& file = entry.path();
    if (file.extension() != ".h") continue;
    std::filesystem::copy_file(
        file, folder / "docs" / (file.parent_path().filename().string() + "-" + file.stem().string() + ".txt"));
  }
}

// One record a line of the documentation, where the line needs no escapes.
std::string corpus_lines(const path& folder) {
  std::string jsonl;
  std::istringstream lines(content_of(folder / "docs/LICENSE.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_of("\"\\\t\r") == std::string::npos) jsonl += "{\"text\": \"" + line + "\"}\n";
  }
  return jsonl;
}

std::string compressed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

void write(const path& file, const std::string& content) { std::ofstream(file, std::ios::binary) << content; }

constexpr const char* kTinyModel =
    R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 1000, "hidden_size": 16,
 "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
 "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true, "hidden_act": "silu"}
)";

constexpr const char* kChain = R"([preprocess]
inputs = ["docs/"]
tokenizer = "tokenizer.model"
shards = 4
out-dir = "shards"
[merge]
out = "data/merged"
[train]
model = "config.json"
out = "runs/chain"
steps = 10
)";

// Two steps of two ranks, as another program would log them.
constexpr const char* kRows =
    R"({"rank":0,"host":"n01","step":1,"kind":"phase","name":"forward","start_ns":1000,"duration_ns":500}
{"rank":1,"host":"n01","step":1,"kind":"phase","name":"forward","start_ns":1000,"duration_ns":900}
{"rank":0,"step":1,"kind":"collective","name":"all_reduce","group":"dp0","sequence":1,"start_ns":1500,"duration_ns":500}
{"rank":1,"step":1,"kind":"collective","name":"all_reduce","group":"dp0","sequence":1,"start_ns":1900,"duration_ns":100}
{"rank":0,"step":2,"kind":"phase","name":"forward","start_ns":2000,"duration_ns":500}
{"rank":1,"step":2,"kind":"phase","name":"forward","start_ns":2000,"duration_ns":500}
)";

}  // namespace

std::string run_line(const path& folder, const std::string& line) {
  const char* search = std::getenv("PATH");
  std::string programs = CONVOY_BIN_DIR;
  programs.append(":").append(search == nullptr ? "/usr/bin:/bin" : search);
  const support::ProgramResult result = support::run_program({.arguments = {"bash", "-e", "-o", "pipefail", "-c", line},
                                                              .directory = folder,
                                                              .environment = {"PATH=" + programs, "OMP_NUM_THREADS=1"},
                                                              .input = ""});
  if (result.exit_code == 0) return "";
  return "$ " + line + "\nexit code " + std::to_string(result.exit_code) + "\n" + result.err + result.out;
}

std::string prepare(const path& folder) {
  write_docs(folder);
  write(folder / "corpus.jsonl", corpus_lines(folder));
  write(folder / "corpus.jsonl.zst", compressed(corpus_lines(folder)));
  write(folder / "config.json", kTinyModel);
  write(folder / "rows.jsonl", kRows);
  write(folder / "chain.toml", kChain);
  std::filesystem::create_directories(folder / "data");
  std::filesystem::create_directories(folder / "runs");
  std::vector<std::string> lines = {
      "convoy-preprocess train-tokenizer docs/ --out tokenizer --vocab-size 1000 --model bpe",
      "convoy-preprocess encode corpus.jsonl --tokenizer tokenizer.model --out data/corpus --append-eos",
      "convoy-preprocess encode docs/ --tokenizer tokenizer.model --out data/docs --append-eos --split "
      "train=0.8,valid=0.2"};
  lines.push_back("cp tokenizer.model data/docs.model");
  lines.push_back("convoy-preprocess plan corpus.jsonl --shards 2 --tokenizer tokenizer.model --out-dir shards --append-eos");
  lines.push_back("for shard in 0 1; do convoy-preprocess encode --plan shards/plan.json --shard $shard; done");
  if (CONVOY_HAS_TRAIN) {
    lines.push_back(
        "convoy-train run --model config.json --data data/docs.train --valid-data data/docs.valid --out runs/first "
        "--steps 1000 "
        "--sequence-length 16 --global-batch-size 1 --micro-batch-size 1 --eval-steps 1 --threads 1");
  }
  if (std::string(CONVOY_PROGRAMS).find("convoy-profile") != std::string::npos) {
    lines.push_back(
        "convoy-profile synth --out runs/slow --layout tp=2,dp=4 --steps 80 "
        "--fault slow:rank=3,factor=1.3,phase=forward");
  }
  for (const std::string& line : lines) {
    if (std::string wrong = run_line(folder, line); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace convoy::examples
