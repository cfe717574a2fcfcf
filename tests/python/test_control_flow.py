# SPDX-License-Identifier: Apache-2.0
"""Loops and branches, on arrays and in symbols: each against a loop of NumPy's, gradients against the recorded loop."""

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

nd, sym, autograd = mx.nd, mx.sym, mx.autograd
FILES = Path(__file__).parents[1] / "compat" / "files" / "symbol"


def run(symbol, arrays, train=True, head=None, **options):
    """Outputs and gradients of a symbol."""
    arrays = {name: nd.array(value, dtype=value.dtype) for name, value in arrays.items()}
    states = {name: arrays.pop(name) for name in symbol.list_auxiliary_states()}
    gradients = {name: nd.zeros(array.shape, dtype=array.dtype) for name, array in arrays.items()}
    executor = symbol.bind(mx.current_context(), arrays, gradients, aux_states=states, **options)
    outputs = [out.asnumpy() for out in executor.forward(is_train=train)]
    if train:
        heads = head or [np.ones_like(out) for out in outputs]
        executor.backward([nd.array(h, dtype=h.dtype) for h in heads])
    return outputs, {name: array.asnumpy() for name, array in executor.grad_dict.items() if array is not None}


def record(function, arrays, heads):
    """The same by a plain loop on arrays."""
    arrays = {name: nd.array(value, dtype=value.dtype) for name, value in arrays.items()}
    for array in arrays.values():
        array.attach_grad()
    with autograd.record():
        outputs = function(**arrays)
    autograd.backward(outputs, [nd.array(h, dtype=h.dtype) for h in heads])
    return [out.asnumpy() for out in outputs], {name: array.grad.asnumpy() for name, array in arrays.items()}


def check(make, rtol=1e-9, **arrays):
    """``make(F, **inputs)`` gives the same list of outputs and gradients on arrays and on symbols."""
    made = make(sym, **{name: sym.Variable(name) for name in arrays})
    random = np.random.RandomState(7)
    with autograd.pause():
        shapes = [out.shape for out in make(nd, **{k: nd.array(v, dtype=v.dtype) for k, v in arrays.items()})]
    heads = [random.randn(*shape) for shape in shapes]
    outputs, gradients = run(sym.Group(made), arrays, head=heads)
    expected, expected_gradients = record(lambda **inputs: make(nd, **inputs), arrays, heads)
    for ours, theirs in zip(outputs, expected):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-12)
    assert gradients.keys() == expected_gradients.keys()
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected_gradients[name], rtol=rtol, atol=1e-12, err_msg=name)
    return outputs, gradients


def normal(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape)


# ---- foreach ----


def rnn(F, data, state, weight):
    def step(x, h):
        h = F.tanh(F.dot(x, weight) + h)
        return h * 2, h

    outputs, state = F.contrib.foreach(step, data, state)
    return [outputs, state]


def test_foreach_is_a_recurrent_network():
    data, state, weight = normal(5, 2, 3), normal(2, 3, seed=1), normal(3, 3, seed=2)
    outputs, _ = check(rnn, data=data, state=state, weight=weight)
    h, expected = state, []
    for x in data:
        h = np.tanh(x @ weight + h)
        expected.append(2 * h)
    np.testing.assert_allclose(outputs[0], expected)
    np.testing.assert_allclose(outputs[1], h)


def test_foreach_numeric_gradient():
    data, state, weight = normal(3, 1, 2), normal(1, 2, seed=1), normal(2, 2, seed=2)
    arrays = {"data": data, "state": state, "weight": weight}
    symbol = sym.Group(rnn(sym, **{name: sym.Variable(name) for name in arrays}))
    _, gradients = run(symbol, arrays)
    for name, array in arrays.items():
        for index in np.ndindex(array.shape):
            values = []
            for change in (1e-5, -1e-5):
                moved = array.copy()
                moved[index] += change
                outputs, _ = run(symbol, {**arrays, name: moved}, train=False)
                values.append(sum(out.sum() for out in outputs))
            assert abs((values[0] - values[1]) / 2e-5 - gradients[name][index]) < 1e-7


@pytest.mark.parametrize("steps", [1, 2, 20])
def test_foreach_with_lists(steps):
    def make(F, a, b, s, t):
        def step(items, states):
            x, (y,) = items
            first, second = states
            return [x + first, [y * second]], [first * y, second + x]

        (p, (q,)), (u, v) = F.contrib.foreach(step, [a, [b]], [s, t])
        return [p, q, u, v]

    check(make, a=normal(steps, 2), b=normal(steps, 2, seed=1), s=normal(2, seed=2), t=normal(2, seed=3))


def test_foreach_without_states_or_outputs():
    check(lambda F, a: [F.contrib.foreach(lambda x, states: (x * x, states), a, [])[0]], a=normal(3, 2))
    check(
        lambda F, a, s: [F.contrib.foreach(lambda x, s: ([], s * x), a, s)[1]],
        a=normal(3, 2),
        s=normal(2, seed=1),
    )


def test_foreach_captures_what_is_computed_outside():
    def make(F, a, w):
        scale = F.exp(w) + 1
        parts = F.split(scale, num_outputs=2, axis=0)
        outputs, _ = F.contrib.foreach(lambda x, states: (x * parts[1] + parts[0] * w.sum(), states), a, [])
        return [outputs, scale]

    check(make, a=normal(4, 1), w=normal(2, seed=1))


def test_outputs_that_are_inputs():
    check(
        lambda F, a, s: list(F.contrib.foreach(lambda x, s: (s, x), a, s)),
        a=normal(3, 2),
        s=normal(2, seed=1),
    )
    check(
        lambda F, a, s: [F.contrib.foreach(lambda x, s: ([x, x, s], s), a, s)[0][i] for i in range(3)],
        a=normal(3, 2), s=normal(2, seed=1),
    )  # fmt: skip


def test_no_steps():
    a, s = sym.Variable("a"), sym.Variable("s")
    outputs, state = sym.contrib.foreach(lambda x, s: (x * s, s + x), a, s)
    with mx.util.np_shape(True):
        values, gradients = run(sym.Group([outputs, state]), {"a": np.zeros((0, 2)), "s": normal(2)})
    assert values[0].shape == (0, 2)
    np.testing.assert_array_equal(values[1], normal(2))
    np.testing.assert_array_equal(gradients["s"], np.ones(2))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_types(dtype):
    a = normal(3, 2).astype(dtype)
    outputs, gradients = run(
        sym.Group(
            list(sym.contrib.foreach(lambda x, s: (x + s, x * s), sym.Variable("a"), sym.Variable("s")))
        ),
        {"a": a, "s": np.ones(2, dtype)},
    )
    assert all(out.dtype == dtype for out in (*outputs, *gradients.values()))
    np.testing.assert_allclose(outputs[1], a.prod(axis=0), rtol=2e-2 if dtype == "float16" else 1e-5)


def test_inference_goes_through_the_subgraph():
    data = sym.Variable("data")
    outputs, state = sym.contrib.foreach(
        lambda x, s: (sym.FullyConnected(x, num_hidden=4, name="fc") + s, s * 1), data, sym.Variable("state")
    )
    net = sym.Group([outputs, state])
    assert net.list_arguments() == ["data", "state", "fc_weight", "fc_bias"]
    shapes, outs, _ = net.infer_shape(data=(7, 2, 3))
    assert shapes == [(7, 2, 3), (2, 4), (4, 3), (4,)] and outs == [(7, 2, 4), (2, 4)]
    types, outs, _ = net.infer_type(data="float64")
    assert set(types) == set(outs) == {np.float64}
    with pytest.raises(mx.MXNetError, match="fc"):
        net.infer_shape(data=(7, 2, 3), fc_weight=(4, 5))


def test_requests_add_and_null():
    net = sym.Group(rnn(sym, sym.Variable("data"), sym.Variable("state"), sym.Variable("weight")))
    arrays = {"data": normal(3, 1, 2), "state": normal(1, 2, seed=1), "weight": normal(2, 2, seed=2)}
    _, expected = run(net, arrays)
    given = {name: nd.array(value, dtype="float64") for name, value in arrays.items()}
    gradients = {name: nd.ones(value.shape, dtype="float64") for name, value in arrays.items()}
    executor = net.bind(
        mx.current_context(), given, gradients, grad_req={"data": "add", "state": "null", "weight": "add"}
    )
    for _ in range(2):
        heads = [nd.ones(out.shape, dtype="float64") for out in executor.forward(is_train=True)]
        executor.backward(heads)
    np.testing.assert_allclose(gradients["data"].asnumpy(), 1 + 2 * expected["data"])
    np.testing.assert_allclose(gradients["weight"].asnumpy(), 1 + 2 * expected["weight"])
    assert (gradients["state"].asnumpy() == 1).all()


def test_backward_twice_and_after_prediction():
    net = sym.Group(rnn(sym, sym.Variable("data"), sym.Variable("state"), sym.Variable("weight")))
    arrays = {"data": normal(3, 1, 2), "state": normal(1, 2, seed=1), "weight": normal(2, 2, seed=2)}
    _, expected = run(net, arrays)
    executor = net.bind(
        mx.current_context(), {k: nd.array(v, dtype="float64") for k, v in arrays.items()},
        {k: nd.zeros(v.shape, dtype="float64") for k, v in arrays.items()},
    )  # fmt: skip
    heads = [nd.ones(out.shape, dtype="float64") for out in executor.forward(is_train=False)]
    for _ in range(3):
        executor.backward(heads)
        np.testing.assert_allclose(executor.grad_dict["weight"].asnumpy(), expected["weight"])


class Slow(mx.operator.CustomOp):
    def __init__(self, seconds):
        self.seconds = seconds

    def forward(self, is_train, req, in_data, out_data, aux):
        time.sleep(self.seconds)
        self.assign(out_data[0], req[0], in_data[0])


@mx.operator.register("control_flow_slow")
class SlowProp(mx.operator.CustomOpProp):
    def __init__(self, seconds):
        super().__init__(need_top_grad=False)
        self.seconds = float(seconds)

    def create_operator(self, ctx, shapes, dtypes):
        return Slow(self.seconds)


def test_a_late_prediction_leaves_the_record_of_another_pass():
    net = sym.Group(rnn(sym, sym.Variable("data"), sym.Variable("state"), sym.Variable("weight")))
    arrays = {"data": normal(3, 1, 2), "state": normal(1, 2, seed=1), "weight": normal(2, 2, seed=2)}
    _, expected = run(net, arrays)
    executor = net.bind(
        mx.current_context(), {k: nd.array(v, dtype="float64") for k, v in arrays.items()},
        {k: nd.zeros(v.shape, dtype="float64") for k, v in arrays.items()},
    )  # fmt: skip
    outputs = executor.forward(is_train=False)
    ones = [nd.ones(out.shape, dtype="float64") for out in outputs]
    # The second prediction waits for who reads the first one's output; the backward pass, which runs forward again on
    # arrays of its own, waits longer, for its head gradients.
    reader = nd.Custom(outputs[0], op_type="control_flow_slow", seconds=0.2)
    heads = [nd.Custom(one, op_type="control_flow_slow", seconds=0.6) for one in ones]
    executor.forward(is_train=False)
    executor.backward(heads)
    np.testing.assert_allclose(executor.grad_dict["weight"].asnumpy(), expected["weight"])
    reader.wait_to_read()


def test_states_of_operators_inside():
    data = sym.Variable("data")
    outputs, _ = sym.contrib.foreach(
        lambda x, states: (sym.BatchNorm(x, name="bn", momentum=0.5, fix_gamma=False), states), data, []
    )
    assert outputs.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    executor = outputs.simple_bind(mx.current_context(), data=(2, 8, 3))
    executor.aux_dict["bn_moving_var"][:] = 1
    x = normal(2, 8, 3).astype(np.float32)
    executor.forward(is_train=True, data=x)
    executor.backward(nd.ones((2, 8, 3)))
    mean = np.zeros(3)
    for part in x[::-1]:  # they are updated by the gradients, as in MXNet
        mean = 0.5 * mean + 0.5 * part.mean(axis=0)
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), mean, rtol=1e-4, atol=1e-6)


def test_random_numbers_follow_the_seed():
    data = sym.Variable("data")
    outputs, _ = sym.contrib.foreach(lambda x, states: (sym.Dropout(x, p=0.5), states), data, [])
    executor = outputs.simple_bind(mx.current_context(), data=(4, 100))
    executor.arg_dict["data"][:] = 1
    results = []
    for seed in (1, 1, 2):
        mx.random.seed(seed)
        out = executor.forward(is_train=True)[0].asnumpy()
        executor.backward(nd.ones((4, 100)))
        np.testing.assert_array_equal(executor.grad_dict["data"].asnumpy(), out)
        results.append(out)
    assert (results[0] == results[1]).all() and (results[0] != results[2]).any()
    assert (results[0][0] != results[0][1]).any()


# ---- while_loop ----


def power(F, x, limit):
    """Doubles until the sum reaches the limit."""
    outputs, (x, total) = F.contrib.while_loop(
        cond=lambda x, total: F.sum(total) < limit,
        func=lambda x, total: (x * total, [x * 2, total + x]),
        loop_vars=[x, x * 1],
        max_iterations=6,
    )
    return [outputs, x, total]


@pytest.mark.parametrize("limit", [-100.0, 3.0, 20.0, 1e9])
def test_while_loop(limit):
    x = np.array([0.5, 1.0])
    if limit < 0:  # on arrays there are no outputs then
        arrays = {"x": x, "limit": np.array([limit])}
        outputs, gradients = run(sym.Group(power(sym, sym.Variable("x"), sym.Variable("limit"))), arrays)
        assert gradients["x"].tolist() == [2, 2]
    else:
        outputs, _ = check(power, x=x, limit=np.array([limit]))
    value, total, expected = x.copy(), x.copy(), np.zeros((6, 2))
    for step in range(6):
        if not total.sum() < limit:
            break
        expected[step] = value * total
        value, total = value * 2, total + value
    np.testing.assert_allclose(outputs[0], expected)
    np.testing.assert_allclose(outputs[1:], [value, total])


def test_while_loop_forms():
    def make(F, i, w):
        outputs, last = F.contrib.while_loop(lambda i: i < 3, lambda i: (i * w, i + 1), i, max_iterations=5)
        return [outputs, last]

    outputs, gradients = check(make, i=np.array([1.0]), w=np.array([10.0]))
    assert outputs[0].ravel().tolist() == [10, 20, 0, 0, 0] and outputs[1].tolist() == [3]
    check(
        lambda F, i: [F.contrib.while_loop(lambda i: i < 3, lambda i: (None, i + 1), i, max_iterations=5)[1]],
        i=np.array([1.0]),
    )


def test_while_loop_with_variables_that_begin_alike():
    """Two begin as an array that the step reads as it was."""

    def loop(F, x):
        start = F.zeros((1,), dtype="float64")
        _, (_, a, b) = F.contrib.while_loop(
            lambda i, a, b: i < 3,
            lambda i, a, b: ([], (i + 1, b + x, a * x)),
            [start, x, x],
            max_iterations=5,
        )
        return [a, b]

    (a, b), _ = check(loop, x=normal(2))
    x = normal(2)
    first, second = x, x
    for _ in range(3):
        first, second = second + x, first * x
    np.testing.assert_allclose([a, b], [first, second])


def test_while_loop_whose_file_has_one_input_for_two():
    i, x, y = sym.Variable("i"), sym.Variable("x"), sym.Variable("y")
    _, last = sym.contrib.while_loop(lambda i, v: i < 3, lambda i, v: ([], (i + 1, v + y)), [i, x], 5)
    graph = json.loads(last[1].tojson())
    (node,) = (node for node in graph["nodes"] if node["op"] == "_while_loop")
    names = [graph["nodes"][number]["name"] for number, *_ in node["inputs"]]
    del node["inputs"][names.index("y")]
    places = [
        names.index("x") if names[p] == "y" else p for p in json.loads(node["attrs"]["func_input_locs"])
    ]
    assert max(places) == 1
    node["attrs"].update(func_input_locs=str(places), num_args="4")
    (output,), _ = run(
        sym.load_json(json.dumps(graph)), {"i": np.zeros(1), "x": np.array([2.0])}, train=False
    )
    assert output == [8]


def test_while_loop_infers():
    i, x = sym.Variable("i"), sym.Variable("x")
    outputs, (last, y) = sym.contrib.while_loop(
        lambda i, x: i < 4,
        lambda i, x: (sym.FullyConnected(x, num_hidden=3, name="fc"), [i + 1, x]),
        [i, x],
        7,
    )
    assert outputs.infer_shape(i=(1,), x=(2, 3))[1] == [(7, 2, 3)]
    assert last.infer_shape(i=(1,), x=(2, 3))[1] == [(1,)]


# ---- cond ----


def test_cond():
    def make(F, x, y):
        return [F.contrib.cond(F.sum(x) < 1, lambda: F.exp(x) * y, lambda: x - y)]

    for first in (0.1, 5.0):
        x, y = np.array([first, 0.2]), np.array([2.0, 3.0])
        outputs, _ = check(make, x=x, y=y)
        np.testing.assert_allclose(outputs[0], np.exp(x) * y if first < 1 else x - y)


def test_cond_with_several_outputs():
    def make(F, x):
        return F.contrib.cond(F.sum(x) < 1, lambda: [x * 2, x], lambda: [x, x * 3])

    check(make, x=np.array([0.5]))
    check(make, x=np.array([1.5]))


def test_only_one_branch_runs():
    ran = []

    class Note(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            ran.append(self.label)
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("control_note")
    class NoteProp(mx.operator.CustomOpProp):
        def __init__(self, label):
            super().__init__()
            self.label = label

        def create_operator(self, ctx, in_shapes, in_dtypes):
            made = Note()
            made.label = self.label
            return made

    x = sym.Variable("x")
    net = sym.contrib.cond(
        x > 0,
        lambda: sym.Custom(x, op_type="control_note", label="then"),
        lambda: sym.Custom(x, op_type="control_note", label="else"),
    )
    for value in (1.0, -1.0):
        assert net.bind(mx.current_context(), {"x": nd.array([value])}).forward()[0].asscalar() == value
    assert ran == ["then", "else"]


# ---- together ----


def test_nested():
    def make(F, data, w):
        def row(x, total):
            def item(y, inner):
                y = F.contrib.cond(F.sum(y) < 0, lambda: y * w, lambda: y + inner)
                return y, inner + y

            outputs, inner = F.contrib.foreach(item, x, total * 0 + w)
            return F.sum(outputs, axis=0), total + inner

        outputs, total = F.contrib.foreach(row, data, w * 1)
        return [outputs, total]

    check(make, data=normal(3, 4, 1), w=np.array([0.7]))


def test_nested_while():
    def make(F, data, limit):
        def step(x, s):
            _, (count, y) = F.contrib.while_loop(
                lambda i, y: F.sum(y) < F.sum(limit),
                lambda i, y: ([], [i + 1, y * 2]),
                [x * 0, F.abs(x) + 0.1],
                max_iterations=20,
            )
            return y + s, s + count

        return list(F.contrib.foreach(step, data, limit * 0))

    check(make, data=normal(4, 1), limit=np.array([3.0]))


def test_in_a_module():
    data = sym.Variable("data")
    steps = sym.transpose(data, axes=(1, 0, 2))
    start = sym.zeros((10, 8))
    _, last = sym.contrib.foreach(
        lambda x, h: (
            [],
            sym.tanh(
                sym.FullyConnected(x, num_hidden=8, name="x") + sym.FullyConnected(h, num_hidden=8, name="h")
            ),
        ),
        steps, start,
    )  # fmt: skip
    net = sym.SoftmaxOutput(sym.FullyConnected(last, num_hidden=2, name="out"), name="softmax")
    x = np.random.RandomState(0).randn(100, 6, 3).astype(np.float32)
    y = (x[:, :, 0].sum(axis=1) > 0).astype(np.float32)
    module = mx.mod.Module(net)
    module.fit(
        mx.io.NDArrayIter(x, y, 10),
        num_epoch=12,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02},
        initializer=mx.init.Xavier(),
    )
    assert dict(module.score(mx.io.NDArrayIter(x, y, 10), "acc"))["accuracy"] > 0.9


def test_json():
    for net, arrays in (
        (
            sym.Group(rnn(sym, sym.Variable("data"), sym.Variable("state"), sym.Variable("weight"))),
            {"data": normal(3, 1, 2), "state": normal(1, 2), "weight": normal(2, 2)},
        ),
        (
            sym.Group(power(sym, sym.Variable("x"), sym.Variable("limit"))),
            {"x": np.array([0.5, 1.0]), "limit": np.array([5.0])},
        ),
        (
            sym.contrib.cond(sym.Variable("p"), lambda: sym.Variable("a") * 2, lambda: sym.Variable("b") * 3),
            {"p": np.ones(1), "a": normal(2), "b": normal(2)},
        ),
    ):  # fmt: skip
        again = sym.load_json(net.tojson())
        assert again.tojson() == net.tojson()
        for ours, theirs in zip(run(net, arrays), run(again, arrays)):
            np.testing.assert_equal(ours, theirs)


def test_files_of_mxnet():
    net = sym.load(str(FILES / "foreach-symbol.json"))
    assert net.tojson().split() == (FILES / "foreach-symbol.json").read_text().split()
    seq, s0, w = normal(4, 2), normal(2, seed=1), normal(2, seed=2)
    outputs, _ = run(net, {"seq": seq, "s0": s0, "w": w})
    state, expected = s0, []
    for x in seq:
        expected.append(x * w + state)
        state = x + state
    np.testing.assert_allclose(outputs[0], expected)
    np.testing.assert_allclose(outputs[1], state)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('"in_data_locs": "[0]"', '"in_data_locs": "[9]"', "in_data_locs holds 9; expected 0 to 2"),
        ('"in_data_locs": "[0]"', '"in_data_locs": "[1]"', "name an input twice"),
        ('"in_data_locs": "[0]"', '"in_data_locs": "[]"', "expected the same number, and data"),
        ('"num_outputs": "2"', '"num_outputs": "3"', "gives 2 outputs; expected 3"),
        ('"num_out_data": "1"', '"num_out_data": "4"', "num_out_data=4 of 2 outputs"),
        ('"num_args": "4"', '"num_args": "9"', "expected"),
        ('"num_args": "4"', '"num_args": "-4"', "num_args=-4"),
        ('"num_args": "4"', '"num_args": "2000000000"', "num_args=2000000000"),
        ('"subgraphs"', '"control_deps": [], "subgraphs": [], "attr": {}, "xsubgraphs"', "unknown key"),
    ],
)  # fmt: skip
def test_damaged_files(old, new, text):
    json = (FILES / "foreach-symbol.json").read_text()
    assert old in json
    with pytest.raises(mx.MXNetError, match=text):
        sym.load_json(json.replace(old, new))


def test_errors_name_the_operator_inside():
    data = sym.Variable("data")

    class Fails(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise ValueError("no luck")

    @mx.operator.register("control_fails")
    class FailsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Fails()

    net, _ = sym.contrib.foreach(
        lambda x, s: (sym.Custom(x, op_type="control_fails", name="culprit"), s), data, []
    )
    executor = net.bind(mx.current_context(), {"data": nd.ones((5, 2))})
    for _ in range(2):
        with pytest.raises(ValueError, match=r"(?s)no luck.*culprit.*_foreach"):
            executor.forward()[0].asnumpy()
        nd.waitall()  # no step's error is left
    assert nd.ones(1).asscalar() == 1


@pytest.mark.parametrize("F", [nd, sym], ids=["nd", "sym"])
def test_wrong_calls(F):
    x = nd.ones((2, 2)) if F is nd else sym.Variable("x")
    c = F.contrib
    with pytest.raises(mx.MXNetError, match="max_iterations should be specified"):
        c.while_loop(lambda i: i, lambda i: (i, i), x)
    with pytest.raises(mx.MXNetError, match="loop_vars is empty"):
        c.while_loop(lambda i: i, lambda i: (i, i), [], 3)
    with pytest.raises(mx.MXNetError, match="returned 2 loop_vars; expected 1"):
        c.while_loop(lambda i: F.sum(i), lambda i: (i, [i, i]), x, 3)
    with pytest.raises(mx.MXNetError, match="expected its output and the next states"):
        c.foreach(lambda x, s: x, x, x)
    with pytest.raises(TypeError, match="expected one (NDArray|Symbol)"):
        c.foreach(lambda x, s: (x, s), 5, x)
    with pytest.raises(mx.MXNetError, match="data is empty"):
        c.foreach(lambda x, s: (x, s), [], x)
    with pytest.raises(TypeError, match="expected a function"):
        c.cond(x, 5, lambda: x)
    if F is nd:
        with pytest.raises(mx.MXNetError, match=r"shape \(2, 2\); expected one number"):
            c.cond(x, lambda: x, lambda: x)
        with pytest.raises(mx.MXNetError, match="first axes of data have sizes"):
            c.foreach(lambda x, s: (x, s), [x, nd.ones(3)], [])
    else:
        with pytest.raises(mx.MXNetError, match="branches give 1 and 2 outputs"):
            c.cond(x, lambda: x, lambda: [x, x])
        with pytest.raises(mx.MXNetError, match="takes no part"):
            c.foreach(lambda item, s: (s, s), x, sym.Variable("s"))
        with pytest.raises(mx.MXNetError, match="no subgraph|subgraphs were given"):
            sym._internal._foreach(
                x,
                num_args=2,
                num_outputs=1,
                num_out_data=1,
                in_state_locs=(),
                in_data_locs=(0,),
                remain_locs=(),
            )
        net = c.cond(x, lambda: x * 1, lambda: x * 2)
        with pytest.raises(mx.MXNetError, match=r"shape \(2, 2\); expected one number"):
            net.bind(mx.current_context(), {"x": nd.ones((2, 2))}).forward()[0].asnumpy()


@pytest.mark.parametrize("engine", ["ThreadedEngine", "NaiveEngine"])
def test_many_loops_on_one_worker(engine):
    program = """
        import loomix as mx
        nd, sym = mx.nd, mx.sym
        x = sym.Variable("x")
        def outer(a, s):
            return sym.contrib.foreach(lambda b, t: (b * 2, t + b), a, s)[0], s + 1
        net = sym.Group([sym.contrib.foreach(outer, x, sym.Variable(f"s{i}"))[0] for i in range(20)])
        arrays = {"x": nd.ones((6, 5, 1)), **{f"s{i}": nd.zeros(1) for i in range(20)}}
        executor = net.bind(mx.current_context(), arrays, {k: nd.zeros(v.shape) for k, v in arrays.items()})
        for _ in range(3):
            outputs = executor.forward(is_train=True)
            executor.backward([nd.ones(o.shape) for o in outputs])
        print(executor.grad_dict["x"].asnumpy().sum())
    """
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LOOMIX_CPU_WORKER_NTHREADS": "1",
        "LOOMIX_CUSTOM_OP_THREADS": "1", "MXNET_ENGINE_TYPE": engine,
    }  # fmt: skip
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) == 20 * 30 * 2


def test_states_that_take_no_part():
    """A loop may hand them on, exchange them, or leave them unread."""
    data = nd.array([[1, 2], [3, 4]])
    arrays = {"d": data, "s": nd.array([1, 1]), "t": nd.array([2, 2])}
    cases = (
        (lambda d, s: (d + s[0], [s[0] + d, s[1]]), [[2, 3], [5, 7]], [5, 7], [2, 2]),
        (lambda d, s: (d * 2, [s[1], s[0]]), [[2, 4], [6, 8]], [1, 1], [2, 2]),
        (lambda d, s: (d * 2, [d, s[0]]), [[2, 4], [6, 8]], [3, 4], [1, 2]),
        (lambda d, s: (d, [d, d + 1]), [[1, 2], [3, 4]], [3, 4], [4, 5]),
    )
    for body, *expected in cases:
        states = [sym.Variable("s"), sym.Variable("t")]
        out, after = sym.contrib.foreach(body, sym.Variable("d"), states)
        group = sym.Group([out, *after])
        assert group.list_arguments() == ["d", "s", "t"]
        results = group.bind(mx.current_context(), arrays).forward()
        assert [result.asnumpy().tolist() for result in results] == expected
        out, after = nd.contrib.foreach(body, data, [arrays["s"], arrays["t"]])
        assert [result.asnumpy().tolist() for result in (out, *after)] == expected
    i, unread = sym.Variable("i"), sym.Variable("u")
    out, after = sym.contrib.while_loop(lambda i, u: i < 3, lambda i, u: (i, [i + 1, i * 2]), [i, unread], 4)
    results = (
        sym.Group([out, *after])
        .bind(mx.current_context(), {"i": nd.array([1]), "u": nd.array([9])})
        .forward()
    )
    assert results[1].asscalar() == 3 and results[2].asscalar() == 4
