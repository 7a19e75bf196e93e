#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real text in, a trained language model out, on a private Slurm cluster of four nodes: an array tokenizes the corpus, a Llama trains
# in bf16 on four ranks of which one is slow for a while, the job survives what happens to it, a report says who was slow, the
# checkpoint is laid out anew, a second job trains on, and exports. Everything it prints is what happens as it happens.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/demo.sh [--quick] [--without-slurm] [--out DIR]

Trains a small Llama on the English documentation of Perl and Vim (18 MB, from Debian packages) and prints what it learned:
first with every matrix split over two ranks and two replicas, then as a pipeline of two stages. One rank is made slow for a
while, and the profiler is asked which. In between, the job is warned of its time limit, and in the full demo one of its nodes
loses power too; it comes back by itself.

  --quick          fewer and shorter steps: under 4 minutes after the build (the full demo: under 25)
  --without-slurm  the same stages one after the other with mpirun, as where Slurm cannot be installed or started
  --out DIR        where everything goes (default: demo/full or demo/quick in the repository; an earlier demo there is replaced)
  --help           this text

The cluster is private (slurm/dev-cluster), and gone afterwards, also after Ctrl-C.
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
quick=no slurm=yes out=''
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=yes ;;
    --without-slurm) slurm=no ;;
    --out) out=${2:?--out needs a folder}; shift ;;
    --help | -h) usage; exit 0 ;;
    *) printf 'demo.sh: unknown argument %s\n\n' "$1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
if [ -z "$out" ]; then
  if [ "$quick" = yes ]; then out=$root/demo/quick; else out=$root/demo/full; fi
fi
out=$(realpath -m -- "$out")
. "$root/scripts/demo_stages.sh"

started=$SECONDS
step() { printf '\n\033[1m== %s\033[0m  [%dm %02ds]\n' "$*" $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)); }
run() { printf '$ %s\n' "$*"; "$@"; }

step "Set-up: packages"
"$root/scripts/setup.sh"
if [ "$slurm" = yes ]; then "$root/scripts/setup.sh" --slurm || slurm=missing; fi

step "Build: release preset"
cd "$root"
cmake --preset release >/dev/null
cmake --build --preset release --target convoy-preprocess --target convoy-train --target convoy-ckpt --target convoy-profile --target convoy_mpi
PATH=$root/build/release/bin:$PATH
built=$SECONDS

make_folder
cd "$out"

if [ "$slurm" = yes ]; then
  step "Cluster: Slurm with four nodes, private"
  start_cluster || slurm=broken
fi
case $slurm in
  yes) . "$root/scripts/demo_slurm.sh" ;;
  *)
    [ "$slurm" = no ] || printf 'demo.sh: no Slurm here (see above); mpirun runs the same stages instead\n'
    . "$root/scripts/demo_mpirun.sh"
    ;;
esac

step "Corpus: the documentation of Perl and Vim"
list_corpus

step "Tokenizer: 4,096 byte-pair pieces"
run convoy-preprocess train-tokenizer @corpus.txt --format text --out tokenizer --vocab-size 4096 --model bpe --sample-bytes 6M

step "First chain: tokenize in four shards, merge, train on tensor parallel 2 x data parallel 2, report"
write_first
run_chain first
run convoy-preprocess info data/docs.train --against data/docs.valid
convoy-preprocess info data/docs.train --against data/docs.valid --json >info.json

step "Profile: who was slow?"
run convoy-profile report first
convoy-profile report first --json >report.json

step "Reshard: the same state, optimizer included, for pipeline parallel 2 x data parallel 2"
reshard first --out resharded --tensor-parallel 1 --pipeline-parallel 2 --zero-shards 2
run convoy-ckpt diff first resharded --states all

step "Second chain: train on from there, pipeline parallel 2 x data parallel 2; verify, export"
write_second
run_chain second

step "Sample: what it writes"
run convoy-train sample --checkpoint run --tokenizer tokenizer.model --prompt "The function returns" --max-tokens 80 --temperature 0.8 --top-k 40 --seed 1 | tee sample.txt

if [ "$quick" = yes ]; then bar=unigram; else bar=bigram; fi
python3 "$root/scripts/demo_summary.py" "$out" "$bar" "$((SECONDS - started))" "$((SECONDS - built))"
