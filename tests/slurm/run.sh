#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one case, tests/slurm/NAME.sh, on a private cluster of its own in a temporary folder, and leaves nothing behind: usage
# run.sh NAME BIN_FOLDER SECONDS. Exit code 77: skipped, because Slurm is not installed. After SECONDS all of it is ended.
set -euo pipefail

case=$1 bin=$2 seconds=$3
if [ -z "${CONVOY_SLURM_TEST_LIMITED-}" ]; then
  export CONVOY_SLURM_TEST_LIMITED=yes
  exec timeout --kill-after=30 "$seconds" bash "${BASH_SOURCE[0]}" "$@"
fi

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export PATH="$bin:$PATH:/usr/sbin:/sbin"
# Outer clusters and jobs do not exist for the case.
for variable in "${!SLURM@}" "${!SBATCH_@}" "${!OMPI_@}" "${!PMIX_@}"; do unset "$variable"; done
unset OMP_NUM_THREADS
. "$here/support.sh"

for program in slurmctld slurmd srun sbatch munged; do
  if ! command -v "$program" >/dev/null; then
    printf 'skipped: Slurm is not installed here (no %s); scripts/setup.sh --slurm installs it\n' "$program"
    exit 77
  fi
done

folder=$(mktemp -d "${TMPDIR:-/tmp}/convoy-test-slurm.XXXXXX")
# With blanks, as people's folders have them.
cluster="$folder/the cluster"
work="$folder/a place"

# What the case has started, and what that has, has this in its environment. (grep itself has gone when it is looked for.)
export CONVOY_TEST_FOLDER="$folder"
leftovers() {
  local environ command
  { grep -lzsxF "CONVOY_TEST_FOLDER=$folder" /proc/[0-9]*/environ || true; } | while read -r environ; do
    command=$(tr '\0' ' ' 2>/dev/null <"${environ%environ}cmdline" || true)
    if [ -n "$command" ]; then printf '%s %s\n' "${environ//[^0-9]/}" "$command"; fi
  done 2>/dev/null
}

clean_up() {
  local status=$? short left
  trap - EXIT INT TERM
  short=$(cat "$cluster/.convoy-dev-cluster" 2>/dev/null || true)
  "$root/slurm/dev-cluster/stop.sh" --dir "$cluster" >/dev/null || status=1
  left=$(leftovers)
  if [ -n "$left" ]; then
    printf 'processes are left, and killed:\n%s\n' "$left"
    cut -d' ' -f1 <<<"$left" | xargs kill -KILL 2>/dev/null || true
    status=1
  fi
  if [ -n "$short" ] && [ -L "$short" ]; then
    printf '%s is left\n' "$short"
    status=1
  fi
  rm -rf -- "$folder"
  exit "$status"
}
trap clean_up EXIT
trap 'printf "the case ran past its %s s, or was interrupted\n" "$seconds"; exit 124' INT TERM

mkdir -p "$work"
cd "$work"
# shellcheck source=/dev/null  # the case
. "$here/$case.sh"
printf 'passed: %s\n' "$case"
