#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Says whether a private cluster runs, and shows its nodes and jobs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

usage() {
  cat <<TEXT
Usage: slurm/dev-cluster/status.sh [--dir DIR]

Lists the daemons of the cluster in DIR, then its nodes (sinfo) and jobs (squeue).

  --dir DIR   its folder (default: $(default_dir))
  --help      this text

Exit codes: 0 all of its daemons run; 2 usage; 6 there is none, or a daemon has ended.
TEXT
}

where=$(default_dir)
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --dir)
      need_value "$@"
      where=$2
      shift
      ;;
    *) fail 2 "unknown argument $1; see --help" ;;
  esac
  shift
done

use_dir "$where"
if ! is_cluster || [ ! -s "$processes" ]; then
  printf 'no cluster in %s\n' "$dir"
  exit 6
fi

answer=0
for name in $(daemons); do
  if pid=$(alive "$name"); then
    printf '%-14s process %s\n' "$name" "$pid"
  else
    printf '%-14s has ended\n' "$name"
    answer=6
  fi
done
printf '\n'
timeout 10 sinfo -N -o '%8N %10P %8T %5c %12G %20E' || answer=6
printf '\n'
timeout 10 squeue -o '%10i %20j %10P %12T %10M %5D %20R' || answer=6
printf '\nto use it:  . %q\n' "$dir/env.sh"
exit "$answer"
