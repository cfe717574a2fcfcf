# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while operations are in flight: what has not started is dropped, and the process ends by the signal."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

# 30 seconds of operations, one after the other: a queue that nobody wants to wait for.
SLOW = """
import sys, time
import loomix as mx

class Slow(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        time.sleep(0.3)
        self.assign(out_data[0], req[0], in_data[0] + 1)

@mx.operator.register("slow")
class SlowProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Slow()

x = mx.nd.zeros(1)
for _ in range(100):
    x = mx.nd.Custom(x, op_type="slow")
print("pushed", flush=True)
"""


def start(end):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW + end], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "pushed\n"
    return process


def end_of(process, seconds):
    begin = time.monotonic()
    _, errors = process.communicate(timeout=30)
    took = time.monotonic() - begin
    assert took < seconds, (took, errors)
    return errors


@pytest.mark.parametrize("where", ["x.wait_to_read()", "mx.nd.waitall()", "time.sleep(20)"])
def test_what_has_not_started_is_dropped(where):
    process = start(where)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    errors = end_of(process, 8)
    assert "KeyboardInterrupt" in errors
    assert process.returncode == -signal.SIGINT  # shells make 130 of it


def test_while_the_program_ends():
    process = start("")
    time.sleep(0.5)  # the script is done; its operations are not
    process.send_signal(signal.SIGINT)
    end_of(process, 8)
    assert process.returncode == -signal.SIGINT


def test_again_ends_at_once():
    process = start(
        "slow = mx.nd.Custom(mx.nd.zeros(1), op_type='slow')\n"
        "Slow.forward = lambda *args, **named: time.sleep(60)\n"
        "never = mx.nd.Custom(mx.nd.zeros(1), op_type='slow')\n"
        "time.sleep(20)"
    )
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    assert process.poll() is None  # what runs has five seconds
    process.send_signal(signal.SIGINT)
    errors = end_of(process, 2.5)
    assert "what has not started is dropped" in errors
    assert process.returncode == -signal.SIGINT


def test_an_interrupt_that_was_caught_is_none():
    process = start(
        "try:\n  x.wait_to_read()\nexcept KeyboardInterrupt:\n  pass\n"
        "y = mx.nd.ones(3) + 1\nprint(y.asnumpy().tolist(), flush=True)\nimport os; os._exit(7)"
    )
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "[2.0, 2.0, 2.0]\n"
    assert process.wait(10) == 7


def test_without_an_interrupt_everything_is_done(tmp_path):
    script = SLOW.replace("range(100)", "range(2)").replace(
        "time.sleep(0.3)", "time.sleep(0.1); open(sys.argv[1], 'a').write('x')"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "log")], check=True, capture_output=True, timeout=30
    )
    assert (tmp_path / "log").read_text() == "xx"


def test_shells_see_130():
    script = SLOW.replace(
        'print("pushed", flush=True)', "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    )
    shell = subprocess.run(
        ["bash", "-c", '"$0" -c "$1"; echo "code $?"', sys.executable, script],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert shell.stdout.endswith("code 130\n")
