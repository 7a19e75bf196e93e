#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The files that Slurm reads, written by start.sh below $base/etc. Sourced. The settings that look odd are those without which
# several nodes on one machine do not work; each says why.
# shellcheck shell=bash
# shellcheck disable=SC2154  # base, nodes, cpus, gpus and port are start.sh's

# n01 n02 ...
all_nodes() { for ((node = 1; node <= nodes; ++node)); do printf 'n%02d ' "$node"; done; }
node_range() { if [ "$nodes" -eq 1 ]; then echo n01; else printf 'n[01-%02d]' "$nodes"; fi; }

write_slurm_conf() {
  cat <<CONF
ClusterName=convoy
SlurmctldHost=$(uname -n)(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
# Every daemon listens on the loopback interface alone.
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
# cred_expire is also how long a requeued job waits; Slurm's default is two minutes.
AuthInfo=socket=$base/munge/socket,cred_expire=5
StateSaveLocation=$base/state
SlurmdSpoolDir=$base/spool/%n
# The PMIx plugin makes a folder below TmpFS whose name has no node in it: nodes that share one collide.
TmpFS=$base/tmp/%n
SlurmctldPidFile=$base/state/slurmctld.pid
SlurmdPidFile=$base/spool/%n/slurmd.pid
SlurmctldLogFile=$base/log/slurmctld.log
SlurmdLogFile=$base/log/slurmd-%n.log
# Nodes have as many processors as this file says, whatever the machine has.
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=$base/etc/task_prolog.sh
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=30
AccountingStorageType=accounting_storage/none
JobRequeue=1
ReturnToService=2
MailProg=/bin/true
PropagateResourceLimits=NONE
# A cluster to try things on answers at once.
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
KillWait=5
SlurmdTimeout=10
SlurmctldTimeout=10
MinJobAge=3600
# Jobs of partition urgent push jobs of partition batch back into the queue.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
CONF
  local node number=0 gres=''
  if [ "$gpus" -gt 0 ]; then gres=" Gres=gpu:$gpus"; fi
  for node in $(all_nodes); do
    number=$((number + 1))
    printf 'NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d Boards=1 SocketsPerBoard=1 CoresPerSocket=%d ThreadsPerCore=1 RealMemory=65536%s State=UNKNOWN\n' \
      "$node" "$node" $((port + number)) "$cpus" "$cpus" "$gres"
  done
  printf 'PartitionName=batch Nodes=%s Default=YES MaxTime=1-0 DefaultTime=10 State=UP PriorityTier=1 GraceTime=8\n' "$(node_range)"
  printf 'PartitionName=urgent Nodes=%s MaxTime=1-0 DefaultTime=10 State=UP PriorityTier=10 PreemptMode=OFF\n' "$(node_range)"
}

# A GPU is a link to /dev/null: Slurm wants a device file, and reports GPUs without one as none.
write_gres_conf() {
  local gpu
  [ "$gpus" -gt 0 ] || return 0
  mkdir -p "$base/dev"
  for ((gpu = 0; gpu < gpus; ++gpu)); do ln -sfn /dev/null "$base/dev/gpu$gpu"; done
  if [ "$gpus" -eq 1 ]; then gpu=0; else gpu="[0-$((gpus - 1))]"; fi
  printf 'NodeName=%s Name=gpu File=%s/dev/gpu%s\n' "$(node_range)" "$base" "$gpu"
}

# What is different where several nodes are one machine.
write_task_prolog() {
  cat <<CONF
#!/bin/sh
echo "export TMPDIR=$base/tmp/\$SLURMD_NODENAME"
# Open MPI names its shared memory by host, user, job and local rank: the same on nodes that share a host, and a crash.
echo "export OMPI_MCA_btl=self,tcp"
echo "export OMPI_MCA_btl_tcp_if_include=lo"
echo "export OMPI_MCA_oob_tcp_if_include=lo"
# Ranks outnumber the cores: who waits lets the others work.
echo "export OMPI_MCA_mpi_yield_when_idle=1"
echo "export OMPI_ALLOW_RUN_AS_ROOT=1"
echo "export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
# The default exchange of addresses loses a race at the start of MPI on a busy machine (one start in eight crashes).
echo "export SLURM_PMIX_FENCE=ring"
CONF
}

# What a user's shell sources.
write_environment() {
  cat <<CONF
# The private cluster of convoy, until 'stop.sh'.
export SLURM_CONF=$base/etc/slurm.conf
export SLURM_PMIX_FENCE=ring
CONF
}

write_configuration() {
  mkdir -p "$base/etc"
  write_slurm_conf >"$base/etc/slurm.conf"
  write_gres_conf >"$base/etc/gres.conf"
  write_task_prolog >"$base/etc/task_prolog.sh"
  chmod 755 "$base/etc/task_prolog.sh"
  write_environment >"$base/env.sh"
}
