# SPDX-License-Identifier: Apache-2.0
"""Loomix and PyTorch in one process: each has an OpenMP run-time, also after a fork."""

import multiprocessing

import loomix as mx
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def products(size):
    ours = mx.nd.dot(mx.nd.ones((size, size)), mx.nd.ones((size, size))).asnumpy()
    theirs = torch.ones(size, size).mm(torch.ones(size, size)).numpy()
    np.testing.assert_array_equal(ours, theirs)
    return float(ours[0, 0])


def test_both_compute_in_turns():
    assert [products(size) for size in (64, 300, 500)] == [64, 300, 500]


def test_both_compute_after_a_fork():
    products(300)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(products, [300, 200, 100]).get(timeout=60) == [300, 200, 100]
