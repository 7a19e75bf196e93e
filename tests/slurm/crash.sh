#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A node loses power: the job goes on elsewhere from the last periodic checkpoint.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 3
write_config
reference
pause_before 13 8
train -- --out run "${pause[@]}"
eventually at_step run 12
lost=n02
"$root/slurm/dev-cluster/node.sh" --dir "$cluster" crash "$lost" >/dev/null
expect_end "$job" COMPLETED 0
expect_equal 1 "$(restarts "$job")" restarts
expect_equal 'n[01,03]' "$(field "$job" NodeList)" 'the nodes of the second attempt'
expect_in "run/logs/$job-attempt-2.log" 'resume +step 10 of 30'
expect_as_reference run
