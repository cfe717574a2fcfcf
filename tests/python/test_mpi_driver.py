# SPDX-License-Identifier: Apache-2.0
"""Processes of mpirun that rank 0 drives, and jobs that they are given."""

import time

import pytest
from test_mpi_kvstore import no_mpi as no_mpi  # a fixture
from test_mpi_kvstore import with_mpi as run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.fixture(autouse=True)
def needs_mpi(no_mpi):
    if no_mpi:
        pytest.skip(no_mpi)


def test_rank_0_drives(tmp_path):
    program = f"""
import loomix as mx, numpy as np
from loomix.parallel import Layout, Matrix
ran = 0
with mx.parallel.driver():
    ran = 1
    whole = np.random.RandomState(1).rand(30, 20).astype("float32")
    a = Matrix.from_global(mx.nd.array(whole), "rows")
    b = Matrix.random((20, 9), Layout.cyclic((20, 9), (4, 4), 3, 1), seed=5)
    other = b.to_global().asnumpy()
    c = a.dot(b, out_layout="columns")
    np.testing.assert_allclose(c.to_global().asnumpy(), whole @ other, rtol=1e-5)
    d = (2 - c.remap("rows", dtype="float64", wire="bfloat16", relabel=True)) * mx.nd.ones((9,)) / 3
    assert d.shape == (30, 9) and d.sum(0).shape == (9,) and d.norm().asscalar() > 0
    assert a.T.shape == (20, 30) and a.replicated().shape == (30, 20)
    try:
        a.dot(a)
    except ValueError as error:
        assert "20 columns meet 30 rows" in str(error)
    a.save({str(tmp_path)!r})
    assert (Matrix.load({str(tmp_path)!r}, "columns").to_global().asnumpy() == whole).all()
    mx.random.seed(3)
    e = Matrix.random((40, 40), "rows", seed=None)
    for _ in range(30):
        e = e.dot(e) / 100.0
    assert e.to_global(root=1) is None and e.to_global().shape == (40, 40)
    mx.parallel.barrier()
f = Matrix.full((3, 3), 2, "rows")
print("good", mx.parallel.rank(), ran, f.sum().asscalar())
"""
    done = run(program, "-n", "3")
    lines = sorted(line for line in done.stdout.splitlines() if line.startswith("good"))
    assert lines == ["good 0 1 18.0", "good 1 0 18.0", "good 2 0 18.0"], done.stdout + done.stderr
    assert done.returncode == 0


def test_an_exception_of_another_rank_reaches_rank_0():
    program = """
import time
import loomix as mx
from loomix.parallel import Matrix, rank
from loomix.parallel.operations import OPERATIONS, Operation
def fails(*_):
    raise MemoryError("no room here")
if rank() == 2:
    OPERATIONS["transposed"] = Operation(fails, OPERATIONS["transposed"].takes)
with mx.parallel.driver():
    a = Matrix.full((6, 6), 1, "rows")
    begin = time.time()
    b = a.T
    try:
        b.remap("rows").to_global().asnumpy()
    except ConnectionError as error:
        print("told after", time.time() - begin < 10, error)
        raise
"""
    begin = time.time()
    done = run(program, "-n", "3")
    assert done.returncode != 0 and time.time() - begin < 35
    assert "told after True" in done.stdout, done.stdout + done.stderr
    assert "rank 2 has given up: command 2, transposed, ended with MemoryError: no room here" in done.stdout


def test_an_exception_of_the_body_ends_all():
    program = """
import loomix as mx
from loomix.parallel import Matrix
with mx.parallel.driver():
    Matrix.full((6, 6), 1, "rows").norm()
    raise KeyError("my mistake")
"""
    done = run(program, "-n", "3")
    assert done.returncode != 0
    assert "the program of rank 0 ended with KeyError: 'my mistake'" in done.stderr or (
        "rank 0 has given up" in done.stderr
    ), done.stderr


def test_jobs_for_free_ranks():
    pytest.importorskip("mpi4py")
    program = """
import loomix as mx
mx.random.seed(7)
def draw(job):
    return job, mx.nd.random.uniform(shape=(2,)).asnumpy().tolist()
by_mpi = mx.parallel.map(draw, range(6), by="mpi")
mx.random.seed(7)
assert by_mpi == mx.parallel.map(draw, range(6), by="here") or mx.parallel.rank() > 0
print("good", by_mpi)
"""
    done = run(program, "-n", "3")
    lines = {line for line in done.stdout.splitlines() if line.startswith("good")}
    assert done.returncode == 0 and len(lines) == 1, done.stdout + done.stderr
