#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Training waits for every element of an array: where one fails, its job is cancelled and has not begun.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
array=$(sbatch --parsable --array=0-2 --output=element-%a.log --wrap 'test "$SLURM_ARRAY_TASK_ID" != 1 || test -e repaired')
train --dependency="afterok:$array" --kill-on-invalid-dep=yes -- --out run
expect_end "$job" CANCELLED
[ ! -e run ] || broken 'training began without an element of its data'
touch repaired
again=$(sbatch --parsable --array=1 --output=element-%a.log --wrap 'test "$SLURM_ARRAY_TASK_ID" != 1 || test -e repaired')
train --dependency="afterok:$again" --kill-on-invalid-dep=yes -- --out run
expect_end "$job" COMPLETED 0
