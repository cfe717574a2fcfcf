# SPDX-License-Identifier: Apache-2.0
"""Operators, copies and graphs on GPUs: on those of the machine, or on the stand-in's (see tests/standin/)."""

import os
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
GPU = mx.gpu(0)


def array(values, dtype="float32"):
    return mx.nd.array(np.asarray(values), ctx=GPU, dtype=dtype)


@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16", "int8", "uint8", "int64", "bool"])
@pytest.mark.parametrize("target", ["float64", "float16", "bfloat16", "int32", "uint8"])
def test_types_are_converted_as_on_the_host(source, target):
    values = np.array([0, 1, 2.5, 7, 100.25, -3, 255, -128.75])
    on_host = mx.nd.array(values, ctx=mx.cpu(), dtype=source)
    got = on_host.as_in_context(GPU).astype(target).astype("float64")
    assert got.context == GPU
    np.testing.assert_array_equal(got.asnumpy(), on_host.astype(target).astype("float64").asnumpy())


def test_copies_convert_on_the_way():
    on_host = mx.nd.array([1.5, 2.5, 300], ctx=mx.cpu())
    on_gpu = mx.nd.zeros((3,), ctx=GPU, dtype="float16")
    on_host.copyto(on_gpu)
    back = mx.nd.zeros((3,), ctx=mx.cpu(), dtype="int32")
    on_gpu.copyto(back)
    np.testing.assert_array_equal(back.asnumpy(), [1, 2, 300])


def test_parts_are_read_and_written():
    want = np.arange(60, dtype="float32").reshape(3, 4, 5)
    got = array(want)
    np.testing.assert_array_equal(got[1, ::2, 4:1:-1].asnumpy(), want[1, ::2, 4:1:-1])
    got[:, 1] = 7
    got[2, :, 1:3] = array(np.ones((4, 2)))
    want[:, 1] = 7
    want[2, :, 1:3] = 1
    np.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize("algorithm", ["direct", "gemm", "winograd", "fft"])
def test_convolutions_run_by_the_algorithm_that_is_asked_for(algorithm):
    random = np.random.RandomState(1)
    data, weight = random.randn(2, 4, 9, 9), random.randn(6, 2, 3, 3)
    attributes = {"kernel": (3, 3), "num_filter": 6, "num_group": 2, "pad": (1, 1), "no_bias": True}
    want = mx.nd.Convolution(mx.nd.array(data), mx.nd.array(weight), **attributes).asnumpy()
    got = mx.nd.Convolution(array(data), array(weight), algorithm=algorithm, **attributes).asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)


def test_an_algorithm_that_cannot_compute_a_convolution_is_an_error():
    with pytest.raises(mx.MXNetError, match="the algorithm that is asked for cannot compute this one"):
        mx.nd.Convolution(
            array(np.ones((1, 1, 9, 9))),
            array(np.ones((1, 1, 7, 7))),
            kernel=(7, 7),
            num_filter=1,
            no_bias=True,
            algorithm="winograd",
        ).wait_to_read()


def test_devices_are_not_mixed():
    with pytest.raises(mx.MXNetError, match=r"'lhs' is on gpu\(0\) and 'rhs' on cpu\(0\)"):
        array([1]) + mx.nd.ones((1,), ctx=mx.cpu())


def test_a_device_that_is_not_there_is_named():
    missing = mx.gpu(mx.context.num_gpus())
    with pytest.raises(mx.MXNetError, match=f"gpu\\({missing.device_id}\\)"):
        mx.nd.ones((1,), ctx=missing).asnumpy()


def test_gradients_stay_on_the_device():
    x = array([[1, 2], [3, 4]])
    x.attach_grad()
    with mx.autograd.record():
        y = (x * x).sum() + x.exp().sum()
    y.backward()
    assert x.grad.context == GPU
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * x.asnumpy() + np.exp(x.asnumpy()), rtol=1e-6)


def test_loops_and_branches_of_graphs():
    def step(data, states):
        return data + states[0], [states[0] * 2]

    outputs, states = mx.nd.contrib.foreach(step, array(np.ones((4, 3))), [array(np.ones(3))])
    np.testing.assert_array_equal(outputs.asnumpy()[:, 0], [2, 3, 5, 9])
    assert states[0].context == GPU and states[0].asnumpy()[0] == 16

    data, start = mx.sym.Variable("data"), mx.sym.Variable("start")
    looped = mx.sym.contrib.foreach(step, data, [start])[0]
    bound = looped.bind(GPU, {"data": array(np.ones((4, 3))), "start": array(np.ones(3))})
    np.testing.assert_array_equal(bound.forward()[0].asnumpy()[:, 0], [2, 3, 5, 9])


def test_operators_written_in_python():
    class Double(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            assert in_data[0].context == GPU
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("gpu_double")
    class DoubleProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Double()

    x = array([1, 2, 3])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="gpu_double")
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [2, 4, 6])
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 2, 2])


def test_arrays_that_an_operator_keeps_are_copies():
    kept = []

    class Keeps(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            kept.append(in_data[0])
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("gpu_keeps")
    class KeepsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Keeps()

    x = array(np.arange(1000))
    mx.nd.Custom(x, op_type="gpu_keeps").wait_to_read()
    x[:] = 0
    assert kept[0].context == GPU
    np.testing.assert_array_equal(kept[0].asnumpy(), np.arange(1000))


def test_a_graph_runs_where_it_is_bound():
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(mx.sym.Activation(data, act_type="relu"), num_hidden=4, name="fc")
    arguments = {
        "data": np.random.uniform(-1, 1, (3, 5)),
        "fc_weight": np.ones((4, 5)),
        "fc_bias": np.ones(4),
    }
    results = []
    for ctx in (GPU, mx.cpu()):
        bound = net.bind(
            ctx,
            {k: mx.nd.array(v, ctx=ctx) for k, v in arguments.items()},
            {k: mx.nd.zeros(v.shape, ctx=ctx) for k, v in arguments.items()},
        )
        bound.forward(is_train=True)
        bound.backward([mx.nd.ones((3, 4), ctx=ctx)])
        assert bound.outputs[0].context == ctx
        results.append([bound.outputs[0].asnumpy(), *(g.asnumpy() for g in bound.grad_arrays)])
    for on_gpu, on_cpu in zip(*results):
        np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-5, atol=1e-6)


def run(program, **variables):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **variables}
    )


# Its kernel for GPUs is for sparse arrays alone.
ON_THE_HOST = """
import loomix as mx
x = mx.nd.array([[3.0, 1], [0, 4]], ctx=mx.gpu(0))
for _ in range(3):
    print("stored", mx.nd.contrib.getnnz(x).asnumpy().tolist())
"""


def test_operators_without_a_kernel_run_on_the_host_with_one_warning():
    done = run(ON_THE_HOST)
    assert done.stdout.count("stored [3]") == 3, done.stderr
    assert done.stderr.count("[_contrib_getnnz] has no kernel for GPUs") == 1


def test_or_are_errors_where_that_is_asked_for():
    done = run(ON_THE_HOST, LOOMIX_DEVICE_FALLBACK="0")
    assert done.returncode != 0
    assert "no kernel for gpu(0)" in done.stderr or "[_contrib_getnnz]" in done.stderr


def test_operators_without_a_kernel_are_listed():
    done = subprocess.run(
        [sys.executable, "-m", "loomix", "ops", "--missing", "cuda"], capture_output=True, text=True
    )
    missing = done.stdout.split()
    assert "_sparse_retain" in missing and "exp" not in missing and "_foreach" not in missing
    everything = subprocess.run([sys.executable, "-m", "loomix", "ops"], capture_output=True, text=True)
    assert {"_sparse_retain", "exp", "_foreach", "Convolution"} < set(everything.stdout.split())


def relative_error(program, **variables):
    done = run("import loomix as mx, numpy as np\nr = np.random.RandomState(0)\n" + program, **variables)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def test_products_use_tf32_where_that_is_asked_for():
    program = """
a, b = (r.randn(64, 64).astype("float32") for _ in range(2))
got = mx.nd.dot(mx.nd.array(a, ctx=mx.gpu(0)), mx.nd.array(b, ctx=mx.gpu(0))).asnumpy()
want = a.astype("float64") @ b
print(np.abs(got - want).max() / np.abs(want).max())
"""
    assert relative_error(program) < 1e-6
    assert 1e-5 < relative_error(program, LOOMIX_CUDA_DOT_TF32="1") < 1e-2


@pytest.mark.skipif(
    "standin" in os.environ.get("LOOMIX_CUDA_LIBRARY", ""),
    reason="the stand-in has no cuDNN; only a device shows it",
)
def test_convolutions_use_tf32_unless_told_otherwise_and_little_memory_where_that_is_asked_for():
    program = """
x, w = r.randn(4, 64, 14, 14).astype("float32"), r.randn(64, 64, 3, 3).astype("float32")
both = []
for ctx in (mx.gpu(0), mx.cpu()):
    y = mx.nd.Convolution(mx.nd.array(x, ctx=ctx), mx.nd.array(w, ctx=ctx), kernel=(3, 3), num_filter=64, no_bias=True)
    both.append(y.asnumpy())
print(np.abs(both[0] - both[1]).max() / np.abs(both[1]).max())
"""
    assert relative_error(program, LOOMIX_CUDA_CONV_TF32="0") < 1e-5
    assert 1e-6 < relative_error(program) < 1e-2
    assert relative_error(program, LOOMIX_CUDA_CONV_TF32="0", LOOMIX_CUDA_CONV_WORKSPACE_MB="0") < 1e-5


def on_both(function, *values):
    return [
        np.concatenate([y.asnumpy().ravel() for y in function(*(mx.nd.array(v, ctx=ctx) for v in values))])
        for ctx in (mx.cpu(), GPU)
    ]


@pytest.mark.parametrize("most", [40, 600])
def test_proposals_are_those_of_the_host(most):
    rng = np.random.RandomState(5)
    scores = rng.permutation(2 * 18 * 12 * 14).reshape(2, 18, 12, 14) / 6048  # no two are equal
    moves = rng.randn(2, 36, 12, 14) * 0.2
    images = np.array([[190, 220, 1.0], [150, 224, 1.5]])

    def propose(*inputs):
        return mx.nd.contrib.MultiProposal(
            *inputs, rpn_pre_nms_top_n=700, rpn_post_nms_top_n=most, scales=(2, 4, 8), output_score=True
        )

    host, gpu = on_both(propose, scores, moves, images)
    np.testing.assert_allclose(gpu, host, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("more", [{}, {"force_suppress": True, "nms_topk": 100}, {"nms_threshold": -1}])
def test_detections_are_those_of_the_host(more):
    rng = np.random.RandomState(6)
    scores = rng.permutation(2 * 4 * 300).reshape(2, 4, 300) / 2400
    corner = rng.rand(1, 300, 2) * 0.8
    anchors = np.concatenate([corner, corner + 0.05 + rng.rand(1, 300, 2) * 0.2], axis=2)

    def detect(*inputs):
        return [mx.nd.contrib.MultiBoxDetection(*inputs, threshold=0.6, **more)]

    host, gpu = on_both(detect, scores, rng.randn(2, 1200) * 0.1, anchors)
    np.testing.assert_allclose(gpu, host, rtol=1e-5, atol=1e-5)
