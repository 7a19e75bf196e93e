#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes a node of a private cluster away as a power cut would, and gives it back.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

usage() {
  cat <<TEXT
Usage: slurm/dev-cluster/node.sh [--dir DIR] crash|revive NODE

  crash NODE    kills the node's slurmd and everything that Slurm started on it, at once and without a word. Slurm notices
                after SlurmdTimeout (10 s) and puts the node's jobs back into the queue
  revive NODE   starts its slurmd again, and waits until the node is usable. One that runs is left alone
  --dir DIR     the cluster's folder (default: $(default_dir))
  --help        this text

For example: slurm/dev-cluster/node.sh crash n02
Exit codes: 0 done; 2 usage; 6 there is no such cluster or node; 7 the node did not come back.
TEXT
}

where=$(default_dir) action='' node=''
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --dir)
      need_value "$@"
      where=$2
      shift
      ;;
    -*) fail 2 "unknown argument $1; see --help" ;;
    *)
      if [ -z "$action" ]; then
        action=$1
      elif [ -z "$node" ]; then
        node=$1
      else
        fail 2 "one node at a time: unexpected $1"
      fi
      ;;
  esac
  shift
done
case $action in
  crash | revive) ;;
  '') usage >&2; exit 2 ;;
  *) fail 2 "unknown action $action: expected crash or revive" ;;
esac
[ -n "$node" ] || fail 2 "$action needs the name of a node"

use_dir "$where"
is_cluster || fail 6 "no cluster in $dir"
node_names | grep -qxF -e "$node" || fail 6 "there is no node $node; there are: $(node_names | tr '\n' ' ')"

# The daemon first: it would report what its tasks did. Then what is above the tasks, for the same reason: they are all sent
# the signal in one call.
crash() {
  local pid pids
  if pid=$(alive "slurmd-$node"); then kill -KILL "$pid"; fi
  pids=$(tasks "$node" | tr '\n' ' ')
  # shellcheck disable=SC2086  # a list of numbers
  if [ -n "$pids" ]; then kill -KILL $pids 2>/dev/null || true; fi
  printf 'crashed %s: slurmd %s, tasks %s\n' "$node" "${pid:-was not running}" "${pids:-none}"
}

revive() {
  if alive "slurmd-$node" >/dev/null; then
    printf '%s runs\n' "$node"
    return 0
  fi
  forget "slurmd-$node"
  find "$base/tmp/$node" -mindepth 1 -delete  # a reboot empties /tmp, but not slurmd's spool
  start_slurmd "$node"
  wait_for_node "$node" 20 idle mix alloc || fail 7 "$node did not come back; see $dir/log/slurmd-$node.log"
  printf '%s is back\n' "$node"
}

exec 9>"$dir/lock"
flock -w 60 9 || fail 7 "a start or stop is at work on $dir"
"$action"
