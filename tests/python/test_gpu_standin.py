# SPDX-License-Identifier: Apache-2.0
"""The stand-in for CUDA's runtime (tests/standin/) refuses what a device refuses, and captures what it captures."""

import os
import subprocess
import sys

import pytest

STANDIN = os.environ.get("LOOMIX_CUDA_LIBRARY", "")
pytestmark = pytest.mark.skipif("standin" not in STANDIN, reason="no stand-in for a GPU")

START = """
import ctypes, os
import loomix as mx
mx.nd.ones((1,), ctx=mx.gpu(0)).wait_to_read()
cuda = ctypes.CDLL(os.environ["LOOMIX_CUDA_LIBRARY"])
LAUNCH_FAILURE, UNSUPPORTED, INVALIDATED = 719, 900, 901
stream, graph, ready = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
memory = ctypes.create_string_buffer(b"-" * 8)
def fill(value, at=0, bytes=8):
    return cuda.cudaMemsetAsync(ctypes.byref(memory, at), value, ctypes.c_size_t(bytes), stream)
assert cuda.cudaStreamCreateWithPriority(ctypes.byref(stream), 0, 0) == 0
"""


def check(program):
    done = subprocess.run([sys.executable, "-c", START + program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_destroyed_stream_takes_no_work():
    check("""
assert fill(65) == 0 and cuda.cudaStreamDestroy(stream) == 0
assert memory.raw[:8] == b"A" * 8
assert fill(66) == LAUNCH_FAILURE
os._exit(0)
""")


def test_what_is_captured_is_done_when_it_is_launched_each_time():
    check("""
assert cuda.cudaStreamBeginCapture(stream, 1) == 0
assert fill(65) == 0 and fill(66, at=4, bytes=2) == 0
assert cuda.cudaStreamEndCapture(stream, ctypes.byref(graph)) == 0
assert cuda.cudaGraphInstantiate(ctypes.byref(ready), graph, ctypes.c_ulonglong(0)) == 0
assert cuda.cudaGraphDestroy(graph) == 0
assert cuda.cudaStreamSynchronize(stream) == 0 and memory.raw[:8] == b"-" * 8
for _ in range(2):
    assert fill(67) == 0 and cuda.cudaGraphLaunch(ready, stream) == 0
    assert cuda.cudaStreamSynchronize(stream) == 0 and memory.raw[:8] == b"AAAABBAA"
assert cuda.cudaGraphExecDestroy(ready) == 0
""")


def test_an_update_changes_parameters_and_no_topology():
    check("""
TOPOLOGY_CHANGED, UPDATE_FAILURE = 2, 910
def captured(issue):
    assert cuda.cudaStreamBeginCapture(stream, 1) == 0
    issue()
    made = ctypes.c_void_p()
    assert cuda.cudaStreamEndCapture(stream, ctypes.byref(made)) == 0
    return made
def updated(issue):
    info = (ctypes.c_long * 3)()
    status = cuda.cudaGraphExecUpdate(ready, captured(issue), info)
    return status, ctypes.c_int.from_buffer(info).value
def play():
    assert cuda.cudaGraphLaunch(ready, stream) == 0 and cuda.cudaStreamSynchronize(stream) == 0
    return memory.raw[:8]
def copy():
    kind, size = 1, ctypes.c_size_t(4)
    assert cuda.cudaMemcpyAsync(memory, ctypes.byref(memory, 4), size, kind, stream) == 0
first = captured(lambda: (fill(65, bytes=4), fill(66, at=4, bytes=4)))
assert cuda.cudaGraphInstantiate(ctypes.byref(ready), first, ctypes.c_ulonglong(0)) == 0
assert play() == b"AAAABBBB"
assert updated(lambda: (fill(67), fill(68, at=2, bytes=2))) == (0, 0) and play() == b"CCDDCCCC"
for other in (lambda: fill(69), lambda: (fill(69), copy())):
    assert updated(other) == (UPDATE_FAILURE, TOPOLOGY_CHANGED) and play() == b"CCDDCCCC"
""")


@pytest.mark.parametrize(
    "call",
    [
        "cudaStreamSynchronize(stream)",
        "cudaMalloc(ctypes.byref(ready), ctypes.c_size_t(8))",
        "cudaFree(None)",
    ],
)
def test_waiting_and_allocating_end_a_capture(call):
    check(f"""
assert cuda.cudaStreamBeginCapture(stream, 1) == 0
assert fill(65) == 0 and cuda.{call} == UNSUPPORTED
assert cuda.cudaStreamEndCapture(stream, ctypes.byref(graph)) == INVALIDATED and not graph
assert fill(66) == 0 and cuda.cudaStreamSynchronize(stream) == 0 and memory.raw[:8] == b"B" * 8
""")


FAILS = """
def fails(call):
    try:
        call()
    except mx.MXNetError as error:
        return str(error)
    raise AssertionError("nothing was raised")
"""


def test_without_memory_the_largest_arrays_are_named_and_the_process_goes_on():
    check(
        FAILS
        + """
kept = mx.nd.ones((3000000,), ctx=mx.gpu(0))
text = fails(lambda: mx.nd.ones((1 << 45,), ctx=mx.gpu(0)).asnumpy())
for part in (
    "gpu(0) has no 131072.00 GiB left", "in use, of at most 1.00 GiB, and the device has", "MiB free",
    "11.4 MiB (float32 (3000000,)",
):
    assert part in text, text
assert (kept + 1).asnumpy()[0] == 2
"""
    )


def test_a_device_that_is_not_there_is_named():
    check(
        FAILS
        + """
assert "there is no gpu(9); CUDA sees 3" in fails(lambda: mx.nd.ones((1,), ctx=mx.gpu(9)).asnumpy())
"""
    )


def test_a_device_that_fell_over_poisons_its_arrays_and_the_host_goes_on():
    check(
        FAILS
        + """
import time
def works():
    counts = (ctypes.c_long * 9)()
    cuda.loomix_standin_counts(counts)
    return counts[1]
kept = mx.nd.ones((1 << 25,), ctx=mx.gpu(0))
kept.wait_to_read()
before, end = works(), time.monotonic() + 30
issued = mx.nd.tanh(mx.nd.arctanh(kept))
while works() < before + 2 and time.monotonic() < end:
    pass
assert cuda.cudaStreamDestroy(stream) == 0 and fill(65) == LAUNCH_FAILURE
later = mx.nd.relu(issued)
for array in (later, kept, issued, later):
    assert "after it was destroyed" in fails(array.asnumpy)
for size in (5, 1 << 22):
    text = fails(lambda: mx.nd.zeros((size,), ctx=mx.gpu(0)).asnumpy())
    assert "after it was destroyed" in text and "memory" not in text, text
for array in (issued, later):
    text = fails(array.asnumpy)
    assert "the first work to fail on gpu(0) was one of arctanh, tanh" in text, text
assert (mx.nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]
os._exit(0)
"""
    )


def test_memory_of_a_device_is_told_and_what_was_taken_is_not_free():
    check(
        FAILS
        + """
free, total = mx.context.gpu_memory_info(0)
assert total == 1 << 30 and 0 < free <= total
kept = mx.nd.ones((1 << 24,), ctx=mx.gpu(0))
kept.wait_to_read()
assert mx.context.gpu_memory_info(0) == (free - (1 << 26), total)
assert mx.util.get_gpu_memory(0)[1] == mx.npx.gpu_memory_info(0)[1] == total
assert "there is no gpu(9): there are 3" in fails(lambda: mx.context.gpu_memory_info(9))
"""
    )


def test_a_driver_that_is_too_old_is_told_with_both_versions_and_the_host_goes_on():
    program = (
        """
import ctypes, os
import loomix as mx
ctypes.CDLL(os.environ["LOOMIX_CUDA_LIBRARY"]).loomix_standin_set_driver(12040)
assert mx.context.num_gpus() == 0
"""
        + FAILS
        + """
text = fails(lambda: mx.nd.ones((2,), ctx=mx.gpu(0)).asnumpy())
assert "gpu(0) needs a driver for CUDA 13." in text and "the one here is for CUDA 12.4" in text, text
assert (mx.nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]
"""
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
