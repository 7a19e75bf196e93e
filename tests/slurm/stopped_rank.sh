#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A rank hangs (SIGSTOP): the others give up after the watchdog's time, name it and its node, and the job ends.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
pause_before 3 3
train -- --out run --watchdog-seconds 8s "${pause[@]}"
eventually at_step run 2
pid=$(rank_processes 3)
[ -n "$pid" ] || broken 'found no process of rank 3'
kill -STOP "$pid"
expect_end "$job" FAILED 5
expect_equal 0 "$(restarts "$job")" restarts
expect_in "run/logs/$job-attempt-1.log" 'rank 3 \(node n02\) did not arrive at [a-z_]+ #[0-9]+ of group data within [0-9]+ s'
expect_in "$job.log" 'rank 3 \(node n02\) did not arrive'
