#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Preempted with a time of grace: Slurm tells the ranks and not the script. They save; the script puts the job back.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
reference
pause_before 6 5
train -- --out run "${pause[@]}"
eventually at_step run 5
sbatch --partition=urgent --nodes=2 --exclusive --output=/dev/null --wrap 'sleep 2' >/dev/null
expect_end "$job" COMPLETED 0
expect_equal 1 "$(restarts "$job")" restarts
expect_in "$job.log" 'back into the queue, for attempt 2'
expect_in "run/logs/$job-attempt-2.log" 'resume +step 6 of 30'
expect_as_reference run
