# SPDX-License-Identifier: Apache-2.0
"""Chains of elementwise operators on a GPU: compiled at run time, kept in files, and one by one without a compiler.

On the stand-in the same sources are compiled by the host's compiler, and by NVRTC to see that it takes them.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import nvrtc
from test_fused_graphs import expect_close, results

pytestmark = [
    pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler for the host"),
]
ROOT = pathlib.Path(__file__).parents[2]
FLAGS = ["-std=c++20", "-O0", "-fPIC", "-w", f"-I{ROOT}", "-isystem", "/usr/local/cuda/include"]

CHAINS = """
import sys

import numpy as np

import loomix as mx

F = ("float32", "float64", "float16", "bfloat16")
TYPES = F + ("int8", "uint8", "int32", "int64")
x, y, s = mx.sym.Variable("x"), mx.sym.Variable("y"), mx.sym


def total(items):
    net = items[0]
    for item in items[1:]:
        net = net + item
    return net


def unary(names):
    return total([getattr(s, name)(x) for name in names.split()])


NETS = {
    "first": (F, unary("abs arcsin arccos arcsinh arctan arctanh cbrt ceil cos cosh degrees erf exp expm1")),
    "second": (F, unary("floor gamma gammaln log log10 log1p log2 logical_not negative radians rcbrt relu rint")),
    "third": (F, unary("reciprocal round rsqrt sigmoid sign sin sinh softsign sqrt square tan tanh trunc erfinv")),
    "activations": (F, total([s.LeakyReLU(x - 0.5, act_type=a) for a in ("elu", "gelu", "leaky", "selu")]
                    + [s.Activation(x - 0.5, act_type="softrelu"), s.hard_sigmoid(x), s.smooth_l1(x, scalar=2)])),
    "binary": (TYPES, (x + y) * x - s.broadcast_maximum(x, y) / s.broadcast_minimum(x + 1, y + 1) % 3 + (x > y)
               + s.where(x > y, x, y) + s.clip(x, 0.25, 2) + (2 - x) + (3 / (y + 1)) + s.add_n(x, y, x)),
    "casts": (TYPES, s.Cast(s.Cast(x * 3, dtype="float16") + 0.5, dtype="int32") * 2),
    "bytes": (TYPES, s.Cast(s.Cast(x, dtype="bool"), dtype="float32") * 2.5),
}
file, wanted = sys.argv[1], sys.argv[2].split(",")
found = {}
for name in wanted:
    dtypes, net = NETS[name]
    for dtype in dtypes:
        random = np.random.RandomState(5)
        low, high = (0.1, 0.9) if dtype in F else (0, 6)
        given = {n: random.uniform(low, high, (7, 11)).round(3) for n in net.list_arguments()}
        for ctx in (mx.gpu(0), mx.cpu()):
            arrays = {n: mx.nd.array(v, ctx=ctx, dtype=dtype) for n, v in given.items()}
            bound = net.bind(ctx, arrays)
            assert [call.op for call in bound.explain().operators] == ["_fused"], (name, bound.explain())
            found[f"{name} {dtype} {ctx.device_type}"] = bound.forward()[0].astype("float64").asnumpy()
np.savez(file, **found)
"""
TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "float16": 1e-2, "bfloat16": 1e-1}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A folder in which the stand-in finds its compiler, with what all sources include compiled before."""
    folder = tmp_path_factory.mktemp("chains")
    before = folder / "before.h"
    before.write_text('#include "tests/standin/device.h"\n#include "ops/fused/program.h"\n')
    subprocess.run(
        ["g++", *FLAGS, "-x", "c++-header", before, "-o", f"{before}.gch"], check=True, timeout=100
    )
    (folder / "standin_compiler").write_text(f"g++ {' '.join(FLAGS)} -shared -include {before}\n")
    return folder


def run_chains(folder, cache, names, **more):
    file = folder / "found.npz"
    environment = {**os.environ, "LOOMIX_CACHE_DIR": str(cache), "LOOMIX_DEVICE_FALLBACK": "0", **more}
    command = [sys.executable, "-c", CHAINS, str(file), names]
    done = subprocess.run(command, env=environment, timeout=200, check=False, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    with np.load(file) as arrays:
        return {name: arrays[name] for name in arrays.files}, done.stderr


def expect_as_on_the_host(found):
    for name, array in found.items():
        if name.endswith("gpu"):
            tolerance = TOLERANCE.get(name.split()[1], 0)
            expected = found[name.replace("gpu", "cpu")]
            np.testing.assert_allclose(array, expected, rtol=tolerance, atol=tolerance, err_msg=name)


def sources(cache):
    return sorted(cache.glob("*.cc"))


@pytest.mark.parametrize("names", ["first,second", "third,activations", "binary,casts,bytes"])
def test_every_operator_in_every_type_as_on_the_host(cache, tmp_path, names):
    before = len(sources(cache))
    found, said = run_chains(tmp_path, cache, names)
    expect_as_on_the_host(found)
    assert len(sources(cache)) - before >= len(found) // 2 - 4, said  # but for types whose sources are equal


def test_one_by_one_without_a_compiler(tmp_path):
    found, said = run_chains(tmp_path, tmp_path, "first,activations,binary,casts,bytes")
    expect_as_on_the_host(found)
    assert not (tmp_path / "kernels").exists() and "one by one" not in said


def test_one_by_one_and_a_warning_where_compiling_fails(tmp_path):
    (tmp_path / "standin_compiler").write_text("false\n")
    found, said = run_chains(tmp_path, tmp_path, "binary")
    expect_as_on_the_host(found)
    assert said.count("one by one") == 1


def test_what_was_compiled_is_kept_and_damaged_files_are_made_again(cache, tmp_path):
    first, _ = run_chains(tmp_path, cache, "casts")
    count = len(sources(cache))
    again, _ = run_chains(tmp_path, cache, "casts")
    assert len(sources(cache)) == count
    for name, array in first.items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)
    kept = sorted((cache / "kernels").glob("*.bin"))
    for i, file in enumerate(kept):
        content = bytearray(file.read_bytes())
        if i % 3 == 0:
            content = content[: len(content) // 2]
        elif i % 3 == 1:
            content[-100] ^= 1
        else:
            content = b""
        file.write_bytes(content)
    repaired, said = run_chains(tmp_path, cache, "casts")
    assert len(sources(cache)) > count and "one by one" not in said
    for name, array in first.items():
        np.testing.assert_array_equal(array, repaired[name], err_msg=name)


def test_a_folder_that_cannot_be_written_costs_no_more_than_time(cache, tmp_path):
    (tmp_path / "standin_compiler").write_text((cache / "standin_compiler").read_text())
    (tmp_path / "kernels").write_text("a file, where a folder should be")
    found, said = run_chains(tmp_path, tmp_path, "bytes")
    expect_as_on_the_host(found)
    assert "one by one" not in said


@pytest.mark.parametrize(
    ("dtype", "graphs", "tolerance", "compiled"),
    [("float64", 40, 1e-10, False), ("float64", 12, 1e-10, True), ("float32", 6, 1e-4, True)],
)
def test_random_graphs_with_reductions(cache, tmp_path, dtype, graphs, tolerance, compiled):
    expected = results(tmp_path, dtype, "0", graphs=graphs)
    count = len(sources(cache))
    folder = {"LOOMIX_CACHE_DIR": str(cache if compiled else tmp_path)}
    got = results(tmp_path, dtype, "1", "gpu", graphs=graphs, LOOMIX_DEVICE_FALLBACK="0", **folder)
    expect_close(got, expected, tolerance)
    assert (len(sources(cache)) > count) == compiled


def test_nvrtc_takes_the_sources(cache):
    library = nvrtc.library()
    if library is None:
        pytest.skip("no NVRTC")
    for file in sources(cache)[::6]:
        source = file.read_text().split('extern "C" void made_kernel_of')[0]
        said = nvrtc.compile_chain(library, source, 90)
        assert said == "", f"{said}\n{source}"
