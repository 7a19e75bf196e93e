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

# pretend NAME CODE STEPS LIMIT: a job whose attempts end with CODE and with the checkpoints STEPS.
pretend() {
  mkdir -p "$1/run"
  echo "$3" >"$1/steps"
  job[$1]=$(CODE=$2 CONVOY_MAX_REQUEUES=$4 sbatch --parsable --chdir="$1" --output="$1.log" --cpus-per-task=1 "$root/slurm/train.sbatch" --out run)
}
declare -A job
pretend no_progress 75 '12 12 24' 9
pretend bounded 75 '1 2 3 4' 1
pretend numerics 4 '1 2 3 4' 9
pretend lost_rank 5 '1 2 3 4' 9

# ends NAME STATE_CODE RESTARTS MESSAGE
ends() {
  expect_end "${job[$1]}" FAILED "$2"
  expect_equal "$3" "$(restarts "${job[$1]}")" "restarts of $1"
  expect_in "$1/$1.log" "$4"
}
ends no_progress 75 1 'this attempt committed no checkpoint'
ends bounded 75 1 'it has been there 1 times'
ends numerics 4 0 'failed with code 4'
# Every node is there: the rank would be lost again.
ends lost_rank 5 0 'failed with code 5'
