#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts a private Slurm cluster on this machine: its own munged, one slurmctld, and a slurmd for each made-up node, all owned by
# the caller, all on the loopback interface, all of their state in one folder. Needs no root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
. "$here/configuration.sh"

usage() {
  cat <<TEXT
Usage: slurm/dev-cluster/start.sh [--dir DIR] [--nodes N] [--cpus N] [--gpus N] [--port P]

Starts a Slurm cluster of N nodes on this machine, for this user alone. Then, in the shell that is to use it:

  . DIR/env.sh && sinfo

  --dir DIR   where its state goes (default: $(default_dir)); made if it is not there
  --nodes N   nodes n01, n02, ... (default 4, at most 64)
  --cpus N    processors a node claims, at most 256, whatever the machine has (default 4)
  --gpus N    GPUs a node claims (gres/gpu), at most 64; they are links to /dev/null (default 4)
  --port P    the first of N + 1 ports in a row (default: free ones)
  --help      this text

A cluster that already runs there, with the same numbers, is left alone. Partition batch is the default; jobs in partition
urgent preempt those in batch. See also stop.sh, status.sh and node.sh, and README.md for a tour.
Exit codes: 0 it runs; 2 usage; 7 Slurm is not installed, no free ports, or it did not start.
TEXT
}

# number FLAG VALUE LEAST MOST
number() {
  case $2 in '' | *[!0-9]* | ??????*) fail 2 "$1 $2: expected a whole number from $3 to $4" ;; esac
  if [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then fail 2 "$1 $2: expected a whole number from $3 to $4"; fi
}

nodes=4 cpus=4 gpus=4 port='' where=$(default_dir)
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --dir | --nodes | --cpus | --gpus | --port)
      need_value "$@"
      case $1 in
        --dir) where=$2 ;;
        --nodes) number "$1" "$2" 1 64; nodes=$2 ;;
        --cpus) number "$1" "$2" 1 256; cpus=$2 ;;
        --gpus) number "$1" "$2" 0 64; gpus=$2 ;;
        --port) number "$1" "$2" 1024 65000; port=$2 ;;
      esac
      shift 2
      ;;
    *) fail 2 "unknown argument $1; see --help" ;;
  esac
done

need_slurm() {
  local program missing=''
  for program in munged munge slurmctld slurmd srun sbatch scontrol; do
    command -v "$program" >/dev/null || missing+=" $program"
  done
  [ -z "$missing" ] || fail 7 "Slurm is not installed here (no$missing). On Debian:
  apt-get install --no-install-recommends slurmctld slurmd slurm-client munge libpmix-dev
(as root; or scripts/setup.sh --slurm)"
}

# The folder, ours or empty; then `base`, the short name without blanks by which Slurm knows it.
make_folder() {
  mkdir -p -- "$dir" 2>/dev/null || fail 7 "cannot make the folder $dir: give another --dir"
  if ! is_cluster && [ -n "$(find "$dir" -mindepth 1 -not -name lock -print -quit)" ]; then
    fail 7 "$dir holds something that is no cluster: give another --dir"
  fi
  [ -w "$dir" ] || fail 7 "cannot write to $dir: give another --dir"
  chmod 700 "$dir"  # who reaches munge's socket may submit
}

name_folder() {
  local plain=yes
  case $dir in *[!A-Za-z0-9/._-]*) plain=no ;; esac
  # A socket's path has at most 107 characters, and Slurm and Open MPI append up to 60.
  if [ "$plain" = yes ] && [ ${#dir} -le 45 ]; then
    base=$dir
  else
    base=$(mktemp -d /tmp/convoy-slurm.XXXXXX)/c
    ln -s -- "$dir" "$base"
  fi
  printf '%s\n' "$base" >"$marker"
  export SLURM_CONF=$base/etc/slurm.conf
}

# Local ports in use, of any state.
used_ports() {
  local hex
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk 'NR > 1 {n = split($2, part, ":"); print part[n]}' | sort -u |
    while read -r hex; do case $hex in [0-9A-F]*) printf '%d\n' "0x$hex" ;; esac; done
}

# free_ports P: none of the ports P .. P + nodes is in use.
free_ports() {
  local used
  used=$(used_ports)
  ! awk -v first="$1" -v last=$(($1 + nodes)) '$1 >= first && $1 <= last {found = 1} END {exit !found}' <<<"$used"
}

# Below the range from which the kernel hands out ports; by chance, so that two clusters that start at once do not meet.
choose_port() {
  local attempt
  for ((attempt = 0; attempt < 50; ++attempt)); do
    port=$((12000 + RANDOM % 20000))
    if free_ports "$port"; then return 0; fi
  done
  fail 7 "found no $((nodes + 1)) free ports in a row: give --port"
}

start_munge() {
  local i
  mkdir -p "$base/munge"
  (umask 077 && head -c 128 /dev/urandom >"$base/munge/key")
  chmod 711 "$base/munge"
  # --force: munged wants its files to be root's, or munge's.
  start_daemon munged munged -F --force --socket="$base/munge/socket" --key-file="$base/munge/key" \
    --log-file="$base/munge/munged.log" --pid-file="$base/munge/munged.pid" --seed-file="$base/munge/seed"
  for ((i = 0; i < 200; ++i)); do
    if munge -S "$base/munge/socket" -n -o /dev/null 2>/dev/null; then return 0; fi
    sleep 0.05
  done
  return 1
}

# Started, and every node is idle; 1 as soon as a daemon has ended.
start_all() {
  local node i
  : >"$processes"
  mkdir -p "$base"/{log,state,tmp,spool}
  for node in $(all_nodes); do mkdir -p "$base/spool/$node" "$base/tmp/$node"; done
  write_configuration
  start_munge || return 1
  start_daemon slurmctld slurmctld -D -c -L "$base/log/slurmctld.log"
  for node in $(all_nodes); do start_slurmd "$node"; done
  for ((i = 0; i < 600; ++i)); do
    all_running || return 1
    if [ "$(timeout 5 sinfo -h -N -p batch -t idle -o %N 2>/dev/null | wc -l)" -eq "$nodes" ]; then return 0; fi
    sleep 0.05
  done
  return 1
}

# What the daemons said last, for a start that failed.
explain() {
  grep -hsiE 'fatal|error' "$dir"/log/*.out "$dir"/log/*.log "$dir"/munge/munged.log | tail -n 5 >&2 || true
}

need_slurm
use_dir "$where"
make_folder
exec 9>"$dir/lock"
flock -w 60 9 || fail 7 "another start or stop is at work on $dir"

wanted="nodes=$nodes cpus=$cpus gpus=$gpus"
ready() {
  printf 'a Slurm cluster of %d nodes runs; its state is in %s\nto use it:  . %q\n' "$nodes" "$dir" "$dir/env.sh"
  exit 0
}
if is_cluster && all_running; then
  running=$(cat "$dir/settings")
  [ "$running" = "$wanted" ] || fail 2 "a cluster with $running runs in $dir: stop it first, or give another --dir"
  ready
fi
if is_cluster; then
  say "what is left of a cluster in $dir is removed"
  "$here/stop.sh" --dir "$dir" --locked >/dev/null
  mkdir -p "$dir"
fi

given=$port
for attempt in 1 2 3; do
  if [ -z "$given" ]; then
    choose_port
  elif ! free_ports "$given"; then
    fail 7 "one of the ports $given to $((given + nodes)) is in use: give another --port"
  fi
  if [ ! -e "$marker" ]; then name_folder; fi
  printf '%s\n' "$wanted" >"$dir/settings"
  if start_all; then ready; fi
  # shellcheck disable=SC2046  # names without blanks
  end_daemons $(daemons)
  if [ -n "$given" ] || ! grep -qs 'Address already in use' "$dir"/log/*; then break; fi
  say "another program took one of the ports $port to $((port + nodes)) (attempt $attempt of 3)"
  rm -rf "$dir/log" "$dir/state" "$dir/munge"
done
explain
fail 7 "the cluster did not start; its logs are in $dir/log (stop.sh removes them)"
