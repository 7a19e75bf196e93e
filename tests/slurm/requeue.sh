#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The warning before the time limit: a checkpoint, one turn in the queue, and a run that ends as if nothing had been.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
reference
pause_before 6 3
train -- --out 'the run/of today' "${pause[@]}"
# What depends on it waits through the turn in the queue.
dependent=$(sbatch --parsable --output=/dev/null --dependency="afterok:$job" --kill-on-invalid-dep=yes \
  --wrap "grep finished 'the run/of today/status.json'")
eventually at_step 'the run/of today' 5
scancel --signal=USR2 --batch "$job"  # what --signal=B:USR2@120 does
expect_end "$job" COMPLETED 0
expect_end "$dependent" COMPLETED 0
expect_equal 1 "$(restarts "$job")" restarts
expect_as_reference 'the run/of today'

first="the run/of today/logs/$job-attempt-1.log" second="the run/of today/logs/$job-attempt-2.log"
expect_in "$job.log" 'stopped at step 6: signal USR2; the newest checkpoint is checkpoints/step_000000006'
expect_in "$first" 'step 6: checkpoint'
expect_in "$second" 'resume +step 6 of 30'
# The job's own log goes on where it was.
expect_in "$job.log" 'attempt 1 on'
expect_in "$job.log" 'attempt 2 on'
expect_in "$job.log" 'finished at step 30'
expect_equal 0 "$(status_of 'the run/of today' exit_code)" 'status.json'
