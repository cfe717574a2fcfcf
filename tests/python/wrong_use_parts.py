# SPDX-License-Identifier: Apache-2.0
"""What ``wrong_uses.py`` is made of: networks, modules, batches and files to use wrongly, and where that happens."""

from __future__ import annotations

import os
import signal
import tempfile
import threading

import loomix as mx
import numpy as np

X = mx.nd.ones((2, 3))
V = mx.sym.Variable


def net(name="softmax"):
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(V("data"), num_hidden=4, name="fc"), name=name)


def batch(rows=2, features=3):
    return mx.io.DataBatch([mx.nd.ones((rows, features))], [mx.nd.zeros(rows)])


def data(**kinds):
    return mx.io.NDArrayIter(np.ones((4, 3), "float32"), np.zeros(4), 2, **kinds)


def bound(**kinds):
    module = mx.mod.Module(net())
    module.bind([("data", (2, 3))], [("softmax_label", (2,))], **kinds)
    module.init_params()
    return module


def block():
    dense = mx.gluon.nn.Dense(4, in_units=3)
    dense.initialize()
    return dense


def trained(**settings):
    module = mx.mod.Module(net())
    module.fit(data(), num_epoch=1, **settings)
    return module


def recorded(function):
    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        return function(x)


def on_thread(function):
    """Raises here what `function` raises on another thread."""
    caught = []

    def run():
        try:
            function()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if caught:
        raise caught[0]


def replaced(read):
    """Reads after another thread, which lives on, has run a pass."""
    module, done, go = bound(), threading.Event(), threading.Event()
    module.forward(batch())

    def other():
        module.forward(batch())
        done.set()
        go.wait(20)

    thread = threading.Thread(target=other)
    thread.start()
    done.wait(20)
    try:
        return read(module)
    finally:
        go.set()
        thread.join()


def with_file(text, function):
    """Calls `function` with the name of a file of this text."""
    handle, name = tempfile.mkstemp()
    try:
        os.write(handle, text)
        os.close(handle)
        return function(name)
    finally:
        os.unlink(name)


def estimated(labels, **length):
    samples = mx.gluon.data.SimpleDataset([(np.ones(3, "float32"), label) for label in labels])
    estimator = mx.gluon.contrib.estimator.Estimator(block(), mx.gluon.loss.L2Loss())
    estimator.logger.setLevel("ERROR")
    estimator.fit(mx.gluon.data.DataLoader(samples, batch_size=1), **length)


def store(*keys):
    made = mx.kv.create("local")
    for key in keys:
        made.init(key, mx.nd.ones(2))
    return made


def backward_twice():
    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
    y.backward()
    y.backward()


def overwritten():
    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        z = y * y
    y[:] = 0
    z.backward()


def custom(forward):
    class Op(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            forward(self, in_data, out_data)

    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Op()

    mx.operator.register("wrong_use")(Prop)
    mx.nd.Custom(X, op_type="wrong_use").asnumpy()


class Killed(mx.gluon.data.Dataset):
    """The process that reads it ends by a signal."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        os.kill(os.getpid(), signal.SIGKILL)


def busy():
    """An array that is not ready before a tenth of a second has passed, on any machine."""
    done = threading.Event()
    threading.Timer(0.2, done.set).start()

    class Late(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            done.wait(20)

    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Late()

    mx.operator.register("late")(Prop)
    return mx.nd.Custom(X, op_type="late")


def with_signal(number, wait):
    """Calls `wait`, during which a signal comes whose handler raises."""

    def handler(number, frame):
        raise ValueError(f"[handler] signal {signal.Signals(number).name}")

    before = signal.signal(number, handler)
    sender = threading.Timer(0.05, os.kill, (os.getpid(), number))
    sender.start()
    try:
        try:
            wait()
        finally:
            sender.join()  # a signal that came after the handler is gone would end the process
    finally:
        signal.signal(number, before)


def checked(function):
    with mx.debug.nan_check():
        return function().asnumpy()
