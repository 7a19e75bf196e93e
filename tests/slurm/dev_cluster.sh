#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The private cluster itself: started twice, two at a time, crashed and revived, stopped twice, as root and as another user.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
kit=$root/slurm/dev-cluster
start_cluster --nodes 2 --cpus 3 --gpus 2
"$kit/start.sh" --dir "$cluster" --nodes 2 --cpus 3 --gpus 2 >again.txt
expect_in again.txt '2 nodes runs'
code=0; "$kit/start.sh" --dir "$cluster" --nodes 3 2>other.txt || code=$?
expect_equal 2 "$code" 'the code of a start with other numbers'
expect_in other.txt 'nodes=2 cpus=3 gpus=2 runs'
expect_equal '2 3 gpu:2' "$(sinfo -h -p batch -o '%D %c %G')" 'what Slurm has'
srun --nodes=2 --ntasks-per-node=1 --gpus-per-node=2 sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES' | sort >seen.txt
expect_equal 'n01 0,1 n02 0,1 ' "$(tr '\n' ' ' <seen.txt)" 'what tasks see'

"$kit/start.sh" --dir "$work/second" --nodes 1 >/dev/null
"$kit/status.sh" --dir "$work/second" >/dev/null || broken 'the second cluster'
"$kit/stop.sh" --dir "$work/second" >/dev/null
[ ! -e "$work/second" ] || broken 'stop.sh left files'

"$kit/node.sh" --dir "$cluster" crash n02 >/dev/null
code=0; "$kit/status.sh" --dir "$cluster" >status.txt || code=$?
expect_equal 6 "$code" 'the code of status.sh after a crash'
expect_in status.txt 'slurmd-n02 +has ended'
"$kit/node.sh" --dir "$cluster" revive n02 >/dev/null
"$kit/status.sh" --dir "$cluster" >/dev/null || broken 'status.sh after revive'
code=0; "$kit/node.sh" --dir "$cluster" crash n03 2>/dev/null || code=$?
expect_equal 6 "$code" 'the code of node.sh for a node that is not there'

"$kit/stop.sh" --dir "$cluster" >/dev/null
[ ! -e "$cluster" ] || broken 'stop.sh left files'
"$kit/stop.sh" --dir "$cluster" >again.txt
expect_in again.txt 'no cluster in'
code=0; "$kit/stop.sh" --dir "$work" 2>/dev/null || code=$?
expect_equal 7 "$code" 'the code of stop.sh for a folder of something else'
code=0; "$kit/start.sh" --dir "$work" 2>/dev/null || code=$?
expect_equal 7 "$code" 'the code of start.sh for a folder of something else'

# As an ordinary user, whom a checkout in root's home may keep out.
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent "$@"; }
if [ "$(id -u)" -eq 0 ] && as_nobody test -r "$kit/start.sh"; then
  chmod 711 "$folder" "$work"
  mkdir -m 777 "$work/nobody"
  as_nobody bash -euc '"$1/start.sh" --dir "$2/its own" --nodes 2 >/dev/null; . "$2/its own/env.sh"
    srun --nodes=2 --ntasks-per-node=1 id -u; "$1/node.sh" --dir "$2/its own" crash n01 >/dev/null
    "$1/stop.sh" --dir "$2/its own" >/dev/null; ls -A "$2"' - "$kit" "$work/nobody" >nobody.txt
  expect_equal '65534 65534 ' "$(tr '\n' ' ' <nobody.txt)" 'what nobody saw'
fi
