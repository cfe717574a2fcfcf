# SPDX-License-Identifier: Apache-2.0
"""Python objects that C++ holds on to: let go of whatever thread drops them, and once only."""

import gc
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import loomix as mx
import numpy as np
import pytest


def run(program):
    """Runs a program in a process of its own, for what it does wrong may crash it."""
    text = textwrap.dedent(program)
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def is_gone(reference):
    """Whether the object dies soon: the main thread drops it between two lines of Python."""
    until = time.monotonic() + 10
    while reference() is not None and time.monotonic() < until:
        gc.collect()
        time.sleep(0.001)
    return reference() is None


class Called:
    """A callable that can be watched."""

    def __call__(self, *args):
        pass


def test_updater_goes_with_its_store():
    run(
        """
        import weakref
        import loomix as mx
        class Updater:
            def __call__(self, key, merged, stored):
                stored[:] = merged
        for _ in range(100):
            store = mx.kv.create("local")
            updater = Updater()
            watched = weakref.ref(updater)
            store.set_updater(updater)
            store.init("a", mx.nd.ones(3))
            store.push("a", mx.nd.ones(3))
            del updater, store
        for _ in range(1000):
            pass
        assert watched() is None
        """
    )


def test_updater_that_is_replaced():
    store = mx.kv.create("local")
    first = Called()
    watched = weakref.ref(first)
    store.set_updater(first)
    del first
    store.set_updater(Called())
    assert is_gone(watched)


def test_updater_dropped_by_another_thread():
    store = [mx.kv.create("local")]
    updater = Called()
    watched = weakref.ref(updater)
    store[0].set_updater(updater)
    del updater
    thread = threading.Thread(target=store.clear)
    thread.start()
    thread.join()
    assert is_gone(watched)


def test_monitor_goes_with_its_executor():
    executor = (mx.sym.Variable("a") * 2).bind(mx.cpu(), {"a": mx.nd.ones(3)})
    callback = Called()
    watched = weakref.ref(callback)
    executor.set_monitor_callback(callback)
    executor.forward()
    del callback
    assert watched() is not None
    thread = threading.Thread(target=lambda box: box.clear(), args=([executor],))
    del executor
    thread.start()
    thread.join()
    del thread
    assert is_gone(watched)


def test_custom_function_goes_with_its_tape():
    class Double(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, grad):
            return grad * 2

    function = Double()
    watched = weakref.ref(function)
    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 2, 2]
    del function, y
    assert is_gone(watched)


def test_shared_numpy_array_dropped_by_a_task():
    source = np.ones((700, 700), np.float32)
    watched = weakref.ref(source)
    array = mx.nd.from_numpy(source)
    product = mx.nd.dot(array, array)
    for _ in range(5):
        product = mx.nd.dot(product, array) / 700
    del array, source  # a worker has the last handle
    product.wait_to_read()
    del product
    assert is_gone(watched)


def test_dlpack_tensor_dropped_by_a_task():
    source = np.ones((700, 700), np.float32)
    watched = weakref.ref(source)
    array = mx.nd.from_dlpack(source)
    product = mx.nd.dot(array, array)
    del array, source
    product.wait_to_read()
    del product
    assert is_gone(watched)


def test_dlpack_tensor_that_is_copied_or_refused():
    source = np.arange(6, dtype=np.float32).reshape(2, 3)
    watched = weakref.ref(source)
    copied = mx.nd.from_dlpack(source.T)
    refused = np.ones(3, np.complex64)
    also_watched = weakref.ref(refused)
    with pytest.raises(TypeError, match="no match here"):
        mx.nd.from_dlpack(refused)
    assert copied.asnumpy().tolist() == source.T.tolist()
    del source, refused
    assert is_gone(watched)
    assert is_gone(also_watched)


def test_exported_buffer_outlives_its_array():
    array = mx.nd.arange(4)
    boxes = [memoryview(array)]
    del array
    assert boxes[0].tolist() == [0, 1, 2, 3]
    thread = threading.Thread(target=boxes.clear)
    thread.start()
    thread.join()
    assert not boxes


def test_exported_dlpack_capsule_dropped_by_another_thread():
    boxes = [mx.nd.arange(4).__dlpack__()]
    thread = threading.Thread(target=boxes.clear)
    thread.start()
    thread.join()
    assert not boxes


def test_objects_are_dropped_while_the_main_thread_is_blocked():
    """A thread that goes on making arrays of NumPy's must not pile up those that it dropped."""
    alive = []

    def work():
        for _ in range(200):
            source = np.ones(10, np.float32)
            watched = weakref.ref(source)
            (mx.nd.from_numpy(source) * 2).wait_to_read()
            del source
            alive.append(watched)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()  # in C: no line of Python runs on this thread
    count = sum(watched() is not None for watched in alive)
    assert count < 10


def test_full_queue_of_pending_calls():
    """Python's queue has 32 places; while it is full nobody can ask the main thread to drop anything."""
    run(
        """
        import ctypes, threading, weakref
        import numpy as np
        import loomix as mx
        nothing = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: 0)
        add = ctypes.pythonapi.Py_AddPendingCall
        sources = [np.ones(5, np.float32), np.ones(5, np.float32)]
        arrays = [mx.nd.from_numpy(source) for source in sources]
        watched = [weakref.ref(source) for source in sources]
        del sources[:]
        def fill():
            while add(nothing, None) == 0:
                pass
            arrays.pop()
        thread = threading.Thread(target=fill)
        thread.start()
        thread.join()
        assert watched[1]() is not None, "the queue was not full"
        arrays.pop()
        for _ in range(1000):
            pass
        assert watched[0]() is None and watched[1]() is None
        """
    )


def test_exit_while_objects_are_kept():
    """The interpreter ends with every kind of owner alive, and tasks in flight that hold some."""
    run(
        """
        import numpy as np
        import loomix as mx
        store = mx.kv.create("local")
        store.set_updater(lambda *args: None)
        executor = (mx.sym.Variable("a") * 2).bind(mx.cpu(), {"a": mx.nd.ones(3)})
        executor.set_monitor_callback(lambda name, array: None)
        class Double(mx.autograd.Function):
            def forward(self, x):
                return x * 2
            def backward(self, grad):
                return grad * 2
        x = mx.nd.ones(3)
        x.attach_grad()
        with mx.autograd.record():
            y = Double()(x)
        view = memoryview(mx.nd.ones(3))
        capsule = mx.nd.ones(3).__dlpack__()
        product = mx.nd.ones((700, 700))
        for _ in range(30):
            product = mx.nd.dot(product, mx.nd.from_numpy(np.ones((700, 700), np.float32)))
            product = product + mx.nd.from_dlpack(np.ones((700, 700), np.float32))
        """
    )


def test_arrays_of_an_out_list_live_while_the_push_waits():
    run(
        """
        import os, threading, time, weakref
        os.environ["LOOMIX_MAX_TASKS_IN_FLIGHT"] = "4"
        import loomix as mx
        slow = mx.nd.ones((2400, 2400))
        parts = mx.nd.ones((2, 3))
        class Watched(mx.nd.NDArray):
            pass  # with room for weak references
        outs = [Watched(mx.nd.zeros((1, 3))), Watched(mx.nd.zeros((1, 3)))]
        mx.nd.waitall()
        for _ in range(4):
            slow = mx.nd.dot(slow, slow) * 1e-4
        watched = weakref.ref(outs[0])
        seen = []
        def clear():
            outs.clear()
            seen.append(watched() is not None)
        timer = threading.Timer(0.02, clear)
        timer.start()
        mx.nd.split(parts, num_outputs=2, axis=0, out=outs)
        waited = not timer.is_alive()
        timer.join()
        assert waited, "the push did not wait"
        assert seen == [True]
        """
    )
