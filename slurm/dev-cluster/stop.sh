#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ends a private cluster: its jobs, its daemons, its files.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

usage() {
  cat <<TEXT
Usage: slurm/dev-cluster/stop.sh [--dir DIR] [--keep-logs]

Cancels the jobs of the cluster in DIR, ends its daemons, and removes DIR. Processes and files of others are not touched. A
cluster that does not run is no error.

  --dir DIR     its folder (default: $(default_dir))
  --keep-logs   leave DIR/log and DIR/etc; the next start there removes them
  --help        this text

Exit codes: 0 nothing of it is left; 2 usage; 7 DIR is no cluster's, or something could not be ended.
TEXT
}

where=$(default_dir) keep=no locked=no
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --dir)
      need_value "$@"
      where=$2
      shift
      ;;
    --keep-logs) keep=yes ;;
    --locked) locked=yes ;;  # start.sh holds the lock
    *) fail 2 "unknown argument $1; see --help" ;;
  esac
  shift
done

use_dir "$where"
if [ ! -e "$dir" ]; then
  printf 'no cluster in %s\n' "$dir"
  exit 0
fi
is_cluster || fail 7 "$dir is not the folder of a cluster of start.sh; nothing is touched"
if [ "$locked" = no ]; then
  exec 9>"$dir/lock"
  flock -w 60 9 || fail 7 "another start or stop is at work on $dir"
fi

# Cancelled first, so that an srun or salloc in someone's terminal ends with its job.
cancel_jobs() {
  local i
  alive slurmctld >/dev/null || return 0
  [ -n "$(timeout 5 squeue -h 2>/dev/null)" ] || return 0
  timeout 5 scancel --state=PENDING 2>/dev/null || true
  timeout 5 scancel --state=RUNNING 2>/dev/null || true
  for ((i = 0; i < 10; ++i)); do
    [ -n "$(timeout 5 squeue -h 2>/dev/null)" ] || return 0
    sleep 0.1
  done
}

# Tasks that take their time to end, and what outlived its slurmd.
end_tasks() {
  local i pids
  for ((i = 0; i < 50; ++i)); do
    pids=$(tasks '.*')
    [ -n "$pids" ] || return 0
    # shellcheck disable=SC2086  # a list of numbers
    kill -KILL $pids 2>/dev/null || true
    sleep 0.1
  done
  return 1
}

remove_files() {
  local link=$base
  if [ "$keep" = yes ]; then
    find "$dir" -mindepth 1 -maxdepth 1 -not -name log -not -name etc -not -name ".convoy*" -exec rm -rf {} +
  else
    rm -rf -- "${dir:?}"
  fi
  if [ "$link" != "$dir" ] && [ -L "$link" ]; then rm -rf -- "${link%/*}"; fi
}

cancel_jobs
end_tasks || true  # a slurmd waits for them
# shellcheck disable=SC2046  # names without blanks
end_daemons $(daemons)
end_tasks || fail 7 "processes of the cluster do not end: $(tasks '.*' | tr '\n' ' ')"
remove_files
printf 'stopped the cluster in %s\n' "$dir"
