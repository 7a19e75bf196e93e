#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# More shards than Slurm takes elements in an array: several arrays, one after the other where elements at a time are bounded. What
# --dry-run prints does it when it is pasted into a shell.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_corpus
write_chain
sed -i -e 's/^shards = .*/shards = 7\nmax-parallel = 2/' -e '/^\[train\]/,$d' chain.toml
mkdir pretended
cat >pretended/scontrol <<'SH'
#!/bin/sh
case "$*" in 'show config') echo 'MaxArraySize            = 4' ;; *) exec "$REAL" "$@" ;; esac
SH
chmod +x pretended/scontrol
REAL=$(command -v scontrol)
export REAL PATH="$work/pretended:$PATH"
"$root/slurm/submit.sh" chain.toml --dry-run >commands.sh 2>said.txt || broken "$(cat said.txt)"
if [ -e logs ] || [ -e 'the shards' ]; then broken 'a dry run made something'; fi
expect_equal '0-2%2 0-2%2 0%2 ' "$(sed -n 's/.*--array=\([^ ]*\).*/\1/p' commands.sh | tr '\n' ' ')" 'the arrays'
bash -eu commands.sh >pasted.txt 2>&1 || broken "pasted: $(cat commands.sh pasted.txt)"
merge=$(squeue --noheader --name=chain-merge --format=%i)
expect_end "$merge" COMPLETED 0
convoy-preprocess encode corpus --tokenizer tokenizer.model --document-separator blank-line --out whole 2>/dev/null
for kind in bin idx; do cmp "whole.$kind" "data/merged.$kind" || broken "the merged .$kind is not that of one run"; done
