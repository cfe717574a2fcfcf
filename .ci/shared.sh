# SPDX-License-Identifier: Apache-2.0
# What .ci/run and .ci/long share; they source it. Works from a fresh clone, without questions.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CI=true DEBIAN_FRONTEND=noninteractive OMP_WAIT_POLICY=passive
export LOOMIX_CPU_WORKER_NTHREADS=0 # tests of Python set OMP_NUM_THREADS for the threads of one operation, not for the engine
exec </dev/null
cores=$(nproc)
results=$PWD/build/ci
mkdir -p "$results"
passed=0 failed=0

count() { # count PASSED FAILED
  passed=$((passed + $1)) failed=$((failed + $2))
}
check() { # check NAME COMMAND...: one check that passes or fails
  local name=$1
  shift
  if "$@"; then count 1 0; else
    count 0 1
    echo "FAILED: $name"
  fi
}
tally() { # tally NAME FILE...: counts the tests of JUnit files
  local name=$1 line
  shift
  line=$(python3 tools/test_summary.py "$@")
  echo "$line" | sed "s/^/$name: /"
  line=$(echo "$line" | tail -n 1)
  case $line in
    *" passed, "*" failed"*) count "${line%% passed*}" "$(echo "$line" | sed -E 's/.* passed, ([0-9]+) failed.*/\1/')" ;;
    *) count 0 1 && echo "FAILED: $name left no results" ;;
  esac
}
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }
need() { # need COMMAND PACKAGE: installs the package if there is no such command
  command -v "$1" >/dev/null || { as_root apt-get update -qq && as_root apt-get install -y -qq --no-install-recommends "$2" >/dev/null; }
}
set_up() {
  if [ -z "${set_up_done:-}" ]; then
    bash tools/setup.sh test || return 1
    set_up_done=1
  fi
}

find_python() { # an interpreter of this version with its headers
  local candidate
  for candidate in "$(command -v "python$1")" "$HOME"/.pyenv/versions/"$1"*/bin/python3; do
    [ -x "$candidate" ] && "$candidate" - "$1" 2>/dev/null <<'P' && echo "$candidate" && return
import os, sys, sysconfig
import venv  # noqa: F401
have = "%d.%d" % sys.version_info[:2] + "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
sys.exit(have != sys.argv[1] or not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))
P
  done
}

python_package() { # python_package VERSION INTERPRETER [EXTRA...]: installs the package for another Python; only the extensions are compiled again
  echo "== Python $1"
  PYTHON=$2 VENV=.venv-$1 bash tools/setup.sh test "${@:3}" || { count 0 1 && echo "FAILED: pip install on Python $1"; return 1; }
}
python_tests() { # python_tests VERSION PYTEST-ARGUMENTS...: runs the tests with that Python's package
  local version=$1
  shift
  OMP_NUM_THREADS=1 ".venv-$version/bin/python" -m pytest -n $((cores + 1)) --dist loadgroup --junitxml="$results/python-$version.xml" "$@"
  tally "Python $version" "$results/python-$version.xml"
}

sanitized() { # sanitized PRESET FOLDER...: builds and runs the C++ tests of these folders, or of all
  local preset=$1 tests=() labels=() folder
  shift
  set_up || return 1
  cmake --preset "$preset" >"$results/$preset.log" || { cat "$results/$preset.log"; return 1; }
  for folder in "$@"; do
    [ -d "tests/cpp/$folder" ] && tests+=("test_$folder") && labels+=("$folder")
  done
  if [ $# -eq 0 ]; then
    cmake --build --preset "$preset" || return 1
    ctest --preset "$preset" -j $((2 * cores)) --output-junit "$results/$preset.xml" | grep -v ' Passed '
  else
    cmake --build --preset "$preset" --target "${tests[@]}" || return 1
    ctest --preset "$preset" -j $((2 * cores)) -L "^($(IFS='|' && echo "${labels[*]}"))\$" --output-junit "$results/$preset.xml" | grep -v ' Passed '
  fi
  tally "$preset" "$results/$preset.xml"
}

build_fuzzers() {
  set_up || return 1
  need clang++ clang
  cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Sanitize -DLOOMIX_FUZZ=ON \
    -DLOOMIX_SANITIZE=address,undefined -DLOOMIX_ISA_VARIANTS=OFF -DLOOMIX_PYTHON=OFF -DLOOMIX_CUDA=OFF \
    >"$results/fuzz.log" &&
    cmake --build build/fuzz --target fuzz_record fuzz_decode >>"$results/fuzz.log" || { tail -n 30 "$results/fuzz.log"; return 1; }
}
fuzz() { # fuzz SECONDS: all fuzzers at once, so long
  local -A inputs=([record]=tests/compat/files/record [decode]=tests/cpp/io/images) longest=([record]=4096 [decode]=8192) running=()
  local name
  for name in "${!inputs[@]}"; do
    mkdir -p "build/fuzz/$name"
    "build/fuzz/tests/fuzz_$name" -max_total_time="$1" -max_len="${longest[$name]}" -timeout=20 \
      "build/fuzz/$name" "${inputs[$name]}" >"$results/fuzz_$name.log" 2>&1 &
    running[$name]=$!
  done
  for name in "${!running[@]}"; do
    check "fuzz_$name" wait "${running[$name]}"
    tail -n 3 "$results/fuzz_$name.log"
  done
}

run_jobs() { # run_jobs JOB...: each with its time, then the sum of all tests
  local job start
  for job in "$@"; do
    declare -F "job_$job" >/dev/null && continue
    echo "there is no job '$job'; jobs are ${all_jobs[*]}"
    exit 2
  done
  for job in "$@"; do
    echo "==== $job"
    start=$SECONDS
    "job_$job"
    echo "==== $job took $((SECONDS - start)) s"
  done
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
