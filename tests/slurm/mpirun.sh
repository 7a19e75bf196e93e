#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where mpirun starts the ranks: the warning reaches them, and the job comes back.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
reference
pause_before 6 3
export CONVOY_LAUNCHER='mpirun --bind-to none'
train -- --out run "${pause[@]}"
eventually at_step run 5
scancel --signal=USR2 --batch "$job"
expect_end "$job" COMPLETED 0
expect_equal 1 "$(restarts "$job")" restarts
expect_in "run/logs/$job-attempt-2.log" 'resume +step 6 of 30'
expect_as_reference run
