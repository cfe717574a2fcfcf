# SPDX-License-Identifier: Apache-2.0
"""Graphs that cannot be: errors name the nodes at both ends, and both shapes."""

import json

import loomix as mx
import numpy as np
import pytest

var = mx.sym.Variable


def both_dense(first, second):
    """Two layers that share a weight."""
    weight = var("w")
    return mx.sym.Group([
        mx.sym.FullyConnected(var("a"), weight=weight, no_bias=True, num_hidden=first, name="one"),
        mx.sym.FullyConnected(var("b"), weight=weight, no_bias=True, num_hidden=second, name="two"),
    ])  # fmt: skip


SHAPES = [
    (
        lambda: mx.sym.elemwise_add(mx.sym.relu(var("a"), name="r1"), mx.sym.relu(var("b"), name="r2"), name="s"),
        {"a": (2, 3), "b": (3, 2)},
        ["'s' (elemwise_add)", "lhs=(2, 3) from 'r1'", "rhs=(3, 2) from 'r2'"],
    ),
    (
        lambda: mx.sym.FullyConnected(mx.sym.relu(var("a"), name="r"), num_hidden=4, name="fc"),
        {"a": (2, 3), "fc_weight": (4, 5)},
        ["'fc' (FullyConnected)", "data=(2, 3) from 'r'", "weight=(4, 5) from 'fc_weight'", "ask for (4, 3)"],
    ),
    (
        lambda: mx.sym.Convolution(var("a"), num_filter=4, kernel=(3, 3), name="c"),
        {"a": (2, 3, 8, 8), "c_weight": (4, 5, 3, 3)},
        ["'c' (Convolution)", "data=(2, 3, 8, 8) from 'a'", "weight=(4, 5, 3, 3) from 'c_weight'"],
    ),
    (
        lambda: mx.sym.Concat(var("a"), var("b"), dim=1, name="c"),
        {"a": (2, 3, 8), "b": (2, 3, 7)},
        ["'c' (Concat)", "data0=(2, 3, 8) from 'a'", "data1=(2, 3, 7) from 'b'"],
    ),
    (
        lambda: both_dense(4, 5),
        {"a": (2, 3), "b": (2, 3)},
        ["'two' (FullyConnected)", "weight=(4, 3) from 'w' as node 'one' (FullyConnected) asks", "ask for (5, 3)"],
    ),
    (
        lambda: mx.sym.FullyConnected(var("a"), weight=var("w"), bias=var("a"), num_hidden=4),
        {"a": (2, 3)},
        ["FullyConnected", "bias=(2, 3) from 'a'", "ask for (4,)"],
    ),
]  # fmt: skip


@pytest.mark.parametrize("make, shapes, parts", SHAPES)
def test_shapes_that_do_not_fit(make, shapes, parts):
    for attempt in (
        lambda: make().simple_bind(mx.cpu(), **shapes),
        lambda: make().infer_shape(**shapes),
        lambda: make().explain(**shapes),
    ):
        with pytest.raises(mx.base.ShapeError) as error:
            attempt()
        for part in parts:
            assert part in str(error.value)


def test_arrays_that_do_not_fit():
    net = mx.sym.elemwise_add(mx.sym.relu(var("a"), name="r"), var("b"), name="s")
    with pytest.raises(mx.base.ShapeError) as error:
        net.bind(mx.cpu(), [mx.nd.ones((2, 3)), mx.nd.ones((3, 2))])
    assert "in node 's' (elemwise_add) with lhs=(2, 3) from 'r', rhs=(3, 2) from 'b'" in str(error.value)
    with pytest.raises(TypeError) as wrong_type:
        net.bind(mx.cpu(), [mx.nd.ones((2, 3)), mx.nd.array(np.ones((2, 3)), dtype="float64")])
    assert "lhs=float32 from 'r', rhs=float64 from 'b'" in str(wrong_type.value)


def test_one_variable_as_two_things():
    weight = var("w")
    net = mx.sym.FullyConnected(var("a"), weight=weight, bias=weight, num_hidden=4, name="fc")
    with pytest.raises(mx.base.ShapeError) as error:
        net.simple_bind(mx.cpu(), a=(2, 3))
    assert "node 'fc' (FullyConnected) asks for shape (4,) of variable 'w', which has (4, 3)" in str(
        error.value
    )


def graph():
    return json.loads(mx.sym.relu(mx.sym.sin(var("a"), name="s"), name="r").tojson())


@pytest.mark.parametrize(
    "inputs, message",
    [
        (
            [[2, 0, 0]],
            "input 0 of node 1 ('s') is node 2 ('r'), which comes after it; the inputs of a node come before",
        ),
        ([[1, 0, 0]], "input 0 of node 1 ('s') is the node itself"),
        ([[7, 0, 0]], "input 0 of node 1 ('s') is node 7; the graph has 3 nodes"),
        ([[0, 3, 0]], "output 3 of node 'a' is used; it has 1"),
        ([], "node 's' (sin) has 0 inputs; expected 1"),
    ],
)
def test_nodes_that_lead_nowhere(inputs, message):
    broken = graph()
    broken["nodes"][1]["inputs"] = inputs
    with pytest.raises(ValueError) as error:
        mx.sym.load_json(json.dumps(broken))
    assert message in str(error.value)


def test_a_node_without_a_name_can_be_behind():
    broken = graph()
    broken["nodes"][1]["inputs"] = [[2, 0, 0]]
    for other in (3, {"op": "relu", "name": 5, "inputs": []}):
        broken["nodes"][2] = other
        with pytest.raises(ValueError, match=r"input 0 of node 1 \('s'\) is node 2, which comes after it"):
            mx.sym.load_json(json.dumps(broken))


def test_heads_that_do_not_exist():
    broken = graph()
    broken["heads"] = [[9, 0, 0]]
    with pytest.raises(ValueError, match="a head, its node is 9; expected 0 to 2"):
        mx.sym.load_json(json.dumps(broken))
