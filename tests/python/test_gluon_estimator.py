# SPDX-License-Identifier: Apache-2.0
"""``gluon.contrib.estimator``."""

import fcntl
import io
import json
import logging
import os
import re
import struct
import termios
import threading

import loomix as mx
import numpy as np
import pytest
from loomix import gluon
from loomix.gluon.contrib import estimator as est
from terminals import open_terminal

pytestmark = pytest.mark.library

LOSS = gluon.loss.SoftmaxCrossEntropyLoss()
EVENTS = ("train_begin", "train_end", "epoch_begin", "epoch_end", "batch_begin", "batch_end")


def loader(samples=5, batch=2):
    random = np.random.RandomState(0)
    data = random.rand(samples, 4).astype("float32"), np.arange(samples, dtype="float32") % 3
    return gluon.data.DataLoader(gluon.data.ArrayDataset(*data), batch)


def network(hybrid=True):
    mx.random.seed(0)
    net = gluon.nn.HybridSequential() if hybrid else gluon.nn.Sequential()
    net.add(gluon.nn.Dense(3, in_units=4))
    net.initialize(mx.init.Normal(0.5))
    return net


def make(net=None, rate=0.5, **more):
    """An estimator whose lines are in ``.lines``."""
    net = net or network()
    if "trainer" not in more:
        more["trainer"] = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate, "momentum": 0.9})
    made = est.Estimator(net, LOSS, **more)
    made.lines = made.logger.handlers[0].stream = io.StringIO()
    return made


def weights(estimator):
    return estimator.net[0].weight.data().asnumpy()


class Recorder(est.TrainBegin, est.TrainEnd, est.EpochBegin, est.EpochEnd, est.BatchBegin, est.BatchEnd):
    """Writes events down; returns True in the given one."""

    def __init__(self, stop=None):
        self.events = []
        self.arguments = {}
        self.stop = stop

    def __getattribute__(self, name):
        if name not in EVENTS:
            return super().__getattribute__(name)

        def event(estimator, *args, **kwargs):
            self.events.append(name)
            self.arguments[name] = sorted(kwargs)
            return (name, self.events.count(name)) == self.stop

        return event

    def text(self):
        return " ".join("".join(word[0] for word in name.split("_")) for name in self.events)


# ---- the course of a training ----


def test_training_is_the_loop_by_hand():
    made = make()
    made.fit(loader(), epochs=3)
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    for _ in range(3):
        accuracy, losses = mx.metric.Accuracy(), mx.metric.Loss()
        for data, label in loader():
            with mx.autograd.record():
                out = net(data)
                loss = LOSS(out, label)
            loss.backward()
            trainer.step(len(data))
            accuracy.update([label], [out])
            losses.update(0, [loss])
    assert (weights(made) == net[0].weight.data().asnumpy()).all()
    got = [metric.get() for metric in made.train_metrics]
    assert got == [
        ("training accuracy", accuracy.get()[1]),
        ("training softmaxcrossentropyloss", losses.get()[1]),
    ]


EPOCH = "eb bb be bb be bb be ee"


@pytest.mark.parametrize(
    ("length", "stop", "wanted"),
    [
        ({"epochs": 2}, None, f"tb {EPOCH} {EPOCH} te"),
        ({"epochs": 2}, ("batch_end", 2), f"tb eb bb be bb be ee {EPOCH} te"),
        ({"epochs": 2}, ("epoch_end", 1), f"tb {EPOCH} te"),
        ({"epochs": 1}, ("batch_begin", 1), f"tb {EPOCH} te"),
        ({"epochs": 1}, ("train_begin", 1), f"tb {EPOCH} te"),
        ({"batches": 4}, None, f"tb {EPOCH} eb bb be ee te"),
        ({"batches": 3}, None, f"tb {EPOCH} te"),
        ({"batches": 4}, ("batch_end", 2), "tb eb bb be bb be ee eb bb be bb be ee te"),
    ],
)
def test_order_of_events(length, stop, wanted):
    recorder = Recorder(stop)
    make().fit(loader(), event_handlers=recorder, **length)
    assert recorder.text() == wanted
    assert recorder.arguments["batch_begin"] == ["batch"]
    assert recorder.arguments["batch_end"] == ["batch", "label", "loss", "pred"]
    assert recorder.arguments["epoch_end"] == []


def test_evaluation():
    recorder, made = Recorder(), make()
    made.evaluate(loader(), event_handlers=[recorder])
    assert recorder.text() == EPOCH
    out = mx.nd.concat(*[made.net(data) for data, _ in loader()], dim=0).asnumpy()
    wanted = (out.argmax(1) == np.arange(5) % 3).mean()
    assert made.val_metrics[0].get() == ("validation accuracy", wanted)
    before = weights(made)
    assert "validation accuracy: %.4f" % wanted in made.lines.getvalue() and (weights(made) == before).all()


def test_priorities():
    class Named(est.BatchEnd):
        def __init__(self, name, *priority):
            self.name = name
            for self.priority in priority:
                pass

        def batch_end(self, estimator, *args, **kwargs):
            order.append((self.name, kwargs["pred"][0] is not None and weights(estimator).copy()))

    order = []
    made = make()
    before = weights(made)
    handlers = [Named("late", 5), Named("none"), Named("first", -3000), Named("zero", 0)]
    made.fit(loader(2), epochs=1, event_handlers=handlers)
    assert [name for name, _ in order] == ["first", "none", "zero", "late"]
    assert (order[0][1] == before).all() and (order[1][1] != before).any()  # the step is in between


def test_handlers_that_are_given_replace_the_usual_ones():
    class Twice(est.GradientUpdateHandler):
        def batch_end(self, estimator, *args, **kwargs):
            super().batch_end(estimator, *args, **kwargs)
            estimator.trainer.step(1, ignore_stale_grad=True)
            steps.append(estimator.trainer.optimizer.num_update)

    steps = []
    made = make()
    handlers = [Twice(), est.LoggingHandler(metrics=made.val_metrics)]
    made.fit(loader(), loader(), epochs=1, event_handlers=handlers)
    assert len(steps) == 3
    assert "training accuracy" not in made.lines.getvalue()


def test_several_devices_and_networks():
    """Parts of a batch on two devices, the last one uneven; a network of its own for evaluations."""
    net = network()
    one = make(net=net, rate=0.1)
    one.fit(loader(6, 3), epochs=2)
    mx.random.seed(0)
    devices = [mx.cpu(0), mx.cpu(1)]
    pair = network()
    pair.collect_params().reset_ctx(devices)
    trainer = gluon.Trainer(pair.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})

    class Shared(gluon.HybridBlock):
        def __init__(self, other):
            super().__init__(params=other.collect_params())
            self.dense = other[0]

        def hybrid_forward(self, F, x):
            return self.dense(x) * 0

    two = make(
        net=pair, trainer=trainer, context=devices, val_net=Shared(pair), val_loss=gluon.loss.SoftmaxCELoss()
    )
    two.fit(loader(6, 3), loader(4), epochs=2)
    np.testing.assert_allclose(two.net[0].weight.data(mx.cpu(1)).asnumpy(), weights(one), rtol=1e-5)
    assert two.val_metrics[1].get()[1] == pytest.approx(np.log(3))  # of outputs that are all 0


def test_a_batch_processor():
    class Reconstruction(est.BatchProcessor):
        def fit_batch(self, estimator, batch, batch_axis=0):
            data = gluon.utils.split_and_load(batch[0], estimator.context, batch_axis)
            with mx.autograd.record():
                out = [estimator.net(part) for part in data]
                loss = [estimator.loss(part, same) for part, same in zip(out, data)]
            mx.autograd.backward(loss)
            return data, data, out, loss

    net = gluon.nn.Dense(4, in_units=4)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    made = est.Estimator(net, gluon.loss.L2Loss(), trainer=trainer, batch_processor=Reconstruction())
    made.logger.setLevel(logging.ERROR)
    made.fit(loader(), epochs=60)
    assert made.train_metrics[0].name == "training l2loss" and made.train_metrics[0].get()[1] < 0.01
    with pytest.raises(ValueError, match="batch_processor is 3; it needs the method fit_batch"):
        make(batch_processor=3)


# ---- what an estimator is made of ----


def test_metrics():
    made = make(train_metrics=mx.metric.CompositeEvalMetric(["acc", "ce"]))
    assert [metric.name for metric in made.train_metrics] == ["training accuracy", "training cross-entropy"]
    assert [metric.name for metric in made.val_metrics] == ["validation accuracy", "validation cross-entropy"]
    made = make(train_metrics=mx.metric.TopKAccuracy(2), val_metrics=[mx.metric.Accuracy()])
    assert [metric.name for metric in made.train_metrics] == ["training top_k_accuracy_2"]
    assert [metric.name for metric in made.val_metrics] == ["validation accuracy"]
    assert [
        metric.name
        for metric in est.Estimator(network(), gluon.loss.L1Loss(), trainer=made.trainer).train_metrics
    ] == ["training l1loss"]


def test_initialization():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3), gluon.nn.Dense(2))
    net[0].initialize(mx.init.One())
    with pytest.warns(UserWarning, match="learning rate of 0.001"):
        made = est.Estimator(net, LOSS, initializer=mx.init.Constant(2))
    net(mx.nd.ones((1, 4)))
    assert (net[0].weight.data().asnumpy() == 1).all() and (net[1].weight.data().asnumpy() == 2).all()
    assert made.trainer.learning_rate == 0.001 and made.context == [mx.cpu(0)]
    with pytest.warns(UserWarning, match="so initializer is not used"):
        make(initializer=mx.init.One())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loss": "x"}, "loss is 'x'; expected a gluon Loss"),
        ({"net": 3}, "net is 3; expected a gluon Block"),
        ({"val_net": 3}, "val_net is 3; expected a gluon Block"),
        ({"train_metrics": 3}, "metrics is 3; expected an EvalMetric, a name such as 'acc', or a list"),
        ({"trainer": "sgd"}, "trainer is 'sgd'; expected a gluon Trainer"),
        ({"context": "cpu"}, "context is 'cpu'; expected a Context or a list"),
        ({"context": mx.gpu(99)}, r"there is no gpu\(99\)"),
    ],
)
def test_arguments_that_are_refused(arguments, message):
    net = network()
    with pytest.raises(ValueError, match=message):
        est.Estimator(**{"net": net, "loss": LOSS, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "epochs is None and batches is None; expected one of them"),
        ({"epochs": 1, "batches": 2}, "epochs is 1 and batches is 2"),
        ({"epochs": 1, "train_data": [1, 2]}, "the data is of type list; expected a gluon.data.DataLoader"),
        ({"epochs": 1, "val_data": [1, 2]}, "the data is of type list"),
        ({"epochs": 1, "event_handlers": [3]}, r"event_handlers is \[3\]; expected an EventHandler"),
        (
            {"epochs": 1, "event_handlers": est.MetricHandler(mx.metric.Accuracy())},
            "MetricHandler has the metric 'accuracy', which is none of",
        ),
    ],
)
def test_trainings_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make().fit(**{"train_data": loader(), **arguments})


# ---- handlers ----


def test_stopping_handler():
    recorder = Recorder()
    make().fit(loader(), epochs=5, event_handlers=[recorder, est.StoppingHandler(max_batch=4)])
    assert recorder.events.count("batch_end") == 4 and recorder.events.count("epoch_end") == 2


class Values(mx.metric.EvalMetric):
    """A metric with the given value after each epoch."""

    def __init__(self, name, values):
        self.values, self.epoch = values, -1
        super().__init__(name)

    def reset(self):
        self.epoch = getattr(self, "epoch", 0)

    def update(self, labels, preds):
        pass

    def get(self):
        return self.name, self.values[self.epoch]


class NextEpoch(est.EpochEnd):
    priority = -1

    def __init__(self, metric):
        self.metric = metric

    def epoch_end(self, estimator, *args, **kwargs):
        self.metric.epoch += 1


@pytest.mark.parametrize(
    ("name", "values", "arguments", "epochs", "best"),
    [
        ("accuracy", [0.1, 0.2, 0.2, 0.3, 0.3], {}, 3, 0.2),
        ("accuracy", [0.1, 0.2, 0.2, 0.3, 0.3], {"patience": 2}, 5, 0.3),
        ("f1", [0.1, 0.2, 0.1, 0.3, 0.3], {}, 3, 0.2),
        ("my loss", [0.5, 0.4, 0.45, 0.1, 0.1], {}, 3, 0.4),
        ("mse", [0.5, 0.4, 0.45, 0.1, 0.1], {}, 3, 0.4),
        ("mse", [0.5, 0.6, 0.55, 0.1, 0.1], {"mode": "max"}, 3, 0.6),
        ("accuracy", [0.5, 0.4, 0.45, 0.1, 0.1], {"mode": "min"}, 3, 0.4),
        ("loss", [0.5, 0.45, 0.35, 0.2, 0.2], {"min_delta": 0.1}, 2, 0.5),
        ("loss", [0.5, 0.45, 0.35, 0.33, 0.34], {"baseline": 0.4, "patience": 3}, 5, 0.33),
        ("loss", [0.5, 0.45, 0.41, 0.33, 0.34], {"baseline": 0.4, "patience": 3}, 3, 0.4),
        ("loss", [0.5, float("nan"), 0.4, 0.3, 0.2], {}, 2, 0.5),
    ],
)
def test_early_stopping(name, values, arguments, epochs, best):
    metric = Values(name, values)
    handler = est.EarlyStoppingHandler(metric, **arguments)
    made = make()
    for _ in range(2):  # a second training starts anew
        metric.epoch = -1
        made.fit(loader(2), epochs=5, event_handlers=[NextEpoch(metric), handler])
        assert metric.epoch + 1 == epochs and handler.best == best
    assert (
        f"{name} has not improved since it was {best}" in made.lines.getvalue() or not handler.stop_training
    )


def test_monitors_that_are_refused():
    for handler in (est.EarlyStoppingHandler, lambda monitor: est.CheckpointHandler("x", monitor=monitor)):
        with pytest.raises(ValueError, match="monitor is 'acc'"):
            handler("acc")
    with pytest.warns(UserWarning, match="unknown mode 'most'"):
        est.EarlyStoppingHandler(mx.metric.Accuracy(), mode="most")


def test_validation_handler():
    class Calls:
        count = 0

        def __call__(self, val_data, batch_axis, event_handlers):
            assert val_data == "data" and batch_axis == 0 and event_handlers == "handlers"
            self.count += 1

    for periods, wanted in (((1, None), 4), ((3, None), 1), ((None, 5), 2), ((2, 3), 6)):
        calls = Calls()
        handler = est.ValidationHandler("data", calls, *periods, event_handlers="handlers")
        make().fit(loader(), epochs=4, event_handlers=[handler])
        assert calls.count == wanted
    with pytest.raises(ValueError, match="epoch_period is 0; expected None or a whole number"):
        est.ValidationHandler("data", Calls(), 0)


LINE = r"\[Epoch {}\]\[Batch {}\]\[Samples {}\] time/interval: \d+\.\d{{3}}s training accuracy: [01]\.\d{{4}}"


def test_logging_handler():
    made = make()
    made.fit(loader(), loader(), epochs=2, event_handlers=est.LoggingHandler(2, made.train_metrics))
    lines = made.lines.getvalue().splitlines()
    wanted = [
        "Training for 2 epochs: SGD, learning rate 0.5000",
        r"\[Epoch 0\] Begin, current learning rate: 0\.5000",
        LINE.format(0, 0, 2),
        LINE.format(0, 2, 5),
        "Validation Begin",
        r"\[Epoch 0\] Finished in \d+\.\d{3}s, validation accuracy: ",
        r"\[Epoch 0\] Finished in \d+\.\d{3}s, training accuracy: ",
        r"\[Epoch 1\] Begin, ",
        LINE.format(1, 0, 7),
        LINE.format(1, 2, 10),
    ]
    for line, pattern in zip(lines, wanted):
        assert re.match(pattern, line), line
    assert re.match(r"Training ended after 2 epochs in \ds. training accuracy: ", lines[-1])
    for interval in ("batch", 0, 1.5, None):
        with pytest.raises(ValueError, match="log_interval is"):
            est.LoggingHandler(interval)


def test_progress_in_a_terminal(monkeypatch):
    """A bar with the share, the rate, metrics and the time left, which lines of the logger do not run into."""
    monkeypatch.setattr("loomix.progress_bar._EVERY", 0)
    monkeypatch.setenv("TERM", "xterm")
    reader, writer = open_terminal()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 160, 0, 0))
    parts = []

    def read():
        while True:
            try:
                parts.append(os.read(reader, 4096))
            except OSError:  # the other end is closed
                return

    thread = threading.Thread(target=read)
    thread.start()
    with os.fdopen(writer, "w") as terminal:
        made = make()
        made.logger.handlers[0].stream = terminal
        progress = est.ProgressHandler(stream=terminal)
        made.fit(loader(8), epochs=2, event_handlers=[progress, est.LoggingHandler(3, made.train_metrics)])
    thread.join()
    os.close(reader)
    text = b"".join(parts).decode()
    assert re.search(
        r"\x1b\[KEpoch 1/2  \[={8} {8}\] 2/4  \d+ samples/s  training accuracy=\d\.\d{4}  training softmax"
        r"crossentropyloss=\d\.\d{4}  0:0\d left",
        text,
    ), text
    for line in filter(None, text.replace("\r\n", "\n").split("\n")):
        shown = line.split("\x1b[K")[-1]  # after what was drawn and erased
        assert re.match(r"(Training|\[Epoch)", shown), line
    assert not made.logger.filters


def test_there_is_a_bar_in_a_terminal_without_being_asked_for(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("loomix.progress_bar._EVERY", 0)
    monkeypatch.setenv("TERM", "xterm")
    for stream, drawn in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        make().fit(loader(), epochs=1)
        assert ("Epoch 1/1  [===========     ] 2/3  " in stream.getvalue()) == drawn


def test_progress_elsewhere():
    made = make()
    progress = est.ProgressHandler(made.train_metrics[0], interval=1e-9, stream=io.StringIO())
    made.fit(loader(), epochs=1, event_handlers=progress)
    assert re.search(
        r"^\[Epoch 0\]\[Batch 2/3\] \d+\.\d samples/s training accuracy: \d\.\d{4}$",
        made.lines.getvalue(),
        re.M,
    )
    with pytest.raises(ValueError, match="interval is 0"):
        est.ProgressHandler(interval=0)


def test_tensorboard_handler(tmp_path):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    made = make()
    handler = est.TensorBoardHandler(str(tmp_path), log_interval=2)
    made.fit(loader(), loader(), epochs=2, event_handlers=handler)
    wanted = made.val_metrics[0].get()[1]
    made.fit(loader(), epochs=1, event_handlers=handler)
    found = {}
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        while data:
            size = int.from_bytes(data[:8], "little")
            event = Event.FromString(data[12 : 12 + size])
            for value in event.summary.value:
                found.setdefault(value.tag.replace("_", " "), {})[event.step] = value.simple_value
            data = data[16 + size :]
    assert sorted(found["training accuracy"]) == [2, 3, 4, 6, 8, 9]
    assert sorted(found["validation accuracy"]) == [3, 6, 9]
    assert found["learning rate"][6] == 0.5
    assert found["validation accuracy"][6] == pytest.approx(wanted)


# ---- checkpoints ----


def names(folder):
    found = [path.name for path in folder.iterdir() if path.suffix == ".params"]
    return sorted(found, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])


def test_checkpoints_after_epochs_and_batches(tmp_path):
    net = network()
    net.hybridize()
    made = make(net)
    handler = est.CheckpointHandler(
        str(tmp_path / "new" / "run"), "net", batch_period=2, max_checkpoints=3, verbose=1
    )
    made.fit(loader(), epochs=2, event_handlers=handler)
    folder = tmp_path / "new" / "run"
    assert names(folder) == [f"net-epoch1batch{i}.params" for i in (3, 5, 6)]
    assert {path.name for path in folder.iterdir() if path.suffix == ".states"} == {
        f"net-epoch1batch{i}.states" for i in (3, 5, 6)
    }
    assert "[Epoch 1] CheckpointHandler" in made.lines.getvalue()
    block = gluon.SymbolBlock.imports(str(folder / "net-symbol.json"), ["data"])
    assert block.collect_params().keys() == net.collect_params().keys()
    fresh = network()
    fresh.load_parameters(str(folder / "net-epoch1batch6.params"))
    assert (fresh[0].weight.data().asnumpy() == weights(made)).all()


def test_a_network_that_is_not_hybridized_has_no_symbol(tmp_path):
    made = make(network(hybrid=False))
    made.fit(loader(), epochs=2, event_handlers=est.CheckpointHandler(str(tmp_path), epoch_period=2))
    assert names(tmp_path) == ["model-epoch1batch6.params"]
    assert not (tmp_path / "model-symbol.json").exists()
    assert "not hybridized" in made.lines.getvalue()


@pytest.mark.parametrize("length", ["epochs", "batches"])
def test_going_on_gives_the_same_bits(tmp_path, length):
    part, whole = (2, 4) if length == "epochs" else (4, 7)
    periods = {"epoch_period": 1} if length == "epochs" else {"epoch_period": None, "batch_period": 1}

    def run(folder, count, **more):
        made = make()
        handler = est.CheckpointHandler(str(folder), resume_from_checkpoint=True, **periods)
        made.fit(loader(6, 6), event_handlers=[handler], **{length: count})
        return made, handler

    wanted, _ = run(tmp_path / "whole", whole)
    run(tmp_path / "parts", part)
    got, handler = run(tmp_path / "parts", whole)
    assert (weights(got) == weights(wanted)).all()
    assert names(tmp_path / "parts")[-1] == names(tmp_path / "whole")[-1]
    assert len(handler.saved_checkpoints) <= 5 and "going on from" in got.lines.getvalue()
    with pytest.raises(
        ValueError, match=f"has {whole} {length} of training already, and fit was told {whole}"
    ):
        run(tmp_path / "parts", whole)


def test_going_on_within_an_epoch_begins_it_again(tmp_path):
    class Break(Exception):
        pass

    class Breaks(est.BatchEnd):
        count = 0

        def batch_end(self, estimator, *args, **kwargs):
            self.count += 1
            if self.count == 5:
                raise Break

    settings = {"batch_period": 1, "resume_from_checkpoint": True}
    with pytest.raises(Break):
        handlers = [est.CheckpointHandler(str(tmp_path), **settings), Breaks()]
        make().fit(loader(), epochs=3, event_handlers=handlers)
    assert json.loads((tmp_path / "model-progress.json").read_text()) == {
        "checkpoint": "model-epoch1batch4",
        "epochs": 1,
        "batches": 5,
    }
    recorder = Recorder()
    made = make()
    made.fit(loader(), epochs=3, event_handlers=[est.CheckpointHandler(str(tmp_path), **settings), recorder])
    assert recorder.events.count("epoch_end") == 2
    assert names(tmp_path)[-1] == "model-epoch2batch11.params"


def test_going_on_from_what_mxnet_wrote(tmp_path):
    """There is no file that says where to go on: the last name does."""
    make().fit(loader(), epochs=2, event_handlers=est.CheckpointHandler(str(tmp_path)))
    (tmp_path / "model-progress.json").unlink()
    recorder = Recorder()
    handler = est.CheckpointHandler(str(tmp_path), resume_from_checkpoint=True)
    make().fit(loader(), epochs=3, event_handlers=[handler, recorder])
    assert recorder.events.count("epoch_end") == 1
    assert names(tmp_path)[-1] == "model-epoch2batch9.params"
    (tmp_path / "model-progress.json").write_text("{")
    with pytest.raises(OSError, match="does not say where to go on"):
        make().fit(loader(), epochs=4, event_handlers=handler)


def test_the_best_network_is_kept(tmp_path):
    def run(values, epochs, **more):
        made = make()
        metric = Values("loss", values)
        handler = est.CheckpointHandler(str(tmp_path), monitor=metric, save_best=True, verbose=1, **more)
        seen = []

        class Weights(est.EpochEnd):
            def epoch_end(self, estimator, *args, **kwargs):
                seen.append(weights(estimator).copy())

        made.fit(loader(), epochs=epochs, event_handlers=[NextEpoch(metric), handler, Weights()])
        return made, handler, seen

    def best():
        net = network()
        net.load_parameters(str(tmp_path / "model-best.params"))
        return net[0].weight.data().asnumpy()

    made, handler, seen = run([0.5, 0.3, 0.4], 3)
    assert handler.best == 0.3 and (best() == seen[1]).all() and (tmp_path / "model-best.states").exists()
    assert "loss 0.40000 is not better than 0.30000" in made.lines.getvalue()
    _, _, more = run([0.35, 0.2], 5, resume_from_checkpoint=True)  # 0.35 is no improvement
    assert len(more) == 2 and (best() == more[1]).all()
    with pytest.raises(ValueError, match="with save_best it must be an EvalMetric"):
        est.CheckpointHandler(str(tmp_path), save_best=True)


def test_metrics_by_name():
    made = make(train_metrics="acc", val_metrics=["acc", mx.metric.Loss("loss")])
    assert [metric.name for metric in made.train_metrics] == ["training accuracy"]
    assert [metric.name for metric in made.val_metrics] == ["validation accuracy", "validation loss"]
    made.fit(loader(), epochs=1)
    assert made.train_metrics[0].get()[1] >= 0
    with pytest.raises(ValueError, match="Did you mean 'accuracy'"):
        make(train_metrics="acuracy")
    assert "training accuracy" in repr(made)
