#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation into build/docs. A warning, a broken link between pages among them, is an error.
# Needs the environment that tools/setup.sh makes; adds to it the packages of the extra `docs`.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/${VENV:-.venv}/bin/python
"$python" -c 'import loomix' 2>/dev/null || bash tools/setup.sh
# Only the packages: installing the extra would build Loomix again.
"$python" -c 'import sphinx, furo, myst_parser' 2>/dev/null ||
  sed -n 's/^docs = \[\(.*\)\]$/\1/p' pyproject.toml | tr ',' ' ' |
  xargs "$python" -m pip install -q --disable-pip-version-check
# -E: all is read anew, or the second run would not repeat the warnings of pages that have not changed.
"$python" -m sphinx -q -E -W --keep-going -b html -d build/docs-cache docs build/docs
echo "build/docs/index.html"
