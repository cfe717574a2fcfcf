# SPDX-License-Identifier: Apache-2.0
"""Gluon's trainer and helpers, and whole trainings."""

import os

import loomix as mx
import numpy as np
import pytest
from loomix import autograd, gluon
from loomix.gluon import nn

nd = mx.nd
FASHION = "/usr/share/datasets/fashion-mnist"


def parameter(value=1.0, ctx=None, name="w"):
    param = gluon.Parameter(name, shape=(2,))
    param.initialize(init=mx.init.Constant(value), ctx=ctx)
    return param


def record(param, factor=1.0):
    with autograd.record():
        heads = [(array * factor).sum() for array in param.list_data()]
    autograd.backward(heads)


def test_a_step():
    param = parameter()
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5, "momentum": 0.5})
    for expected in (0.5, -0.25):  # 1 - 0.5, then 0.5 * 0.5 more
        record(param, 4)
        trainer.step(batch_size=4)
        np.testing.assert_allclose(param.data().asnumpy(), expected)
    assert trainer.learning_rate == 0.5
    trainer.set_learning_rate(0.1)
    assert trainer.learning_rate == 0.1 == trainer.optimizer.learning_rate


def test_factors_of_parameters():
    fast, slow = parameter(name="fast"), parameter(name="slow")
    slow.lr_mult = 0.1
    frozen = parameter(name="frozen")
    frozen.grad_req = "null"
    params = gluon.ParameterDict()
    params._params.update({param.name: param for param in (fast, slow, frozen)})
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 1.0})
    for param in (fast, slow):
        record(param)
    trainer.step(1)
    assert [param.data().asnumpy()[0] for param in (fast, frozen)] == [0, 1]
    np.testing.assert_allclose(slow.data().asnumpy(), 0.9)


@pytest.mark.parametrize("kvstore", ["local", "device", None])
@pytest.mark.parametrize("on_store", [True, False, None])
def test_several_devices(kvstore, on_store):
    if kvstore is None and on_store:
        return
    devices = [mx.cpu(0), mx.cpu(1)]
    param = parameter(ctx=devices)
    trainer = gluon.Trainer(
        [param], "sgd", {"learning_rate": 0.5}, kvstore=kvstore, update_on_kvstore=on_store
    )
    for step in range(1, 3):
        record(param)
        trainer.step(2)
        expected = 1 - step * (0.5 if kvstore else 0.25)  # without a store each device is on its own
        for array in param.list_data():
            np.testing.assert_allclose(array.asnumpy(), expected)


def test_gradients_are_added_up_and_changed_before_the_update():
    devices = [mx.cpu(0), mx.cpu(1)]
    param = parameter(ctx=devices)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0}, update_on_kvstore=False)
    record(param, 3)
    trainer.allreduce_grads()
    assert [grad.asnumpy().tolist() for grad in param.list_grad()] == [[6, 6]] * 2
    for grad in param.list_grad():
        grad[:] = 0.5
    trainer.update(1)
    assert [array.asnumpy().tolist() for array in param.list_data()] == [[0.5, 0.5]] * 2
    on_store = gluon.Trainer([param], "sgd", update_on_kvstore=True)
    with pytest.raises(RuntimeError, match="update_on_kvstore"):
        on_store.allreduce_grads()
    with pytest.raises(RuntimeError, match="update_on_kvstore"):
        on_store.update(1)


@pytest.mark.parametrize("devices", [[mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]])
def test_old_gradients(devices):
    used, unused = parameter(ctx=devices, name="used"), parameter(ctx=devices, name="unused")
    trainer = gluon.Trainer([used, unused], "sgd", {"learning_rate": 0.5, "wd": 0.1})
    record(used)
    record(unused)
    trainer.step(1)
    before = unused.data(devices[0]).asnumpy()
    record(used)
    with pytest.raises(UserWarning, match="'unused' on cpu.0. is not new: no backward"):
        trainer.step(1)
    record(used)
    trainer.step(1, ignore_stale_grad=True)
    assert (unused.data(devices[0]).asnumpy() == before).all()


@pytest.mark.parametrize("devices", [[mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]])
@pytest.mark.parametrize("on_store", [True, False])
def test_states_are_saved(tmp_path, devices, on_store):
    if on_store and len(devices) == 1:
        return
    path = str(tmp_path / "states")
    values = []
    for resumed in (False, True):
        param = parameter(ctx=devices)
        trainer = gluon.Trainer([param], "adam", {"learning_rate": 0.1}, update_on_kvstore=on_store)
        for step in range(4):
            if step == 2 and not resumed:
                trainer.save_states(path)
                saved = param.data(devices[0]).asnumpy()
            if resumed and step < 2:
                continue
            if resumed and step == 2:
                param.set_data(nd.array(saved))
                trainer.load_states(path)
            record(param, step + 1)
            trainer.step(1)
        values.append(param.data(devices[0]).asnumpy())
        assert trainer.optimizer.num_update == 4
    np.testing.assert_allclose(values[1], values[0], rtol=1e-6)


def test_deferred_parameters():
    net = nn.Dense(1)
    net.initialize(init="ones", ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(2):
        with autograd.record():
            heads = [net(nd.ones((2, 3), ctx=ctx)).sum() for ctx in (mx.cpu(0), mx.cpu(1))]
        autograd.backward(heads)
        trainer.step(4)
    for array in net.weight.list_data():
        np.testing.assert_allclose(array.asnumpy(), 0.8, rtol=1e-6)


def test_errors():
    with pytest.raises(ValueError, match="expected a list or a dict of Parameters"):
        gluon.Trainer("w", "sgd")
    with pytest.raises(ValueError, match="item 0 of params is of type int"):
        gluon.Trainer([1], "sgd")
    with pytest.raises(RuntimeError, match="'w' has not been initialized"):
        gluon.Trainer([gluon.Parameter("w", shape=(1,))], "sgd")
    with pytest.raises(ValueError, match="'other' is on .*expected all on the same devices"):
        gluon.Trainer([parameter(), parameter(ctx=mx.cpu(1), name="other")], "sgd")
    with pytest.raises(
        ValueError, match="optimizer_params is {'learning_rate': 1}, but the optimizer is made already"
    ):
        gluon.Trainer([parameter()], mx.optimizer.SGD(), {"learning_rate": 1})
    param = parameter()
    with pytest.raises(ValueError, match="'w' is given twice"):
        gluon.Trainer([param, param], "sgd")


class Linear(gluon.Block):
    """Of csr data, with a weight of which each step reads and changes some rows."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            settings = {"shape": (6, 2), "stype": "row_sparse", "grad_stype": "row_sparse"}
            self.weight = self.params.get("weight", init="ones", **settings)

    def forward(self, x):
        return nd.sparse.dot(x, self.weight.row_sparse_data(x.indices))


def test_parameters_of_rows(tmp_path):
    net = Linear(prefix="linear_")
    net.initialize()
    assert net.weight.stype == net.weight.grad_stype == "row_sparse"
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1, "momentum": 0.9, "wd": 0.1})
    for columns in ([1, 4], [4, 4]):
        x = nd.array(np.eye(6, dtype="float32")[columns]).tostype("csr")
        with autograd.record():
            out = net(x).sum()
        out.backward()
        assert net.weight.grad().indices.asnumpy().tolist() == sorted(set(columns))
        trainer.step(1)
    everything = nd.arange(6, dtype="int64")
    rows = net.weight.row_sparse_data(everything).asnumpy()[:, 0]
    assert rows[[0, 2, 3, 5]].tolist() == [1, 1, 1, 1]
    # Of row 4: 1 - (1 + 0.1) = -0.1, then 0.9 * -1.1 - (2 - 0.01) = -2.98 more.
    np.testing.assert_allclose(rows[[1, 4]], [-0.1, -3.08], rtol=1e-5)
    net.save_parameters(str(tmp_path / "rows"))
    assert nd.load(str(tmp_path / "rows"))["weight"].stype == "row_sparse"  # as MXNet saves it
    other = Linear(prefix="other_")
    other.load_parameters(str(tmp_path / "rows"), ctx=mx.current_context())
    gluon.Trainer(other.collect_params(), "sgd")
    assert other.weight.row_sparse_data(everything).asnumpy()[:, 0].tolist() == rows.tolist()
    with pytest.raises(ValueError, match="stype of Parameter 'w' is 'csr'"):
        gluon.Parameter("w", shape=(2, 2), stype="csr")
    with pytest.raises(RuntimeError, match="row_sparse_data.*'dense_weight' has the storage type 'default'"):
        gluon.nn.Dense(1, prefix="dense_").weight.row_sparse_data(nd.array([0]))


# ---- helpers ----


def test_splitting():
    x = nd.arange(10).reshape((5, 2))
    assert [part.shape for part in gluon.utils.split_data(x, 2, even_split=False)] == [(3, 2), (2, 2)]
    assert gluon.utils.split_data(x, 2, batch_axis=1)[1].asnumpy().tolist() == [[1], [3], [5], [7], [9]]
    with pytest.raises(ValueError, match="does not divide into 2"):
        gluon.utils.split_data(x, 2)
    with pytest.raises(ValueError, match="too short for 6 parts"):
        gluon.utils.split_data(x, 6, even_split=False)
    parts = gluon.utils.split_and_load(np.ones((4, 2)), [mx.cpu(0), mx.cpu(1)])
    assert [(part.shape, part.context) for part in parts] == [((2, 2), mx.cpu(0)), ((2, 2), mx.cpu(1))]


def test_clipping():
    arrays = [nd.array([3.0]), nd.array([4.0], ctx=mx.cpu(1))]
    assert gluon.utils.clip_global_norm(arrays, 1.0) == pytest.approx(5)
    np.testing.assert_allclose([a.asscalar() for a in arrays], [0.6, 0.8], rtol=1e-6)
    assert gluon.utils.clip_global_norm(arrays, 10.0, check_isfinite=False).shape == (1,)
    np.testing.assert_allclose([a.asscalar() for a in arrays], [0.6, 0.8], rtol=1e-6)
    with pytest.warns(UserWarning, match="norm is not finite"):
        gluon.utils.clip_global_norm([nd.array([np.inf])], 1.0)


def test_files(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"hello")
    sha1 = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"
    assert gluon.utils.check_sha1(str(source), sha1) and not gluon.utils.check_sha1(str(source), "b" * 40)
    target = str(tmp_path / "folder" / "target")
    assert gluon.utils.download(source.as_uri(), target, sha1_hash=sha1) == target
    assert open(target, "rb").read() == b"hello"
    source.write_bytes(b"changed")
    gluon.utils.download(source.as_uri(), target)
    assert open(target, "rb").read() == b"hello", "it was there"
    gluon.utils.download(source.as_uri(), target, overwrite=True)
    assert open(target, "rb").read() == b"changed"
    with pytest.raises(OSError, match="does not have the SHA-1"):
        gluon.utils.download(source.as_uri(), target, sha1_hash="b" * 40, retries=0)
    assert sorted(os.listdir(tmp_path / "folder")) == ["target"]


# ---- trainings ----


def lenet():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(8, 5, activation="relu"), nn.MaxPool2D(2, 2), nn.Conv2D(16, 5, activation="relu"))
        net.add(nn.MaxPool2D(2, 2), nn.Flatten(), nn.Dense(64, activation="relu"), nn.Dense(10))
    return net


def mlp():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(64, activation="relu"), nn.BatchNorm(), nn.Dense(10))
    return net


@pytest.mark.skipif(not os.path.isdir(FASHION), reason="needs Debian's dataset-fashion-mnist")
@pytest.mark.parametrize("make", [mlp, lenet])
@pytest.mark.parametrize("hybrid", [False, True])
def test_networks_learn_fashion_mnist(make, hybrid):
    mx.random.seed(1)
    np.random.seed(1)
    transform = gluon.data.vision.transforms.ToTensor()
    images = gluon.data.vision.FashionMNIST(train=True).take(2500).transform_first(transform, lazy=False)
    loader = gluon.data.DataLoader(images.take(2000), 50, shuffle=True)
    net = make()
    net.initialize(mx.init.Xavier())
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    if hybrid:
        net.hybridize(static_alloc=True, static_shape=True)
        loss.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    for _ in range(3):
        for x, y in loader:
            with autograd.record():
                value = loss(net(x), y)
            value.backward()
            trainer.step(x.shape[0])
    metric = mx.metric.Accuracy()
    for x, y in gluon.data.DataLoader(gluon.data.SimpleDataset([images[i] for i in range(2000, 2500)]), 100):
        metric.update([y], [net(x)])
    assert metric.get()[1] > 0.7


@pytest.mark.parametrize("update_on_kvstore", [None, False])
def test_a_step_before_the_first_batch_names_what_has_no_values(update_on_kvstore):
    net = nn.Dense(3)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", update_on_kvstore=update_on_kvstore)
    with pytest.raises(gluon.DeferredInitializationError, match="weight' has no values yet"):
        trainer.step(1)


def test_nothing_is_updated_where_a_gradient_is_not_new():
    net = nn.HybridSequential()
    net.add(nn.Dense(1, in_units=1), nn.Dense(1, in_units=1))
    net.initialize(mx.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        loss = net[0](mx.nd.ones((1, 1)))
    loss.backward()
    with pytest.raises(UserWarning, match="is not new"):
        trainer.step(1)
    assert net[0].weight.data().asscalar() == 1
