#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# submit.sh beside a chain that is under way, one that Slurm refuses, and one whose job file has changed.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 2
write_corpus
write_chain
submit() { "$root/slurm/submit.sh" "$@" 2>said.txt; }

# Nothing can start: the same call again leaves the jobs alone.
scontrol update partition=batch State=DOWN
submit chain.toml || broken "$(cat said.txt)"
cp logs/chain.jobs jobs.txt
submit chain.toml || broken "$(cat said.txt)"
cmp logs/chain.jobs jobs.txt || broken "submitted twice: $(cat said.txt)"
expect_in said.txt 'preprocess: under way are shards 0-3'
expect_in said.txt 'train: under way as job'
# An element is gone: it is submitted again, and what waited for it in vain is replaced.
old_train=$(job_of train)
array=$(job_of preprocess)
scancel "${array}_1"
submit chain.toml || broken "$(cat said.txt)"
expect_equal CANCELLED "$(state "$old_train")" 'the job that waited for it'
scontrol update partition=batch State=UP
expect_end "$(job_of report)" COMPLETED

# A plan of other settings.
sed -i 's/^shards = .*/shards = 5/' chain.toml
code=0; submit chain.toml || code=$?
expect_equal 6 "$code" 'the code for a plan of other settings'
expect_in said.txt 'made with other settings'

# A longer run goes on; what was exported before is in the way, which is told before it begins.
sed -i -e 's/^shards = .*/shards = 4/' -e 's/^steps = .*/steps = 40/' chain.toml
code=0; submit chain.toml || code=$?
expect_equal 6 "$code" 'the code for a folder in the way'
expect_in said.txt 'hf.* is there from an earlier run'
expect_equal '' "$(squeue --noheader)" 'jobs that were submitted'
mv hf hf-before
submit chain.toml || broken "$(cat said.txt)"
expect_end "$(job_of report)" COMPLETED
expect_equal 40 "$(status_of 'the run' step)" 'the last step'

# Slurm refuses the second job.
mkdir other
sed -e 's/^\[merge\]/&\npartition = "none"/' chain.toml >other/chain.toml
sed -i -e 's|"corpus"|"../corpus"|' -e 's|"tokenizer.model"|"../tokenizer.model"|' -e 's|"model.json"|"../model.json"|' other/chain.toml
code=0; submit other/chain.toml || code=$?
expect_equal 7 "$code" 'the code for a job that Slurm refuses'
expect_in said.txt 'cancelled what this call had submitted'
eventually nothing_queued
