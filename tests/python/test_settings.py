# SPDX-License-Identifier: Apache-2.0
"""Every setting has its effect: shown here, or in the test that is named here."""

from __future__ import annotations

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DOCUMENTED = re.findall(r"^\| `LOOMIX_(\w+)`", (ROOT / "docs/settings.md").read_text(), re.M)

# Shown elsewhere: the file names the variable, one of MXNet's names for it, or the argument that sets it.
ELSEWHERE = {
    "BULK_SIZE": ("tests/python/test_bulk.py", "LOOMIX_BULK_SIZE"),
    "BULK_INFERENCE": ("tests/python/test_bulk.py", "MXNET_EXEC_BULK_EXEC_INFERENCE"),
    "BULK_TRAIN": ("tests/python/test_bulk.py", "MXNET_EXEC_BULK_EXEC_TRAIN"),
    "CUSTOM_OP_THREADS": ("tests/python/test_operator.py", "LOOMIX_CUSTOM_OP_THREADS"),
    "MAX_TASKS_IN_FLIGHT": ("tests/python/test_kept_objects.py", "LOOMIX_MAX_TASKS_IN_FLIGHT"),
    "ENFORCE_DETERMINISM": ("tests/python/test_determinism.py", "LOOMIX_ENFORCE_DETERMINISM"),
    "HOST_POOL_BYTES": ("tests/python/test_package.py", "LOOMIX_HOST_POOL_BYTES"),
    "MAX_MEMORY_BYTES": ("tests/python/test_package.py", "LOOMIX_MAX_MEMORY_BYTES"),
    "INPLACE": ("tests/python/test_executor.py", "LOOMIX_INPLACE"),
    "COSHARE": ("tests/python/test_executor.py", "LOOMIX_COSHARE"),
    "FUSE": ("tests/python/test_executor.py", "LOOMIX_FUSE"),
    "ELIMINATE_COMMON_EXPR": ("tests/python/test_graph_habits.py", "ELIMINATE_COMMON_EXPR"),
    "FOLD_NORM": ("tests/python/test_prediction.py", "LOOMIX_FOLD_NORM"),
    "CHOOSE_LAYOUT": ("tests/python/test_prediction.py", "LOOMIX_CHOOSE_LAYOUT"),
    "HELD_WEIGHTS": ("tests/python/test_prediction.py", "LOOMIX_HELD_WEIGHTS"),
    "RECOMPUTE_SHARE": ("tests/python/test_executor.py", "LOOMIX_RECOMPUTE_SHARE"),
    "TUNE": ("tests/python/test_tuning.py", "LOOMIX_TUNE"),
    "MAX_CPU_ISA": ("tests/python/test_processors.py", "LOOMIX_MAX_CPU_ISA"),
    "CONV_ALGO": ("tests/python/test_convolution_algorithms.py", "LOOMIX_CONV_ALGO"),
    "CACHE_SIZES": ("tests/python/test_processors.py", "LOOMIX_CACHE_SIZES"),
    "CACHE_DIR": ("tests/python/test_tuning.py", "LOOMIX_CACHE_DIR"),
    "DUMP_PASSES": ("tests/python/test_executor.py", "LOOMIX_DUMP_PASSES"),
    "DUMP_FOLDER": ("tests/python/test_executor.py", "LOOMIX_DUMP_FOLDER"),
    "NAN_CHECK": ("tests/python/test_debug.py", "LOOMIX_NAN_CHECK"),
    "HABITS": ("tests/python/test_habits.py", "LOOMIX_HABITS"),
    "PROFILER_AUTOSTART": ("tests/python/test_script_habits.py", "LOOMIX_PROFILER_AUTOSTART"),
    "KV_RANK": ("tests/python/test_dist_kvstore.py", "LOOMIX_KV_RANK"),
    "KV_CLUSTER": ("tests/dist/scenarios.py", "LOOMIX_KV_CLUSTER"),
    "KV_REPLICAS": ("tests/python/test_dist_kvstore.py", "LOOMIX_KV_REPLICAS"),
    "KV_POLICY": ("tests/python/test_dist_kvstore.py", "LOOMIX_KV_POLICY"),
    "KV_DEADLINE": ("tests/python/test_dist_kvstore.py", "LOOMIX_KV_DEADLINE"),
    "KV_WITHOUT_SCHEDULER": ("tests/python/test_dist_kvstore.py", "LOOMIX_KV_WITHOUT_SCHEDULER"),
    "KV_DEAD_AFTER": ("tests/dist/chaos.py", "LOOMIX_KV_DEAD_AFTER"),
    "KV_SNAPSHOT_DIR": ("tests/python/test_dist_snapshots.py", "LOOMIX_KV_SNAPSHOT_DIR"),
    "KV_SNAPSHOT_EVERY": ("tests/python/test_dist_snapshots.py", "LOOMIX_KV_SNAPSHOT_EVERY"),
    "KV_RESTORE": ("tests/python/test_dist_snapshots.py", "LOOMIX_KV_RESTORE"),
    "KV_KEYS": ("tests/python/test_dist_kvstore.py", "LOOMIX_KV_KEYS"),
    "KV_ALLOW_PICKLE": ("tests/python/test_dist_kvstore.py", "LOOMIX_KV_ALLOW_PICKLE"),
    "METRICS_PORT": ("tests/python/test_watching.py", "LOOMIX_METRICS_PORT"),
    "GROUP_HOST": ("tests/python/test_mpi_kvstore.py", "MASTER_ADDR"),
    "GROUP_PORT": ("tests/python/test_mpi_kvstore.py", "MASTER_PORT"),
    "GROUP_RANK": ("tests/python/test_mpi_kvstore.py", "RANK"),
    "GROUP_SIZE": ("tests/python/test_mpi_kvstore.py", "WORLD_SIZE"),
    "GROUP_LOCAL_SIZE": ("tests/python/test_mpi_kvstore.py", "torchrun"),
    "GROUP_PORT_TAKEN": ("tests/python/test_mpi_kvstore.py", "torchrun"),
    "KV_LATE_DEADLINE": ("tests/python/test_dist_late.py", "LOOMIX_KV_LATE_DEADLINE"),
    "DEVICE_FALLBACK": ("tests/python/test_gpu_operators.py", "LOOMIX_DEVICE_FALLBACK"),
    "CUDA_LIBRARY": (".ci/run", "LOOMIX_CUDA_LIBRARY"),
    "CAPTURED_STEPS": ("tests/python/test_gpu_graphs.py", "LOOMIX_CAPTURED_STEPS"),
    "CAPTURED_STREAMS": ("tests/python/test_gpu_graphs.py", "LOOMIX_CAPTURED_STREAMS"),
    "KV_BUCKET_KB": ("tests/python/test_gpu_stores.py", "LOOMIX_KV_BUCKET_KB"),
    "CUDA_POOL": (".ci/long", "LOOMIX_CUDA_POOL"),
    "CUDA_DOT_TF32": ("tests/python/test_gpu_operators.py", "LOOMIX_CUDA_DOT_TF32"),
    "CUDA_CONV_TF32": ("tests/python/test_gpu_operators.py", "LOOMIX_CUDA_CONV_TF32"),
    "CUDA_CONV_TUNE": ("tests/cpp/ops/cudnn_options_test.cc", "cuda_conv_tune"),
    "CUDA_CONV_WORKSPACE_MB": ("tests/python/test_gpu_operators.py", "LOOMIX_CUDA_CONV_WORKSPACE_MB"),
}
ELSEWHERE |= {
    # The whole suite runs with it; a graph that it finds wrong fails its test.
    "VERIFY_PASSES": ("tests/conftest.py", "LOOMIX_VERIFY_PASSES"),
    "KV_ROLE": ("tests/python/real_cluster.py", "DMLC_ROLE"),
    "KV_SCHEDULER_HOST": ("tests/python/real_cluster.py", "DMLC_PS_ROOT_URI"),
    "KV_SCHEDULER_PORT": ("tests/python/real_cluster.py", "DMLC_PS_ROOT_PORT"),
    "KV_WORKERS": ("tests/python/real_cluster.py", "DMLC_NUM_WORKER"),
    "KV_SERVERS": ("tests/python/real_cluster.py", "DMLC_NUM_SERVER"),
    "KV_STALENESS": ("tests/python/test_dist_kvstore.py", "staleness"),
    "KV_SHARED_MEMORY": ("tests/cpp/comm/network/stream_test.cc", "shared_memory"),
}


def run(code, check=True, **settings):
    """A process with these settings; its standard output."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("LOOMIX_", "OMP_NUM"))
    }
    environment |= {f"LOOMIX_{name}": value for name, value in settings.items()}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert not check or done.returncode == 0, done.stderr
    return done


ADD = "import loomix as mx\nfrom loomix import _core\n(mx.nd.ones((600, 600)) @ mx.nd.ones((600, 600))).asnumpy()\n"


def test_engine_type_and_number_of_workers():
    threads = ADD + "import os; print(len(os.listdir('/proc/self/task')))"
    counts = {
        name: int(run(threads, **settings).stdout)
        for name, settings in {
            "naive": {"ENGINE_TYPE": "NaiveEngine"},
            "one": {"CPU_WORKER_NTHREADS": "1"},
            "three": {"CPU_WORKER_NTHREADS": "3"},
        }.items()
    }
    assert counts["naive"] < counts["one"] < counts["three"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_worker_places():
    code = (
        ADD + "import os; print([len(os.sched_getaffinity(int(t))) for t in os.listdir('/proc/self/task')])"
    )
    cpu = str(min(os.sched_getaffinity(0)))
    assert 1 in json.loads(run(code, WORKER_PLACES=cpu, CPU_WORKER_NTHREADS="2").stdout)
    assert 1 not in json.loads(run(code, CPU_WORKER_NTHREADS="2").stdout)


@pytest.mark.parametrize("on", ["0", "1"])
def test_inline_execution(on):
    code = ADD + (
        "_core.trace_start(); y = mx.nd.ones(1) + 1; mx.nd.waitall(); _core.trace_stop(); print(_core.trace_json())"
    )
    assert ("pushing thread" in run(code, INLINE_EXECUTION=on).stdout) == (on == "1")


def test_max_bytes_in_flight():
    code = """
import time
import loomix as mx

class Slow(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        time.sleep(1)

@mx.operator.register("slow")
class SlowProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Slow()

x = mx.nd.ones((1024, 1024))
x.wait_to_read()
begin = time.monotonic()
x = mx.nd.Custom(x, op_type="slow")
for _ in range(8):
    x = x + 1
print(time.monotonic() - begin)
"""
    assert float(run(code, MAX_BYTES_IN_FLIGHT="1000000").stdout) > 0.6
    assert float(run(code, MAX_BYTES_IN_FLIGHT="0").stdout) < 0.6


CONVOLUTION = """
import loomix as mx
x, w = mx.nd.ones((1, 16, 8, 8)), mx.nd.ones((16, 16, 3, 3))
mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=16, no_bias=True).wait_to_read()
"""


def test_dnnl():
    assert "dnnl" not in run(CONVOLUTION, DNNL="0", EXPLAIN="dispatch").stderr
    if "_dnnl runs" not in run(CONVOLUTION, EXPLAIN="dispatch").stderr:
        pytest.skip("built without oneDNN")


def test_explain():
    code = CONVOLUTION + (
        "net = mx.sym.FullyConnected(mx.sym.Variable('data'), num_hidden=3, name='fc')\n"
        "net.simple_bind(mx.cpu(), data=(2, 5)).forward()"
    )
    for topics, found in (("dispatch", {"dispatch"}), ("plan", {"plan"}), ("plan,fuse", {"plan", "fuse"}),
                          ("all", {"dispatch", "fuse", "plan"})):  # fmt: skip
        text = run(code, EXPLAIN=topics).stderr
        assert ("dispatch: Convolution: " in text) == ("dispatch" in found)
        assert ("plan: fc_output, for prediction\n" in text and "planned " in text) == ("plan" in found)
        assert ("fuse: fc_output, for prediction\n  nothing\n" in text) == ("fuse" in found)
    assert run(code).stderr == ""
    failed = run(code, check=False, EXPLAIN="dispath")
    assert failed.returncode == 1
    assert "unknown item 'dispath'. Did you mean 'dispatch'?" in failed.stderr


FUSIONS = """
data = mx.sym.Variable("data")
norm = mx.sym.BatchNorm(mx.sym.Convolution(data, kernel=(3, 3), num_filter=16, name="conv"), name="norm")
exp = mx.sym.exp(mx.sym.Activation(norm, act_type="relu", name="relu"), name="exp")
share = mx.sym.broadcast_div(exp, mx.sym.sum(exp, axis=1, keepdims=True, name="sum"), name="share")
executor = mx.sym.tanh(share * 2, name="tanh").simple_bind(mx.cpu(), data=(2, 3, 5, 5))
executor.forward(is_train=True)
executor.backward([mx.nd.ones((2, 16, 3, 3))])
executor.forward()[0].wait_to_read()
"""


def test_explain_fuse():
    text = run("import loomix as mx" + FUSIONS, EXPLAIN="fuse").stderr
    training, prediction = text.split("fuse: tanh_output, for prediction\n")
    assert training.startswith("fuse: tanh_output, with gradients\n")
    for explained in (training, prediction):
        (line,) = [one for one in explained.splitlines() if one.endswith("+ tanh (tanh)")]
        assert (
            line.startswith("  one pass over (2, 16, 3, 3) float32, ") and "_mulscalar0 (_mul_scalar)" in line
        )
    assert "  fold_norm made these parts of others: norm (BatchNorm)\n" in prediction
    assert "fold_norm" not in training
    assert "apart: share (broadcast_div): its rows are too long or too short" in prediction
    assert "(elemwise_mul): something else reads the result before\n" in training
    assert run("import loomix as mx" + FUSIONS, EXPLAIN="fuse", FUSE="0").stderr.count("one pass") == 0


def test_log_level():
    assert "LOOMIX_XYZZY is not a setting" in run(ADD, XYZZY="1").stderr
    assert run(ADD, XYZZY="1", LOG_LEVEL="error").stderr == ""


def test_trusted_network():
    code = "import loomix as mx; mx.kv.create('dist_sync')"
    far = {"KV_SCHEDULER_HOST": "192.0.2.1", "KV_SCHEDULER_PORT": "9", "KV_DEADLINE": "0.5"}
    far["KV_CLUSTER"] = "ours"
    assert "this node has no keys" in run(code, check=False, **far).stderr
    assert "this node has no keys" not in run(code, check=False, KV_TRUSTED_NETWORK="1", **far).stderr


@pytest.fixture
def scheduler():
    """Starts a scheduler with further settings; gives its port and that of its numbers."""
    running = []

    def start(**settings):
        ports = []
        for _ in range(2):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                ports.append(probe.getsockname()[1])
        environment = {
            **os.environ,
            "LOOMIX_KV_ROLE": "scheduler",
            "LOOMIX_KV_SCHEDULER_PORT": str(ports[0]),
            "LOOMIX_METRICS_PORT": str(ports[1]),
            "LOOMIX_KV_DEADLINE": "20",
            **settings,
        }
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", "import loomix"], env=environment, stderr=subprocess.DEVNULL
            )
        )
        return ports

    yield start
    for process in running:
        process.kill()
        process.wait()


def answers(host, port, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.create_connection((host, port), timeout=1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def test_metrics_host(scheduler):
    _, port = scheduler(LOOMIX_METRICS_HOST="127.0.0.2")
    assert answers("127.0.0.2", port, 10)
    assert not answers("127.0.0.1", port, 0.2)


@pytest.mark.parametrize("name, value", [("KV_HOST", "no.such.host.invalid"), ("KV_INTERFACE", "nosuch0")])
def test_where_others_reach_a_server(name, value):
    server = {"KV_ROLE": "server", "KV_RANK": "0", "KV_SCHEDULER_PORT": "9", "KV_DEADLINE": "1"}
    failed = run("import loomix", check=False, **server, **{name: value})
    assert failed.returncode == 1 and value in failed.stderr


HERE = {
    "ENGINE_TYPE", "CPU_WORKER_NTHREADS", "WORKER_PLACES", "INLINE_EXECUTION", "MAX_BYTES_IN_FLIGHT", "DNNL", "EXPLAIN",
    "LOG_LEVEL", "KV_TRUSTED_NETWORK", "KV_HOST", "KV_INTERFACE", "METRICS_HOST",
}  # fmt: skip


def test_every_setting_is_shown():
    assert HERE.isdisjoint(ELSEWHERE)
    assert HERE | set(ELSEWHERE) == set(DOCUMENTED)
    for file, word in ELSEWHERE.values():
        assert word in (ROOT / file).read_text(), (file, word)
