#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the scripts make of files and values that are not as they should be. Needs no Slurm; usage damaged.sh BIN_FOLDER.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PATH=$1:$PATH
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
failed() { printf 'FAILED: %s\n' "$*"; exit 1; }

# Values of status.json: with quotes, commas and braces in them; numbers; nothing.
. "$root/slurm/lib/run_directory.sh"
mkdir "$folder/run"
printf '%s\n' '{"state":"failed","step":12,"loss":null,"reason":"cannot open \"a, {b}\" \\ here","exit_code":7}' >"$folder/run/status.json"
[ "$(status "$folder/run" reason)" = 'cannot open "a, {b}" \ here' ] || failed "reason: $(status "$folder/run" reason)"
[ "$(status "$folder/run" state)" = failed ] || failed "state: $(status "$folder/run" state)"
[ "$(status "$folder/run" step)" = 12 ] || failed "step: $(status "$folder/run" step)"
[ -z "$(status "$folder/run" loss)$(status "$folder/run" other)$(status "$folder/none" step)" ] || failed 'nothing is something'

# A plan that cannot be read is no plan whose shards are all there; the other stages are shown all the same.
cp "$root"/slurm/examples/cpu.toml "$folder/job.toml"
mkdir "$folder/shards"
printf '{"truncated' >"$folder/shards/plan.json"
code=0
"$root/slurm/status.sh" "$folder/job.toml" >"$folder/out" 2>"$folder/err" || code=$?
[ "$code" = 6 ] || failed "status.sh with a damaged plan: code $code: $(cat "$folder/err")"
grep -q '^preprocess .*plan.json cannot be used' "$folder/out" || failed "the plan's line: $(cat "$folder/out")"
if grep -q '^preprocess .* done ' "$folder/out"; then failed "a damaged plan is done: $(cat "$folder/out")"; fi
grep -q '^report ' "$folder/out" || failed "stages are missing: $(cat "$folder/out")"

# offset VALUE: the exit code of an element with it.
offset() { SLURM_ARRAY_TASK_ID=1 CONVOY_SLURM="$root/slurm" bash "$root/slurm/preprocess.sbatch" "--offset=$1" --plan=none >"$folder/out" 2>"$folder/err"; }
for value in '' x 1x 9999999999; do
  code=0
  offset "$value" || code=$?
  { [ "$code" = 2 ] && grep -q 'whole number' "$folder/err"; } || failed "--offset=$value: code $code: $(cat "$folder/err")"
done
code=0
offset 08 || code=$?
grep -q "none" "$folder/err" || failed "--offset=08 is eight: code $code: $(cat "$folder/err")"
printf 'passed: damaged\n'
