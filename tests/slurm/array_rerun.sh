#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An array that is submitted again for one element says of itself that it has one; the shards are those of the plan all the same.
# Outside of an array no shard is anybody's.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_corpus
convoy-preprocess plan corpus --document-separator blank-line --tokenizer tokenizer.model --shards 4 --out-dir shards 2>/dev/null
options=(--parsable --output=%A_%a.log --cpus-per-task=1)
array() { array=$(sbatch "${options[@]}" "$@" "$root/slurm/preprocess.sbatch" --plan shards/plan.json); }
array --array=0-2
for element in 0 1 2; do expect_end "${array}_$element" COMPLETED 0; done
expect_equal 3 "$(convoy-preprocess status --plan shards/plan.json 2>/dev/null || true)" 'the missing shards'
if [ "$(id -u)" -eq 0 ]; then options+=(--export=NONE); fi
array --array=3
expect_end "${array}_3" COMPLETED 0
job=$(sbatch "${options[@]}" "$root/slurm/merge.sbatch" --setup='true "a  b"' --plan shards/plan.json --out 'data of/all')
expect_end "$job" COMPLETED 0
convoy-preprocess encode corpus --tokenizer tokenizer.model --document-separator blank-line --out whole 2>/dev/null
for kind in bin idx; do cmp "whole.$kind" "data of/all.$kind" || broken "the merged .$kind is not that of one run"; done

# A complete shard is left alone, an element beyond the plan is refused.
array --array=3-4
expect_end "${array}_3" COMPLETED 0
expect_end "${array}_4" FAILED 2
job=$(sbatch "${options[@]}" --output=alone.log "$root/slurm/preprocess.sbatch" --plan shards/plan.json)
expect_end "$job" FAILED 2
expect_in alone.log 'no element of a job array'
job=$(sbatch "${options[@]}" --output=setup.log "$root/slurm/merge.sbatch" --setup='module load nothing' --plan shards/plan.json --out x)
expect_end "$job" FAILED 7
expect_in setup.log "the set-up line 'module load nothing' failed"
# A program inside of a container: what stands before it.
job=$(sbatch "${options[@]}" --output=contained.log "$root/slurm/merge.sbatch" --container="env PATH=$(dirname "$(command -v convoy-preprocess)"):$PATH" \
  --plan shards/plan.json --out again)
expect_end "$job" COMPLETED 0
