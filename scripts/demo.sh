#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real text in, a trained language model out: sets up and builds, trains a tokenizer, encodes the corpus, trains a Llama in
# bf16 on four ranks of which one is slow for a while, stops half-way, asks who was slow, lays the checkpoint out anew, goes on
# there, samples, verifies and exports. Everything it prints is what happens as it happens; a summary ends it.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/demo.sh [--quick] [--out DIR] [--threads N]

Trains a small Llama on the English documentation of Perl and Vim (18 MB, from Debian packages) and prints what it learned:
first with every matrix split over two ranks and two replicas, then, from the stop half-way, as a pipeline of two stages. One
rank is made slow for a while, and the profiler is asked which.

  --quick      fewer and shorter steps: under 3 minutes after the build (the full demo: under 20)
  --out DIR    where everything goes (default: demo/full or demo/quick in the repository; an earlier run there is replaced)
  --threads N  threads to encode with (default: all cores; each of the four training ranks has one)
  --help       this text
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
quick=no out='' threads=$(nproc)
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=yes ;;
    --out) out=${2:?--out needs a folder}; shift ;;
    --threads) threads=${2:?--threads needs a number}; shift ;;
    --help | -h) usage; exit 0 ;;
    *) printf 'demo.sh: unknown argument %s\n\n' "$1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
if [ -z "$out" ]; then
  if [ "$quick" = yes ]; then out=$root/demo/quick; else out=$root/demo/full; fi
fi

started=$SECONDS
step() { printf '\n\033[1m== %s\033[0m  [%dm %02ds]\n' "$*" $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)); }
run() { printf '$ %s\n' "$*"; "$@"; }

step "Set-up: packages"
"$root/scripts/setup.sh"

step "Build: release preset"
cd "$root"
cmake --preset release >/dev/null
cmake --build --preset release --target convoy-preprocess --target convoy-train --target convoy-ckpt --target convoy-profile --target convoy_mpi
PATH=$root/build/release/bin:$PATH
built=$SECONDS

# Only what an earlier demo made is replaced: the marker file says that the folder is one.
if [ -e "$out/.convoy-demo" ]; then
  rm -rf "${out:?}"
elif [ -d "$out" ] && [ -n "$(find "$out" -mindepth 1 -print -quit)" ]; then
  printf 'demo.sh: %s holds something that is no demo; give another --out\n' "$out" >&2
  exit 7
fi
mkdir -p "$out/corpus" "$out/data" "$out/tokenizer"
: >"$out/.convoy-demo"

step "Corpus: the documentation of Perl and Vim"
{
  dpkg -L perl-doc | grep '\.pod$' | grep -Ev '/perl(cn|jp|ko|tw)\.pod$'
  find -L /usr/share/vim -path '*/doc/*.txt' -type f
} | LC_ALL=C sort >"$out/corpus/files.txt"
bytes=$(tr '\n' '\0' <"$out/corpus/files.txt" | xargs -0 cat | wc -c)
printf '%d files, %d bytes of English text\n' "$(wc -l <"$out/corpus/files.txt")" "$bytes"
[ "$bytes" -ge 10000000 ] || { printf 'demo.sh: less than 10 MB of text: are perl-doc and vim-runtime installed whole?\n' >&2; exit 3; }

step "Tokenizer: 4,096 byte-pair pieces"
run convoy-preprocess train-tokenizer "@$out/corpus/files.txt" --format text --out "$out/tokenizer/demo" --vocab-size 4096 --model bpe --sample-bytes 6M

step "Encode: text to token shards, one document in twenty held out"
run convoy-preprocess encode "@$out/corpus/files.txt" --format text --document-separator file --tokenizer "$out/tokenizer/demo.model" \
  --out "$out/data/docs" --append-eos --split train=0.95,valid=0.05 --threads "$threads"
run convoy-preprocess info "$out/data/docs.train" --against "$out/data/docs.valid"
convoy-preprocess info "$out/data/docs.train" --against "$out/data/docs.valid" --json >"$out/info.json"

cat >"$out/config.json" <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 4096, "hidden_size": 256, "intermediate_size": 704,
 "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 256, "rms_norm_eps": 1e-5,
 "rope_theta": 10000.0, "tie_word_embeddings": true, "hidden_act": "silu"}
JSON
if [ "$quick" = yes ]; then
  steps=100
  length=(--sequence-length 128 --global-batch-size 8 --micro-batch-size 2 --steps "$steps" --warmup-steps 20 --eval-every 50 --eval-steps 20)
else
  steps=1000
  length=(--sequence-length 256 --global-batch-size 8 --micro-batch-size 2 --steps "$steps" --warmup-steps 50 --eval-every 200 --eval-steps 40)
fi
recipe=(--model "$out/config.json" --data "$out/data/docs.train" --valid-data "$out/data/docs.valid" "${length[@]}"
  --lr 3e-3 --min-lr 3e-4 --weight-decay 0.1 --precision bf16 --threads 1 --seed 1)
if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
four=(mpirun --oversubscribe -n 4)
# The fault that the profiler has to find: a rank whose backward passes take half as long again, for a third of the first run.
slow=slow:rank=3,factor=1.5,phase=backward,steps=$((steps / 10))-$((steps * 4 / 10))

# stop_at RUN STEP: what a batch system does before it takes the nodes away: one signal to one rank.
stop_at() {
  until [ "$(wc -l 2>/dev/null <"$1/metrics.jsonl" || echo 0)" -ge "$2" ]; do sleep 0.2; done
  kill -USR2 "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$1/run.json")"
}

step "Train: a Llama in bf16 on 4 ranks, tensor parallel 2 x data parallel 2, until a stop signal half-way"
stop_at "$out/first" $((steps / 2)) &
watcher=$!
status=0
run "${four[@]}" convoy-train run "${recipe[@]}" --out "$out/first" --tensor-parallel 2 --fault "$slow" || status=$?
kill "$watcher" 2>/dev/null || true
[ "$status" -eq 75 ] || { printf 'demo.sh: expected exit code 75 (stopped early, checkpoint committed), got %d\n' "$status" >&2; exit 1; }
printf 'exit code 75: stopped early with a committed checkpoint\n'

step "Profile: who was slow?"
run convoy-profile report "$out/first" --html "$out/report.html"
convoy-profile report "$out/first" --json >"$out/report.json"

step "Reshard: the same state, optimizer included, for pipeline parallel 2 x data parallel 2"
run convoy-ckpt reshard "$out/first" --out "$out/resharded" --tensor-parallel 1 --pipeline-parallel 2 --zero-shards 2
run convoy-ckpt diff "$out/first" "$out/resharded" --states all

step "Train on: 4 ranks, pipeline parallel 2 x data parallel 2"
run "${four[@]}" convoy-train run "${recipe[@]}" --out "$out/run" --resume-from "$out/resharded" --pipeline-parallel 2

step "Verify: every byte of the last checkpoint"
run convoy-ckpt verify "$out/run" --deep

step "Sample: what it writes"
run convoy-train sample --checkpoint "$out/run" --tokenizer "$out/tokenizer/demo.model" --prompt "The function returns" --max-tokens 80 --temperature 0.8 --top-k 40 --seed 1 | tee "$out/sample.txt"

step "Export: a Hugging Face folder"
run convoy-ckpt export "$out/run" --out "$out/hf" --to hf

if [ "$quick" = yes ]; then bar=unigram; else bar=bigram; fi
python3 "$root/scripts/demo_summary.py" "$out" "$bar" "$((SECONDS - started))" "$((SECONDS - built))"
