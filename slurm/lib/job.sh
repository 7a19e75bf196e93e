#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What job scripts ask of Slurm: a step that they can hear signals beside, the state of their own job, a place in the queue.
# Sourced, with `set -u`.
# shellcheck shell=bash

say() { printf '%s %s: %s\n' "$(date +%T)" "${SLURM_JOB_NAME:-convoy}" "$*" >&2; }

# Which run of this job this is, from 1: Slurm counts the times that it was put back into the queue.
attempt() { echo $((${SLURM_RESTART_COUNT:-0} + 1)); }

# What #SBATCH and the options of sbatch do not reach: with --export=NONE, steps would start in an empty environment; and from
# Slurm 22.05 to 23.02 srun does not take over --cpus-per-task.
inherit_options() {
  export SLURM_EXPORT_ENV=ALL
  if [ -n "${SLURM_CPUS_PER_TASK-}" ]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi
}

# As many tasks as were asked for; one a node where only nodes were.
tasks_of_job() { echo "${SLURM_NTASKS:-${SLURM_JOB_NUM_NODES:-1}}"; }

# hear_signals: from here on USR2 and TERM do not end the shell. A script that cannot start its step at once calls it first.
hear_signals() {
  step='' heard=no ended=no warned=${warned:-no}
  trap 'heard=yes warned=yes; if [ -n "$step" ]; then pass_on_warning; fi' USR2
  trap 'heard=yes ended=yes; say "TERM: Slurm ends this job"' TERM
}

# Whether the ranks of the step listen for signals yet: before, USR2 would kill them. A script that can tell says so itself.
begun() { true; }

# srun and mpirun hand USR2 on to every rank. TERM they must not get from us: srun answers it by killing the step, and the
# tasks have it from Slurm already.
pass_on_warning() {
  say 'USR2: the time is nearly up; asking the ranks to stop'
  until begun || ! kill -0 "$step" 2>/dev/null; do sleep 0.2; done
  kill -USR2 "$step" 2>/dev/null || true
}

# A node that comes back from a crash may still hold what the PMIx plugin made for a step, and then refuses another of the same
# job and number. In a requeued job numbers begin anew, so that an attempt leaves some out.
skip_step_numbers() {
  local i skipped=$((${SLURM_RESTART_COUNT:-0} % 8))
  for ((i = 0; i < skipped; ++i)); do
    timeout --kill-after=5 60 srun --overlap --mpi=none --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpus-per-task=1 true \
      </dev/null >/dev/null 2>&1 || true
  done
}

# start_step LOG COMMAND...: in the background, appending to LOG. In the foreground, the shell would hear of a signal only once
# the step had ended.
start_step() {
  local log=$1
  shift
  "$@" </dev/null >>"$log" 2>&1 &
  step=$!
  if [ "$warned" = yes ]; then pass_on_warning; fi
}

# Waits until the step has ended; its exit code is in step_code. A signal ends a wait, but not the step.
# shellcheck disable=SC2034  # step_code is the caller's
await_step() {
  while :; do
    heard=no step_code=0
    wait "$step" || step_code=$?
    [ "$heard" = yes ] || break
  done
}

# RUNNING, COMPLETING, CANCELLED, ...; empty outside of a job or where there is no scontrol.
job_state() {
  [ -n "${SLURM_JOB_ID-}" ] || return 0
  scontrol show job "$SLURM_JOB_ID" 2>/dev/null | sed -n 's/^ *JobState=\([A-Z_]*\).*/\1/p' | head -n 1
}

# Whether every node of the job still starts a process. Slurm itself takes minutes to miss one.
nodes_answer() {
  local nodes=${SLURM_JOB_NUM_NODES:-1}
  timeout --kill-after=5 60 srun --overlap --mpi=none --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 \
    --cpus-per-task=1 true </dev/null >/dev/null 2>&1
}

# requeue LIMIT: puts this job back into the queue and waits for Slurm to end it. Returns, with 1, where that must not or cannot
# be: a job that is cancelled would come back to life.
requeue() {
  local limit=$1 state
  state=$(job_state)
  if [ -z "$state" ]; then
    say 'not put back into the queue: this is no job of Slurm; submit it again'
  elif [ "$state" != RUNNING ] || [ "$ended" = yes ]; then
    say "not put back into the queue: Slurm is ending this job ($state)"
  elif [ "${SLURM_RESTART_COUNT:-0}" -ge "$limit" ]; then
    say "not put back into the queue: it has been there $limit times (CONVOY_MAX_REQUEUES); submit it again to go on"
  elif trap : TERM && scontrol requeue "$SLURM_JOB_ID"; then
    say "back into the queue, for attempt $(($(attempt) + 1))"
    sleep 60 &
    wait $! || true
    return 0
  else
    say 'this cluster did not put the job back into the queue (see above): submit it again to go on'
  fi
  return 1
}
