#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where the programs are, and what starts their ranks. Sourced after job.sh.
# shellcheck shell=bash

# find_programs SLURM_FOLDER NAME...: makes sure that the programs are on PATH. Those of PATH win; else those of the installation,
# or of the build, to which the job script belongs. With --export=NONE there is little on PATH.
find_programs() {
  local folder=$1 name place
  shift
  for name in "$@"; do
    command -v "$name" >/dev/null && continue
    for place in "$folder/../../../bin" "$folder/../build/release/bin"; do
      if [ -x "$place/$name" ]; then
        PATH=$(cd "$place" && pwd):$PATH
        export PATH
        break
      fi
    done
    command -v "$name" >/dev/null && continue
    say "$name is not on PATH: load its module, or add its folder"
    return 1
  done
}

# choose_launcher: the command that starts the ranks, into `launcher`. CONVOY_LAUNCHER is one, as words.
# shellcheck disable=SC2034  # launcher is the caller's
choose_launcher() {
  local kinds kind tasks
  if [ -n "${CONVOY_LAUNCHER-}" ]; then
    read -r -a launcher <<<"$CONVOY_LAUNCHER"
    return 0
  fi
  kinds=$(srun --mpi=list 2>&1 || true)
  for kind in pmix pmix_v5 pmix_v4 pmix_v3; do
    if grep -qw "$kind" <<<"$kinds"; then
      launcher=(srun --mpi="$kind" --kill-on-bad-exit=1)
      return 0
    fi
  done
  tasks=$(tasks_of_job)
  if [ "$tasks" -eq 1 ]; then
    launcher=(srun --mpi=none --ntasks=1 --nodes=1)
  elif command -v mpirun >/dev/null; then
    launcher=(mpirun --bind-to none -n "$tasks")
  else
    say "Slurm has no PMIx here and there is no mpirun: set CONVOY_LAUNCHER to what starts $tasks ranks"
    return 1
  fi
}
