# SPDX-License-Identifier: Apache-2.0
"""The profiler's tables, as scripts read them, and the list of features."""

import json

import loomix as mx
import pytest
from loomix import nd, profiler


@pytest.fixture
def table(tmp_path):
    """Profiles what happens until it is called, and gives the tables."""
    profiler.set_config(filename=str(tmp_path / "profile.json"), profile_all=True, aggregate_stats=True)
    profiler.set_state("run")

    def tables(**how):
        profiler.set_state("stop")
        return json.loads(profiler.dumps(format="json", **how))

    yield tables
    profiler.set_state("stop")
    profiler.set_config(profile_all=False)


def test_operators_are_counted_by_name(table):
    x = nd.zeros((100, 100))
    nd.sqrt(x)
    x = x + 1
    x = x + 1
    nd.waitall()
    found = table()
    assert found["Unit"] == {"Time": "ms", "Memory": "kB"}
    operators = found["Time"]["operator"]
    assert operators["sqrt"]["Count"] == 1 and operators["_plus_scalar"]["Count"] == 2
    assert set(operators["sqrt"]) == {"Count", "Total", "Min", "Max", "Avg"}
    memory = found["Memory"]["Device Storage"]["Memory: cpu/0"]
    assert set(memory) == {"Count", "Min", "Max", "Avg"} and memory["Max"] >= 40
    assert "Memory: cpu/0" in profiler.dumps() and "Use (kB)" not in profiler.dumps().split("Device")[0]


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("column", ["total", "avg", "min", "max", "count"])
def test_tables_are_sorted(table, column, ascending):
    nd.waitall()
    for size in (10, 200, 50):
        nd.dot(nd.ones((size, size)), nd.ones((size, size))).wait_to_read()
        nd.sin(nd.ones(size)).wait_to_read()
    found = table(sort_by=column, ascending=ascending)
    for kind in ("Time", "Memory") if column != "total" else ("Time",):
        for rows in found[kind].values():
            numbers = [row[column.capitalize()] for row in rows.values()]
            assert numbers == sorted(numbers, reverse=not ascending)


def test_what_lies_between_pause_and_resume_is_left_out(table):
    x = nd.ones((50, 50))
    nd.sin(x)
    profiler.pause()
    for _ in range(20):
        nd.cos(x)
    profiler.resume()
    nd.tan(x)
    nd.waitall()
    operators = table()["Time"]["operator"]
    assert operators["sin"]["Count"] == operators["tan"]["Count"] == 1
    assert "cos" not in operators
    profiler.pause()
    profiler.set_state("run")  # a new profile
    nd.cos(x)
    nd.waitall()
    assert table()["Time"]["operator"]["cos"]["Count"] == 1


def test_the_features_of_mxnet_are_known():
    names = [
        *("CUDA", "CUDNN", "NCCL", "CUDA_RTC", "TENSORRT", "CPU_SSE", "CPU_SSE2", "CPU_SSE3", "CPU_SSE4_1"),
        *("CPU_SSE4_2", "CPU_SSE4A", "CPU_AVX", "CPU_AVX2", "OPENMP", "SSE", "F16C", "JEMALLOC", "BLAS_OPEN"),
        *("BLAS_ATLAS", "BLAS_MKL", "BLAS_APPLE", "LAPACK", "MKLDNN", "OPENCV", "CAFFE", "PROFILER"),
        *("DIST_KVSTORE", "CXX14", "INT64_TENSOR_SIZE", "SIGNAL_HANDLER", "DEBUG", "TVM_OP"),
    ]
    features = mx.runtime.Features()
    assert list(features)[: len(names)] == names
    assert features.is_enabled("INT64_TENSOR_SIZE") and features.is_enabled("profiler")
    assert not features.is_enabled("CAFFE")
    for unknown in ("nonsense", ""):
        with pytest.raises(RuntimeError, match="unknown"):
            features.is_enabled(unknown)


class _Sigmoid(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 1 / (1 + mx.nd.exp(-in_data[0])) + mx.nd.zeros(in_data[0].shape))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * out_data[0])


@mx.operator.register("profiled_sigmoid")
class _SigmoidProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return _Sigmoid()


def test_operators_within_operators_in_python(tmp_path):
    mx.profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(tmp_path / "trace.json"))
    x = mx.nd.ones((3, 4))
    x.attach_grad()
    mx.profiler.set_state("run")
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="profiled_sigmoid")
    y.backward()
    mx.nd.exp(x)
    mx.nd.waitall()
    mx.profiler.set_state("stop")
    times = json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"]
    within = {f"profiled_sigmoid::{name}" for name in ("_zeros", "exp", "_rdiv_scalar", "pure_python")}
    assert within <= set(times["Custom Operator"])
    assert {"_backward_profiled_sigmoid::pure_python", "_backward_profiled_sigmoid::elemwise_mul"} <= set(
        times["Custom Operator"]
    )
    assert "exp" in times["operator"] and not within & set(times["operator"])
