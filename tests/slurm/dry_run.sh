#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What submit.sh --dry-run prints for the example job files: the command lines of sbatch, spelled out by hand. Needs no Slurm; usage
# dry_run.sh BIN_FOLDER.
# shellcheck disable=SC2016
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PATH=$1:$PATH
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
work="$folder/it's here"
mkdir "$work"
cp "$root"/slurm/examples/*.toml "$work"

# expect NAME: of NAME.toml, the lines of the standard input; @/ stands for the folder of the scripts.
expect() {
  "$root/slurm/submit.sh" "$work/$1.toml" --dry-run >"$folder/found" 2>"$folder/said" || { cat "$folder/said"; exit 1; }
  sed "s|@/|$root/slurm/|" >"$folder/expected"
  diff "$folder/expected" "$folder/found" || { printf 'FAILED: %s.toml\n' "$1"; exit 1; }
  if [ -e "$work/logs" ]; then printf 'FAILED: a dry run made something\n'; exit 1; fi
}

# The one line that depends on where this runs comes first.
quoted_work="'${work//\'/\'\\\'\'}'"
{ printf 'cd %s\n' "$quoted_work"; cat <<'LINES'; } >"$folder/cpu"
mkdir -p -- logs
convoy-preprocess plan 'corpus/*.jsonl.zst' --shards=64 --tokenizer=tokenizer.model --out-dir=shards --append-eos --split=train=0.999,valid=0.001
preprocess=$(sbatch --parsable --array=0-63%16 --job-name=cpu-preprocess --output=logs/cpu-preprocess-%A_%a.log --cpus-per-task=8 --time=1:00:00 --partition=batch --account=project-17 @/preprocess.sbatch '--setup=module load convoy' --plan=shards/plan.json)
merge=$(sbatch --parsable --dependency=afterok:$preprocess --kill-on-invalid-dep=yes --job-name=cpu-merge --output=logs/cpu-merge-%j.log --time=1:00:00 --partition=batch --account=project-17 @/merge.sbatch '--setup=module load convoy' --plan=shards/plan.json --out=data/corpus)
train=$(sbatch --parsable --dependency=afterok:$merge --kill-on-invalid-dep=yes --job-name=cpu-train --output=logs/cpu-train-%j.log --nodes=4 --ntasks-per-node=2 --cpus-per-task=32 --time=12:00:00 --partition=batch --account=project-17 --signal=B:USR2@600 @/train.sbatch '--setup=module load convoy' --model=llama-110m --sequence-length=1024 --data=data/corpus.train --valid-data=data/corpus.valid --global-batch-size=256 --tokens=2000000000 --lr=6e-04 --warmup-steps=500 --out=runs/first --eval-every=1000 --checkpoint-every=30m --keep-last=3)
export=$(sbatch --parsable --dependency=afterok:$train --kill-on-invalid-dep=yes --job-name=cpu-export --output=logs/cpu-export-%j.log --cpus-per-task=4 --time=30 --partition=batch --account=project-17 @/ckpt.sbatch '--setup=module load convoy' verify runs/first --deep -- export runs/first --out=exported/first --dtype=bf16 --tokenizer=tokenizer.model)
report=$(sbatch --parsable --dependency=afterok:$export --kill-on-invalid-dep=yes --job-name=cpu-report --output=logs/cpu-report-%j.log --time=30 --partition=batch --account=project-17 @/profile.sbatch '--setup=module load convoy' report runs/first --html=runs/first/report.html '--fail-on=straggler>10%')
LINES
expect cpu <"$folder/cpu"

{ printf 'cd %s\n' "$quoted_work"; cat <<'LINES'; } >"$folder/gpu"
mkdir -p -- logs
train=$(sbatch --parsable --job-name=gpu-train --output=logs/gpu-train-%j.log --nodes=2 --ntasks-per-node=4 --cpus-per-task=1 --gres=gpu:4 --mem=0 --time=1-00:00:00 --partition=gpu --account=project-17 --mail-user=ada@example.org --mail-type=END,FAIL --signal=B:USR2@300 --comment=pretraining @/train.sbatch '--setup=module load convoy' --max-requeues=20 --model=llama-1b --sequence-length=2048 --data=data/corpus.train --valid-data=data/corpus.valid --global-batch-size=128 --steps=20000 --tensor-parallel=4 --zero=1 --out=runs/gpu --checkpoint-every=30m)
export=$(sbatch --parsable --dependency=afterok:$train --kill-on-invalid-dep=yes --job-name=gpu-export --output=logs/gpu-export-%j.log --partition=batch --account=project-17 --mail-user=ada@example.org --mail-type=END,FAIL --comment=pretraining @/ckpt.sbatch '--setup=module load convoy' verify runs/gpu --deep -- export runs/gpu --out=exported/gpu)
report=$(sbatch --parsable --dependency=afterok:$export --kill-on-invalid-dep=yes --job-name=gpu-report --output=logs/gpu-report-%j.log --partition=batch --account=project-17 --mail-user=ada@example.org --mail-type=END,FAIL --comment=pretraining @/profile.sbatch '--setup=module load convoy' report runs/gpu --html=runs/gpu/report.html)
LINES
expect gpu <"$folder/gpu"
for said in 'preprocess: left out' 'merge: left out'; do grep -q "$said" "$folder/said" || { printf 'FAILED: not said: %s\n' "$said"; exit 1; }; done
printf 'passed: dry_run\n'
