#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the four scripts of the private cluster share: where its state lies, and which processes are its own. Sourced.
# shellcheck shell=bash

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# fail CODE MESSAGE...: codes are those of the programs: 2 usage, 6 the answer is no, 7 environment.
fail() {
  local code=$1
  shift
  say "$*"
  exit "$code"
}

# need_value FLAG [VALUE]...: of what is left of a command line, its first flag has a value.
need_value() { if [ $# -lt 2 ] || [ -z "$2" ]; then fail 2 "$1 needs a value"; fi; }

default_dir() { printf '%s/convoy/dev-cluster' "${XDG_STATE_HOME:-${HOME:-/nonexistent}/.local/state}"; }

# Slurm's daemons are in folders that an ordinary user's PATH leaves out.
export PATH="$PATH:/usr/sbin:/sbin"

# The variables of another cluster, or of a job of it, would reach ours.
unset "${!SLURM@}" "${!SBATCH_@}" "${!SALLOC_@}" "${!SQUEUE_@}" "${!SINFO_@}"

# use_dir DIR: sets `dir` (absolute) and the files in it. `base` is the name by which Slurm knows it: sockets' paths are
# short and slurm.conf has no quotes, so a long name, or one with blanks, goes by a link that start.sh made.
use_dir() {
  dir=$(realpath -m -- "$1")
  marker=$dir/.convoy-dev-cluster
  processes=$dir/processes
  if [ -s "$marker" ]; then base=$(cat "$marker"); else base=$dir; fi
  export SLURM_CONF=$base/etc/slurm.conf
}

is_cluster() { [ -e "$marker" ]; }

# When a process began, in ticks since boot: with its id, its identity. Empty if it is gone, or only its parent has not noticed.
# The program's name, the second field, may hold blanks.
began() { sed -n 's/^.*) \([^ZX]\) /\1 /p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20 || true; }

# record NAME PID / forget NAME / alive NAME: the daemons that start.sh and node.sh started, one a line of `processes`.
record() { printf '%s %s %s\n' "$1" "$2" "$(began "$2")" >>"$processes"; }
forget() { sed -i "/^$1 /d" "$processes"; }
# The pid of a daemon that runs; nothing, and 1, otherwise.
alive() {
  local name pid start
  [ -e "$processes" ] || return 1
  while read -r name pid start; do
    if [ "$name" = "$1" ] && [ -n "$start" ] && [ "$(began "$pid")" = "$start" ]; then
      printf '%s\n' "$pid"
      return 0
    fi
  done <"$processes"
  return 1
}

daemons() { if [ -e "$processes" ]; then cut -d' ' -f1 "$processes"; fi; }
node_names() { daemons | sed -n 's/^slurmd-//p'; }

# all_running: every daemon that was started still runs.
all_running() {
  local name
  [ -s "$processes" ] || return 1
  for name in $(daemons); do alive "$name" >/dev/null || return 1; done
}

# tasks NODE: pids of what Slurm started on NODE (a regular expression) of this cluster: jobs' scripts, tasks, and the slurmstepd
# above them. A shell of the user's in which env.sh was sourced has no SLURMD_NODENAME and is not among them.
tasks() {
  local environ pid parent
  { grep -lzxF -e "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ || true; } 2>/dev/null | while read -r environ; do
    pid=${environ//[^0-9]/}
    grep -qzx -e "SLURMD_NODENAME=$1" "$environ" 2>/dev/null || continue
    printf '%s\n' "$pid"
    parent=$(sed -n 's/^.*) . \([0-9]*\) .*/\1/p' "/proc/$pid/stat" 2>/dev/null || true)
    if [ -n "$parent" ] && grep -qaE '^slurmstepd' "/proc/$parent/cmdline" 2>/dev/null; then printf '%s\n' "$parent"; fi
  done | sort -un
}

# start_daemon NAME COMMAND...: in a session of its own, so that a terminal's interrupt does not reach it.
start_daemon() {
  local name=$1
  shift
  setsid "$@" </dev/null >>"$dir/log/$name.out" 2>&1 9>&- &
  record "$name" $!
  disown $!
}

start_slurmd() { start_daemon "slurmd-$1" slurmd -D -N "$1" -L "$base/log/slurmd-$1.log"; }

# end_daemons NAME...: asks all of them, waits three seconds, kills what is left.
end_daemons() {
  local name pid i left
  for name in "$@"; do
    if pid=$(alive "$name"); then kill -TERM "$pid" 2>/dev/null || true; fi
  done
  for ((i = 0; i < 60; ++i)); do
    left=no
    for name in "$@"; do if alive "$name" >/dev/null; then left=yes; fi; done
    [ "$left" = yes ] || return 0
    sleep 0.05
  done
  for name in "$@"; do
    if pid=$(alive "$name"); then kill -KILL "$pid" 2>/dev/null || true; fi
  done
}

# Waits until the state of NODE (idle, mix, alloc, down) is one of those after it; 1 after SECONDS.
wait_for_node() {
  local node=$1 seconds=$2 state i
  shift 2
  for ((i = 0; i < 10 * seconds; ++i)); do
    state=$(timeout 5 sinfo -h -n "$node" -o %t 2>/dev/null | head -n 1 || true)
    case " $* " in *" $state "*) return 0 ;; esac
    sleep 0.1
  done
  return 1
}
