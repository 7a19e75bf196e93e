#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A cancelled job stays cancelled, though its ranks stopped with a checkpoint; the same command goes on later.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
reference
pause_before 13 3
train -- --out run "${pause[@]}"
eventually at_step run 12
scancel "$job"
expect_end "$job" CANCELLED
expect_equal 0 "$(restarts "$job")" restarts
expect_not_in "$job.log" 'back into the queue, for'
[ -e run/checkpoints/step_000000010 ] || broken 'the checkpoint of step 10 is gone'
train -- --out run
expect_end "$job" COMPLETED 0
expect_in "run/logs/$job-attempt-1.log" 'resume +step [0-9]+ of 30'
expect_as_reference run
