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
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
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
