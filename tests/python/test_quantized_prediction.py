# SPDX-License-Identifier: Apache-2.0
"""Networks of 8 bits as prediction compiles them, beside what their operators give one by one."""

import os
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest
from loomix.contrib import quantization

CPU = Path("/proc/cpuinfo")
HAS_VNNI = CPU.exists() and "avx512_vnni" in CPU.read_text()
LIMITS = ("LOOMIX_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")
pytestmark = pytest.mark.skipif(
    any(name in os.environ for name in ("LOOMIX_DNNL", "LOOMIX_CHOOSE_LAYOUT")),
    reason="layers of 8 bits run as they are",
)
packed = pytest.mark.skipif(
    not HAS_VNNI or any(name in os.environ for name in LIMITS),
    reason="products are packed where there is VNNI",
)


def conv(data, filters, name, kernel=(3, 3), relu=True, **attrs):
    pad = attrs.pop("pad", (kernel[0] // 2, kernel[1] // 2))
    made = mx.sym.Convolution(data, num_filter=filters, kernel=kernel, pad=pad, name=name, **attrs)
    return mx.sym.Activation(made, act_type="relu", name=f"{name}_relu") if relu else made


def chain(data):
    x = conv(data, 16, "a", kernel=(7, 7), stride=(2, 2), pad=(3, 3))
    x = mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool")
    x = conv(x, 24, "b", kernel=(1, 1), relu=False, no_bias=True)
    x = conv(x, 20, "c", dilate=(2, 2), pad=(2, 2))
    return mx.sym.FullyConnected(mx.sym.flatten(x), num_hidden=200, name="fc")


def residual(data):
    x = conv(data, 16, "a")
    y = conv(conv(x, 16, "b"), 16, "c", relu=False)
    x = mx.sym.Activation(x + y, act_type="relu", name="sum")
    y = conv(conv(x, 32, "d", stride=(2, 2)), 32, "e", relu=False)
    x = conv(x, 32, "f", kernel=(1, 1), stride=(2, 2), relu=False) + y
    x = mx.sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1), name="pool")
    return mx.sym.FullyConnected(x, num_hidden=10, name="fc")


def joined(data):
    x = conv(data, 16, "a")
    pooled = mx.sym.Pooling(x, kernel=(3, 3), stride=(1, 1), pad=(1, 1), pool_type="avg", name="pool")
    x = mx.sym.Concat(
        conv(x, 8, "b", kernel=(1, 1)), conv(x, 24, "c", relu=False), pooled, x, dim=1, name="joined"
    )
    return conv(x, 8, "d", relu=False)


def grouped(data):
    x = conv(data, 32, "a")
    x = conv(x, 32, "b", num_group=32, stride=(2, 2))
    x = conv(x, 48, "c", kernel=(1, 1), relu=False)
    return conv(x, 48, "d", num_group=3, relu=False)


def bounded(data):
    """With clamps that stay in float, between layers of 8 bits."""
    x = mx.sym.clip(conv(data, 16, "a", relu=False), 0, 0.8, name="a_clip")
    x = mx.sym.clip(conv(x, 16, "b", relu=False, num_group=16), 0, 0.5, name="b_clip")
    return conv(mx.sym.clip(conv(x, 8, "c", relu=False), -0.02, 1, name="c_clip"), 4, "d", relu=False)


def clipped_twice(data):
    """With a clamp that two layers read, of which one rounds it."""
    x = mx.sym.clip(conv(data, 16, "a", relu=False), 0, 0.8, name="a_clip")
    return mx.sym.Group([mx.sym.sin(x), conv(x, 8, "b")])


def read_twice(data):
    """By layers of 8 bits and by one that stays in float."""
    x = conv(data, 16, "a")
    return mx.sym.Group([mx.sym.sin(x), conv(x, 8, "b")])


def quantized(network, batch, dtype, granularity="tensor-wise"):
    sym = network(mx.sym.var("data"))
    shapes, _, _ = sym.infer_shape(data=(batch, 3, 20, 18))
    random = np.random.RandomState(4)
    args = {
        name: mx.nd.array(random.normal(size=shape) / np.sqrt(max(1, np.prod(shape[1:]))))
        for name, shape in zip(sym.list_arguments(), shapes)
    }
    args["data"] = mx.nd.array(random.normal(size=shapes[0]))
    made = quantization.quantize_model(
        sym,
        {name: value for name, value in args.items() if name != "data"},
        {},
        calib_mode="naive",
        calib_data=[args["data"]],
        quantized_dtype=dtype,
        quantize_mode="full",
        quantize_granularity=granularity,
    )
    return made[0], {**made[1], "data": args["data"]}


def bound(sym, args, monitor=False):
    executor = sym.bind(mx.cpu(), args, grad_req="null")
    if monitor:
        executor.set_monitor_callback(lambda *_: None)
    return executor


@pytest.mark.parametrize(
    "dtype, granularity", [("int8", "tensor-wise"), ("auto", "tensor-wise"), ("auto", "channel-wise")]
)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("network", [chain, residual, joined, grouped, bounded, read_twice])
def test_results_are_those_of_the_operators(network, batch, dtype, granularity):
    sym, args = quantized(network, batch, dtype, granularity)
    made = bound(sym, args)
    assert not [call for call in calls(made) if "quantized" in call or "requantize" in call], calls(made)
    for ours, theirs in zip(
        made.forward(is_train=False), bound(sym, args, monitor=True).forward(is_train=False)
    ):
        ours, theirs = ours.asnumpy(), theirs.asnumpy()
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        # Sums are rounded once where the operators round them twice, so that a few values are a step or two apart.
        assert np.sqrt(np.square(ours - theirs).mean()) < 0.012 * np.abs(theirs).max()


@packed
def test_one_layer_is_exact():
    for dtype in ("int8", "auto"):
        sym, args = quantized(lambda data: conv(data, 8, "a", relu=False), 2, dtype)
        ours, theirs = (
            bound(sym, args, monitor).forward(is_train=False)[0].asnumpy() for monitor in (False, True)
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6 * np.abs(theirs).max())


def calls(executor):
    return [line.split()[1] for line in executor.debug_str().splitlines() if line[:5].strip().isdigit()]


@packed
def test_what_follows_a_layer_is_part_of_it():
    assert calls(bound(*quantized(residual, 1, "auto"))) == [
        "_packed_quantize", *["_packed_convolution"] * 6, "_packed_pooling", "_packed_dense",
    ]  # fmt: skip


@packed
def test_clamps_between_layers_are_part_of_rounding():
    made = calls(bound(*quantized(bounded, 1, "auto")))
    # Rounding to int8 has no lower bound of its own, as the last clamp needs.
    assert made == [
        "_packed_quantize", *["_packed_convolution"] * 3, "transpose", "clip", "_packed_quantize",
        "_packed_convolution", "transpose",
    ]  # fmt: skip


def test_without_kernels_of_8_bits_layers_are_real():
    script = """
import sys
from test_quantized_prediction import *
for network, granularity in ((chain, "channel-wise"), (residual, "tensor-wise"), (joined, "channel-wise"),
                             (grouped, "channel-wise"), (bounded, "tensor-wise")):
    sym, args = quantized(network, 2, "auto", granularity)
    made = bound(sym, args)
    assert not [call for call in calls(made) if "quantize" in call or "packed" in call], calls(made)
    ours, theirs = (e.forward(is_train=False)[0].asnumpy() for e in (made, bound(sym, args, monitor=True)))
    assert np.sqrt(np.square(ours - theirs).mean()) < 0.012 * np.abs(theirs).max()
# Of the data, and of what another layer reads before it is clamped to its range.
assert [calls(bound(*quantized(of, 2, "auto"))).count("clip") for of in (bounded, clipped_twice)] == [1, 2]
"""
    folders = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    settings = {"LOOMIX_MAX_CPU_ISA": "avx2", "PYTHONPATH": folders}
    subprocess.run([sys.executable, "-c", script], env={**os.environ, **settings}, check=True)


def test_a_range_that_is_found_in_each_run_stays():
    data = mx.sym.var("data")
    sym = conv(data, 4, "a")
    args = {"a_weight": mx.nd.ones((4, 3, 3, 3)), "a_bias": mx.nd.zeros(4)}
    made = quantization.quantize_model(sym, args, {}, calib_mode="none")
    executor = bound(made[0], {**made[1], "data": mx.nd.ones((1, 3, 5, 5))})
    assert "_packed" not in executor.debug_str()
    assert executor.forward(is_train=False)[0].asnumpy().max() == pytest.approx(27, rel=0.02)


def test_ranges_are_outputs_like_others():
    """Whole numbers and their range, as a file may ask for them."""
    sym, args = quantized(chain, 1, "auto")
    internals = sym.get_internals()
    named = [name for name in internals.list_outputs() if name.startswith("quantized_pool_")]
    assert len(named) == 3
    sym = mx.sym.Group([internals[name] for name in named])
    args = {name: args[name] for name in sym.list_arguments()}
    for ours, theirs in zip(*(bound(sym, args, m).forward(is_train=False) for m in (False, True))):
        assert ours.dtype == theirs.dtype
        ours, theirs = ours.asnumpy().astype("float32"), theirs.asnumpy().astype("float32")
        assert np.abs(ours - theirs).max() <= (1 if ours.size > 1 else 0)


def test_weights_that_change_are_packed_again():
    sym, args = quantized(chain, 1, "auto")
    executor = bound(sym, args)
    first = executor.forward(is_train=False)[0].asnumpy()
    args["fc_weight_quantize_max"][:] *= 2
    args["fc_weight_quantize_min"][:] *= 2
    args["fc_bias_quantize_max"][:] *= 2
    args["fc_bias_quantize_min"][:] *= 2
    np.testing.assert_allclose(executor.forward(is_train=False)[0].asnumpy(), 2 * first, rtol=1e-5, atol=1e-5)
