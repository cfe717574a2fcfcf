# SPDX-License-Identifier: Apache-2.0
"""What MXNet's functions give, whatever its documentation says, and the classes of errors that scripts catch."""

import threading

import loomix as mx
import numpy as np
import pytest
from loomix import nd


def test_grad_of_one_array_is_a_list():
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
        found = mx.autograd.grad(y, x, create_graph=True)
    assert isinstance(found, list) and len(found) == 1
    assert found[0].asnumpy().tolist() == [2, 4]


def test_assertions():
    calls = (
        lambda: nd.random.normal(nd.array([1.0]), 2),
        lambda: mx.sym.random.normal(mx.sym.var("x"), 2),
        lambda: nd.ones(2).reshape(),
        lambda: mx.io.DataBatch(nd.ones(2)),
        lambda: mx.io.NDArrayIter([], batch_size=3),
        lambda: mx.metric.create("top_k_accuracy"),
        lambda: mx.init.Load({"w": nd.ones(2)})("v", nd.ones(2)),
    )
    for call in calls:
        with pytest.raises(AssertionError) as caught:
            call()
        assert isinstance(caught.value, mx.MXNetError)


def test_an_unknown_device_is_a_key_error():
    with pytest.raises(KeyError, match="unknown device type 'tpu'"):
        mx.Context("tpu", 0)


def test_force_rebind_is_taken_by_simple_bind():
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=2)
    assert net.simple_bind(mx.cpu(), data=(1, 2, 3, 3), force_rebind=True).forward()[0].shape == (1, 2, 3, 3)


def test_expected_values_of_what_an_operator_keeps():
    net = mx.sym.LeakyReLU(mx.sym.var("data"), mx.sym.var("gamma"), act_type="prelu")
    location, expected = (
        [np.array([[-1.0, 2]]), np.array([0.25])],
        [np.array([[-0.25, 2]]), np.array([[0.25, 0.25]])],
    )
    mx.test_utils.check_symbolic_forward(net, location, expected)


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_what_is_current_may_be_assigned_for_a_thread():
    places = (
        (mx.Context, "default_ctx", mx.cpu(1), mx.current_context),
        (mx.AttrScope, "current", mx.AttrScope(group="x"), lambda: mx.AttrScope.current.get(None)),
        (mx.name.NameManager, "current", mx.name.Prefix("p_"), lambda: mx.sym.relu(mx.sym.var("v")).name[:2]),
    )
    for owner, name, value, see in places:
        before, seen = getattr(owner, name), see()
        try:
            setattr(owner, name, value)
            assert getattr(owner, name) is value and see() != seen
            assert in_thread(lambda owner=owner, name=name: getattr(owner, name)) is not value
        finally:
            setattr(owner, name, before)
    assert mx.nd.zeros(1).context == mx.cpu(0) and mx.sym.var("v").attr("group") is None


def test_private_names_that_programs_use():
    full, part = (slice(0, 2), slice(0, 3)), (slice(0, 2), slice(0, 2))
    contiguous = nd.NDArray._basic_indexing_slice_is_contiguous
    assert (
        contiguous(full, (4, 3))
        and not contiguous(part, (4, 3))
        and contiguous((slice(1, 2), slice(0, 2)), (4, 3))
    )
    assert not contiguous((slice(None, None, 2), slice(None)), (4, 3)) and nd.ndarray.py_slice is slice
    assert mx.gluon.block._BlockScope and mx.util._NumpyArrayScope(True) and mx.util._NumpyShapeScope(True)


def test_star_imports():
    given = {}
    exec(
        "from loomix.autograd import *\nfrom loomix.contrib.autograd import *\nfrom loomix.gluon.block import *",
        given,
    )
    for name in (
        "NDArray",
        "Symbol",
        "train_section",
        "test_section",
        "record",
        "ctypes",
        "array",
        "HybridBlock",
    ):
        assert name in given, name
    exec("from loomix.module.base_module import *\nfrom loomix.image.image import *", given)
    assert given["np"] is np and given["BatchEndParam"] is mx.model.BatchEndParam
    assert given["random"].__name__ == "random"
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        mx.autograd.nothing_of_this_name  # noqa: B018
