# SPDX-License-Identifier: Apache-2.0
"""Operators of which each element of the output depends on one element of each input."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Node
from ..writer import Writer

# Loomix's operator -> ONNX's of the same meaning.
SAME = {
    "_copy": "Identity", "_identity_with_attr_like_rhs": "Identity", "BlockGrad": "Identity",
    "IdentityAttachKLSparseReg": "Identity", "MakeLoss": "Identity", "make_loss": "Identity",
    "LinearRegressionOutput": "Identity", "LogisticRegressionOutput": "Sigmoid",
    "MAERegressionOutput": "Identity", "SVMOutput": "Identity", "_contrib_gradientmultiplier": "Identity",
    "abs": "Abs", "arccos": "Acos", "arccosh": "Acosh", "arcsin": "Asin", "arcsinh": "Asinh", "arctan": "Atan",
    "arctanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp",
    "floor": "Floor", "log": "Log", "negative": "Neg", "reciprocal": "Reciprocal", "relu": "Relu",
    "sigmoid": "Sigmoid", "sign": "Sign", "_contrib_sign_ste": "Sign", "sin": "Sin", "sinh": "Sinh",
    "softsign": "Softsign", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip
BINARY = {
    "elemwise_add": "Add", "broadcast_add": "Add", "_grad_add": "Add", "elemwise_sub": "Sub",
    "broadcast_sub": "Sub", "elemwise_mul": "Mul", "broadcast_mul": "Mul", "elemwise_div": "Div",
    "broadcast_div": "Div", "_maximum": "Max", "broadcast_maximum": "Max", "_minimum": "Min",
    "broadcast_minimum": "Min", "_power": "Pow", "broadcast_power": "Pow",
}  # fmt: skip
COMPARISONS = {
    "equal": "Equal", "greater": "Greater", "greater_equal": "GreaterOrEqual", "lesser": "Less",
    "lesser_equal": "LessOrEqual", "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor",
    "not_equal": "Equal",
}  # fmt: skip
ACTIVATIONS = {
    "relu": "Relu", "sigmoid": "Sigmoid", "softrelu": "Softplus", "softsign": "Softsign", "tanh": "Tanh",
}  # fmt: skip
_SCALED = {  # operators that are a factor before or behind another
    "degrees": (None, 180 / math.pi), "radians": (None, math.pi / 180),
    "log10": ("Log", 1 / math.log(10)), "log2": ("Log", 1 / math.log(2)),
}  # fmt: skip


def same(n: Node, w: Writer) -> str:
    return w.add(SAME[n.op], n.input(0))


def binary(n: Node, w: Writer) -> str:
    return w.add(BINARY[n.op], n.input(0), n.input(1))


def _compare(n: Node, w: Writer, name: str, a: Any, b: Any) -> str:
    """A comparison, whose result is a number of the first input's type."""
    if name.startswith("logical"):
        a, b = w.truth(a), w.truth(b)
    found = w.add(COMPARISONS[name], a, b)
    return w.cast(w.add("Not", found) if name == "not_equal" else found, n.out_dtype())


def comparison(n: Node, w: Writer) -> str:
    return _compare(n, w, n.op.removeprefix("broadcast_").removeprefix("_"), n.input(0), n.input(1))


def comparison_scalar(n: Node, w: Writer) -> str:
    scalar = n["scalar"]
    a: Any = n.input(0)
    b: Any = np.float64(scalar)
    if n.dtype().kind == "f" or scalar == int(scalar):
        b = n.number_like(scalar)
    else:  # a fraction is not rounded to the data's whole numbers
        a = w.cast(a, np.float64)
    return _compare(n, w, n.op.removeprefix("_").removesuffix("_scalar"), a, b)


def logical_not(n: Node, w: Writer) -> str:
    return w.cast(w.add("Not", w.truth(n.input(0))), n.out_dtype())


def _python_modulo(n: Node, w: Writer, a: Any, b: Any) -> str:
    """The remainder with the divisor's sign; 0 where the divisor is 0."""
    if n.dtype().kind != "f":
        return w.add("Mod", a, b)
    rest = w.add("Mod", w.add("Add", w.add("Mod", a, b, fmod=1), b), b, fmod=1)
    return w.add("Where", w.add("Equal", b, n.number_like(0)), n.number_like(0), rest)


def modulo(n: Node, w: Writer) -> str:
    return _python_modulo(n, w, n.input(0), n.input(1))


def _hypot(w: Writer, a: Any, b: Any) -> str:
    return w.add("Sqrt", w.add("Add", w.add("Mul", a, a), w.add("Mul", b, b)))


def hypot(n: Node, w: Writer) -> str:
    return _hypot(w, n.input(0), n.input(1))


def _scalar_forms() -> dict[str, Callable[[Node, Writer, str, Any], str]]:
    def plain(op: str, reverse: bool = False) -> Callable[[Node, Writer, str, Any], str]:
        return lambda n, w, x, scalar: w.add(op, scalar, x) if reverse else w.add(op, x, scalar)

    return {
        "_plus_scalar": plain("Add"), "_minus_scalar": plain("Sub"), "_rminus_scalar": plain("Sub", True),
        "_mul_scalar": plain("Mul"), "_div_scalar": plain("Div"), "_rdiv_scalar": plain("Div", True),
        "_power_scalar": plain("Pow"), "_rpower_scalar": plain("Pow", True), "_maximum_scalar": plain("Max"),
        "_minimum_scalar": plain("Min"), "_mod_scalar": _python_modulo,
        "_rmod_scalar": lambda n, w, x, scalar: _python_modulo(n, w, scalar, x),
        "_hypot_scalar": lambda n, w, x, scalar: _hypot(w, x, scalar),
    }  # fmt: skip


_SCALAR_FORMS = _scalar_forms()


def with_scalar(n: Node, w: Writer) -> str:
    return _SCALAR_FORMS[n.op](n, w, n.input(0), n.number_like(n["scalar"]))


def scaled(n: Node, w: Writer) -> str:
    op, factor = _SCALED[n.op]
    return w.add("Mul", w.add(op, n.input(0)) if op else n.input(0), n.number_like(factor))


def _with_sign(w: Writer, x: str, size: Callable[[str], str]) -> str:
    """``sign(x) * size(abs(x))``."""
    return w.add("Mul", w.add("Sign", x), size(w.add("Abs", x)))


def round_half_away(n: Node, w: Writer) -> str:
    half = n.number_like(0.5)
    return _with_sign(w, n.input(0), lambda x: w.add("Floor", w.add("Add", x, half)))


def round_half_down(n: Node, w: Writer) -> str:
    return w.add("Ceil", w.add("Sub", n.input(0), n.number_like(0.5)))


def round_to_zero(n: Node, w: Writer) -> str:
    return _with_sign(w, n.input(0), lambda x: w.add("Floor", x))


def cube_root(n: Node, w: Writer) -> str:
    third = n.number_like(1 / 3)
    root = _with_sign(w, n.input(0), lambda x: w.add("Pow", x, third))
    return w.add("Reciprocal", root) if n.op == "rcbrt" else root


def rsqrt(n: Node, w: Writer) -> str:
    return w.add("Reciprocal", w.add("Sqrt", n.input(0)))


def log1p(n: Node, w: Writer) -> str:
    return w.add("Log", w.add("Add", n.input(0), n.number_like(1)))


def expm1(n: Node, w: Writer) -> str:
    return w.add("Sub", w.add("Exp", n.input(0)), n.number_like(1))


def square(n: Node, w: Writer) -> str:
    return w.add("Mul", n.input(0), n.input(0))


def quadratic(n: Node, w: Writer) -> str:
    x = n.input(0)
    inner = w.add("Add", w.add("Mul", x, n.number_like(n["a"])), n.number_like(n["b"]))
    return w.add("Add", w.add("Mul", inner, x), n.number_like(n["c"]))


def smooth_l1(n: Node, w: Writer) -> str:
    x, square_of = n.input(0), (1.0 if n["scalar"] in (None, "None") else n["scalar"]) ** 2
    size = w.add("Abs", x)
    inside = w.add("Mul", w.add("Mul", x, x), n.number_like(square_of / 2))
    outside = w.add("Sub", size, n.number_like(0.5 / square_of))
    return w.add("Where", w.add("Less", size, n.number_like(1 / square_of)), inside, outside)


def activation(n: Node, w: Writer) -> str:
    return w.add(ACTIVATIONS[n["act_type"]], n.input(0))


def gelu(n: Node, w: Writer, x: str) -> str:
    if w.opset >= 20:
        return w.add("Gelu", x)
    error = w.add("Erf", w.add("Div", x, n.number_like(math.sqrt(2))))
    return w.add("Mul", w.add("Mul", x, n.number_like(0.5)), w.add("Add", error, n.number_like(1)))


def leaky_relu(n: Node, w: Writer) -> str:
    kind, x = n["act_type"], n.input(0)
    if kind == "leaky":
        return w.add("LeakyRelu", x, alpha=n["slope"])
    if kind == "rrelu":  # outside of training the slope is the middle
        return w.add("LeakyRelu", x, alpha=(n["lower_bound"] + n["upper_bound"]) / 2)
    if kind == "elu":
        return w.add("Elu", x, alpha=n["slope"])
    if kind == "selu":
        return w.add("Selu", x)
    if kind == "gelu":
        return gelu(n, w, x)
    slope = n.input(1)
    if n.rank(1) == 1 and n.rank() > 2:
        slope = w.reshape(slope, [-1, *[1] * (n.rank() - 2)])
    return w.add("PRelu", x, slope)


def hard_sigmoid(n: Node, w: Writer) -> str:
    return w.add("HardSigmoid", n.input(0), alpha=n["alpha"], beta=n["beta"])


def clip(n: Node, w: Writer) -> str:
    return w.add("Clip", n.input(0), n.number_like(n["a_min"]), n.number_like(n["a_max"]))


def add_n(n: Node, w: Writer) -> str:
    return w.add("Sum", *n.inputs())


def cast(n: Node, w: Writer) -> str:
    return w.cast(n.input(0), n.out_dtype())


def cast_all(n: Node, w: Writer) -> list[str]:
    return [w.cast(n.input(i), n.out_dtype(i)) for i in range(len(n))]


def where(n: Node, w: Writer) -> str:
    condition = w.truth(n.input(0))
    if n.rank(0) == 1 and n.rank(1) > 1:  # chooses rows
        condition = w.reshape(condition, [-1, *[1] * (n.rank(1) - 1)])
    return w.add("Where", condition, n.input(1), n.input(2))


def dropout(n: Node, w: Writer) -> str:
    if n["mode"] == "always" and n["axes"]:
        n.fail("mode 'always' with axes has no ONNX form.")
    training = np.array(True) if n["mode"] == "always" else None
    return w.add("Dropout", n.input(0), np.array(n["p"], np.float32), training)


def divide_by_root_of_size(n: Node, w: Writer) -> str:
    return w.add("Div", n.input(0), n.number_like(math.sqrt(n.shape(axes=[-1])[-1])))


def filled_like(n: Node, w: Writer) -> str:
    value = np.array([n.op == "ones_like"], n.out_dtype())
    if None not in n.out_sizes():
        return w.constant(np.full(n.out_shape(), value[0]))
    return w.add("ConstantOfShape", w.add("Shape", n.input(0)), value=w.tensors(value))


CONVERTERS: dict[str, Callable[[Node, Writer], Any]] = {
    **dict.fromkeys(SAME, same),
    **dict.fromkeys(BINARY, binary),
    **{f"{prefix}{name}": comparison for name in COMPARISONS for prefix in ("_", "broadcast_")},
    **{f"_{name}_scalar": comparison_scalar for name in COMPARISONS},
    **dict.fromkeys(_SCALAR_FORMS, with_scalar),
    **dict.fromkeys(_SCALED, scaled),
    "Activation": activation,
    "Cast": cast,
    "Dropout": dropout,
    "LeakyReLU": leaky_relu,
    "_contrib_div_sqrt_dim": divide_by_root_of_size,
    "_contrib_quadratic": quadratic,
    "_contrib_round_ste": round_half_away,
    "_hypot": hypot,
    "_mod": modulo,
    "add_n": add_n,
    "amp_cast": cast,
    "amp_multicast": cast_all,
    "broadcast_hypot": hypot,
    "broadcast_mod": modulo,
    "cbrt": cube_root,
    "clip": clip,
    "expm1": expm1,
    "fix": round_to_zero,
    "hard_sigmoid": hard_sigmoid,
    "log1p": log1p,
    "logical_not": logical_not,
    "ones_like": filled_like,
    "rcbrt": cube_root,
    "rint": round_half_down,
    "round": round_half_away,
    "rsqrt": rsqrt,
    "smooth_l1": smooth_l1,
    "square": square,
    "trunc": round_to_zero,
    "where": where,
    "zeros_like": filled_like,
}
