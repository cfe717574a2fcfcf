# SPDX-License-Identifier: Apache-2.0
"""Other processors' kernels, as far as this one can run them: bounded by LOOMIX_MAX_CPU_ISA.

`tests/processors/levels.py` compares many more convolutions and networks, and their times.
"""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
LEVELS = ("sse41", "avx2", "avx512", "avx512_bf16")

CODE = """
import loomix as mx
net = mx.sym.Convolution(
    mx.sym.Variable("data"), kernel=(3, 3), num_filter=32, dilate=(DILATE, DILATE), stride=(2, 2), name="c"
)
executor = net.simple_bind(mx.cpu(), data=(8, 32, 40, 40), grad_req="null")
executor.forward()[0].wait_to_read()
"""


def run(code, **environment):
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LOOMIX_", "ONEDNN_", "OPENBLAS_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | environment, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def has(level):
    return run("import loomix as mx; mx.nd.ones(1)", LOOMIX_MAX_CPU_ISA=level)[0] == 0


def test_an_unknown_level_is_an_error():
    code, _, error = run("import loomix as mx; mx.nd.ones(1)", LOOMIX_MAX_CPU_ISA="avx10")
    assert code == 1 and "LOOMIX_MAX_CPU_ISA" in error and "avx512_bf16" in error


def test_a_level_that_is_lacking_is_an_error_that_names_both():
    lacking = [level for level in LEVELS if not has(level)]
    if not lacking:
        pytest.skip("this processor has all levels; tests/cpp/base/settings_test.cc has such an error")
    code, _, error = run("import loomix as mx; mx.nd.ones(1)", LOOMIX_MAX_CPU_ISA=lacking[-1])
    assert code == 1 and f"{lacking[-1]} is asked for; this processor has no more than" in error


def test_kernels_are_chosen_by_the_sizes_of_caches():
    """A weight of 4 MB, which a small last cache does not hold, is read in place for fewer rows."""
    call = (
        "mx.nd.FullyConnected(mx.nd.ones((5, 1024)), mx.nd.ones((1024, 1024)), no_bias=True, num_hidden=1024)"
    )
    code = f"import loomix as mx; {call}"
    chosen = {}
    for sizes in ("32K,1M,32M", "32K,256K,2M"):
        status, _, error = run(code, LOOMIX_CACHE_SIZES=sizes, LOOMIX_EXPLAIN="dispatch")
        assert status == 0, error
        chosen[sizes] = "there are too few rows" in error
    assert chosen == {"32K,1M,32M": True, "32K,256K,2M": False}


def test_sizes_of_caches_that_are_none_are_an_error():
    code, _, error = run("import loomix as mx; mx.nd.ones(1)", LOOMIX_CACHE_SIZES="32K,1M")
    assert code == 1 and "[LOOMIX_CACHE_SIZES] got '32K,1M'; expected the sizes" in error


@pytest.mark.parametrize("level, instructions", [("sse41", "SSE4.1"), ("avx2", "AVX2")])
def test_the_bound_holds_for_libraries_too(level, instructions):
    if not has(level):
        pytest.skip(f"this processor has no {level}")
    code = CODE.replace("DILATE", "1") + "import os; print(os.environ.get('OPENBLAS_CORETYPE'))"
    status, out, error = run(code, LOOMIX_MAX_CPU_ISA=level, ONEDNN_VERBOSE="1", LOOMIX_EXPLAIN="dispatch")
    assert status == 0, error
    if "onednn_verbose" not in out:
        pytest.skip("built without oneDNN")
    assert f"cpu,isa:Intel {instructions}\n" in out or f"cpu,isa:{instructions}\n" in out
    if has("avx512"):
        core = {"sse41": "Core2", "avx2": "Haswell"}[level]
        assert out.endswith(f"\n{core}\n")
        kept = run(code, LOOMIX_MAX_CPU_ISA=level, OPENBLAS_CORETYPE="Nehalem")[1]
        assert kept.endswith("Nehalem\n")


def test_a_refused_primitive_is_a_reason():
    if not has("avx2"):
        pytest.skip("this processor has no avx2")
    settings = {"LOOMIX_MAX_CPU_ISA": "avx2", "LOOMIX_EXPLAIN": "dispatch", "ONEDNN_VERBOSE": "1"}
    _, out, error = run(
        CODE.replace("DILATE", "12").replace("stride=(2, 2)", "stride=(1, 1), pad=(12, 12)"), **settings
    )
    if "onednn_verbose" not in run(CODE.replace("DILATE", "1"), **settings)[1]:
        pytest.skip("built without oneDNN")
    assert ",ref" not in out and ",simple" not in out
    assert (
        "dispatch: Convolution: no blocks for float32 (8, 32, 40, 40), kernel (3, 3), stride (1, 1)" in error
    )
    assert "oneDNN says 'there are only loops for reference'" in error


def test_levels_agree_and_run_no_reference_loops():
    done = subprocess.run(
        [sys.executable, ROOT / "tests/processors/levels.py", "--geometries", "10", "--networks", "lenet"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
