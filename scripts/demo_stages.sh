#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What demo.sh does whatever runs its stages: its folder, its corpus, its job files. Sourced; uses root, out and quick.
# shellcheck shell=bash disable=SC2154

if [ "$quick" = yes ]; then steps=100; else steps=1000; fi
half=$((steps / 2))

# Only what an earlier demo made is replaced: the marker file says that the folder is one.
make_folder() {
  if [ -e "$out/.convoy-demo" ]; then
    if [ -e "$out/cluster" ]; then "$root/slurm/dev-cluster/stop.sh" --dir "$out/cluster"; fi
    rm -rf "${out:?}"
  elif [ -d "$out" ] && [ -n "$(find "$out" -mindepth 1 -print -quit)" ]; then
    printf 'demo.sh: %s holds something that is no demo; give another --out\n' "$out" >&2
    exit 7
  fi
  mkdir -p "$out"
  : >"$out/.convoy-demo"
}

# Gone at the end, however that comes.
start_cluster() {
  trap stop_cluster EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  run "$root/slurm/dev-cluster/start.sh" --dir "$out/cluster" || return 1
  # shellcheck source=/dev/null
  . "$out/cluster/env.sh"
}
stop_cluster() {
  local status=$?
  trap - EXIT INT TERM
  "$root/slurm/dev-cluster/stop.sh" --dir "$out/cluster" || status=1
  exit "$status"
}

list_corpus() {
  local bytes
  {
    dpkg -L perl-doc | grep '\.pod$' | grep -Ev '/perl(cn|jp|ko|tw)\.pod$'
    find -L /usr/share/vim -path '*/doc/*.txt' -type f
  } | LC_ALL=C sort >corpus.txt
  bytes=$(tr '\n' '\0' <corpus.txt | xargs -0 cat | wc -c)
  printf '%d files, %d bytes of English text\n' "$(wc -l <corpus.txt)" "$bytes"
  [ "$bytes" -ge 10000000 ] || { printf 'demo.sh: less than 10 MB of text: are perl-doc and vim-runtime installed whole?\n' >&2; exit 3; }
}

write_model() {
  cat >config.json <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 4096, "hidden_size": 256, "intermediate_size": 704,
 "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 256, "rms_norm_eps": 1e-5,
 "rope_theta": 10000.0, "tie_word_embeddings": true, "hidden_act": "silu"}
JSON
}

# The keys of [train] that both jobs share. They are two halves of one schedule, and so decay as one.
recipe() {
  cat <<TOML
nodes = 2
ntasks-per-node = 2
cpus-per-task = 1
time = "1:00:00"
model = "config.json"
data = ["data/docs.train"]
valid-data = ["data/docs.valid"]
global-batch-size = 8
micro-batch-size = 2
decay-steps = $steps
lr = 3e-3
min-lr = 3e-4
weight-decay = 0.1
precision = "bf16"
threads = 1
seed = 1
TOML
  if [ "$quick" = yes ]; then
    printf '%s\n' 'sequence-length = 128' 'warmup-steps = 20' 'eval-every = 50' 'eval-steps = 20'
  else
    printf '%s\n' 'sequence-length = 256' 'warmup-steps = 50' 'eval-every = 250' 'eval-steps = 40'
  fi
}

# The fault that the profiler has to find: rank 3's backward passes take half as long again for most of this job.
write_first() {
  write_model
  cat >first.toml <<TOML
[preprocess]
inputs = ["@corpus.txt"]
format = "text"
tokenizer = "tokenizer.model"
append-eos = true
split = "train=0.95,valid=0.05"
shards = 4
out-dir = "shards"
cpus-per-task = 1

[merge]
out = "data/docs"

[train]
$(recipe)
out = "first"
steps = $half
tensor-parallel = 2
checkpoint-every = "$((steps / 20))"
keep-last = 2
fault = ["slow:rank=3,factor=1.5,phase=backward,steps=$((steps / 10))-$((steps * 4 / 10))"]

[report]
html = "report.html"
TOML
}

write_second() {
  cat >second.toml <<TOML
[train]
$(recipe)
out = "run"
steps = $steps
pipeline-parallel = 2
resume-from = "resharded"
checkpoint-every = "$((steps / 10))"
keep-last = 2

[export]
out = "hf"

[report]
TOML
}

# at_step RUN STEP: whether it is that far.
at_step() { [ -e "$1/metrics.jsonl" ] && [ "$(grep -c '"kind":"step"' "$1/metrics.jsonl")" -ge "$2" ]; }
