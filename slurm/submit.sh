#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Submits the chain of a job file: an array that tokenizes, merge, training, verification and export, a report; each starts when
# the one before has ended well. Called again, it submits what is neither done nor under way.
# shellcheck disable=SC2016,SC2154  # the variables of load_stage
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib/job.sh"
. "$here/lib/launch.sh"
. "$here/lib/array.sh"
. "$here/lib/run_directory.sh"
. "$here/lib/chain.sh"

usage() {
  cat <<'TEXT'
Usage: slurm/submit.sh JOB.toml [--dry-run]

Checks JOB.toml, plans the shards (convoy-preprocess plan), and submits the stages that it has:

  [preprocess]  an array, an element a shard         slurm/preprocess.sbatch
  [merge]       one pair of the shards               slurm/merge.sbatch
  [train]       convoy-train run, a rank a task      slurm/train.sbatch
  [export]      verification, a Hugging Face folder  slurm/ckpt.sbatch
  [report]      convoy-profile report                slurm/profile.sbatch

Each waits for the one before (--dependency=afterok), and is cancelled if that fails. The same command again goes on: of the array
only the shards that are missing, of the other stages those that are not done; what is queued or runs is left alone.

  --dry-run   print the commands, ready to be pasted into a shell, and do nothing
  --help      this text

Paths in JOB.toml are relative to its folder. Logs, and the ids of the jobs, are in log-dir of [site] there; slurm/status.sh JOB.toml
shows where the chain is. docs/slurm.md has the keys, slurm/examples/ has job files.
Exit codes: 0 submitted, or nothing left to do; 2 the job file is wrong; 3 data; 6 what is there does not fit the job file;
7 Slurm refused a job. Where it is not 0, no job of this call is left.
TEXT
}

file='' dry_run=no
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --dry-run) dry_run=yes ;;
    -*) fail 2 "unknown argument $1; see --help" ;;
    *)
      [ -z "$file" ] || fail 2 "one job file at a time: unexpected $1"
      file=$1
      ;;
  esac
  shift
done
[ -n "$file" ] || { usage >&2; exit 2; }

after=''       # what the next stage waits for: ids with colons
changed=no     # a stage has been submitted, so that those behind it are not done, whatever they have made before
ids=()         # of the stage at hand
submitted=()   # of this call

# do_it COMMAND...: or, in a dry run, shows it.
do_it() { if [ "$dry_run" = yes ]; then quoted "$@"; else "$@"; fi; }

# give_up CODE MESSAGE...: half a chain is worse than none.
give_up() {
  if [ ${#submitted[@]} -gt 0 ]; then
    scancel "${submitted[@]}" || true
    tell "cancelled what this call had submitted: ${submitted[*]}"
  fi
  fail "$@"
}

# submit DEPENDENCY OFFSET [SBATCH_OPTION]... -- SCRIPT [ARGUMENT]...: adds the job's id to `ids`. In a dry run that is the name of
# the shell variable which will hold it, so that the dependency stays as it is.
submit() {
  local dependency=$1 offset=$2 options=() id name
  shift 2
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  options+=("${job_sbatch[@]}" "$here/$1" "${job_site[@]}" "${@:2}")
  if [ -n "$dependency" ]; then dependency="--dependency=$dependency"; fi
  if [ "$dry_run" = yes ]; then
    name=$job_stage
    if [ ${#ids[@]} -gt 0 ]; then name+=_$((${#ids[@]} + 1)); fi
    printf '%s=$(sbatch --parsable%s %s)\n' "$name" "${dependency:+ $dependency --kill-on-invalid-dep=yes}" "$(quoted "${options[@]}")"
    ids+=("\$$name")
    return 0
  fi
  id=$(sbatch --parsable ${dependency:+"$dependency" --kill-on-invalid-dep=yes} "${options[@]}") ||
    give_up 7 "Slurm refused the job of $job_stage (see above)"
  id=${id%%;*}  # ID;CLUSTER
  ids+=("$id")
  submitted+=("$id")
  record "$job_stage" "$id" "$offset"
}

afterok() { if [ -n "$after" ]; then printf 'afterok:%s' "$after"; fi; }

# is_under_way: jobs of the stage wait or run, and nothing before it is submitted anew: the next waits for them.
is_under_way() {
  local jobs
  [ "$changed" = no ] || return 1
  jobs=$(active "$job_stage" | cut -d' ' -f1 | sort -u | paste -sd:)
  [ -n "$jobs" ] || return 1
  after=$jobs
  tell "$job_stage: under way as job ${jobs//:/, }"
}

# make_way: for a stage that is to be submitted. What waits for jobs that have failed is cancelled; what runs is not ours to end.
make_way() {
  local jobs
  jobs=$(active "$job_stage" | sed -n 's/ .* RUNNING$//p' | paste -sd' ')
  [ -z "$jobs" ] || give_up 6 "$job_stage runs as job $jobs, but something before it is not done: cancel it, or wait for its end"
  jobs=$(active "$job_stage" | cut -d' ' -f1 | sort -u | paste -sd' ')
  [ -n "$jobs" ] || return 0
  tell "$job_stage: job $jobs waits for what will not come, and is cancelled"
  # shellcheck disable=SC2086  # ids
  do_it scancel $jobs
}

# close_stage: the next one waits for what was submitted.
close_stage() {
  after=$(IFS=:; printf '%s' "${ids[*]}")
  changed=yes
  [ "$dry_run" = yes ] || tell "$job_stage: submitted as job $(IFS=,; printf '%s' "${ids[*]}")"
}

# What the plan was made with is kept, so that a plan of something else is noticed.
make_plan() {
  local settings=${record_file%.jobs}.plan
  if [ ! -e "$job_plan" ]; then
    do_it convoy-preprocess plan "${job_plan_arguments[@]}" || exit $?
    if [ "$dry_run" = no ]; then quoted "${job_plan_arguments[@]}" >"$settings"; fi
  elif [ -e "$settings" ] && [ "$(cat "$settings")" != "$(quoted "${job_plan_arguments[@]}")" ]; then
    fail 6 "$job_plan was made with other settings than [preprocess] has: remove $job_out to begin anew, or take them back. It has
  $(cat "$settings")"
  fi
}

# One array for each range of numbers that Slurm takes; where elements at a time are bounded, one after the other.
submit_arrays() {
  local offset spec limit='' dependency=''
  if [ -n "$job_max_parallel" ]; then limit=%$job_max_parallel; fi
  while read -r offset spec; do
    if [ -n "$limit" ] && [ ${#ids[@]} -gt 0 ]; then dependency=afterany:${ids[-1]}; fi
    if [ "$offset" -gt 0 ]; then
      submit "$dependency" "$offset" "--array=$spec$limit" -- preprocess.sbatch "--offset=$offset" "${job_arguments[@]}"
    else
      submit "$dependency" 0 "--array=$spec$limit" -- preprocess.sbatch "${job_arguments[@]}"
    fi
  done
}

submit_preprocess() {
  local missing at_work wanted at_work_ids=()
  make_plan
  missing=$(missing_shards) || exit $?
  if [ -z "$missing" ]; then
    tell "preprocess: all $job_shards shards are complete"
    return 0
  fi
  at_work=$(active preprocess)
  wanted=$(awk 'NR == FNR {busy[$2] = 1; next} !($1 in busy)' <(printf '%s\n' "$at_work") <(printf '%s\n' "$missing"))
  if [ -n "$at_work" ]; then
    tell "preprocess: under way are shards $(cut -d' ' -f2 <<<"$at_work" | sort -n | spec_of)"
    mapfile -t at_work_ids < <(cut -d' ' -f1 <<<"$at_work")
    after=$(IFS=:; printf '%s' "${at_work_ids[*]}")
  fi
  [ -n "$wanted" ] || return 0
  if [ -e "$job_plan" ] && [ "$(wc -l <<<"$missing")" -lt "$job_shards" ]; then
    tell "preprocess: of $job_shards shards, these are missing: $(spec_of <<<"$wanted")"
  fi
  submit_arrays < <(chunks "$(largest_array)" <<<"$wanted")
  ids=("${at_work_ids[@]}" "${ids[@]}")
  close_stage
}

# submit_one SCRIPT: the other stages are a job each.
submit_one() {
  if is_under_way; then return 0; fi
  if [ -z "$after" ] && is_done; then
    tell "$job_stage: done ($1)"
    return 0
  fi
  make_way
  if [ "$job_stage" = export ] && [ -n "$job_out" ] && [ -e "$job_out" ]; then
    give_up 6 "$(in_the_way "$job_out")"
  fi
  submit "$(afterok)" 0 -- "$2" "${job_arguments[@]}"
  close_stage
}

submit_stage() {
  load_stage "$1"
  ids=()
  if [ "$job_present" = no ]; then
    tell "$1: left out (the job file has no [$1])"
    return 0
  fi
  case $1 in
    preprocess) submit_preprocess ;;
    merge) submit_one "$job_out" merge.sbatch ;;
    train) submit_one "$job_run" train.sbatch ;;
    export) submit_one "$job_out" ckpt.sbatch ;;
    report) submit_one "$job_html" profile.sbatch ;;
  esac
}

# The programs check the flags that are theirs, before anything is submitted.
check_flags() {
  local wrong=no words
  load_stage preprocess
  if [ "$job_present" = yes ]; then convoy-preprocess plan "${job_plan_arguments[@]}" --print-config >/dev/null || wrong=yes; fi
  load_stage export
  if [ -n "$job_out" ]; then
    words=("${job_arguments[@]}")
    while [ "${words[0]}" != export ]; do words=("${words[@]:1}"); done
    convoy-ckpt "${words[@]}" --print-config >/dev/null || wrong=yes
  fi
  load_stage report
  if [ "$job_present" = yes ]; then convoy-profile "${job_arguments[@]}" --print-config >/dev/null || wrong=yes; fi
  [ "$wrong" = no ] || exit 2
}

# Export replaces nothing: a folder of an earlier run is told of before a new run begins.
in_the_way() { printf '%s, which [export] writes, is there from an earlier run: move it away' "$1"; }
check_folder() {
  local folder
  load_stage export
  folder=$job_out
  if [ -z "$folder" ] || [ ! -e "$folder" ]; then return 0; fi
  is_done || fail 6 "$(in_the_way "$folder")"
  load_stage train
  if [ "$job_present" = yes ] && ! is_done; then fail 6 "$(in_the_way "$folder")"; fi
}

path=$PATH
find_programs "$here" convoy-train convoy-preprocess convoy-ckpt convoy-profile || exit 7
open_chain "$file"
check_flags
check_folder
[ "$PATH" = "$path" ] || do_it export "PATH=$PATH"
do_it cd "$PWD"
do_it mkdir -p -- "$log_folder" || fail 7 "cannot make the folder of the logs, $log_folder"
if [ "$dry_run" = no ]; then
  command -v sbatch >/dev/null || fail 7 'Slurm is not installed here (no sbatch); --dry-run shows what would be submitted'
  [ -w "$log_folder" ] || fail 7 "no permission to write into the folder of the logs, $log_folder"
  exec 9>>"$record_file"
  flock -n 9 || fail 7 "another submit.sh is at work on $chain_file"
fi
for stage in "${stages[@]}"; do submit_stage "$stage"; done
