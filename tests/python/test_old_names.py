# SPDX-License-Identifier: Apache-2.0
"""Names that MXNet's modules have beside their main ones, and stores of one's own."""

import ctypes
import importlib
import pickle
import struct
import threading

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
    shared = [name for name in module.__all__ if hasattr(package, name)]
    for public in shared:
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


def test_values_become_c_arrays():
    base = mx.base
    assert base.c_str("ä").value == "ä".encode() and list(base.c_str_array(["a", "b"])) == [b"a", b"b"]
    assert list(base.c_array(base.mx_uint, [1, 2])) == [1, 2]
    memory = np.array([1, 2], np.float32)
    base.c_array_buf(base.mx_float, memory)[1] = 5
    assert memory.tolist() == [1, 5]
    assert base.NDArrayHandle is base.KVStoreHandle is ctypes.c_void_p


def test_c_arrays_become_values():
    base = mx.base
    memory = base.c_array(base.mx_float, range(6))
    shared = base.ctypes2numpy_shared(ctypes.cast(memory, base.mx_float_p), (2, 3))
    memory[4] = 9
    assert shared.tolist() == [[0, 1, 2], [3, 9, 5]] and shared.dtype == np.float32
    text = ctypes.cast(ctypes.create_string_buffer(b"abc"), ctypes.POINTER(ctypes.c_char))
    assert base.ctypes2buffer(text, 2) == bytearray(b"ab")
    for function, argument in ((base.ctypes2numpy_shared, (2, 3)), (base.ctypes2buffer, 6)):
        with pytest.raises(TypeError, match="expected a pointer"):
            function(memory, argument)


def test_there_is_no_c_library():
    mx.base.check_call(0)
    with pytest.raises(mx.MXNetError, match="status -1"):
        mx.base.check_call(-1)
    with pytest.raises(AttributeError, match="MXNDArrayCreate: MXNet's C library is not part"):
        mx.base._LIB.MXNDArrayCreate()


def test_errors_have_names():
    @mx.error.register
    class OwnError(mx.MXNetError):
        pass

    assert mx.error.register("example.Other")(OwnError) is OwnError
    assert mx.base.register_error("Third", KeyError) is KeyError
    kinds = mx.base.error_types
    assert kinds["OwnError"] is kinds["example.Other"] is OwnError and kinds["Third"] is KeyError
    assert mx.base.c2pyerror("example.Other: no") == ("example.Other: no", "example.Other")
    assert mx.base.c2pyerror("what is this: no")[1] is None


def test_parameters_are_listed_once():
    text = mx.base.build_param_doc(["a", "num_args", "a", "b"], ["int"] * 4, ["One.", "x", "y", ""])
    assert text == "Parameters\n----------\na : int\n    One.\nb : int\n"
    assert mx.base.build_param_doc(["a", "a"], ["int"] * 2, ["", ""], False).count("a : int") == 2


def test_the_default_device_can_be_set():
    mx.Context._default_ctx.value = mx.cpu(2)
    try:
        assert mx.current_context() == mx.cpu(2) == mx.nd.ones(1).context == mx.Context.default_ctx
        with mx.cpu(1):
            assert mx.current_context() == mx.cpu(1)
        assert mx.current_context() == mx.cpu(2)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(mx.current_context()))
        thread.start()
        thread.join()
        assert seen == [mx.cpu(0)]
    finally:
        mx.Context._default_ctx.value = mx.cpu(0)


def test_stores_show_their_updaters():
    store = mx.kv.create("local")
    assert store._updater is None and store.handle.type == "local"
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    store.init(3, mx.nd.ones(2))
    store.push(3, mx.nd.ones(2))
    assert store._updater.optimizer.lr == 0.5 and store._updater.optimizer.num_update == 1

    def add(key, value, stored):
        stored += value

    store._set_updater(add)
    assert store._updater is add
    with pytest.raises(mx.MXNetError, match="no optimizer states"):
        store.save_optimizer_states("nowhere")


def test_moments_are_joined():
    metric = mx.metric.PearsonCorrelation(average="micro")
    x, y = np.random.RandomState(0).randn(2, 30)
    for part in (slice(0, 3), slice(3, 30)):
        metric.update_cov(x[part], y[part])
    metric.num_inst = 1
    assert metric.get()[1] == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-12)
    count, mean, squares = metric.update_variance(x[:10], 20, x[10:].mean(), x[10:].var() * 20)
    assert (count, mean, squares) == (30, pytest.approx(x.mean()), pytest.approx(x.var() * 30))


def test_the_header_of_records_has_a_format():
    header = mx.recordio.IRHeader(0, 2.0, 7, 0)
    packed = mx.recordio.pack(header, b"x")
    assert struct.unpack(mx.recordio._IR_FORMAT, packed[: mx.recordio._IR_SIZE]) == (0, 2.0, 7, 0)


def test_shapes_of_outputs_by_name():
    net = mx.sym.split(mx.sym.Variable("x"), num_outputs=2, name="parts")
    shapes = mx.symbol_doc.SymbolDoc.get_output_shape(net, x=(3, 4))
    assert shapes == {"parts_output0": (3, 2), "parts_output1": (3, 2)}


def test_what_is_gone_says_what_to_use():
    with pytest.raises(NotImplementedError, match="python -m loomix top"):
        mx.profiler.set_kvstore_handle(None)


@pytest.mark.parametrize(
    "name, value",
    [
        ("autograd.NDArray", "nd.NDArray"),
        ("autograd.Symbol", "sym.Symbol"),
        ("initializer.NDArray", "nd.NDArray"),
        ("initializer.load", "nd.load"),
        ("initializer.is_np_array", "util.is_np_array"),
        ("module.module.zeros", "nd.zeros"),
        ("monitor.NDArray", "nd.NDArray"),
        ("operator.py_str", "base.py_str"),
        ("visualization.Symbol", "sym.Symbol"),
        ("io._init_data", "io.utils._init_data"),
        ("io.io._has_instance", "io.utils._has_instance"),
    ],
)
def test_names_of_other_modules(name, value):
    def find(path):
        found = mx
        for part in path.split("."):
            found = getattr(found, part)
        return found

    assert find(name) is find(value)


def test_numbers_are_compared_as_numbers():
    nd = mx.nd
    assert [function(2, 3) for function in (nd.equal, nd.not_equal, nd.lesser, nd.greater_equal)] == [
        0,
        1,
        1,
        0,
    ]
    for function in (nd.equal, nd.greater, nd.logical_and, nd.logical_or, nd.logical_xor):
        assert type(function(1, 0.5)) is int


class Decaying(mx.rnn.GRUCell):
    """A cell as programs write them: the parameters of another, and a rule of its own."""

    def __call__(self, inputs, states):
        rows = {"num_hidden": self._num_hidden * 3}
        i2h = mx.sym.FullyConnected(inputs, weight=self._iW, bias=self._iB, name="i2h", **rows)
        h2h = mx.sym.FullyConnected(states[0], weight=self._hW, bias=self._hB, name="h2h", **rows)
        total = mx.sym.slice_axis(i2h + h2h, axis=1, begin=0, end=self._num_hidden)
        output = self._get_activation(total, "relu", name="out") + states[0] * 0.5
        return output, [output]


def test_cells_of_ones_own():
    outputs, _ = Decaying(2, prefix="own_").unroll(2, mx.sym.Variable("x"), merge_outputs=True)
    assert outputs.list_arguments() == ["x", *(f"own_{name}" for name in ("i2h_weight", "i2h_bias"))] + [
        "own_h2h_weight",
        "own_h2h_bias",
    ]
    values = {"x": (1, 2, 3), "own_i2h_weight": (6, 3), "own_h2h_weight": (6, 2)}
    values |= {"own_i2h_bias": (6,), "own_h2h_bias": (6,)}
    run = outputs.bind(mx.cpu(), {name: mx.nd.ones(shape) for name, shape in values.items()})
    assert run.forward()[0].asnumpy().tolist() == [[[5, 5], [17.5, 17.5]]]
    assert mx.rnn.ConvLSTMCell((1, 2, 4, 4), 3, prefix="c_")._hB.name == "c_h2h_bias"


def test_sequences_are_cut_and_joined():
    normalize = mx.rnn.rnn_cell._normalize_sequence
    steps, axis = normalize(2, mx.sym.Variable("x"), "NTC", False)
    assert isinstance(steps, list) and len(steps) == 2 and axis == 1
    joined, axis = normalize(2, [mx.sym.Variable("x"), mx.sym.Variable("y")], "TNC", True)
    assert joined.infer_shape(x=(3, 4), y=(3, 4))[1] == [(2, 3, 4)] and axis == 0
    turned, axis = normalize(2, mx.sym.Variable("x"), "NTC", True, in_layout="TNC")
    assert turned.infer_shape(x=(2, 3, 4))[1] == [(3, 2, 4)] and axis == 1


def test_groups_of_executors_show_what_they_hold():
    net = mx.sym.FullyConnected(mx.sym.Variable("data") + mx.sym.Variable("state"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    module = mx.mod.Module(net, state_names=["state"], fixed_param_names=["fc_bias"])
    module.bind([mx.io.DataDesc("data", (4, 3))], [("softmax_label", (4,))])
    group = module._exec_group
    assert group.data_layouts == group.label_layouts == [0] and group.num_outputs == 1
    assert group.fixed_param_names == ["fc_bias"] and group.logger is module.logger
    module.init_params()
    module.set_states(value=2)
    assert group.state_arrays[0][0].asnumpy().tolist() == [[2] * 3] * 4
    assert group.execs[0].handle is not None


def test_lines_of_a_monitor(caplog):
    monitor = mx.mon.Monitor(1, stat_func=lambda array: array.sum())
    monitor.tic()
    monitor.stat_helper("short", mx.nd.ones(3))
    with caplog.at_level("INFO"):
        monitor.toc_print()
    assert caplog.messages == [f"Batch:       1 {'short':30} 3.0\t"]


def test_the_smallest_store():
    store = mx.kv.create("teststore")
    assert (store.type, store.rank, store.num_workers) == ("teststore", 0, 1)
    assert not store.is_capable("optimizer")
    out = [mx.nd.zeros(2), mx.nd.zeros(2, ctx=mx.cpu(1))]
    store.broadcast("a", mx.nd.full((2,), 3), out=out)
    assert [array.asnumpy().tolist() for array in out] == [[3, 3], [3, 3]]
    values = [mx.nd.ones(2), mx.nd.full((2,), 4, ctx=mx.cpu(1))]
    store.pushpull("a", values, out=out[0])
    assert out[0].asnumpy().tolist() == [5, 5] and values[0].asnumpy().tolist() == [1, 1]
    store.pushpull("a", values)
    assert [array.asnumpy().tolist() for array in values] == [[5, 5], [5, 5]]
    with pytest.raises(NotImplementedError, match="set_optimizer"):
        store.set_optimizer(mx.optimizer.SGD())
    with pytest.raises(ValueError, match="'speed'"):
        store.is_capable("speed")


def test_everything_can_be_imported():
    names = {}
    exec("from loomix import *", names)
    assert names["nd"] is mx.nd and names["Context"] is mx.Context and names["mod"] is mx.mod
    exec("from loomix.random import *", names)
    assert names["uniform"] is mx.nd.random.uniform and names["seed"] is mx.random.seed


@pytest.mark.parametrize(
    "place, name", [("", "sgd_update"), ("sparse.", "adam_update"), ("contrib.", "group_adagrad_update")]
)
def test_steps_of_optimizers_are_for_arrays(place, name):
    package = getattr(mx.sym, place[:-1]) if place else mx.sym
    with pytest.raises(AttributeError, match=rf"changes its arguments.* mx\.nd\.{place}{name}\."):
        getattr(package, name)
    with pytest.raises(AttributeError, match="has no attribute 'quadratik'; the nearest are quadratic"):
        _ = mx.sym.contrib.quadratik
