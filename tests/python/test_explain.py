# SPDX-License-Identifier: Apache-2.0
"""LOOMIX_EXPLAIN=dispatch says on the standard error which kernel runs, and why others do not."""

import os
import subprocess
import sys


def explained(code, topic="dispatch"):
    environment = {**os.environ, "LOOMIX_EXPLAIN": topic}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=100, check=True
    )
    return done.stderr.splitlines()


CONVOLUTION = """
import loomix as mx
x, w = mx.nd.ones((1, 3, 8, 8), dtype="float64"), mx.nd.ones((2, 3, 3, 3), dtype="float64")
for _ in range(3):
    mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=2, no_bias=True).wait_to_read()
"""


def test_refusals_and_the_choice_are_said_once():
    lines = [line for line in explained(CONVOLUTION) if "Convolution" in line]
    assert "dispatch: Convolution: convolution_gemm refuses: it is for float32" in lines
    assert sum(line.endswith(" runs (float64 (1, 3, 8, 8), float64 (2, 3, 3, 3))") for line in lines) == 1
    assert len(lines) == len(set(lines))


def test_bound_graphs_are_explained_too():
    lines = explained("""
import loomix as mx
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
net.simple_bind(mx.cpu(), data=(2, 5)).forward()
""")
    assert any(line.startswith("dispatch: FullyConnected: ") and " runs (" in line for line in lines)


def test_dense_fallbacks_of_sparse_arrays_are_named():
    lines = explained("""
import loomix as mx
rows = mx.nd.sparse.row_sparse_array((mx.nd.ones((1, 4)), [2]), shape=(5, 4))
mx.nd.cos(rows).wait_to_read()
""")
    assert "dispatch: cos: no kernel takes storage types (row_sparse); the inputs are made dense" in lines


def test_dense_fallbacks_in_bound_graphs_are_named_once():
    lines = explained("""
import loomix as mx
x = mx.sym.Variable("x", stype="csr")
net = mx.sym.softmax(x) + mx.sym.softmax(mx.sym.cos(x))
run = net.simple_bind(mx.cpu(), x=(3, 4), grad_req="null")
for _ in range(2):
    run.forward()
""")
    fallbacks = [line for line in lines if line.endswith("made dense")]
    assert fallbacks == [
        f"dispatch: {op}: no kernel takes storage types (csr); the inputs are made dense"
        for op in ("softmax", "cos")
    ]


def test_nothing_is_said_unasked():
    assert not [line for line in explained(CONVOLUTION, topic="") if "dispatch" in line]
