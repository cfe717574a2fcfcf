#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets Loomix up and runs all its tests. Arguments go to pytest.
set -uo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh test || exit 1
python=$PWD/${VENV:-.venv}/bin/python
results=build/results
mkdir -p $results && rm -f $results/*.xml

echo "== C++ tests"
cmake --build build || exit 1
# More at once than there are cores, here and below: tests of clusters mostly wait. But one run at a time: some time themselves.
flock --close build/tests.lock ctest --test-dir build --output-on-failure -j $((2 * $(nproc))) --output-junit results/cpp.xml | grep -v ' Passed '
echo "== Python tests"
LOOMIX_CPU_WORKER_NTHREADS=${LOOMIX_CPU_WORKER_NTHREADS:-0} OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} \
  flock --close build/tests.lock "$python" -m pytest -n $(($(nproc) + 1)) --dist loadgroup --junitxml=$results/python.xml "$@"
case $? in 0 | 1 | 5) ;; *) echo "pytest did not run"; exit 1 ;; esac # 5: no tests were collected
"$python" tools/test_summary.py $results/*.xml
