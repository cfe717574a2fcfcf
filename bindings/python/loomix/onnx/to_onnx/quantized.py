# SPDX-License-Identifier: Apache-2.0
"""Layers of 8 bits, as QuantizeLinear and DequantizeLinear around the layers of real numbers (QDQ).

Whole numbers of 8 bits are what QuantizeLinear gives; sums of 32 bits stay the real numbers that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Node
from ..writer import Writer
from . import layers

_MOST = {"int8": 127, "uint8": 255, "int32": 2**31 - 1}


def _scale(ends: tuple[float, float], dtype: Any) -> float:
    return max(abs(ends[0]), abs(ends[1])) / _MOST[np.dtype(dtype).name] or 1.0  # an empty range is of zeros


def _ends(n: Node, i: int) -> tuple[float, float]:
    """The range of a layer's whole numbers, as its producer said."""
    found = n.graph.ranges.get(n.entries[i])
    if found is None:
        n.fail(f"the range of input {i} is found in each run; expected a calibrated one.")
    return found


def _fixed_scale(n: Node, low: int) -> np.ndarray:
    """Of int8 numbers whose range comes as two parameters: one, or one for each row."""
    found = n.constant(low), n.constant(low + 1)
    if found[0] is None or found[1] is None:
        n.fail("the range of its weight is no parameter.")
    reach = np.maximum(np.abs(found[0]), np.abs(found[1])).astype(np.float64) / _MOST["int8"]
    reach[reach == 0] = 1.0
    return reach.reshape(()) if reach.size == 1 else reach


def _dequantize(w: Writer, x: str, scale: Any, dtype: Any) -> str:
    """Numbers of one scale, or of one for each row."""
    scale = np.asarray(scale, np.float32)
    more = {"axis": 0} if scale.ndim else {}
    return w.add("DequantizeLinear", x, scale, np.zeros(scale.shape, dtype), **more)


def _real(n: Node, w: Writer, i: int) -> str:
    dtype = n.dtype(i)
    if dtype == np.int32:
        return n.input(i)
    return _dequantize(w, n.input(i), _scale(_ends(n, i), dtype), dtype)


def _rounded(n: Node, w: Writer, real: str, ends: tuple[float, float]) -> list[str]:
    """The whole numbers, and the ends of their range."""
    dtype = n.out_dtype()
    n.graph.ranges[n.number, 0] = ends
    whole = w.add("QuantizeLinear", real, np.float32(_scale(ends, dtype)), np.zeros((), dtype))
    return [whole, *(w.constant(np.array([end], np.float32)) for end in ends)]


def _sums(n: Node, real: str) -> list[str]:
    if any(number == n.number for number, _ in n.graph.heads):
        n.fail("sums of 32 bits as outputs have no ONNX form.")
    return [real]


def _calibrated(n: Node) -> tuple[float, float]:
    low, high = n["min_calib_range"], n["max_calib_range"]
    if low in (None, "None") or high in (None, "None"):
        n.fail("its range is found in each run; expected a calibrated one.")
    return float(low), float(high)


def quantize(n: Node, w: Writer) -> list[str]:
    low, high = _calibrated(n)
    reach = max(abs(low), abs(high))
    return _rounded(n, w, n.input(0), (-reach, reach) if n.out_dtype() == np.int8 else (low, high))


def requantize(n: Node, w: Writer) -> list[str]:
    reach = max(map(abs, _calibrated(n)))
    return _rounded(n, w, _real(n, w, 0), (-reach if n.out_dtype() == np.int8 else 0.0, reach))


def dequantize(n: Node, w: Writer) -> str:
    return _real(n, w, 0)


def _product(n: Node, w: Writer, x: str, apply: Callable[..., str]) -> list[str]:
    """Of data and int8 weights; the bias in the step of the sums, as ONNX' readers want it."""
    first = 2 if n["no_bias"] else 3
    scale = _fixed_scale(n, first + 2)
    weight = _dequantize(w, n.input(1), scale, np.int8)
    if n["no_bias"]:
        return _sums(n, apply(x, weight))
    step = scale * _scale(_ends(n, 0), n.dtype(0))
    bias = n.constant(2)
    if bias is None:
        n.fail("its bias is no parameter.")
    whole = np.rint(bias * (_fixed_scale(n, first + 4) / step))
    limits = np.iinfo(np.int32)
    sums = w.constant(np.clip(whole, limits.min, limits.max).astype(np.int32))
    return _sums(n, apply(x, weight, _dequantize(w, sums, step, np.int32)))


def convolution(n: Node, w: Writer) -> list[str]:
    axes = len(n["kernel"])
    if (n["layout"] or "").endswith("C"):
        n.fail(f"layout {n['layout']} has no ONNX form.")
    return _product(
        n, w, _real(n, w, 0),
        lambda *inputs: w.add(
            "Conv", *inputs, kernel_shape=list(n["kernel"]), pads=list(n["pad"] or [0] * axes) * 2,
            strides=list(n["stride"] or [1] * axes), dilations=list(n["dilate"] or [1] * axes), group=n["num_group"],
        ),
    )  # fmt: skip


def fully_connected(n: Node, w: Writer) -> list[str]:
    if n.rank() != 2 and not n["flatten"]:
        n.fail("flatten=False has no ONNX form.")
    x = _real(n, w, 0)
    if n.rank() != 2:
        x = w.add("Flatten", x, axis=1)
    return _product(n, w, x, lambda *inputs: w.add("Gemm", *inputs, transB=1))


class _OnReal(Node):
    """A node whose data is its input as real numbers."""

    def input(self, i: int) -> str:
        return self.real if i == 0 else super().input(i)

    def __init__(self, n: Node, real: str) -> None:
        self.__dict__.update(n.__dict__)
        self.real = real


def _moved(convert: Callable[[Node, Writer], str]) -> Callable[[Node, Writer], list[str]]:
    """A layer that keeps the range."""

    def converted(n: Node, w: Writer) -> list[str]:
        return _rounded(n, w, convert(_OnReal(n, _real(n, w, 0)), w), _ends(n, 0))

    return converted


def concat(n: Node, w: Writer) -> list[str]:
    count = n["num_args"]
    ends = [_ends(n, i) for i in range(count)]
    joined = w.add("Concat", *(_real(n, w, i) for i in range(count)), axis=n.axis("dim"))
    return _rounded(n, w, joined, (min(end[0] for end in ends), max(end[1] for end in ends)))


def add(n: Node, w: Writer) -> list[str]:
    real = w.add("Add", _real(n, w, 0), _real(n, w, 1))
    return _sums(n, real) if n.out_dtype() == np.int32 else _rounded(n, w, real, _calibrated(n))


CONVERTERS: dict[str, Callable[[Node, Writer], Any]] = {
    "_contrib_dequantize": dequantize,
    "_contrib_quantize_v2": quantize,
    "_contrib_quantized_act": _moved(lambda n, w: w.add("Relu", n.input(0))),
    "_contrib_quantized_concat": concat,
    "_contrib_quantized_conv": convolution,
    "_contrib_quantized_elemwise_add": add,
    "_contrib_quantized_flatten": _moved(lambda n, w: w.add("Flatten", n.input(0), axis=1)),
    "_contrib_quantized_fully_connected": fully_connected,
    "_contrib_quantized_pooling": _moved(layers.pooling),
    "_contrib_requantize": requantize,
}
