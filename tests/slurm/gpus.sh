#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The example job file of a GPU partition: Slurm takes what it asks for, and every rank sees all GPUs of its node.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
start_cluster --nodes 3 --cpus 4 --gpus 4
sed 's/"gpu"$/"batch"/' "$root/slurm/examples/gpu.toml" >gpu.toml
declare -A scripts=([train]=train [export]=ckpt [report]=profile)
for stage in "${!scripts[@]}"; do
  eval "$(convoy-train job gpu.toml --stage "$stage")"
  mkdir -p "$job_log_folder"
  sbatch --test-only "${job_sbatch[@]}" "$root/slurm/${scripts[$stage]}.sbatch" 2>test.txt || broken "$stage: $(cat test.txt)"
done
eval "$(convoy-train job gpu.toml --stage train)"
job=$(sbatch --parsable "${job_sbatch[@]}" --output=seen.log \
  --wrap 'srun --mpi=none sh -c "echo \$SLURMD_NODENAME \$SLURM_LOCALID \$CUDA_VISIBLE_DEVICES"')
expect_end "$job" COMPLETED 0
for node in n01 n02; do for task in 0 1 2 3; do printf '%s %d 0,1,2,3\n' "$node" "$task"; done; done >expected.txt
sort seen.log | diff expected.txt - || broken 'not every rank sees all GPUs of its node'
