#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that what is generated from the operator table is up to date, the types of the package, its stubs and the
# examples, and the stubs against the extensions. Needs the environment that tools/setup.sh makes; adds mypy to it.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/${VENV:-.venv}/bin/python
mypy=$(sed -n 's/^types = \["mypy==\(.*\)"\]$/\1/p' pyproject.toml)
"$python" -m mypy --version 2>/dev/null | grep -q "mypy $mypy" ||
  "$python" -m pip install -q --disable-pip-version-check "mypy==$mypy"

"$python" tools/generate_ops.py --check
"$python" -m mypy --no-error-summary
git ls-files 'examples/*.py' | xargs -n 1 dirname | sort -u | while read -r folder; do # files of several are called alike
  "$python" -m mypy --no-error-summary "$folder"/*.py
done
# Whether users' typos are found; the other Python tests run without mypy.
"$python" -m pytest -q tests/python/test_wrong_uses.py -k type_checker
# The stubs against the built extensions; without pyproject.toml's settings, under which it finds each file twice. What
# the package imports only if it is there (graphviz, cloudpickle, SciPy) may be missing here.
MYPYPATH=$PWD/bindings/python "$python" -m mypy.stubtest --concise --ignore-disjoint-bases --ignore-unused-allowlist \
  --mypy-config-file <(printf '[mypy]\nignore_missing_imports = True\n') --allowlist tools/stubtest.txt loomix._core loomix._parallel loomix._record loomix._codec
