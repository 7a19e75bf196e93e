#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every job script takes in front of its program's own arguments: the peculiarities of a site. Sourced after job.sh.
# shellcheck shell=bash disable=SC2154

site_usage() {
  cat <<'TEXT'
  --setup=LINE         in front of them, as often as needed: a line of shell to begin with: --setup='module load convoy'
  --container=WORDS    what stands in front of the program: --container='apptainer exec --nv convoy.sif'
TEXT
}

# site_options ARGUMENT...: takes the options above, and those of which the script says so, from the front; `rest` has what follows.
# shellcheck disable=SC2034  # rest and container are the caller's
site_options() {
  setup=() container=() rest=()
  while [ $# -gt 0 ]; do
    case $1 in
      --setup=*) setup+=("${1#*=}") ;;
      --container=*) read -r -a container <<<"${1#*=}" ;;
      *) script_option "$1" || break ;;
    esac
    shift
  done
  rest=("$@")
}

# script_option OPTION: takes an option of one script alone, or returns 1. A script that has some replaces it.
script_option() { return 1; }

# run_setup: what modules and their like are made of does not bear -e and -u.
run_setup() {
  local line code=0
  for line in "${setup[@]}"; do
    set +euo pipefail
    eval "$line"
    code=$?
    set -euo pipefail
    if [ "$code" != 0 ]; then
      say "the set-up line '$line' failed with code $code"
      return 1
    fi
  done
}

# begin PROGRAM ARGUMENT...: everything up to the program itself: the site's options, its set-up, the program on PATH (inside of a
# container it is the container's affair).
begin() {
  local program=$1
  shift
  site_options "$@"
  run_setup || exit 7
  inherit_options
  if [ ${#container[@]} -eq 0 ]; then find_programs "$here" "$program" || exit 7; fi
}

# run_commands PROGRAM COMMAND ARGUMENT... [-- COMMAND ARGUMENT...]...: one after the other; the first that fails ends it with its
# code.
run_commands() {
  local program=$1 word code=0
  local words=()
  shift
  for word in "$@" --; do
    if [ "$word" != -- ]; then
      words+=("$word")
      continue
    fi
    say "$program ${words[*]}"
    "${container[@]}" "$program" "${words[@]}" </dev/null || code=$?
    if [ "$code" != 0 ]; then
      say "$program ${words[0]} ended with code $code"
      return "$code"
    fi
    words=()
  done
}
