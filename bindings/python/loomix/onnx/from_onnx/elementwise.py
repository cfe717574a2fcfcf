# SPDX-License-Identifier: Apache-2.0
"""Operators of which each element of the output depends on one element of each input."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import Builder, Value
from ..library import type_of
from ..reader import Node

SAME = {
    "Abs": "abs", "Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin", "Asinh": "arcsinh", "Atan": "arctan",
    "Atanh": "arctanh", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp",
    "Floor": "floor", "Log": "log", "Neg": "negative", "Reciprocal": "reciprocal", "Relu": "relu",
    "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Softsign": "softsign", "Sqrt": "sqrt",
    "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
# Two arrays; an array and a number; a number and an array.
BINARY = {
    "Add": ("broadcast_add", "_plus_scalar", "_plus_scalar"),
    "Sub": ("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "Mul": ("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "Div": ("broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "Max": ("broadcast_maximum", "_maximum_scalar", "_maximum_scalar"),
    "Min": ("broadcast_minimum", "_minimum_scalar", "_minimum_scalar"),
    "Pow": ("broadcast_power", "_power_scalar", "_rpower_scalar"),
    "Equal": ("broadcast_equal", "_equal_scalar", "_equal_scalar"),
    "Greater": ("broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "GreaterOrEqual": ("broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"),
    "Less": ("broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "LessOrEqual": ("broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
    "And": ("broadcast_logical_and", "_logical_and_scalar", "_logical_and_scalar"),
    "Or": ("broadcast_logical_or", "_logical_or_scalar", "_logical_or_scalar"),
    "Xor": ("broadcast_logical_xor", "_logical_xor_scalar", "_logical_xor_scalar"),
}
_TRUTHS = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor"}


def as_number(value: Value | None, rank: int) -> float | None:
    """A constant of one element that changes no shape with so many axes, as a number."""
    found = None if value is None else value.array
    if found is None or found.size != 1 or found.ndim > rank:
        return None
    return found.reshape(-1)[0].item()


def binary(b: Builder, op: str, left: Value, right: Value) -> Value:
    """One of the operators of two inputs."""
    both, on_right, on_left = BINARY[op]
    number = as_number(right, left.rank)
    if number is not None and left.arrays is None:
        found = b.scalar(on_right, left, number)
    elif (number := as_number(left, right.rank)) is not None and right.arrays is None:
        found = b.scalar(on_left, right, number)
    else:
        if left.symbol_type != right.symbol_type:
            right = b.cast(right, left.symbol_type)
        found = b.elementwise(both, left, right)
    return b.truth(found) if op in _TRUTHS else found


def same(n: Node, b: Builder) -> Value:
    return b.elementwise(SAME[n.op], n.inputs[0])


def two_inputs(n: Node, b: Builder) -> Value:
    left, right = n.inputs
    return binary(b, n.op, left, right)


def power(n: Node, b: Builder) -> Value:
    left, right = n.inputs
    if left.dtype.kind == "f":
        return binary(b, "Pow", left, right)
    return b.cast(binary(b, "Pow", b.cast(left, np.float64), b.cast(right, np.float64)), left.dtype)


def several(n: Node, b: Builder) -> Value:
    op = {"Sum": "Add", "Mean": "Add"}.get(n.op, n.op)
    total = functools.reduce(lambda left, right: binary(b, op, left, right), n.inputs)
    if len(n.inputs) == 1:
        total = b.elementwise("_copy", total)
    return b.scalar("_div_scalar", total, len(n.inputs)) if n.op == "Mean" else total


def modulo(n: Node, b: Builder) -> Value:
    left, right = n.inputs
    if left.rank == right.rank == 0:
        left = b.reshape(left, [1])
    if not n.flag("fmod"):
        return b.elementwise("broadcast_mod", left, right)
    size = b.elementwise("broadcast_mod", b.elementwise("abs", left), b.elementwise("abs", right))
    return b.elementwise("broadcast_mul", b.elementwise("sign", left), size)


def logical_not(n: Node, b: Builder) -> Value:
    return b.truth(b.elementwise("logical_not", n.inputs[0]))


def is_nan(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    return b.truth(b.elementwise("broadcast_not_equal", x, x))


def is_inf(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    up, down = n.flag("detect_positive", True), n.flag("detect_negative", True)
    if up and down:
        return b.truth(b.scalar("_equal_scalar", b.elementwise("abs", x), math.inf))
    if not up and not down:
        return b.truth(b.elementwise("zeros_like", x))
    return b.truth(b.scalar("_equal_scalar", x, math.inf if up else -math.inf))


def round_half_even(n: Node, b: Builder) -> Value:
    return round_to_even(b, n.inputs[0])


def round_to_even(b: Builder, x: Value) -> Value:
    x = b.scalar("_plus_scalar", x, 0.5)
    down = b.elementwise("floor", x)
    is_half = b.elementwise("broadcast_equal", x, down)
    is_odd = b.scalar("_mod_scalar", down, 2)
    return b.elementwise("broadcast_sub", down, b.elementwise("broadcast_mul", is_half, is_odd))


def softplus(n: Node, b: Builder) -> Value:
    return b.elementwise("Activation", n.inputs[0], act_type="softrelu")


def hard_sigmoid(n: Node, b: Builder) -> Value:
    return b.elementwise("hard_sigmoid", n.inputs[0], alpha=n.float("alpha", 0.2), beta=n.float("beta", 0.5))


def hard_swish(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    return b.elementwise("broadcast_mul", x, b.elementwise("hard_sigmoid", x, alpha=1 / 6, beta=0.5))


def mish(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    return b.elementwise("broadcast_mul", x, b.elementwise("tanh", softplus(n, b)))


def _exponential_below_zero(b: Builder, x: Value, scale: float, alpha: float) -> Value:
    """``alpha * (exp(min(x, 0) / scale) - 1)``."""
    low = b.scalar("_div_scalar", b.scalar("_minimum_scalar", x, 0), scale)
    return b.scalar("_mul_scalar", b.elementwise("expm1", low), alpha)


def elu(n: Node, b: Builder) -> Value:
    return b.elementwise("LeakyReLU", n.inputs[0], act_type="elu", slope=n.float("alpha", 1.0))


def celu(n: Node, b: Builder) -> Value:
    x, alpha = n.inputs[0], n.float("alpha", 1.0)
    return b.elementwise(
        "broadcast_add", b.elementwise("relu", x), _exponential_below_zero(b, x, alpha, alpha)
    )


def selu(n: Node, b: Builder) -> Value:
    alpha, gamma = n.float("alpha", 1.67326319), n.float("gamma", 1.05070102)
    if abs(alpha - 1.67326319) < 1e-6 and abs(gamma - 1.05070102) < 1e-6:
        return b.elementwise("LeakyReLU", n.inputs[0], act_type="selu")
    x = n.inputs[0]
    whole = b.elementwise("broadcast_add", b.elementwise("relu", x), _exponential_below_zero(b, x, 1, alpha))
    return b.scalar("_mul_scalar", whole, gamma)


def leaky_relu(n: Node, b: Builder) -> Value:
    return b.elementwise("LeakyReLU", n.inputs[0], act_type="leaky", slope=n.float("alpha", 0.01))


def prelu(n: Node, b: Builder) -> Value:
    x, slope = n.inputs
    of_channels = slope.rank == x.rank - 1 and all(size == 1 for size in slope.shape[1:]) and x.rank > 2
    if slope.arrays is not None and of_channels:
        flat = b.constant([a.reshape(-1) for a in slope.arrays], slope.name)
        return b.make("LeakyReLU", x, flat, act_type="prelu")
    below = b.elementwise("broadcast_mul", b.scalar("_minimum_scalar", x, 0), slope)
    return b.elementwise("broadcast_add", b.elementwise("relu", x), below)


def thresholded_relu(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    return b.elementwise("broadcast_mul", x, b.scalar("_greater_scalar", x, n.float("alpha", 1.0)))


def shrink(n: Node, b: Builder) -> Value:
    x, bias, bound = n.inputs[0], n.float("bias", 0.0), n.float("lambd", 0.5)
    above, below = b.scalar("_greater_scalar", x, bound), b.scalar("_lesser_scalar", x, -bound)
    high = b.elementwise("broadcast_mul", above, b.scalar("_minus_scalar", x, bias))
    low = b.elementwise("broadcast_mul", below, b.scalar("_plus_scalar", x, bias))
    return b.elementwise("broadcast_add", high, low)


def gelu(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    if n.string("approximate", "none", ("none", "tanh")) == "none":
        return b.elementwise("LeakyReLU", x, act_type="gelu")
    cube = b.scalar("_mul_scalar", b.scalar("_power_scalar", x, 3), 0.044715)
    inner = b.scalar("_mul_scalar", b.elementwise("broadcast_add", x, cube), math.sqrt(2 / math.pi))
    factor = b.scalar("_plus_scalar", b.elementwise("tanh", inner), 1)
    return b.elementwise("broadcast_mul", b.scalar("_mul_scalar", x, 0.5), factor)


def clip(n: Node, b: Builder) -> Value:
    x, *bounds = n.inputs
    low, high = [*bounds, None, None][:2]
    limits = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
    numbers = [
        default if bound is None else as_number(bound, 1)
        for bound, default in ((low, float(limits.min)), (high, float(limits.max)))
    ]
    if None not in numbers and x.dtype.kind == "f":
        if low is None or high is None:  # infinities stay
            numbers = [-math.inf if low is None else numbers[0], math.inf if high is None else numbers[1]]
        return b.elementwise("clip", x, a_min=repr(numbers[0]), a_max=repr(numbers[1]))
    x = x if low is None else binary(b, "Max", x, low)
    return x if high is None else binary(b, "Min", x, high)


def cast(n: Node, b: Builder) -> Value:
    n.int("saturate")
    x, dtype = n.inputs[0], type_of(f"[onnx] node '{n.name}'", n.int("to", 0))
    return to_type(b, x, dtype)


def to_type(b: Builder, x: Value, dtype: np.dtype[Any]) -> Value:
    if dtype.kind != "b":
        return b.elementwise("Cast", x, dtype=dtype.name)
    return b.truth(x if x.dtype.kind == "b" else b.scalar("_not_equal_scalar", x, 0))


def cast_like(n: Node, b: Builder) -> Value:
    n.int("saturate")
    return to_type(b, n.inputs[0], n.inputs[1].dtype)


def broadcast_all(b: Builder, values: list[Value]) -> list[Value]:
    """All in the shape that they have together."""
    rank = max(value.rank for value in values)
    if all(value.shapes == values[0].shapes for value in values):
        return values
    known = [value.fixed for value in values if value.fixed is not None]
    if len(known) == len(values):
        shape = np.broadcast_shapes(*known) or (1,)
        wide = [
            b.reshape(v, [1] * (max(rank, 1) - v.rank) + list(v.fixed or ())) if v.rank < rank else v
            for v in values
        ]
        return [v if v.fixed == shape else b.make("broadcast_to", v, shape=shape) for v in wide]
    zeros = [b.elementwise("zeros_like", b.cast(value, np.float32)) for value in values]
    whole = functools.reduce(lambda left, right: b.elementwise("broadcast_add", left, right), zeros)
    found = []
    for value in values:
        if value.rank < rank:
            value = (
                b.unsqueeze(value, range(rank - value.rank)) if value.rank else b.reshape(value, [1] * rank)
            )
        found.append(b.make("broadcast_like", value, whole))
    return found


def where(n: Node, b: Builder) -> Value:
    condition, x, y = broadcast_all(b, n.inputs)
    if condition.rank == 0:
        return b.elementwise("where", condition, x, y)
    found = b.make("where", condition, x, y)
    return b.truth(found) if x.dtype.kind == "b" else found


def identity(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    found = b.elementwise("_copy", x)
    return b.truth(found) if x.dtype.kind == "b" else found


def dropout(n: Node, b: Builder) -> Value | list[Value]:
    n.int("seed")
    x, *rest = n.inputs
    ratio, training = [*rest, None, None][:2]
    rate = 0.5 if ratio is None else as_number(ratio, 1)
    mode = 0.0 if training is None else as_number(training, 1)
    if rate is None or mode is None:
        n.fail("ratio and training_mode must be constants.")
    found = b.elementwise("Dropout", x, p=rate, mode="always" if mode else "training")
    if len(n.output_names) == 1:
        return found
    if mode:
        n.fail("the mask as an output is not supported with training_mode.")
    return [found, b.truth(b.elementwise("ones_like", x))]  # nothing is dropped


IMPORTERS: dict[str, Callable[[Node, Builder], Any]] = {
    **dict.fromkeys(SAME, same),
    **dict.fromkeys(BINARY, two_inputs),
    "Cast": cast,
    "CastLike": cast_like,
    "Celu": celu,
    "Clip": clip,
    "Dropout": dropout,
    "Elu": elu,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "Identity": identity,
    "IsInf": is_inf,
    "IsNaN": is_nan,
    "LeakyRelu": leaky_relu,
    "Max": several,
    "Mean": several,
    "Min": several,
    "Mish": mish,
    "Mod": modulo,
    "Not": logical_not,
    "PRelu": prelu,
    "Pow": power,
    "Round": round_half_even,
    "Selu": selu,
    "Shrink": shrink,
    "Softplus": softplus,
    "Sum": several,
    "ThresholdedRelu": thresholded_relu,
    "Where": where,
}
