#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A chain as its job file describes it, and how far it is: what submit.sh and status.sh share. How far it is, the files say, and
# the queue; ids of jobs are kept beside the logs, because without accounting Slurm forgets a job minutes after its end. Sourced.
# shellcheck shell=bash disable=SC2034,SC2154  # the variables of load_stage

stages=(preprocess merge train export report)

tell() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
# fail CODE MESSAGE...: codes are those of the programs.
fail() {
  local code=$1
  shift
  tell "$*"
  exit "$code"
}

# quoted WORD...: a line that a shell reads as these words.
quoted() {
  local word line=''
  for word in "$@"; do
    case $word in
      '' | *[!A-Za-z0-9_./:,%@+=-]*) word="'${word//\'/\'\\\'\'}'" ;;
    esac
    line+=" $word"
  done
  printf '%s\n' "${line# }"
}

# load_stage STAGE: what the job file says of it, as job_... (convoy-train job --help).
load_stage() {
  local lines
  lines=$(convoy-train job "$chain_file" --stage "$1") || exit 2
  eval "$lines"
}

# open_chain JOB.toml: checks it, and goes to its folder, where the chain's paths begin.
open_chain() {
  [ -e "$1" ] || fail 2 "there is no job file $1"
  chain_file=$(realpath -- "$1")
  load_stage train
  cd "$(dirname "$chain_file")" || exit 7
  log_folder=$job_log_folder
  record_file=$log_folder/$(basename "${chain_file%.toml}").jobs
}

# record STAGE ID OFFSET / recorded STAGE: the jobs that were submitted, a line "STAGE ID OFFSET NAME" each.
record() { printf '%s %s %s %s\n' "$1" "$2" "$3" "$job_name" >>"$record_file"; }
recorded() { if [ -e "$record_file" ]; then sed -n "s/^$1 //p" "$record_file"; fi; }

# active STAGE: its jobs, or array elements, that are in the queue or run: lines "ID SHARD STATE"; the shard of a job that is no
# element is 0. A cluster may use a number again: the name must be right, too.
active() {
  local id offset name job element state its_name
  recorded "$1" | while read -r id offset name; do
    { squeue --noheader --array --jobs="$id" --format='%i %K %T %j' 2>/dev/null || true; } |
      while read -r job element state its_name; do
        [ "$its_name" = "$name" ] || continue
        case $state in COMPLETED | COMPLETING | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | OUT_OF_MEMORY | DEADLINE) continue ;; esac
        case $element in *[!0-9]* | '') element=0 ;; esac
        printf '%s %s %s\n' "$job" $((element + offset)) "$state"
      done
  done
}

# missing_shards: of the stage's plan, a number a line; all of them where there is no plan yet.
missing_shards() {
  local spec code=0
  if [ ! -e "$job_plan" ]; then
    seq 0 $((job_shards - 1))
    return 0
  fi
  spec=$(convoy-preprocess status --plan "$job_plan" 2>/dev/null) || code=$?
  case $code in
    0) ;;
    3) [ -n "$spec" ] || fail 3 "$job_plan: $(convoy-preprocess status --plan "$job_plan" 2>&1 | head -n 5)"; numbers_of "$spec" ;;
    *) convoy-preprocess status --plan "$job_plan" >/dev/null || exit $? ;;
  esac
}

# not_older FILE OTHER: FILE is there, and OTHER, if it is there, is not newer.
not_older() { [ -e "$1" ] && ! [ "$2" -nt "$1" ]; }

merged_since_plan() {
  local pair
  for pair in "${job_pairs[@]}"; do
    { [ -e "$pair.bin" ] && [ -e "$pair.idx" ] && not_older "$pair.meta.json" "$job_plan"; } || return 1
  done
}

# is_done: the files that the loaded stage makes are there, whole, and of what comes before them.
is_done() {
  local missing
  case $job_stage in
    preprocess) [ -e "$job_plan" ] && missing=$(missing_shards) && [ -z "$missing" ] ;;
    merge) merged_since_plan ;;
    train) [ "$(status "$job_run" state)" = finished ] && [ "$(status "$job_run" step)" -ge "${job_steps:-0}" ] ;;
    export) [ -n "$job_out" ] && not_older "$job_out/config.json" "$job_run/status.json" ;;
    report) not_older "$job_html" "$job_run/status.json" ;;
  esac
}
