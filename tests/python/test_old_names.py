# SPDX-License-Identifier: Apache-2.0
"""Names that MXNet's modules have beside their main ones, and stores of one's own."""

import importlib
import pickle

import loomix as mx
import numpy as np
import pytest


@pytest.mark.parametrize(
    "name",
    ["io.io", "io.utils", "image.image", "kvstore.base", "kvstore.kvstore", "kvstore.kvstore_server"],
)
def test_modules_are_where_they_were(name):
    module = importlib.import_module("loomix." + name)
    package = importlib.import_module("loomix." + name.split(".")[0])
    for public in module.__all__:
        assert getattr(module, public) is getattr(package, public)
    value = mx
    for part in name.split("."):
        value = getattr(value, part)
    assert value is module


def test_modules_have_the_names_of_their_imports():
    assert mx.io.io.NDArray is mx.nd.NDArray and mx.io.utils.sparse_array is mx.nd.sparse.array
    assert mx.metric.numeric_types and mx.image.detection.LightingAug is mx.image.LightingAug
    assert mx.base.py_str(b"a") == "a" and mx.base.mx_real_t is np.float32
    with pytest.raises(AttributeError):
        _ = mx.io.io.nothing


def test_what_iterators_make_of_their_data():
    pairs = mx.io.utils._init_data({"b": np.ones((3, 2)), "a": mx.nd.arange(3)}, False, "data")
    assert [name for name, _ in pairs] == ["a", "b"] and mx.io.utils._has_instance(pairs, mx.nd.NDArray)
    picked = mx.io.utils._getdata_by_idx(pairs, [2, 0])
    assert picked[0][1].asnumpy().tolist() == [2, 0] and picked[1][1].shape == (2, 2)


def test_folder_for_data(monkeypatch):
    monkeypatch.setenv("MXNET_HOME", "/somewhere")
    assert mx.base.data_dir() == "/somewhere" and mx.base.data_dir_default().endswith(".mxnet")


class Doubling(mx.kv.KVStoreBase):
    """Adds up the devices' gradients, twice; knows no push and no pull."""

    def __init__(self):
        self.calls = []

    def broadcast(self, key, value, out, priority=0):
        self.calls.append(("broadcast", key))
        for array in out:
            value.copyto(array)

    def pushpull(self, key, value, out=None, priority=0):
        self.calls.append(("pushpull", key))
        total = sum((array.as_in_context(mx.cpu()) for array in value[1:]), value[0]) * 2
        for array in value if out is None else out:
            total.copyto(array)

    @staticmethod
    def is_capable(capability):
        return False

    type = property(lambda self: "doubling")
    rank = property(lambda self: 0)
    num_workers = property(lambda self: 1)


def test_a_store_of_ones_own_trains_a_module():
    registered = mx.kv.KVStoreBase.register(Doubling)
    assert registered is Doubling and isinstance(mx.kv.create("doubling"), Doubling)
    net = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, no_bias=True, name="fc"), name="lin"
    )
    x, y = np.arange(8, dtype="float32").reshape(4, 2), np.ones((4, 1), "float32")
    weights = []
    for kind in ("local", Doubling()):
        module = mx.mod.Module(net, label_names=["lin_label"], context=[mx.cpu(0), mx.cpu(1)])
        source = mx.io.NDArrayIter(x, y, batch_size=4, label_name="lin_label")
        settings = {"learning_rate": 0.01 if kind == "local" else 0.005}
        module.fit(
            source,
            eval_metric="mse",
            num_epoch=2,
            kvstore=kind,
            initializer=mx.init.One(),
            optimizer_params=settings,
        )
        weights.append(module.get_params()[0]["fc_weight"].asnumpy())
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-6)
    assert kind.calls == [("broadcast", "fc_weight"), ("pushpull", "fc_weight"), ("pushpull", "fc_weight")]


def test_stores_without_servers_take_commands():
    mx.kv.create("local")._send_command_to_servers(0, b"")
    with pytest.raises(mx.MXNetError, match="worker"):
        mx.kv.KVStoreServer(None)


def test_servers_take_optimizers_as_commands():
    from loomix.kvstore_dist import DistKVStore

    class Store:
        def set_optimizer(self, optimizer):
            self.optimizer = optimizer

    store, send = Store(), DistKVStore._send_command_to_servers
    code = pickle.dumps(mx.optimizer.SGD(learning_rate=0.25))
    for body in (code, code.decode("latin1")):
        store.optimizer = None
        send(store, 0, body)
        assert store.optimizer.lr == 0.25
    with pytest.raises(NotImplementedError, match="no command 3"):
        send(store, 3, "")


def stored(stype):
    return mx.nd.array([[0, 1], [2, 0]]).tostype(stype)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_arithmetic_keeps_sparse_storage(stype):
    sparse, x, dense = mx.nd.sparse, stored(stype), mx.nd.full((2, 2), 4.0)
    values = x.asnumpy()
    for function, kept in (
        (sparse.add, True),
        (sparse.subtract, True),
        (sparse.multiply, True),
        (sparse.divide, False),
    ):
        assert function(x, x).stype == (stype if kept else "default")
    np.testing.assert_array_equal(sparse.add(x, x).asnumpy(), values * 2)
    assert sparse.add(x, dense).stype == sparse.subtract(x, 2).stype == "default"
    np.testing.assert_array_equal(sparse.subtract(x, 2).asnumpy(), values - 2)
    for product in (sparse.multiply(x, dense), sparse.multiply(dense, x), sparse.multiply(x, 4.0)):
        assert product.stype == stype
        np.testing.assert_array_equal(product.asnumpy(), values * 4)
    assert sparse.divide(x, 2).stype == stype and sparse.divide(x, dense).stype == "default"
    assert sparse.cast_storage(x, "default").stype == "default"
    x.check_format()


def test_rows_are_retained():
    rows = mx.nd.sparse.row_sparse_array(([[1.0], [2.0]], [0, 2]), shape=(3, 1))
    assert mx.nd.sparse.retain(rows, mx.nd.array([2])).asnumpy().tolist() == [[0], [0], [2]]
    with pytest.raises(TypeError):
        mx.nd.sparse.retain(mx.nd.ones((2, 1)), [0])


def test_keys_are_expanded():
    nd, full = mx.nd, slice(None)
    assert nd.get_oshape_of_gather_nd_op((3, 4, 5), (2, 6)) == (6, 5)
    assert [nd.get_indexing_dispatch_code(key) for key in ((1, None), ([1],), (), (mx.nd.ones(2),))] == [
        0,
        1,
        0,
        1,
    ]
    assert nd.indexing_key_expand_implicit_axes(1, (3, 4)) == ((1, full), -1)
    key, mask = nd.indexing_key_expand_implicit_axes((Ellipsis, np.array([True, False])), (3, 4, 2))
    assert key[:2] == (full, full) and mask == 2
    with pytest.raises(IndexError):
        nd.indexing_key_expand_implicit_axes((1, 2, 3), (3, 4))


def test_powers_by_name():
    assert mx.nd.power(base=2, exp=mx.nd.array([3])).asscalar() == 8
    assert mx.sym.power(base=mx.sym.Variable("x"), exp=2).eval(x=mx.nd.array([3]))[0].asscalar() == 9
    assert mx.sym.pow(2, 3) == 8


def test_symbols_for_backends_are_copies():
    net = mx.sym.Variable("x") * 2
    for backend in ("default", "MKLDNN"):
        assert net.optimize_for(backend).tojson() == net.tojson()
        assert net.get_backend_symbol(backend) is not net
    with pytest.raises(ValueError, match="no backend 'TensorRT'"):
        net.optimize_for("TensorRT")
    with pytest.raises(ValueError, match="no options"):
        net.optimize_for("default", precision="fp16")
    executor = net.bind(mx.cpu(), {"x": mx.nd.ones(2)})
    assert executor.get_optimized_symbol().tojson() == net.tojson()


def test_decorators_of_elementwise_functions():
    @mx.util.wrap_np_unary_func
    def double(x, out=None):
        return x * 2

    @mx.util.wrap_np_binary_func
    def plus(x, y, out=None):
        return x + y

    assert double(3, where=True, casting="same_kind") == 6 and plus(1, 2, dtype="float32") == 3
    for arguments in ({"where": False}, {"order": "C"}, {"axis": 0}):
        with pytest.raises(TypeError):
            double(3, **arguments)
    with pytest.raises(TypeError):
        plus(1)
    assert mx.util.np_ufunc_legal_option("dtype", "float32")
    assert not mx.util.np_ufunc_legal_option("dtype", "complex64")
    with pytest.raises(ValueError, match="expected a GPU"):
        mx.util.get_cuda_compute_capability(mx.cpu())


def test_one_object_holds_the_features():
    assert mx.runtime.Features() is mx.runtime.Features() is mx.runtime.Features.instance


def test_symbols_are_called_like_operators():
    x, w = mx.sym.Variable("x"), mx.sym.Variable("w")
    product = mx.nd.CachedOp(
        mx.sym.FullyConnected(x, w, num_hidden=2, no_bias=True), [("static_alloc", True)]
    )
    data, weight = mx.nd.array([[1, 2, 3]]), mx.nd.ones((2, 3))
    weight.attach_grad()
    with mx.autograd.record():
        y = product(data, weight)
    y.backward()
    assert y.asnumpy().tolist() == [[6, 6]] and weight.grad.asnumpy().tolist() == [[1, 2, 3]] * 2
    several = mx.nd.CachedOp(mx.sym.Group([x + 1, x * 2]))
    out = [mx.nd.zeros((2,)), mx.nd.zeros((2,))]
    assert several(mx.nd.ones(2), out=out) is out
    assert [array.asnumpy().tolist() for array in out] == [[2, 2], [2, 2]]
    seen = []
    several._register_op_hook(lambda name, operator, array: seen.append(name))
    assert len(several(mx.nd.ones(2))) == 2
    mx.nd.waitall()
    assert len(seen) == 2
    with pytest.raises(ValueError, match="2 arrays; the inputs are x"):
        several(data, data)
    with pytest.raises(ValueError, match="no flags"):
        mx.nd.CachedOp(x + 1, [("other", 1)])
