#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The real time limit: Slurm's own warning, 30 to 90 seconds before it.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
reference
train --time=1 --signal=B:USR2@30 -- --out run --fault slow:rank=0,sleep=2s,phase=data
eventually grep -q 'back into the queue, for attempt 2' "$job.log"
scontrol update jobid="$job" TimeLimit=5
expect_in "$job.log" 'USR2: the time is nearly up'
scancel "$job"
expect_end "$job" CANCELLED
train -- --out run
expect_end "$job" COMPLETED 0
expect_as_reference run
