# SPDX-License-Identifier: Apache-2.0
"""The class ``mx.sym.np._Symbol``: symbols with NumPy's operators, methods and indexing; and calls as nodes."""

# mypy: disable-error-code="override"
# The methods have NumPy's signatures, not those of the methods of mx.sym which they stand for.
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as onp

from ... import _core, attribute, name
from ..._arguments import element_type
from ...base import MXNetValueError
from ...numpy import multiarray
from .. import _internal, op
from ..symbol import Symbol
from . import _calls, _operators

__all__ = ["_Symbol", "compose"]

_COUNTS: dict[str, Any] = {
    "divmod": lambda *_, **k: 2,
    "modf": lambda *_, **k: 2,
    "histogram": lambda *_, **k: 2,
    "linalg.eig": lambda *_, **k: 2,
    "linalg.eigh": lambda *_, **k: 2,
    "linalg.qr": lambda *_, **k: 2,
    "linalg.slogdet": lambda *_, **k: 2,
    "linalg.svd": lambda *_, **k: 3,
    "average": lambda a, axis=None, weights=None, returned=False, out=None: 2 if returned else 1,
    "linspace": lambda *_, retstep=False, **k: 2 if retstep else 1,
    "unique": lambda ar, return_index=False, return_inverse=False, return_counts=False, axis=None: (
        1 + bool(return_index) + bool(return_inverse) + bool(return_counts)
    ),
    "meshgrid": lambda *xi, **_: len(xi),
    "broadcast_arrays": lambda *args: len(args),
    **{f"atleast_{n}d": lambda *arys: len(arys) for n in (1, 2, 3)},
    **{
        name: lambda ary, indices_or_sections, axis=0: _parts(indices_or_sections)
        for name in ("split", "array_split", "hsplit", "vsplit", "dsplit", "ndarray.split")
    },
}


def _parts(indices_or_sections: Any) -> int:
    return indices_or_sections if isinstance(indices_or_sections, int) else len(indices_or_sections) + 1


# Functions that are others, which MXNet's files have.
_REWRITTEN: dict[str, Any] = {
    "append": lambda arr, values, axis=None: ("concatenate", ([arr, values],), {"axis": axis}),
    "fliplr": lambda m: ("flip", (m, 1), {}),
    "flipud": lambda m: ("flip", (m, 0), {}),
    "identity": lambda n, dtype=None, ctx=None: ("eye", (n,), {} if dtype is None else {"dtype": dtype}),
    "inner": lambda a, b: ("tensordot", (a, b), {"axes": ((-1,), (-1,))}),
    "ones_like": lambda a, dtype=None, order="C", ctx=None: ("full_like", (a, 1), {"dtype": dtype}),
    "outer": lambda a, b: ("tensordot", (a.reshape(-1), b.reshape(-1), 0), {}),
    "ravel": lambda x, order="C": ("reshape", (x, (-1,), order), {}),
    "vdot": lambda a, b: ("tensordot", (a.reshape(-1), b.reshape(-1), 1), {}),
    "zeros_like": lambda a, dtype=None, order="C", ctx=None: ("full_like", (a, 0), {"dtype": dtype}),
}


def _flat_take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    return "take", (a.reshape(-1) if axis is None else a, indices), {"axis": axis or 0, "mode": mode}


def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, int):  # whose parts may differ in size
        return "array_split", (ary, indices_or_sections, axis), {}
    return "split", (ary, indices_or_sections, axis), {}


_REWRITTEN.update(
    take=_flat_take,
    array_split=_array_split,
    vsplit=lambda ary, indices_or_sections: ("split", (ary, indices_or_sections, 0), {}),
    dsplit=lambda ary, indices_or_sections: ("split", (ary, indices_or_sections, 2), {}),
)


def _quantile(a: Any, q: Any, axis: Any = None, **more: Any) -> Any:
    return (
        "percentile",
        (a, q * 100 if isinstance(q, (int, float)) else [share * 100 for share in q], axis),
        more,
    )


_REWRITTEN["quantile"] = _quantile


def compose(function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The node of a call; a list where the function gives several arrays."""
    label, attr = kwargs.pop("name", None), kwargs.pop("attr", None)
    if kwargs.pop("out", None) is not None:
        raise MXNetValueError(f"[sym.np.{function}] out is given; expected None: symbols are not written to.")
    if function in _REWRITTEN and all(type(item) is not Symbol for item in args):
        function, args, kwargs = _REWRITTEN[function](*args, **kwargs)
    count = _COUNTS[function](*args, **kwargs) if function in _COUNTS else 1
    found = _operators.node_of(function, args, kwargs)
    if found is None:
        inputs: list[Symbol] = []
        kwargs.pop("ctx", None)
        text = json.dumps(
            [_calls.encode(list(args), inputs), {k: _calls.encode(v, inputs) for k, v in kwargs.items()}]
        )
        found = _calls.OPERATOR, {"function": function, "arguments": text}, inputs
    operator, attrs, inputs = found
    hint = f"_np_{function.rpartition('.')[2].strip('_')}"
    handle = _core.SymbolHandle.late_node(
        operator,
        name.current().get(label, hint),
        {**attribute.current().get(attr), **attrs},
        [item.handle for item in inputs],
        count,
    )
    made = _Symbol(handle)
    return made if function not in _COUNTS or (count == 1 and "split" not in function) else list(made)


# ---- the class ----


class _Symbol(Symbol):
    """A symbol with NumPy's operators, methods and indexing; made by :meth:`Symbol.as_np_ndarray`.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.sym.var("x").as_np_ndarray()
    >>> y = mx.sym.np.matmul(x, x.T)[0]
    >>> with mx.util.np_shape(True):
    ...     y.infer_shape(x=(2, 3))[1]
    [(2,)]
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def as_nd_ndarray(self) -> Symbol:
        """The same symbol with the behaviour of ``mx.sym``."""
        return Symbol(self.handle)

    def as_np_ndarray(self) -> _Symbol:
        """The symbol itself."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> _Symbol:
        return _Symbol(super().__call__(*args, **kwargs).handle)

    def __copy__(self) -> _Symbol:
        return _Symbol(self.handle.copy())

    def __deepcopy__(self, memo: Any) -> _Symbol:
        return self.__copy__()

    # ---- outputs and parts ----

    @property
    def num_outputs(self) -> int:
        """How many outputs there are."""
        return len(self.handle)

    def __iter__(self) -> Iterator[Any]:
        return (_Symbol(self.handle.at(i)) for i in range(len(self.handle)))

    def __getitem__(self, index: Any) -> Any:
        """Of several outputs one, or some; of one output the elements that NumPy's index picks."""
        if len(self.handle) > 1 or isinstance(index, str):
            found = super().__getitem__(index)
            return _Symbol(found.handle)
        items = index if isinstance(index, tuple) else (index,)
        if items and all(
            isinstance(item, (int, onp.integer, slice)) and not isinstance(item, bool) for item in items
        ):
            return self._slice(items)
        return compose("ndarray.__getitem__", (self, index), {})

    def _slice(self, items: tuple[Any, ...]) -> Any:
        """Integers and slices: the two operators that MXNet has for them."""
        bounds = [
            (item.start, item.stop, item.step)
            if isinstance(item, slice)
            else (int(item), int(item) + 1 if item != -1 else None, None)
            for item in items
        ]
        if any(isinstance(number, Symbol) for bound in bounds for number in bound):
            return compose("ndarray.__getitem__", (self, items), {})
        parts: Any = (tuple(bound[i] for bound in bounds) for i in range(3))
        picked: Any = op.slice(self, **dict(zip(("begin", "end", "step"), parts)))
        if all(isinstance(item, slice) for item in items):
            return picked
        codes = [-2 if isinstance(item, slice) else -3 for item in items]
        return _internal._npx_reshape(picked, newshape=(*codes, -4))

    # ---- operators ----

    def __pos__(self) -> _Symbol:
        return self

    # ---- shape ----

    @property
    def T(self) -> _Symbol:
        """The axes reversed."""
        return self.transpose()

    def reshape(self, *args: Any, order: str = "C", **kwargs: Any) -> Any:
        """The same elements under another shape."""
        shape = args or kwargs.get("newshape", kwargs.get("shape"))
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            shape = tuple(args[0])
        return compose("reshape", (self, shape), {} if order == "C" else {"order": order})

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order; reversed unless one is given."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return compose("transpose", (self,), {"axes": tuple(given)} if given else {})

    def flatten(self, order: str = "C", **kwargs: Any) -> Any:
        """The elements as a flat array."""
        return self.reshape(-1, order=order)

    ravel = flatten

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The elements converted to another type."""
        return op.cast(self, dtype=element_type(dtype))


def _method(function: str, order: tuple[str, ...] | None = None) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if order is None:
            return compose(function, (self, *args), kwargs)
        return compose(function, (self,), {**dict(zip(order, args)), **kwargs})

    method.__name__, method.__qualname__ = function, f"_Symbol.{function}"
    method.__doc__ = _operators.function_of(function).__doc__
    return method


for _name in (
    *multiarray._METHODS,
    "take",
    "repeat",
    "diag",
    "dot",
    "squeeze",
    "expand_dims",
    "broadcast_to",
    "copy",
):
    setattr(_Symbol, _name, _method(_name))
# The order of their arguments is not that of the functions.
for _name, _order in {
    "sum": "axis dtype out keepdims",
    "max": "axis out keepdims",
    "min": "axis out keepdims",
    "all": "axis out keepdims",
    "any": "axis out keepdims",
    "clip": "a_min a_max out",
    "round": "decimals out",
}.items():
    setattr(_Symbol, _name, _method(_name, tuple(_order.split())))


def _operator(function: str, reflected: bool = False) -> Any:
    def method(self: Any, *other: Any) -> Any:
        if not all(isinstance(item, (Symbol, bool, int, float, onp.generic)) for item in other):
            return NotImplemented
        return compose(function, (*other, self) if reflected else (self, *other), {})

    return method


for _name, _operation in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "mod": "mod",
    "pow": "power",
    "matmul": "matmul",
    "floordiv": "floor_divide",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}.items():
    setattr(_Symbol, f"__{_name}__", _operator(_operation))
    setattr(_Symbol, f"__r{_name}__", _operator(_operation, True))
for _name, _operation in {
    "neg": "negative",
    "abs": "absolute",
    "invert": "invert",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}.items():
    setattr(_Symbol, f"__{_name}__", _operator(_operation))

_core.SymbolHandle.set_numpy_class(_Symbol)
