# SPDX-License-Identifier: Apache-2.0
"""What libraries on top of MXNet (GluonCV, GluonNLP, GluonTS) take from its modules beside the documented names."""

import importlib
import io
import multiprocessing.pool
import pickle

import loomix as mx
import numpy as np
import pytest
from loomix import nd
from loomix.gluon import block, loss
from loomix.gluon.data import dataloader
from loomix.gluon.model_zoo import model_store


@pytest.mark.parametrize(
    "name",
    [
        "contrib.amp.amp._amp_initialized",
        "gluon.block._flatten",
        "gluon.data.dataloader.ForkingPickler",
        "gluon.utils._get_repo_url",
        "image.image._get_interp_method",
        "metric.ndarray.sum",
    ],
)
def test_there(name):
    module, _, last = name.removesuffix(".sum").rpartition(".")
    assert hasattr(importlib.import_module("loomix." + module), last)


def test_nested_inputs():
    a, b, c = nd.ones(1), nd.zeros(2), nd.zeros(3)
    leaves, form = block._flatten([a, [b, c]], "input")
    assert leaves == [a, b, c] and form == [0, [0, 0]]
    assert block._regroup([*leaves, a], form) == ([a, [b, c]], [a])


def test_parts_of_losses():
    x = nd.array([[1.0, 2], [3, 4]])
    weighted = loss._apply_weighting(nd, x, 2.0, nd.array([[1.0], [0.5]]))
    assert weighted.asnumpy().tolist() == [[2, 4], [3, 4]]
    assert loss._reshape_like(nd, nd.arange(4), x).shape == (2, 2)


def test_addresses(monkeypatch):
    monkeypatch.setenv("MXNET_GLUON_REPO", "https://files.example")
    assert (
        mx.gluon.utils._get_repo_file_url("gluon/dataset", "a.zip")
        == "https://files.example/gluon/dataset/a.zip"
    )


def test_files_of_networks_that_nobody_published(tmp_path):
    with pytest.raises(ValueError, match="no file is published"):
        model_store.get_model_file("net", str(tmp_path))
    (tmp_path / "net-0123abcd.params").touch()
    assert model_store.get_model_file("net", str(tmp_path)).endswith("net-0123abcd.params")
    (tmp_path / "net.params").touch()
    assert model_store.get_model_file("net", str(tmp_path)).endswith("net.params")


def pickled_batch(samples, batchify_fn, dataset):
    buffer = io.BytesIO()
    dataloader.ForkingPickler(buffer).dump(batchify_fn(np.asarray(samples, np.float32)))
    return buffer.getvalue() if dataset is None else pickle.loads(buffer.getvalue())


@pytest.mark.parametrize("dataset", [None, "here"])
def test_batches_of_a_pool(dataset):
    with multiprocessing.pool.ThreadPool(2) as pool:
        batches = dataloader._MultiWorkerIter(
            pool,
            nd.array,
            [[0, 1], [2, 3], [4]],
            pin_memory=True,
            worker_fn=pickled_batch,
            prefetch=2,
            dataset=dataset,
        )
        assert len(batches) == 3
        got = list(batches)
    assert [batch.asnumpy().tolist() for batch in got] == [[0, 1], [2, 3], [4]]
    assert got[0].context.device_type == "cpu_pinned"


def test_operators_without_parameters_take_any():
    x = nd.ones((2, 1))
    with pytest.warns(UserWarning, match=r"\[zeros_like\] has no parameters; dtype is not used"):
        assert nd.zeros_like(x, dtype="float32").asnumpy().tolist() == [[0], [0]]
    with pytest.warns(UserWarning, match="axis is not used"):
        assert nd.broadcast_mul(lhs=x, rhs=x, axis=-1).shape == (2, 1)
    with mx.AttrScope(mirror="True"):
        symbol = mx.sym.exp(mx.sym.var("x"), axis=1, name="e")
    assert symbol.attr("mirror") == "True" and symbol.attr("axis") == "1"
    again = mx.sym.load_json(symbol.tojson())
    assert again.eval(x=x)[0].asnumpy() == pytest.approx(np.e * np.ones((2, 1)))
    with pytest.raises(ValueError, match="Cannot find argument 'foo'"):
        nd.sum(x, foo=1)
    with pytest.raises(TypeError, match="no input called 'other'"):
        nd.exp(x, other=x)


def test_null_leaves_a_parameter_out():
    null = mx.base._Null
    assert repr(null) == "_Null"
    x = nd.ones((2, 3))
    assert (
        nd.sum(x, axis=null, keepdims=null).shape == nd.sum(x, null).shape == x.sum(axis=null).shape == (1,)
    )
    assert nd.random.uniform(shape=null, dtype=null).shape == (1,)
    assert mx.sym.random.uniform(shape=(2,), dtype=null).eval()[0].dtype == np.float32
    assert mx.sym.sum(mx.sym.var("x"), axis=null).attr("axis") is None
    with pytest.raises(ValueError, match="num_hidden is missing"):
        nd.FullyConnected(x, num_hidden=null)
    with pytest.raises(TypeError, match="two values for argument 'axis'"):
        nd.sum(x, null, axis=0)


@pytest.mark.parametrize("kind", ["cpu_shared", "cpu_pinned"])
def test_memory_kinds_of_the_host_mix(kind):
    out = nd.empty((2, 3), ctx=mx.Context(kind, 0))
    assert nd.stack(nd.ones(3), nd.zeros(3), out=out) is out
    assert out.asnumpy().tolist() == [[1, 1, 1], [0, 0, 0]] and out.context.device_type == kind
    assert (nd.ones(3) + nd.ones(3, ctx=mx.Context(kind, 0))).context.device_type == "cpu"
    with pytest.raises(mx.MXNetError, match="one device"):
        nd.ones(3) + nd.ones(3, ctx=mx.cpu(1))
