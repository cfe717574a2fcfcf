# SPDX-License-Identifier: Apache-2.0
"""The process around the package: import, exit, threads, signals, fork."""

import subprocess
import sys
import sysconfig
import textwrap
import threading

import loomix as mx
import numpy as np
import pytest

nd = mx.nd


def run(code, timeout=60, returncode=0):
    """Runs a program in a process of its own; its output."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout
    )
    assert result.returncode == returncode, result.stderr
    return result.stdout


def test_import_is_lazy():
    out = run(
        """
        import sys, os
        import loomix as mx
        assert "loomix._core" not in sys.modules and "loomix.gluon" not in sys.modules
        assert os.environ["OMP_WAIT_POLICY"].lower() == "passive"
        mx.nd
        assert "loomix._core" in sys.modules
        import threading
        print(len(os.listdir("/proc/self/task")))
        """
    )
    assert int(out) <= 2  # no engine or BLAS threads before there is work


def test_exit_with_work_in_flight():
    run(
        """
        import loomix as mx
        x = mx.nd.ones((400, 400))
        for _ in range(50):
            x = mx.nd.dot(x, x) * 1e-3
        kept = [x, x + 1]
        """
    )


def test_exit_with_failed_work():
    run(
        """
        import loomix as mx
        x = mx.nd.take(mx.nd.arange(3), mx.nd.array([7]), mode="raise")
        """
    )


def test_exit_while_a_thread_computes():
    """The thread is stopped without a word, also where the interpreter lives on for a moment after the engine."""
    assert "says nothing" in run(
        """
        import atexit, os, sys, tempfile, threading, time
        errors = tempfile.TemporaryFile()
        os.dup2(errors.fileno(), 2)
        def report():
            time.sleep(0.3)
            sys.stdout.write(f"says {os.pread(2, 1000, 0).decode() or 'nothing'}")
        atexit.register(report)  # runs last
        import loomix as mx
        def work():
            x = mx.nd.ones((100, 100))
            while True:
                x = x * 1.0
                x.wait_to_read()
        threading.Thread(target=work, daemon=True).start()
        mx.nd.ones(3).asnumpy()
        """
    )


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not built without the GIL"
)
def test_import_keeps_the_gil():
    """The extensions' caches are guarded by it."""
    run("import sys; from loomix import nd, recordio; assert sys._is_gil_enabled()")


def interrupted(wait):
    """What a program prints whose main thread gets SIGINT while it waits."""
    return run(
        f"""
        import os, signal, threading, time
        import loomix as mx
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores the signal
        sent = []
        def interrupt():
            sent.append(time.time())
            os.kill(os.getpid(), signal.SIGINT)
        x = mx.nd.ones((2500, 2500))  # seconds of work in few bytes: pushing must not wait
        for _ in range(15):
            x = mx.nd.dot(x, x) * 1e-4
        threading.Timer(0.3, interrupt).start()
        try:
            {wait}
            print("done", flush=True)
        except (KeyboardInterrupt, ZeroDivisionError) as error:
            print(type(error).__name__ if time.time() - sent[0] < 2 else "late", flush=True)
        os._exit(0)
        """
    ).strip()


@pytest.mark.parametrize(
    "wait",
    [
        "x.wait_to_read()",
        "x.asnumpy()",
        "mx.nd.waitall()",
        "[x * 1.0 for _ in range(10_000)]",  # more than may be in flight
    ],
)
def test_interrupt_during_a_wait(wait):
    assert interrupted(wait) == "KeyboardInterrupt"


def test_handlers_of_signals_run_during_a_wait():
    wait = "signal.signal(signal.SIGINT, lambda *_: 1 / 0); x.wait_to_read()"
    assert interrupted(wait) == "ZeroDivisionError"


def test_an_interrupted_copy_leaves_the_callers_memory_alone():
    """The copy waits behind what reads the array; Ctrl-C ends the wait, and the data arrives as it was then."""
    out = run(
        """
        import os, signal, threading
        import numpy as np
        import loomix as mx
        signal.signal(signal.SIGINT, signal.default_int_handler)
        target = mx.nd.ones((1500, 1500))
        slow = target
        for _ in range(30):
            slow = mx.nd.dot(target, slow) * 1e-4
        data = np.arange(1500 * 1500, dtype="float32").reshape(1500, 1500)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            target[:] = data
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted")
        expected = data.copy()
        data[:] = -1
        print(np.array_equal(target.asnumpy(), expected))
        """
    )
    assert out.split() == ["interrupted", "True"]


def test_work_goes_on_after_an_interrupt():
    out = run(
        """
        import os, signal, threading
        import loomix as mx
        signal.signal(signal.SIGINT, signal.default_int_handler)
        x = mx.nd.ones((800, 800))
        for _ in range(100):
            x = mx.nd.dot(x, x) * (1 / 800)
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            x.wait_to_read()
        except KeyboardInterrupt:
            print("interrupted")
        print(float(x[0, 0].asscalar()))
        """
    )
    assert out.split() == ["interrupted", "1.0"]


def test_child_of_fork_reads_arrays_and_computes():
    run(
        """
        import os
        import loomix as mx
        x = mx.nd.ones((300, 300))
        for _ in range(5):
            x = mx.nd.dot(x, x) * 1e-3
        child = os.fork()
        if child == 0:
            ok = (x * 2).asnumpy().shape == (300, 300) and mx.nd.arange(3).asnumpy().tolist() == [0, 1, 2]
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        x.wait_to_read()
        """
    )


def test_threads_share_arrays():
    shared = nd.array(np.arange(100))
    failures = []

    def work(seed):
        try:
            for i in range(200):
                result = (shared * seed + i).asnumpy()
                assert (result == np.arange(100, dtype="float32") * seed + i).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_other_threads_run_while_one_waits():
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    x = nd.ones((800, 800))
    for _ in range(20):
        x = nd.dot(x, x) * 1e-3
    x.wait_to_read()
    stop.set()
    thread.join()
    assert len(ticks) >= 3


def test_namespaces_have_what_the_table_has():
    from loomix import _core, _operators

    for package, module in (("ndarray", mx.nd), ("symbol", mx.sym)):
        for name, operator in _core.operator_names(package == "symbol"):
            space, short = _operators.place_of(name)
            function = getattr(getattr(module, space), short)
            if type(function).__name__ == "OpFunction":
                assert function.operator == operator
            if space == "op":
                assert hasattr(module, short)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_buffers_can_be_written_through(dtype):
    array = nd.zeros((2, 2), dtype=dtype)
    view = memoryview(array)
    view[0, 1] = 3
    assert array.asnumpy().tolist() == [[0, 3], [0, 0]]
