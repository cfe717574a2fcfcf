# SPDX-License-Identifier: Apache-2.0
"""Case tables of the operators, one module a family; `tests/ops/run.py` runs them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

FLOATS = ("bfloat16", "float16", "float32", "float64")
ALL = FLOATS + ("int8", "uint8", "int32", "int64")


@dataclass
class Case:
    """One operator on inputs of some shapes, against a NumPy function of (inputs, **attrs)."""

    op: str
    shapes: list
    reference: Callable
    attrs: dict[str, Any] = field(default_factory=dict)
    low: float = -2.0
    high: float = 2.0
    dtypes: tuple = FLOATS
    grad: tuple | None = None  # which inputs to differentiate; None: all
    loose: float = 1.0  # factor on the tolerances
    wide: tuple = ()  # inputs that are float32 where the others are of a half type
    types: dict[int, str] = field(default_factory=dict)  # of inputs that have one of their own, by number
    gives: tuple | None = None  # types of the outputs; None: that of the inputs
    train: bool = False  # run as in training
    states: tuple = ()  # inputs that a training pass changes,
    new_states: Callable | None = None  # to what this function of (inputs, **attrs) returns
    prepare: Callable | None = None  # makes the inputs out of random ones, such as positive definite matrices
    direction: Callable | None = (
        None  # makes what inputs may be changed by out of random numbers, such as symmetric
    )

    @property
    def id(self) -> str:
        attrs = ",".join(f"{k}={v}" for k, v in self.attrs.items())
        return f"{self.op}({attrs}){self.shapes}".replace(" ", "")
