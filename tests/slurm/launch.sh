#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How ranks are started: what cannot be one job is refused with one message and leaves no run directory; mpirun inside a job is
# as good as srun.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_config

# refused RUN PATTERN COMMAND...: exit code 2, the message once, nothing written.
refused() {
  local run=$1 pattern=$2 code=0
  shift 2
  "$@" convoy-train run --config run.toml --out "$run" >refusal.txt 2>&1 || code=$?
  expect_equal 2 "$code" "exit code of $*"
  expect_equal 1 "$(grep -cE -e "$pattern" refusal.txt)" "messages like '$pattern' of $*: $(cat refusal.txt)"
  [ ! -e "$run" ] || broken "$* wrote $run"
}
refused none '4 tasks of job [0-9]+ .*--mpi=pmix' srun --mpi=none "${two_by_two[@]}"
refused uneven '3 ranks are not spread evenly .*2 on n01, 1 on n02' srun --mpi=pmix --nodes=2 --ntasks=3
refused alone 'has 4 tasks, but this is one rank alone' salloc --quiet "${two_by_two[@]}"

reference
job=$(sbatch --parsable --output=mpirun.log "${two_by_two[@]}" --wrap 'mpirun convoy-train run --config run.toml --out run')
expect_end "$job" COMPLETED 0
expect_as_reference run
for place in 'n01 +0 ' 'n01 +1 ' 'n02 +2 ' 'n02 +3 '; do expect_in mpirun.log "^$place"; done
salloc --quiet "${two_by_two[@]}" srun --ntasks=1 --nodes=1 convoy-train run --config run.toml --out one >one.log 2>&1 || broken 'one rank, as asked for'
