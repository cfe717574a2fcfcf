# SPDX-License-Identifier: Apache-2.0
"""What scripts written for MXNet 1.x do beside the documented path, and rely on."""

import logging
import os
import subprocess
import sys
from collections import namedtuple

import loomix as mx
import numpy as np
import pytest

Batch = namedtuple("Batch", ["data"])


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def bound(**settings):
    module = mx.mod.Module(network())
    module.bind([("data", (2, 3))], [("softmax_label", (2,))], **settings)
    return module


def params(**extra):
    known = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones((2,))}
    return {**known, **{name: mx.nd.ones((1,)) for name in extra}}


def batches(count=4):
    return mx.io.NDArrayIter(np.ones((count, 3)), np.zeros(count), batch_size=2)


def run_python(code, **environment):
    """Runs a fresh interpreter; a variable that is None is not set there."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    env = {name: value for name, value in env.items() if value is not None}
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return result


# Arrays


def test_an_integer_drops_an_axis_of_size_one_in_assignments():
    whole = mx.nd.zeros((2, 3, 1))
    whole[:, :, 0] = mx.nd.array([[0, 1, 2], [3, 4, 5]])
    assert whole.asnumpy().ravel().tolist() == [0, 1, 2, 3, 4, 5]
    column = mx.nd.zeros((3, 1))
    column[:, 0] = [1, 2, 3]
    assert column.asnumpy().tolist() == [[1], [2], [3]]
    column[:, 0] = 7
    assert column.asnumpy().tolist() == [[7], [7], [7]]
    row = mx.nd.zeros((1, 3))
    row[0] = np.array([4, 5, 6])
    assert row.asnumpy().tolist() == [[4, 5, 6]]
    with pytest.raises(ValueError):
        column[:, 0] = mx.nd.ones((3, 1))


def test_split_v2_is_a_method():
    x = mx.nd.arange(12).reshape((4, 3))
    assert [part.shape for part in x.split_v2(2)] == [(2, 3), (2, 3)]
    assert [part.shape for part in x.split_v2((1, 3))] == [(1, 3), (2, 3), (1, 3)]
    parts = x.split_v2(3, axis=1, squeeze_axis=True)
    assert [part.asnumpy().tolist() for part in parts] == x.asnumpy().T.tolist()


# Iterators


def test_dict_inputs_come_in_the_order_of_their_names():
    x = np.zeros((4, 2))
    source = mx.io.NDArrayIter({"z": x + 1, "a": x + 2, "m": x + 3}, {"q": x, "b": x + 4}, batch_size=2)
    assert [item.name for item in source.provide_data] == ["a", "m", "z"]
    assert [item.name for item in source.provide_label] == ["b", "q"]
    batch = source.next()
    assert [array.asnumpy()[0, 0] for array in batch.data] == [2, 3, 1]
    assert [array.asnumpy()[0, 0] for array in batch.label] == [4, 0]


@pytest.fixture
def csv(tmp_path):
    (tmp_path / "data.csv").write_text("\n".join(f"{i},{i + 1}" for i in range(5)))
    (tmp_path / "label.csv").write_text("\n".join(map(str, range(5))))

    def make():
        return mx.io.CSVIter(
            data_csv=str(tmp_path / "data.csv"),
            data_shape=(2,),
            label_csv=str(tmp_path / "label.csv"),
            batch_size=2,
        )

    return make


def test_file_iterators_give_one_array(csv):
    source = csv()
    assert source.iter_next()
    assert source.getdata().asnumpy().tolist() == [[0, 1], [1, 2]]
    assert source.getlabel().asnumpy().tolist() == [0, 1]
    batch = source.next()
    assert isinstance(batch.data, list) and batch.data[0].asnumpy().tolist() == [[2, 3], [3, 4]]
    assert batch.label[0].asnumpy().tolist() == [2, 3] and batch.index.tolist() == [2, 3]


def test_an_iterator_can_repeat_one_batch(csv):
    source = csv()
    source.debug_skip_load()
    assert [next(source).label[0].asnumpy().tolist() for _ in range(5)] == [[0, 1]] * 5


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_sparse_arrays_are_shuffled(stype):
    values = np.arange(24, dtype="float32").reshape(6, 4)
    values[2] = 0
    values[:, 1] = 0
    source = mx.io.NDArrayIter(
        mx.nd.array(values).tostype(stype),
        np.arange(6),
        batch_size=2,
        shuffle=True,
        last_batch_handle="discard",
    )
    orders = []
    for _ in range(4):
        source.reset()
        order = []
        for batch in source:
            rows = batch.label[0].asnumpy().astype(int)
            assert batch.data[0].stype == stype
            np.testing.assert_array_equal(batch.data[0].asnumpy(), values[rows])
            order += rows.tolist()
        assert sorted(order) == list(range(6))
        orders.append(tuple(order))
    assert len(set(orders)) > 1
    with pytest.raises(NotImplementedError, match="discard"):
        mx.io.NDArrayIter(mx.nd.array(values).tostype(stype), batch_size=2)


# Modules


def test_a_named_tuple_without_label_is_a_batch():
    module = bound()
    module.init_params()
    module.forward(Batch([mx.nd.ones((2, 3))]), is_train=False)
    assert module.get_outputs()[0].shape == (2, 2)
    module.forward(Batch([mx.nd.ones((4, 3))]), is_train=False)
    assert module.get_outputs()[0].shape == (4, 2)
    chain = mx.mod.SequentialModule().add(mx.mod.Module(network()), take_labels=True)
    chain.bind([("data", (2, 3))], [("softmax_label", (2,))])
    chain.init_params()
    chain.forward(Batch([mx.nd.ones((2, 3))]), is_train=False)
    assert chain.get_outputs()[0].shape == (2, 2)


def test_names_that_a_network_does_not_have_are_passed_over():
    for settings in ({}, {"allow_missing": True}, {"allow_extra": True}):
        module = bound()
        module.init_params(arg_params=params(other=1), aux_params={"more": mx.nd.ones((1,))}, **settings)
        assert sorted(module.get_params()[0]) == ["fc_bias", "fc_weight"]
    module.set_params(params(other=1), {})
    module.set_params(params(other=1), {}, allow_missing=True, allow_extra=True)
    with pytest.raises(ValueError, match="other"):
        module.set_params(params(other=1), {}, allow_missing=True)
    with pytest.raises(RuntimeError, match="fc_weight is missing"):
        bound().init_params(arg_params={"fc_bias": mx.nd.ones((2,))})
    trained = mx.mod.Module(network())
    trained.fit(batches(), num_epoch=1, arg_params=params(other=1), aux_params={"more": mx.nd.ones((1,))})
    assert sorted(trained.get_params()[0]) == ["fc_bias", "fc_weight"]


def test_callbacks_see_the_variables_of_the_loop():
    seen = {}

    def train(param):
        seen["train"] = param.locals

    def evaluation(param):
        seen["evaluation"] = param.locals

    module = mx.mod.Module(network())
    data, checked = batches(), batches()
    module.fit(
        data, checked, num_epoch=1, batch_end_callback=train, eval_end_callback=evaluation, optimizer="adam"
    )
    values = seen["train"]
    assert values["self"] is module and values["train_data"] is data and values["eval_data"] is checked
    assert values["num_epoch"] == 1 and values["optimizer"] == "adam" and values["nbatch"] == 1
    assert values["data_batch"].data[0].shape == (2, 3) and values["end_of_batch"] is True
    assert {"arg_params", "aux_params", "tic", "monitor", "eval_metric", "kvstore", "epoch"} <= set(values)
    assert not {"scope", "bar", "quiet", "wanted", "values"} & set(values)
    assert seen["evaluation"]["actual_num_batch"] == 2 and "eval_batch" in seen["evaluation"]


def test_row_ids_are_warned_of_once(caplog):
    module = mx.mod.Module(network())
    with caplog.at_level(logging.WARNING):
        module.fit(batches(8), num_epoch=2, sparse_row_id_fn=lambda batch: {})
    assert sum("sparse_row_id_fn" in record.getMessage() for record in caplog.records) == 1


# Logging

_FIT = """
import logging, sys
import numpy as np
import loomix as mx
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
def fit(**settings):
    module = mx.mod.Module(net, **settings)
    data = mx.io.NDArrayIter(np.ones((4, 3)), np.zeros(4), batch_size=2)
    module.fit(data, data, num_epoch=1, batch_end_callback=mx.callback.Speedometer(2, 1))
    module.bind([("data", (2, 3))])  # warns
"""


def test_no_handler_is_installed():
    run_python(_FIT + "fit()\nassert not logging.getLogger().handlers")
    out = run_python(_FIT + "fit()\nlogging.basicConfig(level=logging.INFO, stream=sys.stdout)\nfit()")
    assert out.stdout.count("Train-accuracy") == 1 and out.stderr.count("Train-accuracy") == 1


def test_training_is_heard_of_without_any_settings():
    lines = run_python(_FIT + "fit()").stderr.splitlines()
    assert any(line.startswith("Epoch[0] Train-accuracy=") for line in lines)
    assert any(line.startswith("Epoch[0] Validation-accuracy=") for line in lines)
    assert any("samples/sec" in line for line in lines)


@pytest.mark.parametrize(
    "settings, count",
    [
        ("logging.basicConfig(level=logging.INFO)", 1),
        ("logging.basicConfig(level=logging.ERROR)", 0),
        ("logging.disable(logging.INFO)", 0),
        ("logging.getLogger().addHandler(logging.StreamHandler()); logging.getLogger().setLevel(20)", 1),
        ("logging.getLogger().addHandler(logging.StreamHandler())", 1),
    ],
)
def test_a_line_is_written_once_or_not_at_all(settings, count):
    assert run_python(_FIT + settings + "\nfit()").stderr.count("Train-accuracy") == count


def test_other_lines_are_written_where_they_are_asked_for():
    code = """
import logging
import loomix as mx
{}
mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)(3)
assert not logging.getLogger().handlers
"""
    assert run_python(code.format("")).stderr == ""
    asked = run_python(code.format("logging.getLogger().setLevel(logging.INFO)")).stderr
    assert asked == "Update[3]: Change learning rate to 5.00000e-01\n"


def test_a_logger_of_the_users_own_decides():
    code = _FIT + "log = logging.getLogger('mine'); log.setLevel(logging.{})\nfit(logger=log)"
    assert run_python(code.format("WARNING")).stderr.count("Train-accuracy") == 0
    assert run_python(code.format("INFO")).stderr.count("Train-accuracy") == 1


def test_schedules_say_what_they_do(caplog):
    with caplog.at_level(logging.INFO):
        schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
        schedule(3)
        schedule = mx.lr_scheduler.MultiFactorScheduler(step=[2], factor=0.5, base_lr=1.0)
        schedule(3)
    assert [record.getMessage() for record in caplog.records] == [
        "Update[3]: Change learning rate to 5.00000e-01"
    ] * 2


# Types and shapes by other names

DTYPES = {
    "int": np.int64,
    "float": np.float64,
    "double": np.float64,
    "half": np.float16,
    "single": np.float32,
    "f4": np.float32,
    "<f8": np.float64,
    "i4": np.int32,
    "u1": np.uint8,
    "?": np.bool_,
}


@pytest.mark.parametrize("name, dtype", DTYPES.items())
def test_element_types_have_numpys_names(name, dtype):
    nd = mx.nd
    assert nd.zeros((1,), dtype=name).dtype == nd.array([1], dtype=name).dtype == dtype
    assert nd.ones((1,)).astype(name).dtype == nd.cast(nd.ones((1,)), dtype=name).dtype == dtype
    assert nd.empty((1,), dtype=name).dtype == nd.full((1,), 1, dtype=name).dtype == dtype
    assert nd.sparse.zeros("csr", (1, 2), dtype=name).dtype == dtype
    x = mx.sym.Variable("x", dtype=name)
    assert x.attr("__dtype__") == str(nd._DTYPE_NP_TO_MX[dtype])
    assert mx.sym.zeros((1,), dtype=name).eval()[0].dtype == dtype
    bound = mx.sym.identity(mx.sym.Variable("x")).simple_bind(mx.cpu(), type_dict={"x": name}, x=(1,))
    assert bound.arg_dict["x"].dtype == dtype
    assert mx.sym.identity(mx.sym.Variable("x")).infer_type(x=name)[1] == [dtype]


def test_iterators_take_numpys_names_of_types(tmp_path, csv):
    (tmp_path / "rows").write_text("1 0:2\n")
    assert mx.io.LibSVMIter(data_libsvm=str(tmp_path / "rows"), data_shape=(2,), dtype="f4").next()
    with pytest.raises(ValueError, match="expected float32"):
        mx.io.LibSVMIter(data_libsvm=str(tmp_path / "rows"), data_shape=(2,), dtype="double")
    from loomix.io.image_record import _to_text

    assert _to_text("dtype", "float") == "float64" and _to_text("dtype", "bfloat16") == "bfloat16"
    source = mx.io.CSVIter(data_csv=str(tmp_path / "data.csv"), data_shape=(2,), batch_size=1, dtype="i4")
    assert source.next().data[0].dtype == np.int32


def test_types_that_do_not_exist_are_errors():
    for name in ("int16", "complex64", "nonsense"):
        with pytest.raises((TypeError, ValueError), match=name):
            mx.nd.zeros((1,), dtype=name)
        with pytest.raises(TypeError, match=name):
            mx.nd.array([1], dtype=name)
    with pytest.raises(ValueError, match="float16"):  # as the operator has it
        mx.nd.random.uniform(shape=(1,), dtype="int")
    assert mx.nd.random.uniform(shape=(1,), dtype="double").dtype == np.float64


def test_one_number_is_a_shape():
    x = mx.nd.arange(8).reshape((1, 1, 8))
    assert mx.nd.Pooling(x, kernel=2, pool_type="max").shape == (1, 1, 7)
    assert (
        mx.nd.Convolution(x, mx.nd.ones((1, 1, 3)), num_filter=1, kernel=3, stride=2, no_bias=True).shape[2]
        == 3
    )
    assert mx.nd.slice(mx.nd.arange(5), begin=1, end=3).asnumpy().tolist() == [1, 2]
    assert mx.nd.broadcast_to(mx.nd.ones((1,)), shape=3).shape == (3,)
    assert mx.nd.transpose(mx.nd.ones((3,)), axes=0).shape == (3,)
    net = mx.sym.Pooling(mx.sym.Variable("x"), kernel=2, name="pool")
    assert net.infer_shape(x=(1, 1, 8))[1] == [(1, 1, 7)]
    assert mx.sym.load_json(net.tojson()).infer_shape(x=(1, 1, 8))[1] == [(1, 1, 7)]
    with pytest.raises(ValueError, match="kernel"):
        mx.nd.Pooling(x, kernel="2,")


# Gradients


def heads_of(names):
    a, b, label = (mx.sym.Variable(name) for name in "abl")
    parts = {
        "loss": mx.sym.LinearRegressionOutput(a, label),
        "block": mx.sym.BlockGrad(a * 2),
        "plain": a * b,
    }
    net = mx.sym.Group([parts[name] for name in names])
    known = {"a": mx.nd.ones(2), "b": mx.nd.ones(2) * 3, "l": mx.nd.zeros(2)}
    args = {name: known[name] for name in net.list_arguments()}
    bound = net.bind(mx.cpu(), args, args_grad={name: mx.nd.zeros(2) for name in args})
    bound.forward(is_train=True)
    return bound


@pytest.mark.parametrize(
    "names, expected", [(("plain", "block"), 15), (("plain", "loss"), 16), (("loss",), 1)]
)
def test_losses_at_the_end_need_no_gradient(names, expected):
    bound = heads_of(names)
    bound.backward([mx.nd.ones(2) * 5] if "plain" in names else [])
    assert bound.grad_dict["a"].asnumpy().tolist() == [expected] * 2


def test_gradients_that_are_needed_are_missed():
    for names in (("plain", "plain"), ("block", "plain")):
        with pytest.raises(ValueError, match="is no loss"):
            heads_of(names).backward([mx.nd.ones(2)])
    with pytest.raises(ValueError, match="3 head gradients; the symbol has 2"):
        heads_of(("plain", "block")).backward([mx.nd.ones(2)] * 3)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "dtype, out", [("float32", "float64"), ("float16", "float32"), ("float32", "float32")]
)
def test_norms_of_another_type_have_gradients(order, dtype, out):
    x = mx.nd.array([[3, 4], [-4, 3]], dtype=dtype)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.norm(x, ord=order, axis=0, out_dtype=out)
    y.backward()
    assert y.dtype == np.dtype(out) and x.grad.dtype == np.dtype(dtype)
    expected = np.sign(x.asnumpy()) if order == 1 else x.asnumpy() / 5
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-3)


@pytest.mark.parametrize("shapes", [((4,), (4, 1)), ((2, 2), (2, 2, 1)), ((2, 4), (2, 2, 2)), ((4, 1), (4,))])
@pytest.mark.parametrize(
    "name", ["LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"]
)
def test_labels_of_regression_may_have_another_shape(name, shapes):
    data = mx.nd.arange(1, 1 + int(np.prod(shapes[0]))).reshape(shapes[0])
    data.attach_grad()
    operator = getattr(mx.nd, name)
    gradients = []
    for shape in shapes[::-1]:
        with mx.autograd.record():
            y = operator(data, mx.nd.full(shape, 0.5))
        y.backward()
        assert y.shape == shapes[0]
        gradients.append(data.grad.asnumpy())
    np.testing.assert_array_equal(*gradients)
    net = getattr(mx.sym, name)(mx.sym.Variable("data"), mx.sym.Variable("label"))
    assert net.infer_shape(data=shapes[0], label=shapes[1])[1] == [shapes[0]]
    for wrong in ((3,), (8, 1), (1, *shapes[0])):
        if wrong[0] != shapes[0][0] or np.prod(wrong) != np.prod(shapes[0]):
            with pytest.raises(ValueError, match="label"):
                operator(data, mx.nd.zeros(wrong))


# Booleans


def test_booleans_and_numbers_give_integers():
    b = mx.nd.array([0, 1, 1], dtype="bool")
    cases = {
        "b + 1": [1, 2, 2],
        "b % 2": [0, 1, 1],
        "b != 2.5": [1, 1, 1],  # the number becomes an integer, too
        "b * 2": [0, 2, 2],
        "b - 1": [-1, 0, 0],
        "1 - b": [1, 0, 0],
        "b / 2": [0, 0, 0],
        "b ** 2": [0, 1, 1],
        "2 ** b": [1, 2, 2],
        "b == 1": [0, 1, 1],
        "b > 0": [0, 1, 1],
        "b + 1.5": [1, 2, 2],
        "-b": [0, -1, -1],
        "mx.nd.maximum(b, 2)": [2, 2, 2],
    }
    for text, expected in cases.items():
        result = eval(text)
        assert result.dtype == np.int64 and result.asnumpy().tolist() == expected, text
    large = mx.nd.ones((100000,), dtype="bool")
    assert (large + 1).asnumpy().sum() == 200000
    assert (mx.sym.Variable("b") + 1).eval(b=b)[0].asnumpy().tolist() == [1, 2, 2]
    assert (mx.sym.Variable("b") + 1).infer_type(b="bool")[1] == [np.int64]


# Settings


def test_openmps_number_of_threads_is_that_of_the_engine():
    code = "import loomix as mx, os; mx.nd.ones(2).wait_to_read(); print(len(os.listdir('/proc/self/task')))"

    def threads(workers):
        return int(run_python(code, OMP_NUM_THREADS="2", LOOMIX_CPU_WORKER_NTHREADS=workers).stdout)

    assert threads(None) == threads("2") == threads("6") - 4


def test_the_profiler_starts_by_itself(tmp_path):
    code = f"import os; os.chdir({str(tmp_path)!r}); import loomix as mx; mx.nd.ones(2).wait_to_read()"
    run_python(code)
    run_python(code, MXNET_PROFILER_AUTOSTART="0")
    assert not (tmp_path / "profile.json").exists()
    run_python(code, MXNET_PROFILER_AUTOSTART="1")
    assert "_ones" in (tmp_path / "profile.json").read_text()
    (tmp_path / "profile.json").unlink()
    run_python(code + "; mx.profiler.set_config(filename='other.json')", LOOMIX_PROFILER_AUTOSTART="1")
    assert (tmp_path / "other.json").exists() and not (tmp_path / "profile.json").exists()


def test_libraries_of_kernels(tmp_path):
    with pytest.raises(ValueError, match="absolute"):
        mx.library.load("kernels.so")
    with pytest.raises(OSError, match="no file"):
        mx.library.load(str(tmp_path / "kernels.so"))
    (tmp_path / "kernels.so").write_bytes(b"no library")
    with pytest.raises(mx.MXNetError):
        mx.library.load(str(tmp_path / "kernels.so"))
    from loomix import _record

    with pytest.raises(ValueError, match="loomix_kernel_module|kernel"):
        mx.library.load(_record.__file__)
