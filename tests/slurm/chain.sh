#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole chain, with an element of the array that fails once: training does not begin until a rerun of that element alone, and
# the pair is that of one run over everything. What is done is not done again.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_corpus
write_chain
mkdir pretended
cat >pretended/convoy-preprocess <<'SH'
#!/bin/sh
# Fails for one shard while there is a file `broken`.
case "$*" in *"--shard 2"*) if [ -e broken ]; then echo 'broken for a test' >&2; exit 3; fi ;; esac
exec "$REAL" "$@"
SH
chmod +x pretended/convoy-preprocess
REAL=$(command -v convoy-preprocess)
export REAL PATH="$work/pretended:$PATH"

touch broken
"$root/slurm/submit.sh" chain.toml 2>first.txt || broken "$(cat first.txt)"
expect_end "$(job_of train)" CANCELLED
[ ! -e 'the run' ] || broken 'training began without a shard'
expect_equal 2 "$(convoy-preprocess status --plan 'the shards/plan.json' 2>/dev/null || true)" 'the missing shards'
code=0; "$root/slurm/status.sh" chain.toml >status.txt || code=$?
expect_equal 6 "$code" 'the code of status.sh'
expect_in status.txt '^preprocess .*3 COMPLETED, FAILED 2 +of 4 shards, missing: 2'
expect_in status.txt '^train .*CANCELLED +not begun'

rm broken
stat -c '%n %y' 'the shards'/*.bin | grep -v 'shard-0*2\.' >before.txt
"$root/slurm/submit.sh" chain.toml 2>second.txt || broken "$(cat second.txt)"
again=$(job_of preprocess)
expect_end "$(job_of report)" COMPLETED
expect_equal 2 "$(field "$again" ArrayTaskId)" 'the elements of the second array'
stat -c '%n %y' 'the shards'/*.bin | grep -v 'shard-0*2\.' | cmp - before.txt || broken 'other shards were written again'
convoy-preprocess encode corpus --tokenizer tokenizer.model --document-separator blank-line --out whole 2>/dev/null
for kind in bin idx; do cmp "whole.$kind" "data/merged.$kind" || broken "the merged .$kind is not that of one run"; done
[ -s hf/model.safetensors ] || broken 'nothing was exported'
[ -s 'the run/report.html' ] || broken 'there is no report'

"$root/slurm/status.sh" chain.toml >status.txt || broken "status.sh of a chain that is done: $(cat status.txt)"
expect_equal 5 "$(grep -c ' done ' status.txt)" 'stages that are done'
cp logs/chain.jobs jobs.txt
"$root/slurm/submit.sh" chain.toml 2>third.txt || broken "$(cat third.txt)"
cmp logs/chain.jobs jobs.txt || broken "something was submitted again: $(cat third.txt)"
for said in 'preprocess: all 4 shards are complete' 'merge: done' 'train: done' 'export: done' 'report: done'; do expect_in third.txt "$said"; done
