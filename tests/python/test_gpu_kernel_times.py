# SPDX-License-Identifier: Apache-2.0
"""The profiler on GPUs with CUPTI: kernels within operators. The stand-in plays CUPTI, in a process for each test."""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import loomix as mx
import numpy as np
import pytest

STANDIN = os.environ.get("LOOMIX_CUDA_LIBRARY", "")


def _plays_cupti():
    return "standin" in STANDIN and hasattr(ctypes.CDLL(STANDIN), "loomix_standin_cupti")


pytestmark = pytest.mark.skipif(not _plays_cupti(), reason="asks the stand-in, which needs CUPTI's header")
GPU = mx.gpu(0)
STREAM = "gpu(0) compute stream"
SUBSCRIBERS, PRIVILEGES, UNKNOWN = 39, 35, 999  # as CUPTI numbers its errors


# ---- in a process of its own: what a scenario returns goes to its test ----


def cupti(version=0, refused="", result=0, room=0, most_buffers=0, longer_ns=0):
    """Puts it there."""
    play = ctypes.CDLL(STANDIN).loomix_standin_cupti
    play.argtypes = [
        ctypes.c_uint,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_long,
        ctypes.c_long,
        ctypes.c_long,
    ]
    play(version, refused.encode(), result, room, most_buffers, longer_ns)


def counts():
    """How often it was opened, its buffers, whether it listens, whether somebody subscribes."""
    out = (ctypes.c_long * 4)()
    ctypes.CDLL(STANDIN).loomix_standin_cupti_counts(out)
    return list(out)


def profile(work):
    """The trace's events, each with the name of its row and its end, and the table."""
    mx.nd.waitall()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "trace.json"
        mx.profiler.set_config(filename=str(file))
        mx.profiler.set_state("run")
        work()
        mx.nd.waitall()
        mx.profiler.set_state("stop")
        mx.profiler.dump()
        events = json.loads(file.read_text())["traceEvents"]
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    whole = [{**e, "row": rows[e["tid"]], "end": e["ts"] + e["dur"]} for e in events if e["ph"] == "X"]
    table = mx.profiler.dumps()
    return {
        "lines": table.splitlines(),
        "events": [e for e in whole if e["cat"] in ("device", "kernel", "copy", "fill")],
        "table": json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"],
    }


def some_operators():
    cupti()
    x = mx.nd.ones((200, 200), ctx=GPU)

    def work():
        y = mx.nd.softmax(mx.nd.dot(x, x))
        mx.nd.sqrt(y), mx.nd.sort(y)

    return profile(work)


def convolutions():
    """With cuDNN and by plain sums."""
    cupti()
    data, weight = mx.nd.ones((2, 3, 9, 9), ctx=GPU), mx.nd.ones((4, 3, 3, 3), ctx=GPU)

    def convolve(**attributes):
        seen = profile(
            lambda: mx.nd.Convolution(data, weight, kernel=(3, 3), num_filter=4, no_bias=True, **attributes)
        )
        return [e["name"] for e in seen["events"] if e["cat"] == "kernel"]

    return [
        convolve(),
        convolve(cudnn_off=True),
        convolve(algorithm="direct"),
        convolve(algorithm="winograd"),
    ]


def layers():
    """With a bias as a part of the product, without one, and with a bias that lies where the library does not read."""
    cupti()
    data, weight = mx.nd.ones((4, 8), ctx=GPU), mx.nd.ones((16, 8), ctx=GPU)
    biases = mx.nd.ones((17,), ctx=GPU)
    layer = mx.nd.FullyConnected
    return [
        [e["name"] for e in profile(call)["events"] if e["cat"] == "kernel"]
        for call in (
            lambda: layer(data, weight, biases[:16], num_hidden=16),
            lambda: layer(data, weight, num_hidden=16, no_bias=True),
            lambda: layer(data, weight, biases[1:], num_hidden=16),
        )
    ]


def biased_convolutions():
    """The kernels of each, of which a bias may be one."""
    cupti()

    def kernels_of(dtype, **attributes):
        data, weight, bias = (
            mx.nd.ones(shape, ctx=GPU, dtype=dtype) for shape in ((3, 3, 9, 9), (4, 3, 3, 3), (4,))
        )
        seen = []
        # The second begins after 3 * 81 numbers, where the library does not read.
        for images in (data, data[1:]):
            work = profile(
                lambda x=images: mx.nd.Convolution(x, weight, bias, kernel=(3, 3), num_filter=4, **attributes)
            )
            seen.append(len([e for e in work["events"] if e["cat"] == "kernel"]))
        return seen

    return {
        "float32": kernels_of("float32"),
        "bfloat16": kernels_of("bfloat16"),
        "float64": kernels_of("float64"),
        "by Winograd's method": kernels_of("float16", algorithm="winograd"),
        "without cuDNN": kernels_of("float16", cudnn_off=True),
    }


def closed_convolutions():
    """The kernels of a convolution with a bias and max(x, 0): by a graph of cuDNN's, and of a type that has none."""
    cupti()
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.Activation(net, act_type="relu")
    found = {}
    for dtype in ("float16", "float64"):
        types = dict.fromkeys(net.list_arguments(), dtype)
        executor = net.simple_bind(GPU, data=(2, 3, 9, 9), grad_req="null", type_dict=types)
        seen = profile(lambda e=executor: e.forward(is_train=False))
        found[dtype] = len([e for e in seen["events"] if e["cat"] == "kernel"])
    return found


def copies():
    cupti()
    data = mx.nd.array(np.ones((300, 300)))

    def work():
        there = data.as_in_context(GPU)
        there.as_in_context(mx.gpu(1)).wait_to_read()
        there.as_in_context(mx.cpu()).asnumpy()
        mx.nd.zeros((50,), ctx=GPU)

    return profile(work)


def _network(size=40):
    x = mx.sym.Variable("x")
    net = mx.sym.dot(mx.sym.softmax(mx.sym.dot(x, x)), x)
    bound = net.bind(GPU, {"x": mx.nd.ones((size, size), ctx=GPU)})

    def passes(number):
        for _ in range(number):
            bound.forward()
            mx.nd.waitall()

    return passes


def graphs():
    cupti()
    passes = _network()
    return profile(lambda: passes(5))


def a_graph_from_before():
    cupti()
    passes = _network()
    passes(5)
    return profile(lambda: passes(2))


def a_graph_whose_kernels_overlap():
    cupti(longer_ns=2_000_000)
    passes = _network()
    passes(5)
    return profile(lambda: passes(1))


def small_buffers():
    cupti(room=1000)
    x = mx.nd.ones((8,), ctx=GPU)
    found = profile(lambda: [mx.nd.sin(x) for _ in range(300)])
    return {**found, "counts": counts()}


def no_room():
    cupti(room=1000, most_buffers=3)
    x = mx.nd.ones((8,), ctx=GPU)
    return profile(lambda: [mx.nd.sin(x) for _ in range(50)])


def pauses():
    cupti()
    x = mx.nd.ones((8,), ctx=GPU)
    listens = []

    def work():
        mx.nd.sin(x)
        mx.profiler.pause()
        listens.append(counts()[2:])
        mx.nd.cos(x)
        mx.profiler.resume()
        mx.nd.tan(x).wait_to_read()
        listens.append(counts()[2:])

    found = profile(work)
    mx.nd.exp(x).wait_to_read()
    return {**found, "listens": [*listens, counts()[2:]]}


def tables_of_what_goes_on():
    cupti()
    x = mx.nd.ones((8,), ctx=GPU)
    tables = []

    def table():
        mx.nd.waitall()
        tables.append(json.loads(mx.profiler.dumps(format="json"))["Time"])

    def work():
        mx.nd.sin(x)
        table()
        mx.nd.sin(x)
        table()
        mx.nd.sin(x)

    found = profile(work)
    return {**found, "tables": tables}


def nothing_profiled():
    cupti()
    x = mx.nd.ones((8,), ctx=GPU)
    mx.nd.sin(x).wait_to_read()
    profile(lambda: mx.nd.sin(mx.nd.ones((8,))))  # on the host
    before = counts()
    profile(lambda: mx.nd.sin(x))
    return [before, counts()]


def refuses(call="", result=0, version=0):
    cupti(version=version, refused=call, result=result)
    x = mx.nd.ones((8,), ctx=GPU)
    found = [profile(lambda: mx.nd.sin(x)) for _ in range(2)]
    return {"profiles": found, "counts": counts()}


def is_missing():
    x = mx.nd.ones((8,), ctx=GPU)
    return profile(lambda: mx.nd.sin(x))


def ends_while_it_is_profiled():
    cupti()
    mx.profiler.set_state("run")
    mx.nd.sin(mx.nd.ones((8,), ctx=GPU)).wait_to_read()
    return counts()[2:]


def forks():
    cupti()
    x = mx.nd.ones((8,), ctx=GPU)

    def work():
        mx.nd.sin(x).wait_to_read()
        child = os.fork()
        if child == 0:
            mx.profiler.set_state("stop")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        mx.nd.cos(x)

    return profile(work)


# ---- the tests ----


def run(scenario, *arguments, **environment):
    """What it returns, and what was logged."""
    call = f"test_gpu_kernel_times.{scenario.__name__}(*{arguments!r})"
    done = subprocess.run(
        [sys.executable, "-c", f"import json, test_gpu_kernel_times; print(json.dumps({call}))"],
        cwd=pathlib.Path(__file__).parent,
        env={**os.environ, "LOOMIX_LOG_LEVEL": "warning", **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def of(found, kind, name=None):
    return sorted(
        (e for e in found["events"] if e["cat"] == kind and name in (None, e["name"])), key=lambda e: e["ts"]
    )


def within(found, event):
    """The kernels, copies and fills of an operator, on its row."""
    return [
        e
        for kind in ("kernel", "copy", "fill")
        for e in of(found, kind)
        if e["row"] == event["row"] and event["ts"] - 0.01 <= e["ts"] and e["end"] <= event["end"] + 0.01
    ]


def test_each_kernel_lies_in_its_operator_on_the_row_of_its_stream():
    found, _ = run(some_operators)
    operators = of(found, "device")
    assert [e["name"] for e in operators] == ["dot", "softmax", "sqrt", "sort"]
    assert {e["row"] for e in found["events"]} == {STREAM}
    assert all(b["ts"] >= a["end"] - 0.01 for a, b in zip(operators, operators[1:]))
    of_each = [within(found, e) for e in operators]
    assert all(of_each) and sum(map(len, of_each)) == len(found["events"]) - 4
    for operator, kernels in zip(operators, of_each):  # neither before its first one nor after its last
        assert operator["ts"] == pytest.approx(kernels[0]["ts"], abs=0.01)
        assert operator["end"] == pytest.approx(kernels[-1]["end"], abs=0.01)
    assert set(found["table"]["kernel"]) == {e["name"] for e in of(found, "kernel")}
    assert found["table"]["operator"]["dot"]["Count"] == found["table"]["issue"]["dot"]["Count"] == 1


def test_kernels_have_the_names_that_their_sources_give_them():
    found, _ = run(some_operators)
    (dot,) = of(found, "device", "dot")
    assert [e["name"] for e in within(found, dot)] == ["loomix::cuda::gemm"]
    (softmax,) = of(found, "device", "softmax")
    assert any("::launch<" in e["name"] for e in within(found, softmax))
    for kernel in of(found, "kernel"):
        assert kernel["name"].startswith("loomix::") and not kernel["name"].endswith(")")


def test_long_names_do_not_break_tables():
    found, _ = run(some_operators)
    assert max(len(e["name"]) for e in of(found, "kernel")) > 100
    assert max(map(len, found["lines"])) < 180 and any("..." in line for line in found["lines"])


def test_copies_and_fills_are_told_apart():
    found, _ = run(copies)
    names = {e["name"] for e in of(found, "copy")}
    assert {"copy from the host", "copy to the host", "copy to another device"} <= names
    for copy in of(found, "copy", "copy from the host"):
        assert copy["row"].startswith("gpu(0) copy")
    assert all(e["name"] == "fill" for e in of(found, "fill"))


def test_the_kernels_of_a_captured_graph_lie_in_its_launch():
    found, _ = run(graphs)
    launches = of(found, "device", "captured operators")
    assert len(launches) == 3
    alone = sorted(
        e["name"]
        for operator in of(found, "device")[:3]  # the first pass
        for e in within(found, operator)
    )
    for launch in launches:
        assert sorted(e["name"] for e in within(found, launch)) == alone
    assert len(alone) >= 3


def test_a_graph_that_was_captured_before_has_its_kernels():
    found, _ = run(a_graph_from_before)
    launches = of(found, "device")
    assert [e["name"] for e in launches] == ["captured operators"] * 2
    assert all(len(within(found, launch)) >= 3 for launch in launches)


def test_kernels_that_run_at_once_have_rows_of_their_own():
    found, _ = run(a_graph_whose_kernels_overlap)
    kernels = of(found, "kernel")
    rows = {e["row"] for e in kernels}
    assert {STREAM, f"{STREAM}, beside 1"} <= rows
    for row in rows:
        own = [e for e in kernels if e["row"] == row]
        assert all(b["ts"] >= a["end"] - 0.01 for a, b in zip(own, own[1:]))
    (launch,) = of(found, "device")
    assert launch["row"] == STREAM and launch["end"] == pytest.approx(
        max(e["end"] for e in kernels), abs=0.01
    )


def test_full_buffers_lose_nothing():
    found, log = run(small_buffers)
    assert len(of(found, "device", "sin")) == len(of(found, "kernel")) == 300
    assert found["counts"][1] > 50 and "lost" not in log


def test_lost_records_are_counted_and_told():
    found, log = run(no_room)
    assert len(of(found, "kernel")) < 50
    assert "times of kernels were lost for want of room" in log


def test_pauses_are_left_out_and_cost_nothing():
    found, _ = run(pauses)
    assert [e["name"] for e in of(found, "device")] == ["sin", "tan"]
    assert len(of(found, "kernel")) == 2
    assert found["listens"] == [[0, 0], [1, 1], [0, 0]]


def test_tables_while_a_profile_runs_have_what_has_ended():
    found, _ = run(tables_of_what_goes_on)
    counted = [table["operator"]["sin"]["Count"] for table in found["tables"]]
    assert counted == [1, 2] and found["table"]["operator"]["sin"]["Count"] == 3
    assert sum(row["Count"] for row in found["table"]["kernel"].values()) == 3


def test_it_is_opened_by_the_first_profile_with_a_gpu():
    (before, after), _ = run(nothing_profiled)
    assert before == [0, 0, 0, 0]
    assert after[0] == 1 and after[1] > 0 and after[2:] == [0, 0]


@pytest.mark.parametrize(
    "call, result, version, says",
    [
        ("cuptiGetVersion", UNKNOWN, 0, "CUPTI refuses cuptiGetVersion: CUPTI_ERROR_UNKNOWN."),
        ("", 0, 28, "CUPTI's version is 28; known are 130000 to 130599."),
        ("", 0, 140000, "CUPTI's version is 140000; known are"),
        ("cuptiSubscribe", SUBSCRIBERS, 0, "Another profiler uses it."),
        ("cuptiActivityRegisterTimestampCallback", UNKNOWN, 0, "refuses cuptiActivityRegisterTimestamp"),
        ("cuptiActivityRegisterCallbacks", UNKNOWN, 0, "CUPTI refuses cuptiActivityRegisterCallbacks"),
        ("cuptiActivityEnable", PRIVILEGES, 0, "NVreg_RestrictProfilingToAdminUsers=0 lets all."),
    ],
)
def test_where_it_refuses_operators_have_times_by_events(call, result, version, says):
    found, log = run(refuses, call, result, version)
    for seen in found["profiles"]:
        assert [e["name"] for e in of(seen, "device")] == ["sin"] and not of(seen, "kernel")
    assert says in log and log.count("Operators have times, by events") == 1
    assert found["counts"][2:] == [0, 0]  # what was begun has ended


def test_where_it_is_missing_only_a_log_for_all_says_so():
    found, log = run(is_missing)
    assert [e["name"] for e in of(found, "device")] == ["sin"] and "CUPTI" not in log
    found, log = run(is_missing, LOOMIX_LOG_LEVEL="info")
    assert "nvidia-cuda-cupti is a package that has it" in log


def test_plain_sums_are_taken_where_cudnn_is_off():
    found, _ = run(convolutions)
    by_cudnn = [any("Loop" in name for name in kernels) for kernels in found]  # the stand-in's
    assert by_cudnn == [True, False, False, True] and all(found)


def test_a_bias_is_a_part_of_its_product():
    found, _ = run(layers)
    assert [len(kernels) for kernels in found] == [1, 1, 2], found


def test_a_bias_is_a_kernel_only_where_cudnn_has_no_graph_with_it():
    found, _ = run(biased_convolutions)
    assert found == {
        "float32": [1, 2],
        "bfloat16": [1, 2],
        "float64": [2, 2],
        "by Winograd's method": [1, 2],
        "without cuDNN": [2, 2],
    }


def test_an_activation_is_a_part_of_the_graph():
    found, _ = run(closed_convolutions)
    assert found == {"float16": 1, "float64": 3}


def test_a_program_may_end_while_it_is_profiled():
    listens, _ = run(ends_while_it_is_profiled)
    assert listens == [1, 1]


def test_a_forked_child_leaves_it_alone():
    found, _ = run(forks)
    assert [e["name"] for e in of(found, "device")] == ["sin", "cos"]
