#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every script explains itself with --help, on stdout, and refuses what it does not know. Needs no Slurm.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
failed() { printf 'FAILED: %s\n' "$*"; exit 1; }

count=0
for script in "$root"/slurm/*.sbatch "$root"/slurm/*.sh "$root"/slurm/dev-cluster/*.sh "$root"/scripts/*.sh; do
  [ -x "$script" ] || continue  # a library of others
  # From another folder, and with nothing of a job around it.
  (cd / && env -u SLURM_JOB_ID bash "$script" --help >"$folder/out" 2>"$folder/err") || failed "$script --help"
  [ ! -s "$folder/err" ] || failed "$script --help writes to stderr: $(cat "$folder/err")"
  grep -q '^Usage: ' "$folder/out" || failed "$script --help has no usage"
  grep -q -- '--help' "$folder/out" || case $script in *.sbatch) ;; *) failed "$script --help does not name --help" ;; esac
  grep -Eq 'xit code' "$folder/out" || case $script in */demo.sh | */setup.sh | */test.sh | *.sbatch) ;; *) failed "$script --help has no exit codes" ;; esac
  count=$((count + 1))
done
[ "$count" -ge 12 ] || failed "only $count scripts were found"

for script in "$root"/slurm/*.sbatch "$root"/slurm/submit.sh "$root"/slurm/status.sh; do
  code=0
  bash "$script" >"$folder/out" 2>"$folder/err" </dev/null || code=$?
  [ "$code" = 2 ] || failed "$script without arguments: code $code"
  [ ! -s "$folder/out" ] || failed "$script without arguments writes to stdout"
  grep -q '^Usage: ' "$folder/err" || failed "$script without arguments has no usage"
done
printf 'passed: help\n'
