#!/bin/bash
# The Debian 12 packages that Phalanx needs, each with its reason, and the installing of those that are missing.
#
#   tools/packages.sh GROUP…          install what is missing of build, check, run, bench
#   tools/packages.sh --list GROUP…   say what they are for
#
# As root it calls apt-get itself; otherwise through sudo, which asks for a password only at a terminal. With
# nothing missing it needs neither. It never removes a package of yours.
#
# python3-sklearn is not here on purpose: it depends (python3-scipy, python3-pythran) on libboost-dev, which is
# Boost 1.74 and conflicts with libboost1.81-dev. tools/digits.sh takes the one file of it that we want.
set -euo pipefail

# group   package                 reason
table='
build     cmake                   configures the build (presets)
build     ninja-build             runs it
build     g++                     the C++20 compiler, GCC 12
build     ccache                  makes the second build fast
build     libboost1.81-dev        Asio and Beast (network), Describe (codec)
build     libboost-json1.81-dev   JSON
build     libboost-system1.81-dev error codes of Asio
build     libfmt-dev              formatting; GCC 12 has no <format>
build     libyaml-cpp-dev         Kubernetes manifests
build     libsqlite3-dev          the journal on one machine
build     libssl-dev              TLS
build     libgtest-dev            unit tests: the one build holds them too
build     libbenchmark-dev        benchmarks
build     python3                 the tools of this repository
check     clang-19                the second compiler, and libFuzzer
check     clang-tidy-19           lint
check     clang-format-19         format
check     libclang-rt-19-dev      run-time of the sanitizers and of libFuzzer
check     libgmock-dev            test doubles at the purity line
check     iproute2                network namespaces: several nodes on one machine
check     iptables                partitions between them
check     util-linux              setarch, for the thread sanitizer; unshare
check     valgrind                instruction counts of the bounded benchmarks
run       python3-torch           the training job of the quickstart
run       python3-numpy           its data
bench     libbenchmark-dev        micro-benchmarks
bench     valgrind                callgrind: counts that do not depend on the machine
bench     slurmctld               the reference of bench/vs-slurm, which starts its own daemons in a folder
bench     slurmd                  its nodes
bench     slurm-client            its commands
bench     slurmdbd                its accounting
bench     munge                   its authentication
bench     mariadb-server          its accounts
'

usage() {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit "$1"
}

list_only=false
groups=()
for argument in "$@"; do
  case $argument in
    --list) list_only=true ;;
    -h | --help) usage 0 ;;
    build | check | run | bench) groups+=("$argument") ;;
    *) echo "packages: no group \"$argument\": build, check, run or bench" >&2; exit 2 ;;
  esac
done
((${#groups[@]})) || usage 2

installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

missing=()
while read -r group package reason; do
  [[ -n $group && " ${groups[*]} " == *" $group "* ]] || continue
  if $list_only; then
    printf '%-24s %s\n' "$package" "$reason"
  elif ! installed "$package" && [[ " ${missing[*]-} " != *" $package "* ]]; then
    missing+=("$package")
    ((${#missing[@]} > 1)) || echo "packages to install:"
    printf '  %-24s %s\n' "$package" "$reason"
  fi
done <<<"$table"
$list_only && exit 0
if ((${#missing[@]} == 0)); then
  echo "packages: all there (${groups[*]})"
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "packages: this is no Debian: install by hand what the list above names" >&2
  exit 1
fi
as_root=()
if ((EUID != 0)); then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
  elif command -v sudo >/dev/null && [[ -t 0 && -t 2 ]]; then
    echo "packages: installing needs root; sudo asks for your password"
    as_root=(sudo)
  else
    echo "packages: installing needs root. Ask your administrator for, or run as root:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# apt-get with patience: another apt may hold one of its locks (only the dpkg lock waits by itself), and a mirror
# may be busy for a moment.
apt() {
  local attempt
  for attempt in {1..60}; do
    if "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -y -qq \
      -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 \
      -o Dpkg::Options::=--force-confold "$@" >"$log" 2>&1 </dev/null; then
      return 0
    fi
    grep -qE 'Could not get lock|Unable to lock|Temporary failure|Hash Sum mismatch' "$log" || return 1
    ((attempt > 1)) || echo "packages: waiting for another apt or for the network …"
    sleep 10
  done
  return 1
}

# An update that fails is not the end: the lists that are there may do.
apt update || { echo "packages: apt-get update failed; going on with the lists at hand:"; tail -n 3 "$log"; }
install=(install --no-install-recommends --no-remove)
if ! apt "${install[@]}" "${missing[@]}"; then
  # One that cannot be had must not hide the others; and its own message is readable when it is alone.
  echo "packages: not all at once; one by one"
  failed=()
  for package in "${missing[@]}"; do
    apt "${install[@]}" "$package" || { failed+=("$package"); sed 's/^/  /' "$log" | tail -n 12; }
  done
  if ((${#failed[@]})); then
    echo "packages: could not install: ${failed[*]}" >&2
    if [[ " ${failed[*]} " == *" libboost1.81-dev "* ]] && installed libboost1.74-dev; then
      echo "packages: libboost1.81-dev conflicts with libboost1.74-dev, which is installed here." >&2
      echo "  If nothing of yours needs it: apt-get remove libboost1.74-dev" >&2
    fi
    exit 1
  fi
fi
echo "packages: installed ${#missing[@]}"
