#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whatever the submitting shell is like: an empty environment, another directory, leftovers of another job.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2 --cpus 8 --gpus 2
write_config
declare -A submitted
if [ "$(id -u)" -eq 0 ]; then
  train --export=NONE -- --out none
  submitted[none]=$job
else
  printf 'an ordinary user cannot run jobs with --export=NONE on a private cluster\n'
fi
# Variables as in a shell of `salloc`, or in a step of another job.
leftovers=(SLURM_PROCID=3 SLURM_STEP_ID=0 SLURM_LOCALID=3 SLURM_STEP_NUM_TASKS=7 SLURM_TASKS_PER_NODE=7)
submitted[stale]=$(env "${leftovers[@]}" sbatch --parsable --output=%j.log "${two_by_two[@]}" "$root/slurm/train.sbatch" \
  --config run.toml --out stale)
mkdir elsewhere
submitted[elsewhere]=$(cd elsewhere && sbatch --parsable --chdir="$work" --output="$work/%j.log" "${two_by_two[@]}" \
  "$root/slurm/train.sbatch" --config run.toml --out elsewhere/run)
# A rank a GPU, each of which sees all of its node's.
train --partition=batch --gpus-per-node=2 -- --out gpus
submitted[gpus]=$job
for name in "${!submitted[@]}"; do expect_end "${submitted[$name]}" COMPLETED 0; done
expect_in "stale/logs/${submitted[stale]}-attempt-1.log" '4 ranks'
expect_equal 'gres:gpu:2' "$(field "${submitted[gpus]}" TresPerNode)" 'the GPUs of a node'
[ -s elsewhere/run/status.json ] || broken 'no elsewhere/run/status.json'
