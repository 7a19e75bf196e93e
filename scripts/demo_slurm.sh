#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The stages of the demo as jobs of Slurm. Sourced by demo.sh.
# shellcheck shell=bash disable=SC2154

# job_of CHAIN STAGE: the id of its job.
job_of() { sed -n "s/^$2 \([0-9]*\) .*/\1/p" "logs/$1.jobs" | tail -n 1; }
queued() { [ -n "$(squeue --noheader 2>/dev/null)" ]; }

# run_chain NAME: submits NAME.toml, lets things happen to the first, and waits for its end.
run_chain() {
  run "$root/slurm/submit.sh" "$1.toml"
  if [ "$1" = first ]; then disturb; fi
  wait_for_queue "$1"
  run "$root/slurm/status.sh" "$1.toml" || { show_logs "$1"; exit 1; }
}

# What a cluster does to a job: the warning before the time limit, which Slurm would send to the script; and, in the full demo, a
# node without power.
disturb() {
  local job
  job=$(job_of first train)
  wait_for_step first "$((half / 2))"
  run scancel --signal=USR2 --batch "$job"
  if [ "$quick" = yes ]; then return 0; fi
  wait_for_step first "$((half * 3 / 4))"
  crashed=$(scontrol show hostnames "$(squeue --noheader --jobs="$job" --format=%N)" | tail -n 1)
  run "$root/slurm/dev-cluster/node.sh" --dir "$out/cluster" crash "$crashed"
}

# While the chain is under way, its table every so often.
wait_for_step() {
  local shown=$SECONDS
  until at_step "$1" "$2"; do
    queued || { show_logs "$1"; exit 1; }
    sleep 0.5
    if [ $((SECONDS - shown)) -ge 30 ]; then shown=$SECONDS; progress "$1"; fi
  done
}
wait_for_queue() {
  local shown=$SECONDS
  while queued; do
    sleep 1
    if [ $((SECONDS - shown)) -ge 30 ]; then shown=$SECONDS; progress "$1"; fi
  done
  if [ -n "${crashed-}" ]; then
    run "$root/slurm/dev-cluster/node.sh" --dir "$out/cluster" revive "$crashed"
    crashed=''
  fi
}
progress() { "$root/slurm/status.sh" "$1.toml" | sed -n 's/^\(train .*\)/\1/p' || true; }

show_logs() {
  printf 'demo.sh: the chain has failed; its logs:\n' >&2
  tail -n 20 -- logs/"$1"-*.log >&2 || true
}

reshard() {
  run sbatch --wait --output=logs/reshard-%j.log "$root/slurm/ckpt.sbatch" reshard "$@" || { tail -n 20 logs/reshard-*.log >&2; exit 1; }
  cat logs/reshard-*.log
}
