# SPDX-License-Identifier: Apache-2.0
"""Operators written in Python: as calls on arrays, in symbols, with gradients, errors, threads and forks."""

import os
import subprocess
import sys
import textwrap
import threading
import warnings

import loomix as mx
import numpy as np
import pytest

nd, autograd = mx.nd, mx.autograd
DEADLINE = 60


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], nd.array(y / y.sum(axis=1, keepdims=True), dtype=x.dtype))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(len(label)), label] -= 1
        self.assign(in_grad[0], req[0], nd.array(y))


@mx.operator.register("test_softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1"):
        super().__init__(need_top_grad=False)
        self.scale = float(scale)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Softmax()


class Square(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[0])
        if aux:
            aux[0][:] = aux[0] + 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])
        if aux:
            aux[0][:] = aux[0] + 10


@mx.operator.register("test_square")
class SquareProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Square()


@mx.operator.register("test_counted_square")
class CountedSquareProp(SquareProp):
    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [(1,)]


def define(name, forward=None, backward=None, **methods):
    """Registers an operator whose CustomOp has these functions, and its CustomOpProp these methods."""
    members = {"forward": forward, "backward": backward}
    operator = type("Defined", (mx.operator.CustomOp,), {k: v for k, v in members.items() if v})
    methods.setdefault("create_operator", lambda self, ctx, shapes, dtypes: operator())
    return mx.operator.register(name)(type("DefinedProp", (mx.operator.CustomOpProp,), methods))


def run(program, **environment):
    """Runs a program in a process of its own, which must end in time."""
    text = PREAMBLE + textwrap.dedent(program)
    result = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=DEADLINE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


PREAMBLE = """
import os, threading
import numpy as np
import loomix as mx
nd = mx.nd

class Double(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        value = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(value) * 2)
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)

@mx.operator.register("double")
class DoubleProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Double()
"""


# ---- calls on arrays ----


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(3,), (2, 5), (0, 4), ()])
def test_forward_in_every_type_and_shape(dtype, shape):
    with mx.util.np_shape(True):
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        y = nd.Custom(nd.array(x, dtype=dtype), op_type="test_square")
        assert y.dtype == np.dtype(dtype).type and y.shape == shape
        np.testing.assert_array_equal(y.asnumpy(), x * x)


def test_gradient_and_requests():
    x = nd.array([1.0, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = (nd.Custom(x, op_type="test_square") * nd.array([1, 10, 100])).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 40, 600]
    x.attach_grad(grad_req="add")
    for _ in range(3):
        with autograd.record():
            y = nd.Custom(x, op_type="test_square")
        y.backward()
    assert x.grad.asnumpy().tolist() == [6, 12, 18]


def test_requests_reach_the_operator():
    seen = []

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        seen.append(list(req))
        for gradient in in_grad:
            gradient[:] = gradient + 1 if "add" in req else 1

    define(
        "test_requests",
        lambda self, is_train, req, in_data, out_data, aux: seen.append(list(req)),
        backward,
        list_arguments=lambda self: ["a", "b"],
    )
    a, b = nd.ones(2), nd.ones(2)
    a.attach_grad(grad_req="add")
    with autograd.record():
        y = nd.Custom(a, b, op_type="test_requests")
    y.backward()
    assert a.grad.asnumpy().tolist() == [1, 1]
    assert seen == [["write"], ["add", "null"]] or seen == [["write"], ["write", "null"]]
    out = nd.array([5.0, 6])
    y = mx.sym.Custom(mx.sym.Variable("a"), mx.sym.Variable("b"), op_type="test_requests")
    executor = y.bind(mx.cpu(), [a, b], args_grad={"a": out}, grad_req={"a": "add", "b": "null"})
    executor.forward(is_train=True)
    executor.backward(nd.ones(2))
    assert out.asnumpy().tolist() == [6, 7] and seen[-1] == ["add", "null"]


def test_assign():
    operator = mx.operator.CustomOp()
    dst = nd.array([1.0, 2])
    operator.assign(dst, "null", nd.array([9, 9]))
    assert dst.asnumpy().tolist() == [1, 2]
    operator.assign(dst, "add", np.array([1, 1]))
    assert dst.asnumpy().tolist() == [2, 3]
    operator.assign(dst, "add", 1)
    operator.assign(dst, "inplace", dst * 2)
    assert dst.asnumpy().tolist() == [6, 8]
    operator.assign(dst, "write", 0)
    assert dst.asnumpy().tolist() == [0, 0]
    with pytest.raises(mx.MXNetError, match="unknown req 'wirte'"):
        operator.assign(dst, "wirte", 0)


def test_training_mode_is_told():
    seen = []
    define(
        "test_mode",
        lambda self, is_train, req, in_data, out_data, aux: seen.append(
            (is_train, autograd.is_training(), autograd.is_recording())
        ),
    )
    x = nd.ones(1)
    x.attach_grad()
    for record, train in ((False, False), (True, True), (True, False)):
        with autograd.record(train) if record else autograd.pause():
            nd.Custom(x, op_type="test_mode").wait_to_read()
    assert seen == [(False, False, False), (True, True, False), (False, False, False)]


def test_states_are_changed():
    x, count = nd.array([3.0]), nd.zeros(1)
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, count, op_type="test_counted_square")
    y.backward()
    assert count.asscalar() == 11 and x.grad.asscalar() == 6
    with autograd.record():
        y = nd.Custom(x, count=count, op_type="test_counted_square")
    assert y.asscalar() == 9 and count.asscalar() == 12


def test_several_outputs_and_named_inputs():
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + in_data[1])
        self.assign(out_data[1], req[1], in_data[0] - in_data[1])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] + out_grad[1])
        self.assign(in_grad[1], req[1], out_grad[0] - out_grad[1])

    define(
        "test_both",
        forward,
        backward,
        list_arguments=lambda self: ["a", "b"],
        list_outputs=lambda self: ["sum", "difference"],
    )
    a, b = nd.array([5.0]), nd.array([3.0])
    for array in (a, b):
        array.attach_grad()
    with autograd.record():
        total, difference = nd.Custom(b=b, a=a, op_type="test_both")
        y = total + 10 * difference
    y.backward()
    assert (total.asscalar(), difference.asscalar()) == (8, 2)
    assert (a.grad.asscalar(), b.grad.asscalar()) == (11, -9)
    symbol = mx.sym.Custom(a=mx.sym.Variable("x"), op_type="test_both", name="both")
    assert symbol.list_outputs() == ["both_sum", "both_difference"]
    assert symbol.list_arguments() == ["x", "both_b"]


def test_arrays_share_the_memory():
    addresses = []

    def forward(self, is_train, req, in_data, out_data, aux):
        addresses.extend(array.asnumpy().shape for array in in_data)
        view = in_data[0].reshape((-1,))
        out_data[0].reshape((-1,))[1:] = view[1:] * 2
        out_data[0][0:1] = in_data[0][0:1]

    define("test_views", forward)
    y = nd.Custom(nd.array([[1.0, 2, 3]]), op_type="test_views")
    assert y.asnumpy().tolist() == [[1, 2, 3]]
    assert addresses == [(1, 3)]


def test_out_may_be_an_input():
    x = nd.array([2.0, 3])
    nd.Custom(x, op_type="test_square", out=x)
    assert x.asnumpy().tolist() == [4, 9]
    define("test_late_read", late_read)
    nd.Custom(x, op_type="test_late_read", out=x)
    assert x.asnumpy().tolist() == [4, 9]


def late_read(self, is_train, req, in_data, out_data, aux):
    out_data[0][:] = 0
    out_data[0][:] = in_data[0] + out_data[0]


def test_kept_arrays_are_copies():
    """What a user keeps of a call holds what it held then, whatever happens to the memory."""
    kept = []

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + 1)
        kept.extend([in_data[0], out_data[0].reshape((2, 1))])

    define("test_keeps", forward)
    x = nd.array([1.0, 2])
    y = nd.Custom(x, op_type="test_keeps")
    y.wait_to_read()
    x[:] = 7
    y[:] = 8
    nd.waitall()
    assert kept[0].asnumpy().tolist() == [1, 2] and kept[1].asnumpy().tolist() == [[2], [3]]


def test_forward_leaves_things_for_backward():
    def forward(self, is_train, req, in_data, out_data, aux):
        self.mask = nd.array([0.0, 1])
        self.assign(out_data[0], req[0], in_data[0] * self.mask)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.mask)

    define("test_mask", forward, backward)
    x = nd.array([5.0, 6])
    x.attach_grad()
    with autograd.record():
        first = nd.Custom(x, op_type="test_mask")
        second = nd.Custom(x * 2, op_type="test_mask")
        total = first + second
    total.backward()
    assert x.grad.asnumpy().tolist() == [0, 3]


def test_undeclared_arrays_have_no_data():
    seen = []

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        seen.append([array._is_none for array in (*out_grad, *in_data, *out_data)])
        self.assign(in_grad[0], req[0], 3 * out_grad[0])

    define(
        "test_triple",
        lambda self, is_train, req, in_data, out_data, aux: self.assign(out_data[0], req[0], 3 * in_data[0]),
        backward,
        declare_backward_dependency=lambda self, out_grad, in_data, out_data: out_grad,
    )
    x = nd.array([1.0])
    x.attach_grad()
    with autograd.record():
        hidden = x * 1
        y = nd.Custom(hidden, op_type="test_triple")
    hidden[:] = 100  # which the gradient does not need
    y.backward()
    assert x.grad.asscalar() == 3 and seen == [[False, True, True]]


def test_sparse_arguments_are_made_dense():
    x = nd.array([[0.0, 2], [0, 0]]).tostype("row_sparse")
    assert nd.Custom(x, op_type="test_square").asnumpy().tolist() == [[0, 4], [0, 0]]


def test_arguments_are_strings():
    seen = []
    define(
        "test_arguments",
        lambda self, is_train, req, in_data, out_data, aux: None,
        __init__=lambda self, **kwargs: seen.append(kwargs),
    )
    nd.Custom(
        nd.ones(1), op_type="test_arguments", a=1, b=(2, 3), c=0.5, d=True, e="text", f=None
    ).wait_to_read()
    assert seen == [{"a": "1", "b": "(2, 3)", "c": "0.5", "d": "True", "e": "text", "f": "None"}]


def test_without_inputs():
    define(
        "test_ones",
        lambda self, is_train, req, in_data, out_data, aux: self.assign(out_data[0], req[0], 1),
        list_arguments=lambda self: [],
        infer_shape=lambda self, in_shape: ([], [(2, 2)], []),
        infer_type=lambda self, in_type: ([], [np.float64], []),
    )
    y = nd.Custom(op_type="test_ones")
    assert y.dtype == np.float64 and y.asnumpy().tolist() == [[1, 1], [1, 1]]


# ---- symbols ----


def test_symbol_binds_and_trains():
    data = mx.sym.Variable("data")
    net = mx.sym.Custom(
        mx.sym.FullyConnected(data, num_hidden=3, name="fc"), op_type="test_softmax", name="softmax"
    )
    assert net.list_arguments() == ["data", "fc_weight", "fc_bias", "softmax_label"]
    arguments, outputs, states = net.infer_shape(data=(6, 2))
    assert arguments == [(6, 2), (3, 2), (3,), (6,)] and outputs == [(6, 3)] and states == []
    x = np.random.RandomState(0).randn(90, 2).astype(np.float32)
    y = np.argmax([x[:, 0], x[:, 1], -x[:, 0] - x[:, 1]], axis=0).astype(np.float32)
    module = mx.mod.Module(net, label_names=["softmax_label"])
    module.fit(
        mx.io.NDArrayIter(x, y, 30, label_name="softmax_label"), num_epoch=60, optimizer="adam",
        optimizer_params={"learning_rate": 0.05},
        initializer=mx.init.Xavier(),
    )  # fmt: skip
    score = dict(module.score(mx.io.NDArrayIter(x, y, 30, label_name="softmax_label"), "acc"))
    assert score["accuracy"] > 0.8


def test_symbol_against_the_builtin():
    random = np.random.RandomState(1)
    x, label = random.randn(4, 5).astype(np.float32), np.array([0, 2, 4, 1], np.float32)
    gradients = []
    for make in (lambda d, l: mx.sym.Custom(d, l, op_type="test_softmax"), mx.sym.SoftmaxOutput):
        net = make(mx.sym.Variable("data"), mx.sym.Variable("label"))
        executor = net.simple_bind(
            mx.cpu(), data=x.shape, label=label.shape, grad_req={"data": "write", "label": "null"}
        )
        executor.forward(is_train=True, data=x, label=label)
        executor.backward()
        gradients.append((executor.outputs[0].asnumpy(), executor.grad_dict["data"].asnumpy()))
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-5, atol=1e-6)


def test_states_in_a_symbol():
    net = mx.sym.Custom(mx.sym.Variable("data"), op_type="test_counted_square", name="square")
    assert net.list_auxiliary_states() == ["square_count"]
    executor = net.simple_bind(mx.cpu(), data=(2,))
    for _ in range(2):
        executor.forward(is_train=True, data=nd.array([2.0, 3]))
        executor.backward(nd.ones(2))
    assert executor.aux_dict["square_count"].asscalar() == 22
    assert executor.grad_dict["data"].asnumpy().tolist() == [4, 6]


def test_each_executor_and_node_has_an_object_of_its_own():
    made = []

    def create(self, ctx, shapes, dtypes):
        made.append((str(ctx), shapes, dtypes))
        return Square()

    define("test_made", create_operator=create)
    data = mx.sym.Variable("data")
    net = mx.sym.Custom(data, op_type="test_made", name="a") + mx.sym.Custom(
        data, op_type="test_made", name="b"
    )
    executors = [net.simple_bind(mx.cpu(), data=(size,)) for size in (1, 2)]
    for executor in executors:
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward(nd.ones(executor.outputs[0].shape))
            executor.forward(is_train=False)
        nd.waitall()
    assert sorted(made, key=str) == [("cpu(0)", [[size]], [np.float32]) for size in (1, 1, 2, 2)]


def test_two_equal_nodes_both_run():
    """They may do more than give outputs, so they are not merged, nor computed ahead."""
    runs = []

    def forward(self, is_train, req, in_data, out_data, aux):
        runs.append(1)
        self.assign(out_data[0], req[0], in_data[0] + len(runs))

    define("test_counts", forward)
    net = sum(mx.sym.Custom(mx.sym.zeros((1,)), op_type="test_counts") for _ in range(2))
    executor = net.bind(mx.cpu(), [])
    assert executor.forward()[0].asscalar() == 3
    assert executor.forward()[0].asscalar() == 7


def test_json_keeps_the_keywords():
    net = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_softmax", name="custom", scale=2.5, lr_mult=3)
    again = mx.sym.load_json(net.tojson())
    assert again.tojson() == net.tojson()
    assert again.attr_dict()["custom"]["scale"] == "2.5"
    assert again.list_arguments() == net.list_arguments() == ["x", "custom_label"]
    executor = again.simple_bind(mx.cpu(), x=(2, 2))
    assert executor.forward()[0].asnumpy().tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_recorded_calls_become_symbols():
    x = nd.array([1.0, 2])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_square")
    symbol = autograd.get_symbol(y)
    assert symbol.bind(mx.cpu(), [x]).forward()[0].asnumpy().tolist() == [1, 4]


# ---- errors ----


def failing(exception):
    def fail(self, *args, **kwargs):
        raise exception

    return fail


def test_errors_of_forward_come_where_the_result_is_read():
    define("test_fails", failing(ValueError("too bad")))
    y = nd.Custom(nd.ones(2), op_type="test_fails")
    after = y + 1
    other = nd.ones(2) + 1
    for array in (y, after, after):
        with pytest.raises(mx.MXNetError) as caught:
            array.asnumpy()
        assert isinstance(caught.value, ValueError)
        text = str(caught.value)
        assert (
            "operator 'test_fails' (test_operator.DefinedProp): Defined.fail raised ValueError: too bad"
            in text
        )
        assert f"{__file__}:" in text and ", in fail" in text and "in operator Custom" in text
    assert other.asnumpy().tolist() == [2, 2]
    y[:] = 5
    assert y.asnumpy().tolist() == [5, 5]


@pytest.mark.parametrize(
    "exception",
    [RuntimeError("x"), KeyError("x"), SystemExit(3), KeyboardInterrupt(), ZeroDivisionError("x")],
)
def test_every_exception_is_an_error_of_ours(exception):
    define("test_raises", failing(exception))
    with pytest.raises(mx.MXNetError, match=type(exception).__name__):
        nd.Custom(nd.ones(2), op_type="test_raises").wait_to_read()


def test_errors_of_backward():
    define(
        "test_bad_backward",
        lambda self, is_train, req, in_data, out_data, aux: None,
        failing(IndexError("no row")),
    )
    x = nd.ones(2)
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_bad_backward")
    y.backward()
    with pytest.raises(IndexError, match="Defined.fail raised IndexError: no row"):
        x.grad.asnumpy()


def test_errors_inside_of_nested_work():
    """A pushed operation that fails poisons the output as an exception would."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.Custom(in_data[0], op_type="test_fails_inside"))

    define("test_fails_inside", failing(ValueError("deep")))
    define("test_outside", forward)
    with pytest.raises(ValueError, match="deep"):
        nd.Custom(nd.ones(2), op_type="test_outside").asnumpy()


def test_methods_that_are_missing():
    define("test_nothing")
    x = nd.ones(1)
    with pytest.raises(mx.MXNetError, match="Defined does not define forward"):
        nd.Custom(x, op_type="test_nothing").asnumpy()
    define("test_bad_object", create_operator=lambda self, ctx, shapes, dtypes: 5)
    with pytest.raises(mx.MXNetError, match="create_operator returned 5; expected a CustomOp"):
        nd.Custom(x, op_type="test_bad_object").asnumpy()


@pytest.mark.parametrize(
    ("methods", "text"),
    [
        ({"infer_shape": lambda self, s: ([], [(1,)], [])}, "infer_shape returned .*1 for the arguments, not 0"),
        ({"infer_shape": lambda self, s: (s, [], [])}, "infer_shape returned .*expected 1 for the outputs, not 0"),
        ({"infer_shape": lambda self, s: (s, [(1,)], [(1,)])}, "expected 0 for the auxiliary states, not 1"),
        ({"infer_shape": lambda self, s: s[0]}, "expected three lists"),
        ({"infer_shape": lambda self, s: (s, [("a",)])}, "expected shapes"),
        ({"infer_shape": lambda self, s: (s, [(-3,)])}, "expected shapes"),
        ({"infer_shape": lambda self, s: ([(9,)], [(1,)])}, r"input 'data' has shape \(2,\); the other .* \(9,\)"),
        ({"infer_shape": failing(AssertionError("odd"))}, "infer_shape of .* raised AssertionError: odd; .*in fail"),
        ({"infer_type": lambda self, t: (t, ["colour"])}, "infer_type returned .*colour"),
        ({"infer_type": lambda self, t: (t,)}, "infer_type returned .*expected three lists"),
        ({"infer_type": failing(TypeError("no"))}, "infer_type raised TypeError: no"),
        ({"list_outputs": lambda self: []}, r"list_outputs returned \[\]; expected at least one name"),
        ({"list_outputs": lambda self: ["a", "a"]}, "names that differ"),
        ({"list_arguments": lambda self: "data"}, "expected a list of names"),
        ({"list_auxiliary_states": lambda self: ["data"]}, "names that differ from the arguments"),
        ({"__init__": failing(ValueError("bad argument"))}, "making it with {} raised ValueError: bad argument"),
    ],
)  # fmt: skip
def test_wrong_answers_show_at_the_call(methods, text):
    define("test_wrong", lambda self, is_train, req, in_data, out_data, aux: None, **methods)
    with pytest.raises(mx.MXNetError, match=text) as caught:
        nd.Custom(nd.ones(2), op_type="test_wrong")
    assert "operator 'test_wrong' (test_operator.DefinedProp)" in str(
        caught.value
    ) or "[Custom] input" in str(caught.value)
    with pytest.raises(mx.MXNetError, match=text):
        mx.sym.Custom(mx.sym.Variable("x"), op_type="test_wrong").simple_bind(mx.cpu(), x=(2,))


def test_calls_that_are_refused():
    x = nd.ones(2)
    with pytest.raises(mx.MXNetError, match="'test_sqare' is not registered; registered are: .*test_square"):
        nd.Custom(x, op_type="test_sqare")
    with pytest.raises(mx.MXNetError, match="op_type is missing"):
        nd.Custom(x)
    with pytest.raises(TypeError, match="got 2 inputs; expected 1: data"):
        nd.Custom(x, x, op_type="test_square")
    with pytest.raises(TypeError, match="'label' is missing"):
        nd.Custom(x, op_type="test_softmax")
    with pytest.raises(TypeError, match="no input called 'labels'"):
        nd.Custom(x, labels=x, op_type="test_softmax")
    with pytest.raises(TypeError, match="unexpected keyword"):
        nd.Custom(x, op_type="test_square", nonsense=1)
    with pytest.raises(mx.MXNetError, match="declare_backward_dependency returned"):
        define(
            "test_depends",
            lambda *args, **kwargs: None,
            declare_backward_dependency=lambda self, *groups: [17],
        )
        x.attach_grad()
        with autograd.record():
            y = nd.Custom(x, op_type="test_depends")
        y.backward()
    with pytest.raises(TypeError, match="no subclass of CustomOpProp"):
        mx.operator.register("test_none")(int)


def test_registering_again_warns():
    define("test_again")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        define("test_again")  # the same class, as when a notebook's cell runs again
    with pytest.warns(UserWarning, match="'test_again' was .*DefinedProp, and is now .*SquareProp"):
        mx.operator.register("test_again")(SquareProp)
    with pytest.warns(UserWarning, match="infer_storage_type is not called"):
        define("test_storage", infer_storage_type=lambda self, stypes: (stypes, stypes, []))


# ---- threads, waits and forks ----


def test_many_calls_at_once_that_wait_and_nest():
    out = run(
        """
        class Nest(mx.operator.CustomOp):
            def __init__(self, depth):
                self.depth = depth
            def forward(self, is_train, req, in_data, out_data, aux):
                x = in_data[0]
                if self.depth:
                    x = nd.Custom(x, op_type="nest", depth=self.depth - 1)
                    x.wait_to_read()
                self.assign(out_data[0], req[0], x + 1)
                out_data[0].wait_to_read()
        @mx.operator.register("nest")
        class NestProp(mx.operator.CustomOpProp):
            def __init__(self, depth):
                super().__init__()
                self.depth = int(depth)
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Nest(self.depth)
        def work(results, i):
            for _ in range(5):
                results[i] = nd.Custom(nd.array([i]), op_type="nest", depth=30).asscalar()
        results = [None] * 8
        threads = [threading.Thread(target=work, args=(results, i)) for i in range(8)]
        for thread in threads: thread.start()
        busy = [nd.dot(nd.ones((200, 200)), nd.ones((200, 200))) for _ in range(50)]
        for thread in threads: thread.join()
        nd.waitall()
        print([float(result) for result in results])
        """,
        LOOMIX_CUSTOM_OP_THREADS="2",
        LOOMIX_CPU_WORKER_NTHREADS="1",
    )
    assert out.strip() == str([float(i + 31) for i in range(8)])


@pytest.mark.parametrize("engine", ["ThreadedEngine", "NaiveEngine"])
def test_both_engines(engine):
    out = run(
        """
        x = nd.array([1., 2])
        x.attach_grad()
        with mx.autograd.record():
            y = nd.Custom(nd.Custom(x, op_type="double"), op_type="double")
        y.backward()
        print(y.asnumpy().tolist(), x.grad.asnumpy().tolist())
        """,
        MXNET_ENGINE_TYPE=engine,
    )
    assert out.strip() == "[4.0, 8.0] [4.0, 4.0]"


def test_waitall_inside_is_refused():
    define("test_waits", lambda self, is_train, req, in_data, out_data, aux: nd.waitall())
    with pytest.raises(mx.MXNetError, match="which it would wait for"):
        nd.Custom(nd.ones(1), op_type="test_waits").asnumpy()


def test_one_object_runs_one_call_at_a_time():
    busy, overlaps = threading.Lock(), []

    def forward(self, is_train, req, in_data, out_data, aux):
        overlaps.append(not busy.acquire(blocking=False))
        in_data[0].asnumpy()
        out_data[0][:] = nd.dot(nd.ones((50, 50)), nd.ones((50, 50)))[0, 0]
        out_data[0].wait_to_read()
        if not overlaps[-1]:
            busy.release()

    define(
        "test_alone", forward,
        lambda self, req, out_grad, in_data, out_data, in_grad, aux: forward(self, True, req, out_grad, in_grad, aux),
        declare_backward_dependency=lambda self, out_grad, in_data, out_data: out_grad,
    )  # fmt: skip
    executor = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_alone").simple_bind(mx.cpu(), x=(1,))
    for _ in range(20):
        executor.forward(is_train=True)
        executor.backward(nd.ones(1))
    nd.waitall()
    assert overlaps == [False] * 40


def test_children_of_forks():
    out = run(
        """
        import sys, time
        y = nd.Custom(nd.ones((100, 100)), op_type="double")
        for i in range(5):
            for _ in range(20):
                y = nd.Custom(y, op_type="double") / 2
            child = os.fork()
            if child == 0:
                ok = (nd.Custom(y, op_type="double").asnumpy() == 4).all()
                os._exit(0 if ok else 1)
            assert os.waitpid(child, 0)[1] == 0
        print(float(nd.Custom(y, op_type="double")[0, 0].asscalar()))
        """
    )
    assert out.strip() == "4.0"


def test_forks_while_other_threads_call():
    """The child gets whole arrays, or an error that says why not; neither process hangs."""
    out = run(
        """
        import time
        stop = False
        def work():
            while not stop:
                import json.decoder  # takes the lock that a fork holds
                nd.Custom(nd.ones(3), op_type="double").asnumpy()
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads: thread.start()
        x = nd.ones(3)
        good = 0
        for _ in range(10):
            child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if nd.Custom(x, op_type="double").asnumpy()[0] == 2 else 1)
                except mx.MXNetError:
                    os._exit(2)
            good += os.waitpid(child, 0)[1] == 0
        stop = True
        for thread in threads: thread.join()
        print(good)
        """
    )
    assert int(out) == 10


def test_fork_inside_of_an_operator():
    out = run(
        """
        class Forks(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                child = os.fork()
                if child == 0:
                    try:
                        nd.ones(1).asnumpy()
                    except mx.MXNetError as error:
                        os._exit(5 if "forked while" in str(error) else 6)
                    os._exit(7)
                self.assign(out_data[0], req[0], os.WEXITSTATUS(os.waitpid(child, 0)[1]))
        @mx.operator.register("forks")
        class ForksProp(mx.operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Forks()
        print(nd.Custom(nd.ones(1), op_type="forks").asscalar())
        """
    )
    assert out.strip() == "5.0"


def test_the_interpreter_ends_with_work_in_flight():
    out = run(
        """
        class Slow(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                import time
                time.sleep(0.3)
                print("done", flush=True)
        @mx.operator.register("slow")
        class SlowProp(mx.operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Slow()
        y = nd.Custom(nd.ones(1), op_type="slow")
        """
    )
    assert out.strip() == "done"


# ---- older kinds ----


class OldSoftmax(mx.operator.NumpyOp):
    def __init__(self):
        super().__init__(False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

    def forward(self, in_data, out_data):
        x = in_data[0]
        assert isinstance(x, np.ndarray)
        y = np.exp(x - x.max(axis=1, keepdims=True))
        out_data[0][:] = y / y.sum(axis=1, keepdims=True)

    def backward(self, out_grad, in_data, out_data, in_grad):
        assert out_grad == [None]
        in_grad[0][:] = out_data[0]
        in_grad[0][np.arange(len(out_data[0])), in_data[1].astype(int)] -= 1


class OldTriple(mx.operator.NDArrayOp):
    def forward(self, in_data, out_data):
        out_data[0][:] = in_data[0] * 3

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_grad[0] * 3


def test_older_kinds():
    random = np.random.RandomState(2)
    x, label = random.randn(3, 4).astype(np.float32), np.array([1, 0, 3], np.float32)
    net = OldSoftmax()(data=OldTriple()(mx.sym.Variable("data")), name="softmax")
    assert net.list_arguments() == ["data", "softmax_label"]
    executor = net.simple_bind(mx.cpu(), data=x.shape, grad_req={"data": "add", "softmax_label": "null"})
    for _ in range(2):
        executor.forward(is_train=True, data=x, softmax_label=label)
        executor.backward()
    y = np.exp(3 * x) / np.exp(3 * x).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), y, rtol=1e-5)
    y[np.arange(3), label.astype(int)] -= 1
    np.testing.assert_allclose(executor.grad_dict["data"].asnumpy(), 6 * y, rtol=1e-4, atol=1e-5)
    with pytest.raises(NotImplementedError, match="NumpyOp or NDArrayOp"):
        mx.operator.PythonOp()(mx.sym.Variable("x"))


def test_lists_of_operators():
    names = mx.operator.get_all_registered_operators()
    assert {"Custom", "FullyConnected", "elemwise_add", "_plus_scalar"} <= set(names)
    arguments = mx.operator.get_operator_arguments("FullyConnected")
    assert arguments.names[:4] == ["data", "weight", "bias", "num_hidden"]
    assert arguments.narg == len(arguments.names) == len(arguments.types)
    assert arguments.types[0] == "NDArray-or-Symbol" and arguments.types[3] == "int (non-negative), required"
