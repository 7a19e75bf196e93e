#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The stages of the demo one after the other on this machine, from the same job files. Sourced by demo.sh.
# shellcheck shell=bash disable=SC2154

if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi

# run_chain NAME: the stages of NAME.toml.
run_chain() {
  local stage
  for stage in preprocess merge train export report; do
    eval "$(convoy-train job "$1.toml" --stage "$stage")"
    if [ "$job_present" = yes ]; then "run_$stage"; fi
  done
}

run_preprocess() {
  local shard
  run convoy-preprocess plan "${job_plan_arguments[@]}"
  for ((shard = 0; shard < job_shards; ++shard)); do run convoy-preprocess encode "${job_arguments[@]}" --shard "$shard"; done
}
run_merge() { run convoy-preprocess merge "${job_arguments[@]}"; }

# The first run is stopped half-way, as a batch system would, and goes on with the same command.
run_train() {
  local code=0 watcher=''
  if [ "$job_run" = first ]; then
    stop_at first "$((half / 2))" &
    watcher=$!
  fi
  run mpirun --oversubscribe -n 4 convoy-train run "${job_arguments[@]}" || code=$?
  if [ -n "$watcher" ]; then kill "$watcher" 2>/dev/null || true; fi
  if [ "$code" = 75 ]; then
    printf 'exit code 75: stopped early with a committed checkpoint\n'
    run mpirun --oversubscribe -n 4 convoy-train run "${job_arguments[@]}"
  elif [ "$code" != 0 ]; then
    exit "$code"
  fi
}
stop_at() {
  until at_step "$1" "$2"; do sleep 0.2; done
  kill -USR2 "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$1/run.json")"
}

run_export() {
  run convoy-ckpt verify "$job_run" --deep
  run convoy-ckpt export "$job_run" --out "$job_out"
}
run_report() { run convoy-profile "${job_arguments[@]}"; }

reshard() { run convoy-ckpt reshard "$@"; }
