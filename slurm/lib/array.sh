#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Numbers of array elements as Slurm writes them, "3,17,40-42", and one a line. Sourced.
# shellcheck shell=bash

# numbers_of SPEC: one a line.
numbers_of() {
  tr ',' '\n' <<<"$1" | awk -F- 'NF == 1 {print $1 + 0} NF == 2 {for (i = $1; i <= $2; ++i) print i + 0}'
}

# spec_of: the numbers of the standard input, which rise, as one text; empty if there are none.
spec_of() {
  awk 'function close_range() { spec = spec (spec == "" ? "" : ",") (first == last ? first : first "-" last) }
    NR == 1 {first = last = $1; next}
    $1 == last + 1 {last = $1; next}
    {close_range(); first = last = $1}
    END {if (NR) {close_range(); print spec}}'
}

# chunks SIZE: of the numbers of the standard input, which rise, a line "OFFSET SPEC" for each array that Slurm takes: elements are
# numbered from OFFSET, and their numbers are below SIZE.
chunks() {
  local size=$1 numbers offset
  numbers=$(cat)
  awk -v size="$size" '{print $1 - $1 % size}' <<<"$numbers" | uniq | while read -r offset; do
    printf '%s %s\n' "$offset" "$(awk -v size="$size" -v offset="$offset" \
      '$1 >= offset && $1 < offset + size {print $1 - offset}' <<<"$numbers" | spec_of)"
  done
}

# largest_array: how many elements an array may have here (their numbers end before it).
largest_array() {
  local most
  most=$(scontrol show config 2>/dev/null | sed -n 's/^MaxArraySize *= *\([0-9]*\).*/\1/p' || true)
  most=${most:-1001}
  # Slurm's default is 1001, so that 1000 are a round number.
  if [ "$most" -gt 1 ]; then echo $((most - 1)); else echo 1; fi
}
