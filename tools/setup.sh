#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what Loomix needs and builds it into .venv. Quick where that is done already.
#   bash tools/setup.sh [EXTRA...]           extras of pyproject.toml: none to use Loomix, `test` to change it, `examples`
#   bash tools/setup.sh --packages GROUP     only lists Debian's packages: run-time, build, test or examples
#   bash tools/setup.sh --system [EXTRA...]  only installs Debian's packages for that
#   PYTHON=python3.12 VENV=.venv-3.12        another interpreter, another environment
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
venv=${VENV:-.venv}

packages_of() { # packages_of GROUP: one a line
  case $1 in
    # What the built libraries load. A wheel of tools/make_wheel.sh has them inside and needs none of these.
    run-time) printf '%s\n' libopenblas0-openmp libdnnl2 libfmt9 libspdlog1.10 libcurl4 libjpeg62-turbo libpng16-16 zlib1g \
      libprotobuf-lite32 libssl3 libgomp1 libstdc++6 ;;
    build) printf '%s\n' g++ cmake ninja-build ccache python3-dev python3-venv \
      libopenblas-openmp-dev libdnnl-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libcurl4-openssl-dev \
      libjpeg62-turbo-dev libpng-dev zlib1g-dev libcli11-dev libprotobuf-dev protobuf-compiler libssl-dev ;;
    test) printf '%s\n' libopenmpi-dev openmpi-bin libboost-context-dev libgtest-dev libgmock-dev dataset-fashion-mnist ;;
    examples) echo dataset-fashion-mnist ;;
    *) return 1 ;;
  esac
}
if [ "${1:-}" = --packages ]; then
  packages_of "${2:-}" || { echo "expected --packages run-time, build, test or examples" >&2 && exit 2; }
  exit
fi

only_system=
[ "${1:-}" != --system ] || { only_system=1 && shift; }
extras=$* tests=OFF
[[ " $extras " != *" test "* ]] || tests=ON
mapfile -t packages < <(packages_of build; for extra in $extras; do packages_of "$extra" || true; done)
missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
fi
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if sudo -n true 2>/dev/null || { command -v sudo >/dev/null && [ -t 0 ]; }; then
      as_root=(sudo)
    else
      echo "These packages are missing, and installing them needs root:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
  fi
  echo "Installing ${missing[*]}"
  apt_log=$(mktemp)
  {
    "${as_root[@]}" apt-get update -q &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
  } >"$apt_log" 2>&1 || { cat "$apt_log" >&2 && exit 1; }
  rm -f "$apt_log"
fi
[ -z "$only_system" ] || exit 0

# All environments of this folder share its build tree, which stands one build at a time.
mkdir -p build
exec {lock}>>build/setup.lock
if ! flock -n "$lock"; then
  echo "Another tools/setup.sh is building here ($(cat build/setup.lock)); this one goes on when it has ended." >&2
  flock "$lock"
fi
echo "process $$, for $venv, since $(date +%H:%M:%S)" >build/setup.lock

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
# Developers compile what they change, and want to hear of missing includes; others compile everything once.
quick=OFF
# Warnings are errors for developers and CI. That is a flag of every object, so a tree keeps what it was made with.
strict=$(sed -n 's/^LOOMIX_WERROR:BOOL=//p' build/CMakeCache.txt 2>/dev/null || true)
strict=${strict:-$tests}
if [ "${CI:-}" = true ]; then
  quick=ON strict=ON
fi
# The build tree is kept and shared with the C++ tests, so the build requirements live in the environment, too.
"$venv/bin/python" -m pip install -q --disable-pip-version-check 'scikit-build-core>=0.10' 'pybind11>=2.13'
# For another environment scikit-build-core would delete all objects, because what CMake remembers of Python may be wrong;
# only that is forgotten here. The file is where it notes the environment; it stays where the tree has moved since, for then
# the objects do have to go.
! grep -qsF "\"source_dir\": \"$(pwd -P)\"" build/.skbuild-info.json || rm build/.skbuild-info.json
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-build-isolation \
  '--config-settings=cmake.args=-U_Python*;-UPYTHON_*;-Upybind11_*' \
  --config-settings=build-dir=build --config-settings=cmake.define.LOOMIX_TESTS=$tests \
  --config-settings=cmake.define.LOOMIX_WERROR=$strict --config-settings=cmake.define.LOOMIX_QUICK_BUILD=$quick \
  ".${extras:+[${extras// /,}]}"
