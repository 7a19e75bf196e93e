#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two jobs on one run directory: the second is refused at once and names the first, which is not disturbed. The lock goes with its
# owner, however that ends.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 4
write_config
pause_before 3 60
train -- --out run "${pause[@]}"
first=$job
eventually at_step run 2
train -- --out run
expect_end "$job" FAILED 7
expect_equal RUNNING "$(state "$first")" 'the first job'
expect_in "run/logs/$job-attempt-1.log" "run.*in use.*job $first"
expect_equal 0 "$(restarts "$job")" restarts

rank_processes '[0-3]' | xargs kill -KILL 2>/dev/null || true  # the first may take the others with it
expect_end "$first" FAILED 5
train -- --out run
expect_end "$job" COMPLETED 0

# Elements of one array are jobs of their own.
pause_before 3 5
train --array=0-1 -- --out second "${pause[@]}"
eventually is_over "${job}_0"
eventually is_over "${job}_1"
expect_equal 'COMPLETED FAILED ' "$(for i in 0 1; do state "${job}_$i"; done | sort | tr '\n' ' ')" 'the states of both elements'
cat second/logs/*.log >all.txt
expect_equal 1 "$(grep -cE "in use.*job ${job}_[01]" all.txt)" 'refusals'
