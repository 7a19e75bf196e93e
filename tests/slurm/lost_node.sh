#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A node is lost and Slurm takes its time to notice, as on a real cluster: the script finds out, and puts the job back.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
sed -i 's/^SlurmdTimeout=.*/SlurmdTimeout=300/' "$cluster/etc/slurm.conf"
scontrol reconfigure
write_config
reference
pause_before 13 8
train -- --out run --watchdog-seconds 15s "${pause[@]}"
eventually at_step run 12
"$root/slurm/dev-cluster/node.sh" --dir "$cluster" crash n02 >/dev/null
eventually grep -q 'back into the queue' "$job.log"
expect_in "$job.log" 'a node of the job does not answer'
"$root/slurm/dev-cluster/node.sh" --dir "$cluster" revive n02 >/dev/null
expect_end "$job" COMPLETED 0
expect_equal 1 "$(restarts "$job")" restarts
expect_in "run/logs/$job-attempt-2.log" 'resume +step 10 of 30'
expect_as_reference run
