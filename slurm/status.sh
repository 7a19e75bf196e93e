#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where a chain, or one run, is: a line a stage. It looks at the files and the queue, and needs no accounting database.
# shellcheck disable=SC2154  # the variables of load_stage
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib/job.sh"
. "$here/lib/launch.sh"
. "$here/lib/array.sh"
. "$here/lib/run_directory.sh"
. "$here/lib/chain.sh"

usage() {
  cat <<'TEXT'
Usage: slurm/status.sh JOB.toml|RUN

Of a job file: its stages, the newest job of each, its state, and what it has made; which shards are missing; step and loss of the
training. Of a run directory of convoy-train: its state, step, loss, newest checkpoint, and the job that wrote it last.

  --help   this text

States are Slurm's while it remembers the job (minutes after its end), or
  done    what the stage makes is there          ended   Slurm has forgotten the job, and it is not there
  -       never submitted                        out     left out of the job file

Exit codes: 0 the chain is done, or on its way; 2 usage; 6 a stage has failed, or nothing is queued though something is missing.
TEXT
}

case ${1-} in
  '') usage >&2; exit 2 ;;
  --help | -h) usage; exit 0 ;;
  -*) fail 2 "unknown argument $1; see --help" ;;
esac
[ $# -eq 1 ] || fail 2 "one job file or run at a time: unexpected $2"

# run_line RUN: "step 12 of 100, loss 3.141, checkpoint step_000000010, 1 requeue".
run_line() {
  local step line
  if [ ! -e "$1/status.json" ]; then
    printf 'not begun'
    return 0
  fi
  step=$(status "$1" step)
  line="step $step of $(status "$1" steps)"
  [ -z "$(status "$1" loss)" ] || line+=", loss $(printf '%.4f' "$(status "$1" loss)")"
  [ -z "$(status "$1" last_checkpoint)" ] || line+=", saved $(basename "$(status "$1" last_checkpoint)")"
  [ -z "$(status "$1" reason)" ] || line+="; $(status "$1" state): $(status "$1" reason)"
  printf '%s' "$line"
}

# states_of JOB NAME: Slurm's words for it, "RUNNING", of an array "2 COMPLETED, 1 FAILED (3)"; empty if it has forgotten the job.
states_of() {
  { scontrol show job --oneliner "$1" 2>/dev/null || true; } | grep -F " JobName=$2 " |
    sed -E 's/.*ArrayTaskId=([^ ]*) .*JobState=([A-Z_]*) .*/\2 \1/; t; s/.*JobState=([A-Z_]*) .*/\1/' |
    awk 'NF == 1 {alone = $1}
      NF == 2 {++count[$1]; list[$1] = list[$1] (list[$1] == "" ? "" : ",") $2}
      END {
        text = alone
        for (state in count)
          text = text (text == "" ? "" : ", ") (state == "COMPLETED" ? count[state] " " state : state " " list[state])
        print text
      }'
}

# stage_line: the loaded stage: name, job, state, what it has made. Sets `trouble` where nobody is at work on what is missing.
stage_line() {
  local id='-' offset name state='' what='' missing
  if [ "$job_present" = no ]; then
    printf '%-11s %-8s %-24s\n' "$job_stage" - out
    return 0
  fi
  read -r id offset name <<<"$(recorded "$job_stage" | tail -n 1)"
  id=${id:--}
  if [ "$id" != - ]; then state=$(states_of "$id" "$name"); fi
  case $job_stage in
    preprocess)
      if ! missing=$(missing_shards 2>/dev/null); then
        what="$job_plan cannot be used: convoy-preprocess status --plan tells why" trouble=yes
      elif [ -z "$missing" ]; then
        what="$job_shards shards"
      else
        what="of $job_shards shards, missing: $(spec_of <<<"$missing")"
      fi
      ;;
    train) what=$(run_line "$job_run") ;;
    report) what=$job_html ;;
    *) what=$job_out ;;
  esac
  if is_done 2>/dev/null; then
    state='done'
  elif [ -z "$state" ] && [ "$id" = - ]; then
    state=-
  elif [ -z "$state" ]; then
    state=ended
  fi
  case $state in done | *RUNNING* | *PENDING* | *COMPLETING* | *CONFIGURING* | *REQUEUED* | *SUSPENDED*) ;; *) trouble=yes ;; esac
  case $state in *FAILED* | *CANCELLED* | *TIMEOUT* | *NODE_FAIL* | *OUT_OF_MEMORY*) trouble=yes ;; esac
  printf '%-11s %-8s %-24s %s\n' "$job_stage" "$id" "$state" "$what"
}

show_chain() {
  local stage
  find_programs "$here" convoy-train convoy-preprocess || exit 7
  open_chain "$1"
  printf '%s; logs in %s\n\n%-11s %-8s %-24s %s\n' "$chain_file" "$log_folder" stage job state ''
  for stage in "${stages[@]}"; do
    load_stage "$stage"
    stage_line
  done
  if [ "$trouble" = yes ]; then printf '\nto go on: %s\n' "$(quoted "$here/submit.sh" "$chain_file")"; fi
}

# The job that wrote the newest log of a run names it.
show_run() {
  local newest='' log job
  for log in "$1"/logs/*-attempt-*.log; do
    if [ -e "$log" ] && { [ -z "$newest" ] || [ "$log" -nt "$newest" ]; }; then newest=$log; fi
  done
  printf '%-8s %s\n' run "$1" state "$(status "$1" state)" '' "$(run_line "$1")"
  if [ -n "$newest" ]; then
    job=$(basename "$newest")
    printf '%-8s %s\n' job "${job%%-*}, attempt $(sed -n 's/.*-attempt-\([0-9]*\)\.log/\1/p' <<<"$job")" log "$newest"
  fi
  case $(status "$1" state) in failed) trouble=yes ;; esac
}

trouble=no
if [ -d "$1" ]; then
  [ -e "$1/status.json" ] || fail 2 "$1 is no run directory of convoy-train: it has no status.json"
  show_run "$1"
else
  show_chain "$1"
fi
if [ "$trouble" = yes ]; then exit 6; fi
