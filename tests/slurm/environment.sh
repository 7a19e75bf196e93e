#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whatever the submitting shell is like: an empty environment, another directory, leftovers of another job.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
if [ "$(id -u)" -eq 0 ]; then
  train --export=NONE --export="CONVOY_MAX_REQUEUES=3" -- --out first
  expect_end "$job" COMPLETED 0
  train --export=NONE -- --out second
  expect_end "$job" COMPLETED 0
else
  printf 'an ordinary user cannot run jobs with --export=NONE on a private cluster\n'
fi

SLURM_NTASKS=7 SLURM_NTASKS_PER_NODE=7 SLURM_PROCID=3 SLURM_STEP_ID=0 SLURM_LOCALID=3 train -- --out third
expect_end "$job" COMPLETED 0
expect_in "third/logs/$job-attempt-1.log" '4 ranks'

mkdir elsewhere
job=$(cd elsewhere && sbatch --parsable --chdir="$work" --output="$work/%j.log" "${two_by_two[@]}" "$root/slurm/train.sbatch" \
  --config run.toml --out fourth)
expect_end "$job" COMPLETED 0
[ -s fourth/status.json ] || broken 'no fourth/status.json'
