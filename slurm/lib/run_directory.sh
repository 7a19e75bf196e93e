#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a run of convoy-train says of itself in its run directory. Sourced.
# shellcheck shell=bash disable=SC2154  # container is the caller's

# run_directory FLAGS...: RUN, as the flags of `convoy-train run` or their configuration name it.
run_directory() {
  local settings
  settings=$("${container[@]}" convoy-train run "$@" --print-config) || return 1
  # A string of TOML: quotes and backslashes have a backslash before them.
  sed -n 's/^out = "\(.*\)"$/\1/p' <<<"$settings" | tail -n 1 | sed 's/\\\(["\\]\)/\1/g'
}

# status RUN KEY: a value of status.json; empty where there is none, or null.
status() {
  local value
  value=$(sed -nE 's/.*"'"$2"'":("([^"\\]|\\.)*"|[^,}]*).*/\1/p' "$1/status.json" 2>/dev/null || true)
  case $value in \"*) value=$(sed -E 's/^"(.*)"$/\1/; s/\\(["\\])/\1/g' <<<"$value") ;; esac
  if [ "$value" != null ]; then printf '%s' "$value"; fi
}

# outcome RUN CODE: what became of a step that ended with CODE, as one of the documented exit codes. Launchers hide codes (137 and
# 143 of killed ranks, 1 of mpirun, 0 of a step that did not start): where they may have, status.json is the witness. A run that
# is refused leaves the status of an earlier one, or of another job, as it was; its code is never hidden.
outcome() {
  local state code
  case $2 in 2 | 3 | 4 | 7 | 75) echo "$2"; return ;; esac
  state=$(status "$1" state)
  case $2:$state in
    0:finished) echo 0 ;;
    0:*) echo 5 ;;
    *:stopped) echo 75 ;;
    *:failed) code=$(status "$1" exit_code) && echo "${code:-5}" ;;
    *:running) echo 5 ;;
    *) echo "$2" ;;
  esac
}
