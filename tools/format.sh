#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats the sources as .ci/run lint wants them: all, or the files given.
set -euo pipefail
cd "$(dirname "$0")/.."
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files '*.h' '*.cc' '*.cu' '*.cuh' '*.py' '*.pyi')
cpp=() python=()
for file in "${files[@]}"; do
  case $file in
    *.h | *.cc | *.cu | *.cuh) cpp+=("$file") ;;
    *.py | *.pyi) python+=("$file") ;;
  esac
done
ruff=$(command -v ruff || echo .venv/bin/ruff)
[ ${#cpp[@]} -eq 0 ] || clang-format -i "${cpp[@]}"
[ ${#python[@]} -eq 0 ] || { "$ruff" check -q --fix "${python[@]}"; "$ruff" format -q "${python[@]}"; }
