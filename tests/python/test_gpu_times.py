# SPDX-License-Identifier: Apache-2.0
"""The profiler on GPUs: when the device worked, on the same timeline as the host."""

import ctypes
import json
import os
import warnings

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
STANDIN = os.environ.get("LOOMIX_CUDA_LIBRARY", "")
GPU = mx.gpu(0)


class Profile:
    """What happens within, as a trace."""

    def __init__(self, folder):
        self._file = folder / "trace.json"

    def __enter__(self):
        mx.nd.waitall()
        mx.profiler.set_config(filename=str(self._file), profile_all=True)
        mx.profiler.set_state("run")
        return self

    def __exit__(self, *error):
        mx.profiler.set_state("stop")
        mx.profiler.set_config(profile_all=False)
        mx.profiler.dump()
        events = json.loads(self._file.read_text())["traceEvents"]
        self.rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.whole = [e for e in events if e["ph"] == "X"]
        self.device = [e for e in self.whole if e["cat"] == "device"]
        self.times = json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"]

    def of(self, name, kind="device"):
        return [e for e in self.whole if e["name"] == name and e["cat"] == kind]


def end_of(event):
    return event["ts"] + event["dur"]


def test_a_slow_operator_takes_long_on_its_stream_not_where_it_is_issued(tmp_path):
    large = mx.nd.ones((1000, 1000), ctx=GPU)
    small = mx.nd.ones((4,), ctx=GPU)
    for _ in range(2):
        mx.nd.dot(large, large), mx.nd.sqrt(small)
    with Profile(tmp_path) as seen:
        with mx.profiler.Task(mx.profiler.Domain("test"), "all"):
            mx.nd.dot(large, large)
            mx.nd.sqrt(small)
            mx.nd.waitall()
    (dot,), (root,), (whole,) = seen.of("dot"), seen.of("sqrt"), seen.of("all", "test")
    (issued,) = seen.of("dot", "issue")
    assert seen.rows[dot["tid"]] == seen.rows[root["tid"]] == "gpu(0) compute stream"
    assert seen.rows[issued["tid"]] == "gpu(0) compute 0"
    assert dot["dur"] > 2 * root["dur"]
    near = 20000 if STANDIN else 50  # microseconds: the stand-in's streams are threads
    assert dot["ts"] >= issued["ts"] - near and root["ts"] >= end_of(dot) - 0.01
    assert whole["ts"] - near <= dot["ts"] and end_of(root) <= end_of(whole) + near


def test_tables_count_the_times_of_the_device(tmp_path):
    x = mx.nd.ones((200, 200), ctx=GPU)
    with Profile(tmp_path) as seen:
        for _ in range(3):
            mx.nd.dot(x, x)
        y = mx.nd.exp(mx.nd.ones((5,)))  # on the host
        mx.nd.waitall()
    operators, issued = seen.times["operator"], seen.times["issue"]
    assert operators["dot"]["Count"] == issued["dot"]["Count"] == 3
    assert operators["dot"]["Total"] == pytest.approx(sum(e["dur"] for e in seen.of("dot")) / 1000)
    assert operators["exp"]["Count"] == 1 and "exp" not in issued and y.size == 5


def test_each_stream_has_a_row(tmp_path):
    x = mx.nd.array(np.ones((300, 300)))
    with Profile(tmp_path) as seen:
        (x.as_in_context(GPU) * 2).as_in_context(mx.cpu()).asnumpy()
        mx.nd.ones((4,), ctx=mx.gpu(1)).wait_to_read()
    rows = {seen.rows[event["tid"]] for event in seen.device}
    assert {"gpu(0) compute stream", "gpu(1) compute stream"} <= rows
    assert any(row.startswith("gpu(0) copy") for row in rows)
    for row in rows:
        own = sorted((e for e in seen.device if seen.rows[e["tid"]] == row), key=lambda e: e["ts"])
        assert all(b["ts"] >= end_of(a) - 0.01 for a, b in zip(own, own[1:]))


@pytest.mark.skipif("standin" not in STANDIN, reason="asks the stand-in")
def test_no_time_is_asked_for_while_nothing_is_profiled(tmp_path):
    times = ctypes.CDLL(STANDIN).loomix_standin_times
    times.restype = ctypes.c_long
    x = mx.nd.ones((8,), ctx=GPU)
    with Profile(tmp_path) as seen:
        mx.nd.sin(x)
        mx.profiler.pause()
        paused = times()
        mx.nd.cos(x)
        mx.nd.waitall()
        assert times() == paused
        mx.profiler.resume()
        mx.nd.tan(x)
    assert [e["name"] for e in seen.device] == ["sin", "tan"]
    before = times()
    mx.nd.sqrt(x).wait_to_read()
    mx.nd.waitall()
    assert times() == before > paused


def test_a_captured_graph_is_one_launch_with_its_time(tmp_path):
    x = mx.sym.Variable("x")
    net = mx.sym.dot(mx.sym.softmax(mx.sym.dot(x, x)), x)
    bound = net.bind(GPU, {"x": mx.nd.ones((400, 400), ctx=GPU)})
    with Profile(tmp_path) as seen:
        for _ in range(5):
            bound.forward()
            mx.nd.waitall()
    launches = seen.of("captured operators")
    assert len(launches) == len(seen.of("captured operators", "issue")) == 3
    assert len(seen.of("dot")) == 4 and len(seen.of("softmax")) == 2  # of the first two passes
    alone = sum(e["dur"] for e in seen.of("dot") + seen.of("softmax")) / 2
    assert all(launch["dur"] > alone / 5 for launch in launches)
    assert seen.times["operator"]["captured operators"]["Count"] == 3


def test_what_runs_on_the_host_for_want_of_a_kernel_is_not_the_devices(tmp_path):
    data = mx.nd.array(np.arange(8001) % 100, ctx=GPU)
    edges = mx.nd.array(np.linspace(0, 100, 8002), ctx=GPU)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Profile(tmp_path) as seen:
            mx.nd.contrib.calibrate_entropy(data, edges)
            mx.nd.waitall()
    assert len(seen.of("_contrib_calibrate_entropy", "task")) == 1
    assert not seen.of("_contrib_calibrate_entropy")
