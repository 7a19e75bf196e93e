#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The warning comes before the ranks are up: they are asked to stop once they can hear it.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config
reference
train -- --out run
eventually grep -qs 'attempt 1 on' "$job.log"
scancel --signal=USR2 --batch "$job"
expect_end "$job" COMPLETED 0
expect_in "$job.log" 'USR2: the time is nearly up'
expect_as_reference run
expect_equal 1 "$(restarts "$job")" restarts
