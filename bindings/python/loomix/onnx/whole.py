# SPDX-License-Identifier: Apache-2.0
"""Files with QuantizeLinear and DequantizeLinear around their layers (QDQ), read as layers of 8 bits.

A value behind a DequantizeLinear remembers its whole numbers. A layer whose inputs all do becomes the layer of 8 bits,
and a QuantizeLinear of the same scale behind one that only moves numbers is that layer's own result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .builder import Builder, Value

_MOST = {"int8": 127, "uint8": 255}
_PRODUCTS = {"Convolution": "_contrib_quantized_conv", "FullyConnected": "_contrib_quantized_fully_connected"}


@dataclasses.dataclass
class Whole:
    """The whole numbers of a value: each stands for itself times its scale."""

    dtype: str
    scale: np.ndarray[Any, Any]  # one, or of a constant one for each place of the axis
    parts: list[Value] | None = None  # the numbers, and the ends of their range
    constant: np.ndarray[Any, Any] | None = None
    axis: int = 0
    name: str = ""
    zero: int = 0  # what stands for 0 in the file

    @property
    def reach(self) -> Any:
        return self.scale.astype(np.float64) * _MOST[self.dtype]

    def held(self, b: Builder) -> list[Value]:
        """The numbers and the ends of their range, as parameters if they are constant."""
        if self.parts is None:
            assert self.constant is not None
            reach = self.reach.reshape(-1).astype(np.float32)
            ends = (("min", -reach), ("max", reach))
            self.parts = [b.constant(self.constant, self.name)]
            self.parts += [b.constant(end, f"{self.name}_{which}") for which, end in ends]
        return self.parts

    def transposed(self) -> Whole:
        """Of a constant matrix."""
        assert self.constant is not None
        turned = np.ascontiguousarray(self.constant.T)
        return dataclasses.replace(self, constant=turned, axis=1 - self.axis, parts=None)

    def is_like(self, other: Whole) -> bool:
        """Whether the numbers of both stand for the same."""
        return self.dtype == other.dtype and np.allclose(self.scale, other.scale, rtol=1e-6, atol=0)


def _symmetric(numbers: np.dtype[Any], scale: Value, zero: Value | None) -> tuple[str, Any] | None:
    """The type in which 0 stands for 0, and the scale; None where there is no such type, or the scale is computed."""
    point = np.zeros(1) if zero is None else zero.array
    if scale.array is None or scale.dtype != np.float32 or point is None:
        return None
    points = set(point.reshape(-1).tolist())
    kind = numbers.name
    if not (np.isfinite(scale.array).all() and (scale.array > 0).all()):
        return None
    if kind in _MOST and points == {0}:
        return kind, scale.array
    return ("int8", scale.array) if kind == "uint8" and points == {128} else None


def quantized(b: Builder, x: Value, dtype: np.dtype[Any], scale: Value, zero: Value | None) -> Whole | None:
    """The whole numbers that QuantizeLinear makes, if layers of 8 bits take such."""
    found = _symmetric(dtype, scale, zero)
    if found is None or found[1].size != 1 or x.dtype != np.float32 or x.arrays is not None or not x.rank:
        return None
    whole = Whole(found[0], found[1].reshape(()))
    whole.zero = 128 if dtype.name != whole.dtype else 0
    if x.whole is not None and x.whole.is_like(whole):
        return dataclasses.replace(x.whole, zero=whole.zero)
    reach = float(whole.reach)
    whole.parts = b.make_many(
        "_contrib_quantize_v2", x, out_type=whole.dtype,
        min_calib_range=repr(-reach if whole.dtype == "int8" else 0.0), max_calib_range=repr(reach),
    )  # fmt: skip
    return whole


def constant(x: Value, scale: Value, zero: Value | None, axis: int, name: str) -> Whole | None:
    """Those that DequantizeLinear reads, of a constant."""
    found = _symmetric(x.dtype, scale, zero)
    if found is None or x.array is None or not x.rank:
        return None
    if x.dtype == np.uint8:
        if found[0] == "uint8":
            return None  # weights are int8
        return Whole(
            "int8", found[1], constant=(x.array.astype(np.int16) - 128).astype(np.int8), axis=axis, name=name
        )
    return Whole("int8", found[1], constant=x.array, axis=axis, name=name)


def is_read_so(whole: Whole, scale: Value, zero: Value | None) -> bool:
    """Whether a DequantizeLinear reads the numbers as they were made."""
    point = np.zeros(1) if zero is None else zero.array
    if (
        scale.array is None
        or scale.array.size != 1
        or point is None
        or set(point.reshape(-1).tolist()) != {whole.zero}
    ):
        return False
    return bool(np.allclose(scale.array, whole.scale, rtol=1e-6, atol=0))


def real(b: Builder, whole: Whole) -> Value:
    """The real numbers that they stand for."""
    value = b.make("_contrib_dequantize", *whole.held(b))
    return dataclasses.replace(value, whole=whole)


def _wholes(inputs: Sequence[Value]) -> list[Whole] | None:
    """Those that the real inputs of a layer stand for, if all do and none is constant."""
    found = [value.whole for value in inputs if value.dtype == np.float32 and value.whole is not None]
    is_all = len(found) == len(inputs) > 0
    return found if is_all and all(whole.constant is None for whole in found) else None


def layer(b: Builder, op: str, inputs: Sequence[Value], attributes: Mapping[str, Any]) -> Value | None:
    """The layer of 8 bits that does what this operator does with these inputs; None if there is none."""
    if op in _PRODUCTS:
        return _product(b, op, inputs, attributes)
    wholes = _wholes(inputs)
    if wholes is None:
        return None
    if op in ("broadcast_add", "elemwise_add") and inputs[0].shapes == inputs[1].shapes:
        return real(b, _joined(b, "_contrib_quantized_elemwise_add", wholes, {}, "int32"))
    return None


def moved(b: Builder, op: str, inputs: Sequence[Value], attributes: Mapping[str, Any]) -> Whole | None:
    """What a layer that only moves numbers makes of the whole ones, in their range."""
    wholes = _wholes(inputs)
    if wholes is None:
        return None
    if op == "Concat":
        kind = "int8" if any(whole.dtype == "int8" for whole in wholes) else "uint8"
        return _joined(b, "_contrib_quantized_concat", wholes, attributes, kind)
    name, more = {
        "Pooling": ("pooling", attributes), "relu": ("act", {"act_type": "relu"}), "Flatten": ("flatten", {}),
    }.get(op, ("", {}))  # fmt: skip
    if not name or (op == "Pooling" and attributes.get("pool_type") not in ("max", "avg")):
        return None
    parts = b.make_many(f"_contrib_quantized_{name}", *wholes[0].held(b), **more)
    return dataclasses.replace(wholes[0], parts=parts)


def _joined(b: Builder, op: str, wholes: Any, attributes: Mapping[str, Any], dtype: str) -> Whole:
    """Of several arrays, whose ranges come after all of them."""
    held = [whole.held(b) for whole in wholes]
    parts = b.make_many(
        op, *(part[0] for part in held), *(end for part in held for end in part[1:]), **attributes
    )
    reach = max(float(whole.reach) for whole in wholes)
    return Whole(dtype, np.array(reach / _MOST.get(dtype, 1), np.float32), parts)


def _product(b: Builder, op: str, inputs: Sequence[Value], attributes: Mapping[str, Any]) -> Value | None:
    data, weight, *bias = (value.whole for value in inputs)
    if data is None or data.constant is not None or weight is None or weight.constant is None:
        return None
    if any(value.dtype != np.float32 for value in inputs):
        return None
    if weight.scale.size != 1 and (weight.axis != 0 or weight.scale.size != weight.constant.shape[0]):
        return None
    given = inputs[2].array if bias else None
    if bias and given is None:
        return None
    parts = [data.held(b), weight.held(b)]
    if given is not None:  # each number is its own range
        reach = np.where(given == 0, 1, np.abs(given)).astype(np.float32)
        name = inputs[2].name
        numbers = (127 * np.sign(given)).astype(np.int8)
        parts.append(
            [b.constant(numbers, name), b.constant(-reach, f"{name}_min"), b.constant(reach, f"{name}_max")]
        )
    arrays = [part[0] for part in parts] + [None] * (3 - len(parts))
    ends = [end for part in parts for end in part[1:]]
    sums = b.make_many(_PRODUCTS[op], *arrays, *ends, **attributes)
    return b.make("_contrib_dequantize", *sums)
