#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Back into the queue, but not for ever: never without a new checkpoint, never more often than allowed, never for an error that
# would come again. A program that only pretends to train has the outcomes.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 1
mkdir pretended
cat >pretended/convoy-train <<'SH'
#!/bin/sh
# Ends with $CODE; the checkpoint it tells of is the next word of the file `steps`.
case "$*" in *--print-config*) printf '[train]\nout = "run"\n'; exit 0 ;; esac
count=$(cat count 2>/dev/null || echo 0)
echo $((count + 1)) >count
step=$(tr ' ' '\n' <steps | sed -n "$((count + 1))p")
state=stopped
[ "$CODE" = 75 ] || state=failed
printf '{"state":"%s","step":1,"steps":9,"loss":1.0,"eta_seconds":null,"last_checkpoint":"checkpoints/step_%09d","reason":"a test","exit_code":%d}\n' \
  $state "$step" "$CODE" >run/status.json
exit "$CODE"
SH
chmod +x pretended/convoy-train
PATH="$PWD/pretended:$PATH"

# pretend CODE STEPS LIMIT: a job whose attempts end with CODE and with the checkpoints STEPS.
pretend() {
  rm -rf run count
  mkdir run
  echo "$2" >steps
  job=$(CODE=$1 CONVOY_MAX_REQUEUES=$3 sbatch --parsable --output=%j.log --cpus-per-task=1 "$root/slurm/train.sbatch" --out run)
}

pretend 75 '12 12 24' 9
expect_end "$job" FAILED 75
expect_equal 1 "$(restarts "$job")" restarts
expect_in "$job.log" 'this attempt committed no checkpoint'

pretend 75 '1 2 3 4' 1
expect_end "$job" FAILED 75
expect_equal 1 "$(restarts "$job")" restarts
expect_in "$job.log" 'it has been there 1 times'

pretend 4 '1 2 3 4' 9
expect_end "$job" FAILED 4
expect_equal 0 "$(restarts "$job")" restarts
expect_in "$job.log" 'failed with code 4'

# A rank was lost and every node is there: it would be lost again.
pretend 5 '1 2 3 4' 9
expect_end "$job" FAILED 5
expect_equal 0 "$(restarts "$job")" restarts
