#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Preempted without grace: Slurm ends the job and puts it back by itself, and it goes on from a checkpoint.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
reference
scontrol update partition=batch GraceTime=0
pause_before 13 5
train -- --out run "${pause[@]}"
eventually at_step run 12
sbatch --partition=urgent --nodes=2 --exclusive --output=/dev/null --wrap 'sleep 2' >/dev/null
expect_end "$job" COMPLETED 0
expect_equal 1 "$(restarts "$job")" restarts
expect_in "run/logs/$job-attempt-2.log" 'resume +step 1[03] of 30'
expect_as_reference run
