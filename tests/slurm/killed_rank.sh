#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A rank is killed, as for memory: the job ends soon, says which rank on which node, and does not start again by itself.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
pause_before 3 60
train -- --out run "${pause[@]}"
eventually at_step run 2
pid=$(rank_processes 3)
[ -n "$pid" ] || broken 'found no process of rank 3'
kill -KILL "$pid"
killed=$SECONDS
expect_end "$job" FAILED 5
[ $((SECONDS - killed)) -le 30 ] || broken "the job took $((SECONDS - killed)) s to end"
expect_equal 0 "$(restarts "$job")" restarts
expect_in "run/logs/$job-attempt-1.log" 'error: n02: task 3: Killed'
expect_in "$job.log" 'failed with code 5'
expect_in "$job.log" 'n02: task 3: Killed'
