#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cancelled while a save takes longer than Slurm's patience (KillWait): the checkpoint before is the newest, and the next run
# goes on from it and clears away what the killed save left.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
reference
pause_before 4 3
train -- --out run "${pause[@]}"
eventually at_step run 3
scancel --signal=USR2 --batch "$job"
eventually grep -q 'back into the queue' "$job.log"
scancel "$job"
expect_end "$job" CANCELLED
before=$(status_of run last_checkpoint)

train -- --out run --fault slow-write:bytes-per-second=50K
eventually compgen -G 'run/checkpoints/.step_*' >/dev/null
scancel "$job"
expect_end "$job" CANCELLED
compgen -G 'run/checkpoints/.step_*' >/dev/null || broken 'the killed save left nothing'
expect_equal "$before" "$(cd run && echo checkpoints/step_*)" 'the only checkpoint'

train -- --out run
expect_end "$job" COMPLETED 0
expect_in "run/logs/$job-attempt-1.log" "resume .*$before"
! compgen -G 'run/checkpoints/.step_*' >/dev/null || broken 'the rests of the killed save are still there'
expect_as_reference run
