# SPDX-License-Identifier: Apache-2.0
"""Distributed matrices of processes that mpirun started."""

import json
import subprocess
import sys

import pytest
from test_mpi_kvstore import no_mpi as no_mpi  # a fixture
from test_mpi_kvstore import with_mpi as run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.fixture(autouse=True)
def needs_mpi(no_mpi):
    if no_mpi:
        pytest.skip(no_mpi)


PROGRAM = """
import itertools, sys
import loomix as mx, numpy as np
from loomix.parallel import Layout, Matrix, Mesh
rank, size = mx.parallel.rank(), mx.parallel.size()
assert size == int(sys.argv[1])
mesh = Mesh(data=size // 2, model=2) if size % 2 == 0 else Mesh(data=size, model=1)
assert rank in mesh.axis("model").ranks
m, k, n = 70, 45, 33
layouts = lambda shape: [
    Layout.rows(shape), Layout.columns(shape), Layout.grid(shape, 1, size), Layout.cyclic(shape, (8, 8), size, 1),
    Layout.replicated(shape), Layout.over(mesh, shape, "data", "model"), Layout.over(mesh, shape, "model"),
    Layout.blocks([0, 3, 3, shape[0]], [0, shape[1]], [size - 1, 0, 0]),
]
whole = np.random.RandomState(1).rand(m, k).astype("float32")
a = Matrix.from_global(mx.nd.array(whole) if rank == size - 1 else None, "rows", root=size - 1, shape=(m, k))
for layout in layouts((m, k)):
    a = a.remap(layout)
    assert (a.to_global().asnumpy() == whole).all(), layout
    assert (a.T.remap("rows", dtype="float64").to_global().asnumpy() == whole.T).all(), layout
    np.testing.assert_allclose(a.sum(0).asnumpy(), whole.sum(0), rtol=1e-5)
b = Matrix.random((k, n), "columns", seed=3)
other = b.to_global().asnumpy()
ways = [None, "local", "ring", "grid", "reduce"]
for x, y, algorithm in itertools.product(layouts((m, k))[::3], layouts((k, n))[1::2], ways):
    c = a.remap(x).dot(b.remap(y), algorithm=algorithm)
    np.testing.assert_allclose(c.to_global().asnumpy(), whole @ other, rtol=1e-5)
print("good", float(c.norm().asscalar()), mx.parallel.traffic()["calls"])
"""


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_matrices(ranks):
    done = run(PROGRAM.replace("sys.argv[1]", str(ranks)), "-n", str(ranks))
    assert done.returncode == 0 and done.stdout.count("good") == ranks, done.stdout + done.stderr


def test_ranks_that_disagree_are_told():
    program = """
import loomix as mx
from loomix.parallel import Matrix
rank = mx.parallel.rank()
a = Matrix.full((8, 6), 1, "rows")
b = a.remap("columns" if rank != 1 else "replicated")
try:
    b.wait_to_read()
except ValueError as error:
    print("told:", error)
"""
    done = run(program, "-n", "3")
    told = [
        line for line in done.stdout.splitlines() if line.startswith("told: [parallel] ranks do different")
    ]
    assert len(told) == 3, done.stdout + done.stderr
    assert all(
        "from rank 1 on remap of (8, 6) float32, rows on 3 ranks to float32 replicated" in line
        for line in told
    )


def test_a_program_that_ends_is_heard_of():
    program = """
import loomix as mx
from loomix.parallel import Matrix
a = Matrix.random((300, 300), "rows")
if mx.parallel.rank() == 1:
    raise KeyError("my mistake")
a.dot(a).wait_to_read()
"""
    done = run(program, "-n", "3")
    assert done.returncode != 0
    assert "rank 1 has given up: its program ended with KeyError: 'my mistake'" in done.stderr, done.stderr


@pytest.mark.parametrize("short", ["0 1", "1"])
def test_a_whole_copy_that_does_not_fit_into_memory(short):
    """On all ranks, or on one, which the other one hears of."""
    program = f"""
import os
if os.environ["OMPI_COMM_WORLD_RANK"] in "{short}".split():
    os.environ["LOOMIX_MAX_MEMORY_BYTES"] = str(24 << 20)
from loomix.parallel import Matrix
a = Matrix.random((2000, 2000), "rows", dtype="float64", seed=1)
assert a.sum().asscalar() > 0
a.replicated().wait_to_read()
print("fits")
"""
    done = run(program, "-n", "2")
    assert done.returncode != 0 and "fits" not in done.stdout
    wanted = "MXNetMemoryError: [memory] cpu has no 32.0 MiB left: 16.1 MiB are in use, of at most 24.0 MiB"
    assert wanted in done.stderr, done.stderr
    if short == "1":
        assert f"rank 1 has given up: its program ended with {wanted}" in done.stderr, done.stderr


def test_a_product_sends_what_it_says():
    program = """
import loomix as mx
from loomix.parallel import Matrix, traffic
a, b = Matrix.random((512, 512), "rows"), Matrix.random((512, 512), "rows", seed=1)
mx.nd.waitall()
before = sum(traffic()["sent"])
c = a.dot(b, algorithm="ring")
c.wait_to_read(); mx.nd.waitall()
sent = sum(traffic()["sent"]) - before
said = float(a.explain_dot(b, algorithm="ring").splitlines()[5].split()[-6]) * 1e6
assert abs(sent - said) < 8000, (sent, said)
print("good")
"""
    done = run(program, "-n", "2")
    assert done.stdout.count("good") == 2, done.stdout + done.stderr


def test_what_came_by_is_kept():
    program = """
import loomix as mx, numpy as np
from loomix.parallel import Matrix, set_cache, traffic
x, dy = Matrix.random((600, 900), "rows", seed=1), Matrix.random((600, 300), "rows", seed=2)
w = Matrix.random((300, 900), "rows", seed=3)
def sent_in(work):
    mx.nd.waitall(); before = sum(traffic()["sent"])
    result = work(); mx.nd.waitall()
    return result, sum(traffic()["sent"]) - before
_, first = sent_in(lambda: x.dot(w, transpose_b=True, algorithm="ring"))
assert first > 500_000, first
dx, again = sent_in(lambda: dy.dot(w))
assert again < 1024, again  # what ranks agree on
w.local[0][:] = 2.0
dx, written = sent_in(lambda: dy.dot(w))
assert written > 20_000, written
np.testing.assert_allclose(dx.to_global().asnumpy()[:, 0], 2 * dy.to_global().asnumpy().sum(1), rtol=1e-5)
w.local[0][:] = 3.0
whole, first = sent_in(w.replicated)
_, again = sent_in(w.replicated)
assert first > 500_000 and again < 1024, (first, again)
set_cache(0)
_, without = sent_in(w.replicated)
assert without > 500_000
print("good")
"""
    done = run(program, "-n", "2")
    assert done.stdout.count("good") == 2, done.stdout + done.stderr


def test_ways_are_chosen_by_measured_links(tmp_path):
    program = f"""
import json, re, loomix as mx
from loomix.commands.links import main
path = {str(tmp_path / "links.json")!r}
assert main("", ["--bytes", "8", "1048576", "--file", path]) == 0
mx.parallel.barrier()
mx.parallel.load_links(path)
links = json.load(open(path))
assert 1e7 < links["bytes_per_second"] < 1e12 and 1e-8 < links["latency"] < 1 and links["flops"] > 1e8, links
a = mx.parallel.Matrix.full((64, 64), 1, "rows")
said = re.search(r"links of (\\S+) GB/s and (\\S+) us", a.explain_dot(a))
assert abs(float(said[1]) * 1e9 / links["bytes_per_second"] - 1) < 0.01, said
print("good")
"""
    done = run(program, "-n", "2")
    assert done.stdout.count("good") == 2, done.stdout + done.stderr


def test_an_engine_that_would_wait_is_refused():
    program = """
import os
os.environ["LOOMIX_ENGINE_TYPE"] = "NaiveEngine"
import loomix as mx
try:
    mx.parallel.size()
except RuntimeError as error:
    print("refused:", error)
"""
    done = run(program, "-n", "2")
    assert done.stdout.count("refused: [parallel] NaiveEngine") == 2, done.stdout + done.stderr


def test_files_are_read_by_other_numbers_of_ranks(tmp_path):
    program = f"""
import loomix as mx, numpy as np
from loomix.parallel import Layout, Matrix
folder, other = {str(tmp_path / "w")!r}, {str(tmp_path / "other")!r}
expected = Matrix.random((31, 20), "replicated", seed=8)
if mx.parallel.size() == 3:
    expected.remap(Layout.cyclic((31, 20), (4, 4), 3, 1)).save(folder)
found = Matrix.load(folder)
assert (found.to_global().asnumpy() == expected.local[0].asnumpy()).all()
if mx.parallel.rank() == 1: other = "/proc/none"
try:
    found.save(other)
except OSError as error:
    print("refused:", error)
"""
    for ranks in (3, 2, 4):
        done = run(program, "-n", str(ranks))
        assert done.returncode == 0 and done.stdout.count("refused:") == ranks, done.stdout + done.stderr
        assert done.stdout.count("rank 1 could not, and its error says why") == ranks - 1


def test_a_trace_has_a_row_for_each_rank(tmp_path):
    program = f"""
import loomix as mx
from loomix.parallel import Matrix, rank
a, b = Matrix.random((512, 512), "rows"), Matrix.random((512, 512), "rows", seed=1)
mx.nd.waitall()
mx.profiler.set_config(filename={str(tmp_path)!r} + f"/rank{{rank()}}.json", profile_all=True)
mx.profiler.set_state("run")
a.dot(b, algorithm="ring").wait_to_read()
mx.nd.waitall()
mx.profiler.set_state("stop")
mx.profiler.dump()
"""
    done = run(program, "-n", "2")
    assert done.returncode == 0, done.stderr
    merged = tmp_path / "all.json"
    files = [str(tmp_path / f"rank{rank}.json") for rank in range(2)]
    merge = [sys.executable, "-m", "loomix", "trace", "merge", str(merged), *files]
    subprocess.run(merge, check=True, capture_output=True)
    events = json.loads(merged.read_text())["traceEvents"]
    names = {event["args"]["name"] for event in events if event.get("ph") == "M" and "name" in event["args"]}
    assert {"rank0", "rank1", "rank 0 to rank 1 0", "rank 1 from rank 0 0"} <= names
    assert {"dot", "send", "receive"} <= {event["name"] for event in events if event.get("ph") == "X"}


def test_coded_and_relabelled_remaps():
    program = """
import loomix as mx, numpy as np
from loomix.parallel import Layout, Matrix, rank, size, traffic
a = Matrix.random((300, 300), "rows", seed=1)
exact = a.to_global().asnumpy()
def sent_in(work):
    mx.nd.waitall(); before = sum(traffic()["sent"])
    work().wait_to_read(); mx.nd.waitall()
    return sum(traffic()["sent"]) - before
plain = sent_in(lambda: a.remap("columns"))
for wire, part in (("float16", 1 / 2), ("bfloat16", 1 / 2), ("2bit:0.1", 1 / 16), ("topk:0.1", 1 / 5)):
    sent = sent_in(lambda: a.remap("columns", wire=wire))
    assert abs(sent - part * plain) < 3000, (wire, sent, plain)
np.testing.assert_allclose(a.remap("columns", wire="float16").to_global().asnumpy(), exact, rtol=1e-3)
turned = Layout.blocks([0, 100, 200, 300], [0, 300], [1, 2, 0])
moved = a.remap(turned, relabel=True)
assert moved.bytes_spared == 300 * 300 * 4 and moved.layout == a.layout
assert (moved.to_global().asnumpy() == exact).all()
for call in (lambda: a.remap("columns", wire="zip"), lambda: a.astype("float64").remap("columns", wire="2bit")):
    try:
        call()
    except (ValueError, TypeError) as error:
        print("told", type(error).__name__)
"""
    done = run(program, "-n", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("told MXNetValueError") + done.stdout.count("told ValueError") == 3, done.stdout
    assert done.stdout.count("told MXNetTypeError") + done.stdout.count("told TypeError") == 3, done.stdout
