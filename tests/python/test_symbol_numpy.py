# SPDX-License-Identifier: Apache-2.0
"""``mx.sym.np``: symbols with NumPy's interface, whose shapes are known late. `tests/compat/test_np_symbols.py` has the
functions one by one."""

import json
import warnings

import loomix as mx
import numpy as onp
import pytest
from loomix import autograd, gluon, np, npx
from loomix.gluon import nn


@pytest.fixture(autouse=True)
def numpy_mode():
    npx.set_np()
    yield
    npx.reset_np()


def variable(name="x"):
    return mx.sym.var(name).as_np_ndarray()


def value(symbol, *arrays):
    names = symbol.list_arguments()
    return (
        symbol.bind(mx.cpu(), {n: np.array(a, dtype=a.dtype) for n, a in zip(names, arrays)})
        .forward()[0]
        .asnumpy()
    )


def test_classes():
    x = variable()
    assert type(x) is mx.sym.np._Symbol and isinstance(x, mx.sym.Symbol)
    assert x.as_np_ndarray() is x and type(x.as_nd_ndarray()) is mx.sym.Symbol
    for made in (
        x + 1,
        mx.sym.np.exp(x),
        mx.sym.npx.relu(x),
        mx.sym.softmax(x),
        x[0],
        x.T,
        x.astype("int32"),
    ):
        assert type(made) is mx.sym.np._Symbol
    assert type(mx.sym.var("y") + 1) is mx.sym.Symbol
    assert mx.nd.np is np and mx.nd.npx is npx
    assert len({x, variable()}) == 2


def test_types_follow_the_rules_of_np():
    x = variable()
    whole = onp.array([1, 2, 3], "int32")
    assert value(x / 2, whole).tolist() == [0.5, 1, 1.5]
    assert value(x + 1, whole).dtype == onp.int32 and value(x + 1.0, whole).dtype == onp.float32
    assert value((x > 1) * x, whole).tolist() == [0, 2, 3]
    assert value(x.mean(), whole) == 2
    assert value(mx.sym.np.exp(x), whole).dtype == onp.float32


@pytest.mark.parametrize(
    "key",
    [
        "x[1]",
        "x[-1]",
        "x[:, 1]",
        "x[1:, ::2]",
        "x[..., -1]",
        "x[:, None, 0]",
        "x[::-1]",
        "x[-1, 1:3, -2]",
        "x[[1, 0]]",
        "x[0, ..., 1:]",
    ],
)
def test_indexing(key):
    data = onp.arange(24, dtype="float32").reshape(2, 3, 4)
    onp.testing.assert_array_equal(value(eval(key, {"x": variable()}), data), eval(key, {"x": data}))


def test_methods():
    data = onp.arange(6, dtype="float32").reshape(2, 3)
    x = variable()
    for expression in (
        "x.reshape(3, 2)",
        "x.reshape((-1,))",
        "x.transpose(1, 0)",
        "x.flatten()",
        "x.sum(0)",
        "x.sum(axis=1, keepdims=True)",
        "x.max(1)",
        "x.clip(1, 3)",
        "x.repeat(2, 1)",
        "x.take(2)",
        "x.var(axis=0)",
        "x.dot(x.T)",
        "x @ x.T",
        "1 - x",
        "2 ** x",
        "-x",
        "abs(x)",
        "x // 2",
        "x.round(0)",
        "x.std()",
        "x.cumsum(0)",
        "x.argmax(1)",
    ):
        onp.testing.assert_allclose(
            value(eval(expression, {"x": x}), data),
            eval(expression, {"x": data}),
            rtol=1e-6,
            err_msg=expression,
        )


def test_several_outputs():
    one, two = mx.sym.np.split(variable(), 2, axis=1)
    data = onp.arange(8, dtype="float32").reshape(2, 4)
    onp.testing.assert_array_equal(value(one - two, data), data[:, :2] - data[:, 2:])
    u, s, v = mx.sym.np.linalg.svd(variable())
    onp.testing.assert_allclose(value(mx.sym.np.matmul(u * s, v), data), data, atol=1e-5)


def test_nodes_have_the_names_of_mxnet():
    x, y = variable(), variable("y")
    made = mx.sym.np.var(mx.sym.np.matmul(x, y) + 1, axis=1, ddof=1)
    nodes = [node for node in json.loads(made.tojson())["nodes"] if node["op"] != "null"]
    assert [node["op"] for node in nodes] == ["_npi_matmul", "_npi_add_scalar", "_npi_var"]
    assert nodes[1]["attrs"] == {"scalar": "1.0", "is_int": "True"}
    assert nodes[2]["attrs"] == {"axis": "1", "ddof": "1"}


def test_shapes_known_late():
    x, w = variable(), variable("w")
    hidden = mx.sym.npx.fully_connected(mx.sym.np.swapaxes(x, 0, 1) * 2, w, num_hidden=5, no_bias=True)
    made = hidden.sum(axis=-1)
    assert made.infer_shape(x=(3, 2)) == ([(3, 2), (5, 3)], [(2,)], [])
    assert made.infer_shape_partial()[1] == [None]
    run = made.simple_bind(mx.cpu(), x=(3, 2))
    run.arg_dict["x"][:] = 1
    run.arg_dict["w"][:] = 2
    assert run.forward(is_train=True)[0].asnumpy().tolist() == [60, 60]
    run.backward([np.ones(2)])
    assert run.grad_dict["x"].asnumpy().tolist() == [[20, 20]] * 3
    assert run.arg_arrays[1].shape == (5, 3)


def test_constants_of_functions_are_nodes():
    x = variable()
    made = mx.sym.np.hanning(5) + mx.sym.np.linspace(0, 1, 5) * x + mx.sym.np.indices((5,))[0]
    data = onp.ones(5, "float32")
    assert made.list_arguments() == ["x"]
    expected = onp.hanning(5) + onp.linspace(0, 1, 5) + onp.arange(5)
    onp.testing.assert_allclose(value(made, data), expected, rtol=1e-6)


def test_random_numbers_are_drawn_in_each_pass():
    run = mx.sym.np.random.normal(variable(), 1.0, size=(4,)).bind(mx.cpu(), {"x": np.zeros(4)})
    one, two = run.forward()[0].asnumpy().tolist(), run.forward()[0].asnumpy().tolist()
    assert one != two


def test_what_depends_on_values_says_so():
    with pytest.raises(
        mx.base.StateError, match=r"\[sym.np\] node 'found' \(_npi_unique\) depends on the values"
    ):
        value(mx.sym.np.unique(variable(), name="found"), onp.ones(3, "float32"))
    with pytest.raises(AttributeError, match="nearest are matmul"):
        mx.sym.np.matmull  # noqa: B018


class Attention(gluon.HybridBlock):
    def __init__(self, units=4):
        super().__init__()
        with self.name_scope():
            self.key, self.query = nn.Dense(units, flatten=False), nn.Dense(units, flatten=False)
            self.scale = self.params.get("scale", shape=(1,), init="ones")

    def hybrid_forward(self, F, x, mask, scale):
        scores = F.np.matmul(self.query(x), F.np.swapaxes(self.key(x), 1, 2)) / 2
        scores = F.np.where(F.np.expand_dims(mask, 1) > 0, scores, -1e9)
        weights = F.npx.softmax(scores, axis=-1)
        return F.np.einsum("bij,bjk->bik", weights, x) * scale + x[:, :1], (mask.sum(axis=1) / 2).astype(
            "int32"
        )


def test_bodies_of_loops_take_operators_alone():
    data, state = (mx.sym.var(key).as_np_ndarray() for key in ("data", "state"))

    def body(x, states):
        y = mx.sym.np.true_divide(x, states[0])
        return y, [y]

    with pytest.raises(mx.base.MXNetValueError, match=r"_np_true_divide.*mx\.sym\.np.*forward"):
        mx.sym.contrib.foreach(body, data, [state])


def test_blocks_with_hybrid_forward(tmp_path):
    net = Attention()
    net.initialize(mx.init.Xavier())
    x = np.random.uniform(size=(2, 3, 4))
    mask = np.array([[1, 1, 0], [1, 0, 0]], dtype="int32")

    def run(x, mask):
        with autograd.record():
            out, count = net(x, mask)
        out.backward()
        return [out, count, *(param.grad() for param in net.collect_params().values())]

    eager = [array.asnumpy() for array in run(x, mask)]
    assert eager[1].tolist() == [1, 0]
    net.hybridize()
    for shape in ((2, 3, 4), (1, 3, 4), (2, 3, 4)):  # compiled for each
        compiled = run(x[: shape[0]], mask[: shape[0]])
        assert type(compiled[0]) is np.ndarray
    for one, two in zip(eager, compiled):
        onp.testing.assert_allclose(one, two.asnumpy(), rtol=1e-4, atol=1e-6)
    assert net.explain().flops > 0
    files = net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(files[0], ["data0", "data1"], files[1])
    onp.testing.assert_allclose(again(x, mask)[0].asnumpy(), eager[0], rtol=1e-4, atol=1e-6)
    symbols = net(variable("data0"), variable("data1"))
    assert symbols[0].infer_shape(data0=(5, 3, 4), data1=(5, 3))[1] == [(5, 3, 4)]


def test_parameters_whose_shapes_follow_late():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.dense = nn.Dense(3)

        def hybrid_forward(self, F, x):
            return self.dense(F.np.concatenate([x, x * 2], axis=1))

    net = Net()
    net.initialize()
    net.hybridize()
    assert net(np.ones((2, 5))).shape == (2, 3) and net.dense.weight.shape == (3, 10)


def test_module_and_onnx(tmp_path):
    x = variable("data")
    hidden = mx.sym.npx.fully_connected(
        mx.sym.np.matmul(mx.sym.np.tanh(x / 2), mx.sym.np.eye(4)), num_hidden=3, name="fc"
    )
    net = mx.sym.SoftmaxOutput(hidden - hidden.mean(axis=1, keepdims=True), name="softmax")
    module = mx.mod.Module(net.as_nd_ndarray())
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    module.init_params()
    module.init_optimizer()
    batch = mx.io.DataBatch([mx.nd.ones((2, 4))], [mx.nd.zeros(2)])
    module.forward_backward(batch)
    module.update()
    assert module.get_outputs()[0].shape == (2, 3)
    params = {"fc_weight": np.ones((3, 4)), "fc_bias": np.zeros(3)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mx.onnx.export_model(hidden - 1, params, [(2, 4)], [onp.float32], str(tmp_path / "net.onnx"))
        again, arguments, _ = mx.onnx.import_model(str(tmp_path / "net.onnx"))
    inputs = {**params, "data": np.ones((2, 4))}
    want = (hidden - 1).bind(mx.cpu(), inputs).forward()[0].asnumpy()
    got = again.bind(mx.cpu(), {**arguments, "data": mx.nd.ones((2, 4))}).forward()[0].asnumpy()
    onp.testing.assert_allclose(got, want, rtol=1e-6)


def test_cached_op():
    run = mx.ndarray.CachedOp(mx.sym.np.tanh(variable()) / 2)
    for size in (2, 3):
        onp.testing.assert_allclose(run(np.ones(size)).asnumpy(), onp.tanh(onp.ones(size)) / 2, rtol=1e-6)


def test_functions_of_arrays_send_symbols_elsewhere():
    for call in (
        lambda: np.exp(variable()),
        lambda: np.add(np.ones(2), variable()),
        lambda: np.sum(variable()),
    ):
        with pytest.raises(TypeError, match="mx.sym.np has the functions on symbols"):
            call()


def test_groups_of_devices():
    with mx.AttrScope(ctx_group="one"):
        first = mx.sym.np.matmul(variable(), variable("w"))
    with mx.AttrScope(ctx_group="two"):
        made = mx.sym.np.tanh(first)
    assert made.attr("ctx_group") == "two"
    expanded = made.expanded({"x": (2, 3), "w": (3, 4)}, {}).attr_dict()
    groups = {value["__ctx_group__"] for key, value in expanded.items() if key not in ("x", "w")}
    assert groups == {"one", "two"}
    run = made.simple_bind(mx.cpu(), group2ctx={"one": mx.cpu(1), "two": mx.cpu(2)}, x=(2, 3), w=(3, 4))
    assert run.forward()[0].context == mx.cpu(2)


def test_what_arrays_of_zeros_do_not_allow_is_no_error():
    inverse = mx.sym.np.linalg.inv(variable())
    assert inverse.infer_shape(x=(3, 3))[1] == [(3, 3)]
    mx.nd.waitall()
    onp.testing.assert_array_equal(value(inverse, onp.eye(3)), onp.eye(3))
    mx.nd.waitall()
