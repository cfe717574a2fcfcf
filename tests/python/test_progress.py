# SPDX-License-Identifier: Apache-2.0
"""What `fit` shows while it trains: a bar on a terminal, MXNet's lines elsewhere."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import struct
import subprocess
import sys
import termios

import loomix as mx
import numpy as np
import pytest
from terminals import open_terminal

pytestmark = pytest.mark.library

SCRIPT = """
import sys, time
import numpy as np
import loomix as mx
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
net = mx.sym.SoftmaxOutput(net, name="softmax")
class Slow(mx.io.NDArrayIter):
    def next(self):
        time.sleep(0.06)
        return super().next()
data = Slow(np.zeros((40, 3), "float32"), np.zeros(40), 4)
extra = {}
exec(sys.argv[1])
mx.mod.Module(net).fit(data, num_epoch=2, **extra)
"""


def on_terminal(setup="", **environment):
    """What the script writes to a terminal of 100 columns."""
    main, terminal = open_terminal()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-c", SCRIPT, setup]
    environment = {**os.environ, "TERM": "xterm", **environment}
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    text = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        text += part
    os.close(main)
    assert process.wait(30) == 0, text.decode()
    return text.decode()


def test_a_bar_on_a_terminal():
    text = on_terminal()
    first = re.search(r"Epoch 1/2  \[=* *\] (\d+)/10  \d+ samples/s  accuracy=\d\.\d{4}  \d+:\d\d left", text)
    assert first and 0 < int(first.group(1)) <= 10, text
    assert "Epoch 2/2" in text
    line = r"Epoch\[\d\] (Train-accuracy=\d\.\d{6}|Time cost=\d+\.\d{3})"
    for written in filter(None, text.replace("\r\n", "\n").split("\n")):
        assert re.fullmatch(rf"(\r\x1b\[K.*)*(\r\x1b\[K)?{line}", written), (
            written
        )  # the bar was wiped before


@pytest.mark.parametrize(
    "setup, environment",
    [
        ("extra['batch_end_callback'] = lambda param: None", {}),
        ("import logging; logging.disable(logging.CRITICAL)", {}),
        ("import logging; logging.getLogger().setLevel(logging.ERROR)", {}),
        ("", {"TERM": "dumb"}),
    ],
)
def test_no_bar_where_it_would_disturb(setup, environment):
    assert "samples/s" not in on_terminal(setup, **environment)


def net():
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"), name="softmax"
    )


def batches():
    return mx.io.NDArrayIter(np.zeros((8, 3), "float32"), np.zeros(8), 4)


def test_lines_elsewhere(capfd, monkeypatch):
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    mx.mod.Module(net()).fit(batches(), batches(), num_epoch=1)
    out, err = capfd.readouterr()
    number = r"\d+\.\d+"
    lines = [
        rf"Epoch\[0\] {what}={number}" for what in ("Train-accuracy", "Time cost", "Validation-accuracy")
    ]
    assert re.fullmatch("\n".join(lines) + "\n", err), err
    assert out == "" and not root.handlers  # and none was installed


def test_fit_again_does_not_warn(caplog):
    module = mx.mod.Module(net())
    for _ in range(2):
        module.fit(batches(), num_epoch=1, optimizer="sgd")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert module._optimizer.num_update == 4
    module.fit(batches(), num_epoch=1, optimizer="adam")
    assert "optimizer already initialized, ignoring" in caplog.text  # it stays sgd
    assert isinstance(module._optimizer, mx.optimizer.SGD)


def test_summary_without_shapes_says_what_it_needs(capsys):
    mx.viz.print_summary(net())
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("need the inputs' shapes: print_summary(symbol, {'data': (1, ...)}).")
    mx.viz.print_summary(net(), {"data": (1, 3)})
    assert "need" not in capsys.readouterr().out
