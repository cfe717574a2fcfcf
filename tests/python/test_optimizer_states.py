# SPDX-License-Identifier: Apache-2.0
"""Files of optimizer states: what is read, what is refused, what is written."""

import os
import pickle
import pickletools
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.library

FILES = Path(__file__).resolve().parents[1] / "compat" / "files"


def some_states(name="sgd", **settings):
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
    random = np.random.RandomState(0)
    for key, shape in ((0, (2, 3)), (1, (4,)), ("named", (1,))):
        updater(key, mx.nd.array(random.randn(*shape)), mx.nd.array(random.randn(*shape)))
    return updater


def flat(state):
    if isinstance(state, tuple):
        return [array for part in state for array in flat(part)]
    return [None if state is None else state.asnumpy()]


@pytest.mark.parametrize(
    ("name", "settings"),
    [("sgd", {}), ("sgd", {"momentum": 0.9}), ("adam", {}), ("rmsprop", {"centered": True}), ("dcasgd", {})],
)
@pytest.mark.parametrize("dump", [False, True])
def test_round_trip(name, settings, dump):
    updater = some_states(name, **settings)
    other = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.5))
    other.set_states(updater.get_states(dump_optimizer=dump))
    assert list(other.states) == [0, 1, "named"]
    for key in updater.states:
        for one, two in zip(flat(updater.states[key]), flat(other.states[key])):
            assert (one is None and two is None) or (one == two).all()
    if dump:
        assert type(other.optimizer) is type(updater.optimizer)
        assert other.optimizer.num_update == 1 and other.optimizer.lr == updater.optimizer.lr
        assert other.optimizer.param_dict == {}
    else:
        assert other.optimizer.lr == 0.5


def test_going_on_from_a_file_is_bit_equal():
    random = np.random.RandomState(3)
    grads = [mx.nd.array(random.randn(5)) for _ in range(6)]

    def run(interrupted):
        updater = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1))
        weight = mx.nd.ones((5,))
        for number, grad in enumerate(grads):
            if interrupted and number == 3:
                data = updater.get_states(dump_optimizer=True)
                updater = mx.optimizer.get_updater(mx.optimizer.Adam())
                updater.set_states(data)
            updater(0, grad, weight)
        return weight.asnumpy()

    assert (run(False) == run(True)).all()


def test_schedules_travel():
    schedule = mx.lr_scheduler.MultiFactorScheduler([3, 5], factor=0.1, base_lr=0.7)
    schedule(4)
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(lr_scheduler=schedule, wd=np.float32(0.5)))
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.set_states(updater.get_states(dump_optimizer=True))
    loaded = other.optimizer.lr_scheduler
    assert type(loaded) is mx.lr_scheduler.MultiFactorScheduler
    assert vars(loaded) == vars(schedule)
    assert other.optimizer.wd == 0.5


def test_written_names_are_mxnets():
    data = some_states("adam").get_states(dump_optimizer=True)
    texts = [arg for _, arg, _ in pickletools.genops(data) if isinstance(arg, str)]
    assert "mxnet.ndarray.ndarray" in texts and "mxnet.optimizer.optimizer" in texts
    assert not [text for text in texts if "loomix" in text]
    assert data[:2] == b"\x80\x04"


def test_array_record():
    """The bytes of one array: FORMATS of the array file, version 2."""
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.5))
    updater.states = {0: mx.nd.array([[1, 2]], dtype="float64")}
    data = updater.get_states()
    record = next(arg for _, arg, _ in pickletools.genops(data) if isinstance(arg, bytes))
    expected = (
        bytes.fromhex(
            "c9fa93f9 00000000 02000000 0100000000000000 0200000000000000 01000000 00000000 01000000"
        )
        + np.array([1.0, 2.0]).tobytes()
    )
    assert record == expected


def test_mxnets_files():
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
    updater.set_states((FILES / "checkpoint" / "lenet-0001.states").read_bytes())
    assert sorted(updater.states) == list(range(8))
    params = mx.nd.load(str(FILES / "checkpoint" / "lenet-0001.params"))
    assert sorted(a.shape for a in updater.states.values()) == sorted(
        v.shape for k, v in params.items() if k.startswith("arg:")
    )
    updater.set_states((FILES / "gluon" / "fnet_trainer.states").read_bytes())
    assert type(updater.optimizer) is mx.optimizer.Adam
    assert (updater.optimizer.num_update, updater.optimizer.lr) == (20, 0.01)
    mean, variance = updater.states[0]
    assert mean.shape == variance.shape and (variance.asnumpy() >= 0).all()
    again = mx.optimizer.get_updater(mx.optimizer.SGD())
    again.set_states(updater.get_states(dump_optimizer=True))
    assert (again.states[0][0].asnumpy() == mean.asnumpy()).all()


class Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_code_does_not_run(tmp_path):
    target = str(tmp_path / "hit")
    updater = some_states()
    for payload in (Attack(target), {0: Attack(target)}, ({}, Attack(target))):
        with pytest.raises(ValueError, match="mkdir"):
            updater.set_states(pickle.dumps(payload))
    for code in (b"cbuiltins\neval\n(S'1'\ntR.", b"cbuiltins\ngetattr\n.", b"cnumpy\nload\n."):
        with pytest.raises(ValueError, match="could run"):
            updater.set_states(code)
    assert not os.path.exists(target)
    assert list(updater.states) == [0, 1, "named"]


def test_damaged_files():
    updater = some_states("adam")
    data = updater.get_states()
    for bad in (b"", b"nonsense", data[: len(data) // 2], pickle.dumps([1]), pickle.dumps(({}, 3))):
        with pytest.raises(ValueError):
            updater.set_states(bad)
    with pytest.raises((ValueError, mx.MXNetError)):
        updater.set_states(data.replace(b"\xc9\xfa\x93\xf9", b"\xff\xff\xff\xff"))


def test_lamb_is_written_as_mxnet_updates_it():
    optimizer = mx.optimizer.LAMB(learning_rate=0.5)
    assert optimizer.__getstate__()["aggregate_num"] == 45  # with 0, MXNet's updater fails
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.aggregate_num == 0 and again.learning_rate == 0.5


def training(optimizer, schedule, epochs, states=None, params=None, save=None):
    """Parameters after some epochs of a Module, from saved ones if there are any."""
    random = np.random.RandomState(1)
    data, label = random.randn(24, 3).astype("float32"), random.randint(0, 2, 24).astype("float32")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    batches = mx.io.NDArrayIter(data, label, 8)
    module.bind(batches.provide_data, batches.provide_label)
    start = {name: mx.nd.ones(shape) / 4 for name, shape in (("fc_weight", (2, 3)), ("fc_bias", (2,)))}
    module.set_params(params or start, {})
    settings = {"learning_rate": 0.1}
    if schedule is not None:
        settings["lr_scheduler"] = schedule()
    module.init_optimizer(optimizer=optimizer, optimizer_params=settings)
    if states is not None:
        module.load_optimizer_states(states)
    for _ in range(epochs):
        batches.reset()
        for batch in batches:
            module.forward_backward(batch)
            module.update()
    if save is not None:
        module.save_optimizer_states(save)
    return {name: array.copy() for name, array in module.get_params()[0].items()}


SCHEDULES = [
    None,
    lambda: mx.lr_scheduler.FactorScheduler(2, factor=0.5),
    lambda: mx.lr_scheduler.MultiFactorScheduler([2, 5], factor=0.5, warmup_steps=3, warmup_begin_lr=0.01),
    lambda: mx.lr_scheduler.PolyScheduler(max_update=11),
    lambda: mx.lr_scheduler.CosineScheduler(max_update=11),
]


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "nadam", "lamb", "ftml", "lars", "lbsgd", "adamax"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_module_goes_on_from_its_states_as_without_the_stop(tmp_path, optimizer, schedule):
    path = str(tmp_path / "states")
    whole = training(optimizer, schedule, 3)
    half = training(optimizer, schedule, 1, save=path)
    rest = training(optimizer, schedule, 2, states=path, params=half)
    assert all((rest[name] == whole[name]).asnumpy().all() for name in whole)


def test_counts_lie_behind_what_mxnet_reads():
    updater = some_states("adam")
    data = updater.get_states()
    other = mx.optimizer.get_updater(mx.optimizer.Adam())
    other.set_states(data)
    assert other.optimizer._index_update_count == {0: 1, 1: 1, "named": 1}
    first = data[: max(place for _, _, place in pickletools.genops(data)) + 1]
    assert len(first) < len(data)
    other = mx.optimizer.get_updater(mx.optimizer.Adam(begin_num_update=7))
    other.set_states(first)  # MXNet's own files end here
    assert other.optimizer._index_update_count == {} and other.optimizer.num_update == 7
    with pytest.raises(ValueError, match="no states file"):
        other.set_states(data[:-3])
    with pytest.raises(ValueError, match="no counts of updates"):
        other.set_states(first + pickle.dumps({"num_update": 3}))
