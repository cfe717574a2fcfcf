# SPDX-License-Identifier: Apache-2.0
# What .ci/run and .ci/long share; they source it. Works from a fresh clone, without questions.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CI=true DEBIAN_FRONTEND=noninteractive OMP_WAIT_POLICY=passive
export LOOMIX_CPU_WORKER_NTHREADS=0 # tests of Python set OMP_NUM_THREADS for the threads of one operation, not for the engine
exec </dev/null
cores=$(nproc)
# Two jobs may run at once. Compilers give way to tests, of which some time themselves; two lanes of so many keep all cores busy.
export CCACHE_PREFIX=nice CMAKE_BUILD_PARALLEL_LEVEL=$cores
export PATH=$PATH:/usr/lib/llvm-19/bin # where sanitizers look for llvm-symbolizer
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
    return 1
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
test_alone() { flock --close build/tests.lock "$@"; } # test_alone COMMAND...: not beside other tests; tools/test.sh does the same
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }
need() { # need COMMAND PACKAGES: installs the packages if there is no such command
  command -v "$1" >/dev/null && return
  flock --close "$results/apt.lock" bash -c "$(declare -f as_root)
    as_root apt-get update -qq && as_root apt-get install -y -qq --no-install-recommends $2 >/dev/null"
}
system_packages() {
  if [ -z "${system_packages_done:-}" ]; then
    bash tools/setup.sh --system test || return 1
    system_packages_done=1
  fi
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
  OMP_NUM_THREADS=1 test_alone ".venv-$version/bin/python" -m pytest -n $((cores + 1)) --dist loadgroup --junitxml="$results/python-$version.xml" "$@"
  tally "Python $version" "$results/python-$version.xml"
}

labels_of() { # labels_of FOLDER...: those that have C++ tests; all where none is named
  local folder
  [ $# -gt 0 ] || set -- $(ls tests/cpp)
  for folder in "$@"; do [ -d "tests/cpp/$folder" ] && echo "$folder"; done
}
# g++ takes much longer for what sanitizers instrument, and has no libFuzzer. Without llvm-symbolizer, reports have no names,
# and tests/tsan.supp, which goes by names, suppresses nothing.
need_clang() { need clang++-19 "clang-19 libclang-rt-19-dev" && need /usr/lib/llvm-19/bin/llvm-symbolizer llvm-19; }
configure_sanitized() { # configure_sanitized PRESET
  local preset=$1 compiler=()
  system_packages || return 1
  need_clang && compiler=(-DCMAKE_CXX_COMPILER=clang++-19) || echo "$preset: clang 19 cannot be had; g++ instead, which takes longer"
  cmake --preset "$preset" "${compiler[@]}" >"$results/$preset.log" || { cat "$results/$preset.log"; return 1; }
}
build_sanitized() { # build_sanitized PRESET [FOLDER...]: the C++ tests of these folders, or all
  local preset=$1 targets=(cpp_tests) tests
  shift
  configure_sanitized "$preset" || return 1
  if [ $# -gt 0 ]; then
    mapfile -t tests < <(labels_of "$@")
    targets=("${tests[@]/#/test_}")
  fi
  cmake --build --preset "$preset" --target "${targets[@]}"
}
sanitized() { # sanitized PRESET [FOLDER...]: builds and runs them
  build_sanitized "$@" || return 1
  local preset=$1 labels
  shift
  labels=$(labels_of "$@" | paste -sd '|')
  test_alone ctest --preset "$preset" -j $((2 * cores)) -L "^($labels)\$" --output-junit "$results/$preset.xml" | grep -v ' Passed '
  tally "$preset" "$results/$preset.xml"
}

build_fuzzers() { # that of prediction in the folder of the job `asan`, which needs the same libraries
  system_packages && need_clang || return 1
  cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=Sanitize -DLOOMIX_FUZZ=ON \
    -DLOOMIX_SANITIZE=address,undefined -DLOOMIX_QUICK_BUILD=ON -DLOOMIX_ISA_VARIANTS=OFF -DLOOMIX_PYTHON=OFF -DLOOMIX_CUDA=OFF \
    >"$results/fuzz.log" &&
    cmake --build build/fuzz --target fuzz_record fuzz_decode >>"$results/fuzz.log" || { tail -n 30 "$results/fuzz.log"; return 1; }
  configure_sanitized asan && cmake --build --preset asan --target fuzz_predict
}
# Those of files so long; that of prediction, which runs all operators, so often, from the same start: what it finds must not
# depend on the machine's speed. `.ci/long fuzz` lets it run for a time, too.
fuzz() { # fuzz SECONDS [RUNS]: all fuzzers at once
  local -A inputs=([record]=tests/compat/files/record [decode]=tests/cpp/io/images [predict]=tests/cpp/predict/seeds)
  local -A longest=([record]=4096 [decode]=8192 [predict]=8192) folders=([predict]=build-asan) running=()
  local name
  local -A limits=([record]="-max_total_time=$1" [decode]="-max_total_time=$1" [predict]="-max_total_time=$1")
  [ -z "${2:-}" ] || limits[predict]="-seed=1 -runs=$2"
  for name in "${!inputs[@]}"; do
    mkdir -p "build/fuzz/$name"
    OMP_NUM_THREADS=1 nice "${folders[$name]:-build/fuzz}/tests/fuzz_$name" ${limits[$name]} -max_len="${longest[$name]}" -timeout=20 \
      "build/fuzz/$name" "${inputs[$name]}" >"$results/fuzz_$name.log" 2>&1 &
    running[$name]=$!
  done
  for name in "${!running[@]}"; do
    check "fuzz_$name" wait "${running[$name]}"
    tail -n 3 "$results/fuzz_$name.log"
  done
}

computing() { # sets `computed` to the seconds of computing that this shell's programs have taken
  local report=$results/times.$BASHPID
  times >"$report" # no pipe: a subshell has times of its own
  computed=$(awk 'END { gsub(/[ms]/, " "); printf "%.0f", $1 * 60 + $2 + $3 * 60 + $4 }' "$report")
}
run_job() { # run_job JOB: with its times; leaves its counts in a file
  local start=$SECONDS computed before
  computing
  before=$computed
  passed=0 failed=0
  echo "==== $1"
  "job_$1"
  computing
  echo "==== $1 took $((SECONDS - start)) s, and $((computed - before)) s of computing"
  echo "$passed $failed" >"$results/$1.counts"
}
# run_lane JOB...: one after the other, each job's output in one piece when it ends. What build_JOB compiles for tests is
# compiled first, for compiling fills the time in which tests of the other lane wait.
run_lane() {
  local job computed
  for job in "$@"; do
    if declare -F "build_$job" >/dev/null; then
      echo "---- building for $job, output in $results/build_$job.log"
      "build_$job" >"$results/build_$job.log" 2>&1
      computing
      echo "---- built for $job, $computed s of computing in this lane so far"
    fi
  done
  for job in "$@"; do
    if [ "$SECONDS" -gt $((${CI_MINUTES:-70} * 60)) ]; then
      flock "$results/output.lock" echo "NOT RUN, for lack of time: $job (after $((SECONDS / 60)) minutes; CI_MINUTES=${CI_MINUTES:-70}). \`.ci/run $job\` runs it"
      echo "0 0 not run" >"$results/$job.counts"
      continue
    fi
    echo "---- $job runs, output in $results/job_$job.log"
    run_job "$job" >"$results/job_$job.log" 2>&1
    flock "$results/output.lock" cat "$results/job_$job.log"
  done
}
run_jobs() { # run_jobs JOB...: those of `own_folder_jobs` beside the others; then the sum of all tests
  local job start=$SECONDS lane=() own_folders=() lanes=() total_passed=0 total_failed=0 left_out
  for job in "$@"; do
    declare -F "job_$job" >/dev/null || { echo "there is no job '$job'; jobs are ${all_jobs[*]}" && exit 2; }
    rm -f "$results/$job.counts"
    [[ " ${own_folder_jobs[*]} " == *" $job "* ]] && own_folders+=("$job") || lane+=("$job")
  done
  if [ ${#lane[@]} -eq 0 ] || [ ${#own_folders[@]} -eq 0 ]; then
    for job in "$@"; do run_job "$job"; done
  else
    system_packages || { echo "0 passed, 1 failed" && exit 1; } # once, not by both
    trap 'kill -- "${lanes[@]/#/-}"' EXIT
    set -m # a process group for each, so that all of it can be ended
    run_lane "${lane[@]}" &
    lanes+=($!)
    run_lane "${own_folders[@]}" &
    lanes+=($!)
    set +m
    wait "${lanes[@]}"
    trap - EXIT
  fi
  for job in "$@"; do
    read -r passed failed left_out 2>/dev/null <"$results/$job.counts" || { echo "FAILED: $job did not end" && passed=0 failed=1; }
    total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
    [ -z "$left_out" ] || echo "$job was not run, for lack of time"
  done
  echo "all took $((SECONDS - start)) s"
  echo "$total_passed passed, $total_failed failed"
  [ "$total_failed" -eq 0 ] && [ "$total_passed" -gt 0 ]
}

find_toolkit() { # the CUDA toolkit's folder: the machine's, else that of PyPI's wheels
  local nvcc site
  nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
  if [ -n "$nvcc" ]; then # which may be a script elsewhere
    realpath "$("$nvcc" --dryrun -x cu -c /dev/null -o /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p')"
    return
  fi
  [ -x .cache/cuda/bin/python ] || python3 -m venv .cache/cuda
  .cache/cuda/bin/python -m pip install -q nvidia-cuda-nvcc nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl \
    nvidia-nvvm nvidia-cublas nvidia-curand nvidia-cusolver nvidia-cufft nvidia-cuda-cupti >&2 || return
  .cache/cuda/bin/python -m pip install -q --no-deps nvidia-cudnn-cu13 nvidia-nccl-cu13 >&2 || return
  site=$(.cache/cuda/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/nvidia/cu13
  [ -x "$site/bin/nvcc" ] || return
  [ -e "$site/lib64" ] || ln -s lib "$site/lib64"
  local library
  for library in "$site"/lib/*.so.*; do ln -sf "$(basename "$library")" "${library%%.so.*}.so"; done
  for folder in cudnn nccl; do
    [ -d "$site/../$folder/include" ] && cp -n "$site/../$folder"/include/* "$site/include/"
    for library in "$site/../$folder"/lib/*.so.*; do # for the linker, and for the loader, which looks for the version
      [ -e "$library" ] && ln -sf "$library" "$site/lib/$(basename "${library%%.so.*}").so" && ln -sf "$library" "$site/lib/"
    done
  done
  echo "$site"
}
