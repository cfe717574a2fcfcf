# SPDX-License-Identifier: Apache-2.0
"""The stub of the functions of ``mx.np``: their signatures, with types by the arguments' names where they have none."""

import inspect

HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the functions of mx.np; do not edit.
import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.typing import ArrayLike, DTypeLike

from ..context import Context
from .multiarray import ndarray

_Out: TypeAlias = ndarray | tuple[ndarray, ...] | None
_Axes: TypeAlias = int | list[Any] | tuple[Any, ...]
_Shape: TypeAlias = int | Sequence[int] | ndarray
_Several: TypeAlias = Sequence[ArrayLike] | ArrayLike
"""
# A default of None allows None, too. Arguments that are not here mean something else in each function.
_ARGUMENTS = {
    "ArrayLike": "A a a1 a2 a_max a_min append ar ar1 ar2 arr array ary aweights b condition element fill_value filt "
    "fp fweights indices initial left m mean neginf p posinf prepend prototype q repeats right sample seq_of_zeros "
    "sorter start step stop test_elements to_begin to_end u v val values w weights where x x1 x2 xp y *arys *xi",
    "_Out": "out",
    "_Axes": "axes axis destination shift source",
    "_Shape": "dimensions new_shape newshape reps shape",
    "_Several": "arrays choices choicelist condlist indices_or_sections keys seq tup",
    "ArrayLike | str": "bins",
    "DTypeLike": "dtype type1 type2",
    "Context": "ctx",
    "str": "bitorder kind method mode order",
    "builtins.bool": "assume_unique density full increasing invert keepdims normed overwrite_input return_indices",
    "float": "discont period rcond",
    "int": "M",
}
_HINTS = {name: hint for hint, names in _ARGUMENTS.items() for name in names.split()}
_PLAIN = {"int": "int", "float": "float", "str": "str", "bool": "builtins.bool"}
# Functions that give one array or several, as their arguments say.
_ONE_OR_MORE = ("atleast_1d", "atleast_2d", "atleast_3d", "average", "linspace", "unique", "frexp")


def _parameters(signature):
    """The parameters as a stub writes them."""
    parts, names_only = [], False
    for item in signature.parameters.values():
        mark = {item.VAR_POSITIONAL: "*", item.VAR_KEYWORD: "**"}.get(item.kind, "")
        names_only = names_only or mark == "*"
        if item.kind is item.KEYWORD_ONLY and not names_only:
            parts.append("*")
            names_only = True
        hint = _PLAIN.get(str(item.annotation)) or _HINTS.get(mark + item.name, "Any")
        if item.default is None and hint not in ("Any", "_Out"):
            hint += " | None"
        parts.append(f"{mark}{item.name}: {hint}{'' if item.default is item.empty else ' = ...'}")
    return parts


def _result(name, signature, may_be_anything):
    """What a function gives."""
    given = str(signature.return_annotation).replace("Any", "ndarray")
    if name in _ONE_OR_MORE or may_be_anything:
        return "Any"
    return _PLAIN.get(given) or (given if given.startswith(("list[", "tuple[")) else "ndarray")


def text():
    """The whole file."""
    from loomix import numpy

    lines = [HEAD]
    for name, function in sorted(numpy.FUNCTIONS.items()):
        signature = inspect.signature(function)
        parts = _parameters(signature)
        ending = f") -> {_result(name, signature, name in numpy._fallback.FUNCTIONS)}: ..."
        joined = ", ".join(parts)
        if len(joined) + len(name) + len(ending) + 5 <= 110:
            lines.append(f"def {name}({joined}{ending}")
        elif len(joined) + 4 <= 110:
            lines += [f"def {name}(", f"    {joined}", ending]
        else:
            lines += [f"def {name}(", *(f"    {part}," for part in parts), ending]
    return "\n".join(lines) + "\n"
