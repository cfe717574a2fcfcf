# SPDX-License-Identifier: Apache-2.0
"""Distributed matrices on one rank: what Python adds to them. Many ranks are in tests/cpp/linalg, processes in
test_mpi_parallel.py."""

import subprocess
import sys

import loomix as mx
import numpy as np
import pytest
from loomix import parallel
from loomix.parallel import Layout, Matrix, Mesh


def of(array, layout="rows", dtype="float64"):
    return Matrix.from_global(mx.nd.array(array, dtype=dtype), layout, dtype)


def test_arithmetic_beside_numpy():
    x, y = np.random.RandomState(0).rand(2, 5, 7)
    a, b = of(x), of(y, Layout.cyclic((5, 7), (2, 3), 1, 1))
    row, column = (
        mx.nd.array(np.arange(7.0), dtype="float64"),
        mx.nd.arange(5, dtype="float64").reshape((5, 1)),
    )
    for found, expected in [
        (a + b, x + y),
        (a - b, x - y),
        (a * b, x * y),
        (a / b, x / y),
        (2 - a, 2 - x),
        (3 / b + 1, 3 / y + 1),
        (-a * 0.5, -x * 0.5),
        (a * row, x * np.arange(7)),
        (a - column, x - np.arange(5)[:, None]),
        (a.T, x.T),
        (a.dot(b, transpose_b=True), x @ y.T),
        (a.T.dot(b, algorithm="grid", out_layout="columns"), x.T @ y),
    ]:
        np.testing.assert_allclose(found.to_global().asnumpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(a.sum(0).asnumpy(), x.sum(0))
    np.testing.assert_allclose(a.sum(1).asnumpy(), x.sum(1))
    np.testing.assert_allclose(a.sum().asnumpy(), [x.sum()])
    np.testing.assert_allclose(a.norm().asnumpy(), [np.linalg.norm(x)])


def test_what_it_says_of_itself():
    a = of(np.ones((4, 3)), dtype="float16")
    assert a.shape == (4, 3) and a.dtype == np.float16 and a.layout == Layout.rows((4, 3))
    assert a.local[0].shape == (4, 3) and hash(a.layout) == hash(Layout.rows((4, 3)))
    assert repr(a) == "<Matrix (4, 3) float16, rows on 1 rank>"
    assert repr(Mesh(data=1, model=1)) == "Mesh(data=1, model=1)"
    assert parallel.rank() == 0 and parallel.size() == 1
    assert Layout.grid((4, 3), 2, 2).T == Layout.blocks([0, 2, 3], [0, 2, 4], [0, 2, 1, 3])
    assert repr(Layout.rows((4, 3)).T.T) == repr(Layout.rows((4, 3)))
    assert "<svg" in Layout.grid((4, 3), 2, 2)._repr_svg_()
    assert a.to_global(root=0).shape == (4, 3)


def test_blocks_are_shared():
    block = mx.nd.zeros((2, 2))
    matrix = Matrix.from_local([block], Layout.rows((2, 2)))
    block[:] = 3
    assert (matrix.to_global().asnumpy() == 3).all()
    matrix.local[0][:] = 4
    assert (block.asnumpy() == 4).all()


def test_random_numbers_go_by_place():
    for dtype in ("float32", "float64"):
        a = Matrix.random((6, 5), "rows", dtype, "normal", (3, 0.1), seed=4)
        b = Matrix.random((6, 5), Layout.cyclic((6, 5), (1, 2), 1, 1), dtype, "normal", (3, 0.1), seed=4)
        assert (a.to_global().asnumpy() == b.to_global().asnumpy()).all()
        assert abs(a.to_global().asnumpy().mean() - 3) < 0.2
    assert (
        Matrix.random((6, 5), "rows", seed=1).sum().asscalar()
        != Matrix.random((6, 5), "rows", seed=2).sum().asscalar()
    )


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: Mesh(data=2, model=3), ValueError, "(data=2, model=3) is for 6 ranks, and the job has 1"),
        (lambda: Mesh(data=1).axis("pipe"), KeyError, "no axis 'pipe'"),
        (lambda: Layout.blocks([0, 4, 2], [0, 2], [0, 0]), ValueError, "do not grow: 2 comes after 4"),
        (lambda: Layout.blocks([0, 4], [0, 2], [-1]), ValueError, "has no owner"),
        (lambda: Layout.rows((4, 4), 2).block(2), IndexError, "expected 0 to 1"),
        (lambda: Matrix.full((4, 4), 0, Layout.rows((4, 4), 2)), ValueError, "names rank 1, and the job has 1 rank"),
        (lambda: Matrix.full((4, 4), 0, "diagonal"), ValueError, "'diagonal'; expected a Layout, or one of rows"),
        (lambda: Matrix.full((4, 4), 0, Layout.rows((4, 5))), ValueError, "a layout of (4, 5)"),
        (lambda: Matrix.full((4, 4), 0, "rows", dtype="int32"), TypeError, "type int32; expected float32"),
        (lambda: Matrix.from_global(None, "rows"), ValueError, "expected an array or a shape"),
        (lambda: Matrix.from_local([], Layout.rows((4, 4))), ValueError, "0 blocks came at rank 0; it has 1"),
        (lambda: Matrix.random((2, 2), "rows", distribution="beta"), ValueError, "uniform or normal"),
        (lambda: of(np.ones((2, 3))) + of(np.ones((3, 2))), ValueError, "expected the same sizes"),
        (lambda: of(np.ones((2, 3))) + mx.nd.ones((4,)), ValueError, "expected (3,), (1, 3) or (2, 1)"),
        (lambda: of(np.ones((2, 3))).dot(of(np.ones((2, 3)))), ValueError, "3 columns meet 2 rows"),
        (lambda: of(np.ones((2, 3))).dot(mx.nd.ones((3, 2))), TypeError, "expected a Matrix"),
        (lambda: of(np.ones((2, 2))).dot(of(np.ones((2, 2))), algorithm="cannon"), ValueError, "local, ring"),
        (lambda: of(np.ones((2, 3))).sum(axis=2), ValueError, "expected 0, 1 or none"),
        (lambda: of(np.ones((2, 3))) + "x", TypeError, "unsupported operand"),
        (lambda: parallel.start("mesos"), ValueError, "'mpi', 'network' or 'single'"),
        (lambda: parallel.set_cache(-1), ValueError, "expected 0 or more"),
        (lambda: parallel.set_buffers(1), ValueError, "expected 2 to 64"),
        (lambda: parallel.set_links(0, 0, 1), ValueError, "expected positive numbers"),
    ],
)  # fmt: skip
def test_mistakes_are_named(call, error, words):
    parallel.size()
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"bytes_per_second": "x", "latency": 0, "flops": 1}'])
def test_damaged_links_are_named(tmp_path, text):
    path = tmp_path / "links.json"
    path.write_text(text)
    with pytest.raises(OSError, match=r"links\.json is damaged: expected an object of bytes_per_second"):
        parallel.load_links(str(path))


def test_start_comes_first():
    parallel.size()
    with pytest.raises(RuntimeError, match="started already"):
        parallel.start("single")


def test_who_does_not_use_it_does_not_load_it():
    code = "import sys, loomix as mx; mx.nd.ones((2,)).asnumpy(); print('loomix._parallel' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_files(tmp_path, dtype):
    folder = str(tmp_path / "w")
    a = Matrix.random((5, 7), Layout.cyclic((5, 7), (2, 3), 1, 1), dtype, seed=3)
    a.save(folder)
    b = Matrix.load(folder, "columns")
    assert repr(b) == f"<Matrix (5, 7) {dtype}, columns on 1 rank>"
    assert (a - b).norm().astype("float64").asnumpy() == 0
    Matrix.full((2, 2), 5, "rows").save(folder)  # replaces it
    assert Matrix.load(folder).to_global().asnumpy().tolist() == [[5, 5], [5, 5]]
    assert len(list((tmp_path / "w").iterdir())) == 2


def test_damaged_files_are_named(tmp_path):
    folder = str(tmp_path / "w")
    with pytest.raises(OSError, match="there is no matrix in .*w"):
        Matrix.load(folder)
    Matrix.full((4, 4), 5, "rows").save(folder)
    index, blocks = tmp_path / "w" / "index.json", tmp_path / "w" / "blocks-1-0.params"
    whole, text = blocks.read_bytes(), index.read_text()
    for content in (b"", whole[: len(whole) // 2], b"x" * 100):
        blocks.write_bytes(content)
        with pytest.raises(OSError, match=r"blocks-1-0\.params"):
            Matrix.load(folder)
    blocks.unlink()
    with pytest.raises(OSError, match=r"blocks-1-0\.params"):
        Matrix.load(folder)
    mx.nd.save(str(blocks), {"0": mx.nd.ones((4, 5))})
    with pytest.raises(OSError, match=r"has shape \(4, 5\); the index says \(4, 4\)"):
        Matrix.load(folder)
    for damaged in (
        text[:20],
        "[]",
        text.replace('"owners": [0]', '"owners": ["a"]'),
        text.replace("[0, 4]", "[0, 4, 2]", 1),
    ):
        index.write_text(damaged)
        with pytest.raises((OSError, ValueError)):
            Matrix.load(folder)
    Matrix.full((4, 4), 5, "rows")  # nothing is broken
