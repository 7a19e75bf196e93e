#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what Convoy needs from Debian's packages: as root whatever is missing; as another user it only says what to ask
# an administrator for, and exits with 7. Running it again does nothing.
set -euo pipefail

packages=(
  # The compiler and its tools
  build-essential cmake ninja-build pkg-config
  # What the programs link (cmake/ConvoyDependencies.cmake finds them); oneDNN's package does not bring its OpenCL
  libcli11-dev libdnnl-dev libfmt-dev libhdf5-dev libhwy-dev libicu-dev libonig-dev libopenmpi-dev libprotozero-dev libsentencepiece-dev
  libsimdjson-dev libspdlog-dev libssl-dev libtomlplusplus-dev libxxhash-dev libzstd-dev nlohmann-json3-dev
  ocl-icd-opencl-dev zlib1g-dev
  # mpirun, which starts several ranks
  openmpi-bin
  # Tests; some call a checker in Python
  libgmock-dev libgtest-dev python3
  # English text for scripts/demo.sh. Slim images leave out /usr/share/doc, and these packages keep theirs elsewhere.
  perl-doc vim-runtime
)
# With --slurm: a private cluster (slurm/dev-cluster), and what its tests check scripts with. Slurm's PMIx plugin opens a
# library that is in the -dev package.
slurm_packages=(slurmctld slurmd slurm-client munge libpmix-dev shellcheck)

usage() {
  cat <<'TEXT'
Usage: scripts/setup.sh [--slurm] [--list]

Installs the Debian packages that building, testing and the demo need, and that are missing (as root, with apt-get). Another
user gets the one line to ask an administrator for, and exit code 7.

  --slurm  also Slurm, for slurm/dev-cluster and the tests of the job scripts; the programs do not need it to build or run
  --list   print the packages and stop
  --help   this text
TEXT
}

list=no
while [ $# -gt 0 ]; do
  case $1 in
    --slurm) packages+=("${slurm_packages[@]}") ;;
    --list) list=yes ;;
    --help | -h) usage; exit 0 ;;
    *) printf 'setup.sh: unknown argument %s\n\n' "$1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
if [ "$list" = yes ]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

if ! command -v dpkg-query >/dev/null; then
  printf 'setup.sh: this is no Debian (no dpkg); install the equivalents of these packages yourself:\n  %s\n' "${packages[*]}" >&2
  exit 7
fi

missing=()
for package in "${packages[@]}"; do
  # shellcheck disable=SC2016  # dpkg expands this, not the shell
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || status=none
  [ "$status" = installed ] || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  printf 'setup.sh: all %d packages are installed\n' ${#packages[@]}
  exit 0
fi

if [ "$(id -u)" -ne 0 ]; then
  printf 'setup.sh: %d packages are missing; ask an administrator for:\n' ${#missing[@]} >&2
  printf '  apt-get install --no-install-recommends %s\n' "${missing[*]}" >&2
  exit 7
fi

export DEBIAN_FRONTEND=noninteractive
printf 'setup.sh: installing %d packages: %s\n' ${#missing[@]} "${missing[*]}"
install() { apt-get install -y -q --no-install-recommends "${missing[@]}"; }
update_and_install() { apt-get update -q && install; }
# Package lists that are older than a point release name files that the mirrors no longer have.
if apt-cache show "${missing[@]}" >/dev/null 2>&1 && install; then exit 0; fi
if update_and_install; then exit 0; fi
printf 'setup.sh: apt-get could not install them; see its messages above\n' >&2
exit 7
