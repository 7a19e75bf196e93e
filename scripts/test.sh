#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs every test: the release build's, then those of the sanitizer builds with the fuzzers. A failure
# does not stop it; the last line counts.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/test.sh [--all]

Installs what is missing (scripts/setup.sh), builds the presets release, asan and tsan below build/, and runs their tests.
Exit code 0 only if all passed. The last line is "N passed, N failed".

  --all    also the tests that take long, and the sanitizers on every module with all their checks (hours)
  --help   this text
TEXT
}

all=no
case ${1-} in
  '') ;;
  --all) all=yes ;;
  --help | -h) usage; exit 0 ;;
  *) printf 'test.sh: unknown argument %s\n\n' "$1" >&2; usage >&2; exit 2 ;;
esac

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=$(nproc)
passed=0 failed=0
report=()

step() { printf '\n== %s  [%dm %02ds]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

# count RESULT: the verdict of something that is one test: a build.
count() {
  if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# run_tests PRESET LABELS: builds a preset and runs its tests, and adds ctest's numbers to ours.
run_tests() {
  local preset=$1 labels=$2 log=build/$1/tests.log status=0 summary total broken
  shift 2
  local started=$SECONDS
  step "$preset: build"
  { cmake --preset "$preset" "$@" >"build/$preset-configure.log" 2>&1 || { cat "build/$preset-configure.log"; false; }; } &&
    cmake --build "build/$preset" -j "$jobs" || status=$?
  count "$status"
  if [ "$status" -ne 0 ]; then
    report+=("$preset: the build FAILED")
    return
  fi
  step "$preset: tests labelled $labels"
  ctest --test-dir "build/$preset" -L "$labels" -j "$jobs" --output-on-failure --no-tests=error 2>&1 | tee "$log" || status=$?
  # "97% tests passed, 1 tests failed out of 31"
  summary=$(sed -n 's/^.*tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log")
  read -r broken total <<<"${summary:-1 1}"
  if [ "$status" -ne 0 ] && [ "$broken" -eq 0 ]; then broken=1 total=$((total + 1)); fi
  passed=$((passed + total - broken)) failed=$((failed + broken))
  report+=("$preset: $((total - broken)) of $total tests passed, $((SECONDS - started)) s with the build")
}

mkdir -p build
step "Set-up: packages"
scripts/setup.sh
scripts/setup.sh --slurm || printf 'test.sh: without these, the tests on a private Slurm cluster are skipped\n' >&2

labels='fast|ci'
if [ "$all" = yes ]; then labels='fast|ci|long'; fi
# Tests of other labels are not even built.
chosen=-DCONVOY_TEST_LABELS=${labels//|/;}
run_tests release "^($labels)$" "$chosen"
if [ "$all" = yes ]; then
  run_tests asan "^($labels)$" "$chosen" -DCONVOY_TEST_MODULES= -DCONVOY_SANITIZE_FULL=ON
  run_tests tsan "^($labels)$" "$chosen" -DCONVOY_TEST_MODULES=
else
  run_tests asan "^($labels)$" "$chosen" -DCONVOY_SANITIZE_FULL=OFF
  run_tests tsan "^($labels)$" "$chosen"
fi

step "Summary"
printf '%s\n' "${report[@]}"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
