# SPDX-License-Identifier: Apache-2.0
"""MXNet's operators of NumPy mode, as its symbol files name them, and the functions of ``mx.np`` that they are.

`_REGULAR` is read both ways: a node of a file becomes a call, and a call with symbols becomes a node that MXNet reads.
"""

from __future__ import annotations

import ast
import functools
import inspect
from typing import Any

import numpy as onp

from ..symbol import Symbol

# operator: function, inputs; attributes. `*` before an input: a list of them; `**`: any number of arguments; `@`: an
# attribute, or an input where its text is None. `a=b`: the attribute a is the argument b; `a!`: it is always written;
# `a:text`: it is written so, for its default is another.
_REGULAR = """
_np_all: all a; axis keepdims
_np_any: any a; axis keepdims
_np_atleast_1d: atleast_1d **arys
_np_atleast_2d: atleast_2d **arys
_np_atleast_3d: atleast_3d **arys
_np_copy: copy a
_np_cumsum: cumsum a; axis dtype
_np_diag: diag array; k
_np_diagflat: diagflat array; k
_np_diagonal: diagonal a; offset axis1 axis2
_np_dot: dot a b
_np_max: max a; axis keepdims initial
_np_min: min a; axis keepdims initial
_np_moveaxis: moveaxis a; source destination
_np_prod: prod a; axis dtype keepdims initial
_np_repeat: repeat a; repeats axis
_np_reshape: reshape a; newshape order
_np_roll: roll a; shift axis
_np_squeeze: squeeze a; axis
_np_sum: sum a; axis dtype keepdims initial
_np_trace: trace a; offset axis1 axis2
_np_transpose: transpose a; axes
_npi_arange: arange; start stop step dtype
_npi_argmax: argmax a; axis keepdims
_npi_argmin: argmin a; axis keepdims
_npi_argsort: argsort a; axis dtype:int64
_npi_around: around x; decimals
_npi_average: average a weights; axis returned
_npi_bincount: bincount x weights; minlength
_npi_blackman: blackman; M dtype
_npi_broadcast_to: broadcast_to array; shape
_npi_cholesky: linalg.cholesky a
_npi_clip: clip a; a_min a_max
_npi_column_stack: column_stack *tup
_npi_concatenate: concatenate *seq; axis
_npi_det: linalg.det a
_npi_diff: diff a; n axis
_npi_dstack: dstack *arrays
_npi_eig: linalg.eig a
_npi_eigh: linalg.eigh a; UPLO
_npi_eigvals: linalg.eigvals a
_npi_eigvalsh: linalg.eigvalsh a; UPLO
_npi_exponential: random.exponential @scale; size
_npi_expand_dims: expand_dims a; axis
_npi_eye: eye; N M k dtype
_npi_flip: flip m; axis
_npi_full: full; shape dtype value=fill_value
_npi_full_like: full_like a; fill_value dtype
_npi_gamma: random.gamma @shape @scale; size dtype
_npi_gumbel: random.gumbel @loc @scale; size
_npi_hamming: hamming; M dtype
_npi_hanning: hanning; M dtype
_npi_hstack: hstack *arrays
_npi_indices: indices; dimensions dtype
_npi_logistic: random.logistic @loc @scale; size
_npi_inv: linalg.inv a
_npi_linspace: linspace; start stop num! endpoint dtype
_npi_logspace: logspace; start stop num! endpoint base dtype
_npi_matmul: matmul a b
_npi_mean: mean a; axis dtype keepdims
_npi_nan_to_num: nan_to_num x; nan posinf neginf
_npi_normal: random.normal @loc @scale; size dtype
_npi_normal_n: npx.random.normal_n @loc @scale; size=batch_shape dtype
_npi_ones: ones; shape dtype
_npi_pareto: random.pareto @a; size
_npi_pinv: linalg.pinv a rcond; hermitian
_npi_pinv_scalar_rcond: linalg.pinv a; rcond hermitian
_npi_polyval: polyval p x
_npi_powerd: random.power @a; size
_npi_rayleigh: random.rayleigh @scale; size
_npi_rot90: rot90 m; k axes!
_npi_slogdet: linalg.slogdet a
_npi_solve: linalg.solve a b
_npi_sort: sort a; axis
_npi_stack: stack *arrays; axis
_npi_std: std a; axis dtype ddof keepdims
_npi_svd: linalg.svd a
_npi_swapaxes: swapaxes a; dim1=axis1 dim2=axis2
_npi_take: take a indices; axis mode!
_npi_tensordot_int_axes: tensordot a b; axes!
_npi_tensorinv: linalg.tensorinv a; ind
_npi_tile: tile A; reps
_npi_tril: tril m; k
_npi_uniform: random.uniform @low @high; size dtype
_npi_uniform_n: npx.random.uniform_n @low @high; size=batch_shape dtype
_npi_unique: unique ar; return_index return_inverse return_counts axis
_npi_var: var a; axis dtype ddof keepdims
_npi_vstack: vstack *arrays
_npi_weibull: random.weibull @a; size
_npi_where: where condition x y
_npi_zeros: zeros; shape dtype
_npx_constraint_check: npx.constraint_check x; msg
_npx_nonzero: npx.nonzero a
_npx_relu: npx.relu data
_npx_sigmoid: npx.sigmoid data
"""
_UNARY = (
    "absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil cos cosh degrees exp expm1 fix floor "
    "isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not negative radians reciprocal rint sign sin "
    "sinh sqrt square tan tanh trunc"
).split()
_BINARY = (
    "add arctan2 bitwise_and bitwise_or bitwise_xor copysign equal greater greater_equal hypot lcm ldexp less "
    "less_equal maximum minimum mod multiply not_equal power subtract true_divide"
).split()
# With a number on the left: an operator of its own (_npi_rsubtract_scalar), or the one of this function.
_REFLECTED = ("arctan2", "copysign", "ldexp", "mod", "power", "subtract", "true_divide")
_MIRRORED = {
    "greater": "less",
    "greater_equal": "less_equal",
    "less": "greater",
    "less_equal": "greater_equal",
}
_SAME = {
    "abs": "absolute",
    "fabs": "absolute",
    "amax": "max",
    "amin": "min",
    "bitwise_invert": "bitwise_not",
    "deg2rad": "radians",
    "divide": "true_divide",
    "invert": "bitwise_not",
    "product": "prod",
    "rad2deg": "degrees",
    "remainder": "mod",
    "round": "around",
    "round_": "around",
    "row_stack": "vstack",
    "sometrue": "any",
}


_FIXED: dict[str, tuple[dict[str, str], list[str]]] = {}  # attributes with one text, and those always written


@functools.cache
def _rules() -> dict[str, tuple[str, list[str], dict[str, str]]]:
    """Operator: function, inputs, and what its attributes are called there."""
    found = {}
    for line in _REGULAR.strip().splitlines():
        operator, _, rest = line.partition(": ")
        head, _, tail = rest.partition(";")
        function, *inputs = head.split()
        pairs = [item.rstrip("!").partition("=") for item in tail.split() if ":" not in item]
        found[operator] = function, inputs, {item: other or item for item, _, other in pairs}
        fixed = [item.partition(":") for item in tail.split() if ":" in item]
        _FIXED[operator] = (
            {item: text for item, _, text in fixed},
            [i[:-1] for i in tail.split() if i[-1] == "!"],
        )
    return found


@functools.cache
def _by_function() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for operator, (function, _, _) in _rules().items():
        found.setdefault(function, []).append(operator)
    return found


def function_of(name: str) -> Any:
    """The function of ``mx.np`` of that name, or of ``mx.npx`` after "npx.", or a method of arrays after "ndarray."."""
    from ... import numpy, numpy_extension

    space, _, rest = name.partition(".")
    place: Any = numpy_extension if space == "npx" else numpy
    if space == "ndarray":
        place = numpy.ndarray
    for part in (rest if space in ("npx", "ndarray") else name).split("."):
        place = getattr(place, part)
    return place


# ---- from a call to a node ----


def _text(value: Any) -> str | None:
    """A value as an attribute; None for what has no text."""
    if isinstance(value, (bool, int, float, str, type(None))):
        return str(value)
    if isinstance(value, onp.generic):
        return str(value.item())
    if isinstance(value, (tuple, list)):
        items = [_text(item) for item in value]
        if None in items or any(isinstance(item, (str, type(None))) for item in value):
            return None
        return f"({', '.join(map(str, items))}{',' if len(items) == 1 else ''})"
    if isinstance(value, (type, onp.dtype)):
        from ...numpy._base import type_name

        return type_name(value)
    return None


def _elementwise(name: str, args: tuple[Any, ...], kwargs: Any) -> Any:
    if kwargs:
        return None
    if name in _UNARY and len(args) == 1 and isinstance(args[0], Symbol):
        return f"_npi_{name}", {}, [args[0]]
    if name not in _BINARY or len(args) != 2:
        return None
    left, right = args
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        return f"_npi_{name}", {}, [left, right]
    symbol, number = (left, right) if isinstance(left, Symbol) else (right, left)
    if not isinstance(symbol, Symbol) or not isinstance(number, (bool, int, float, onp.number)):
        return None
    if symbol is right:
        name = f"r{name}" if name in _REFLECTED else _MIRRORED.get(name, name)
    is_int = isinstance(number, (bool, int, onp.integer))
    if is_int and abs(int(number)) > 2**53:
        return None
    return f"_npi_{name}_scalar", {"scalar": repr(float(number)), "is_int": str(is_int)}, [symbol]


_MAY_BE_NONE = ("axis", "axes", "dtype", "initial", "size")


def _fits(operator: str, given: dict[str, Any], defaults: dict[str, Any]) -> Any:
    """The attributes and inputs of the node for a call's arguments; None if it is not one of this operator."""
    _, inputs, attributes = _rules()[operator]
    given = {**{name: defaults[name] for name in _FIXED[operator][1]}, **given}
    found: list[Symbol] = []
    attrs = dict(_FIXED[operator][0])
    for item in inputs:
        name = item.lstrip("*@")
        value = given.pop(name, None)
        if item.startswith("*"):
            if not isinstance(value, (list, tuple)) or not all(isinstance(x, Symbol) for x in value):
                return None
            attrs["num_args"] = str(len(value))
            found.extend(value)
        elif isinstance(value, Symbol):
            found.append(value)
            if item.startswith("@"):
                attrs[name] = "None"
        elif item.startswith("@") and isinstance(value, (int, float)):
            attrs[name] = str(value)
        elif value is not None or item == inputs[0]:
            return None
    for attribute, name in attributes.items():
        if name not in given:
            continue
        text = _text(given.pop(name))
        if text is None or (text == "None" and attribute not in _MAY_BE_NONE):
            return None
        attrs[attribute] = text
    return None if given else (operator, attrs, found)


def node_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Operator, attributes and inputs of the node of MXNet's that a call is; None if there is none."""
    name = _SAME.get(name, name)
    found = _elementwise(name, args, kwargs)
    if found is not None:
        return found
    if name in _WRITERS:
        found = _WRITERS[name](*args, **kwargs)
    if found is not None or name not in _by_function():
        return found
    try:
        bound = inspect.signature(function_of(name)).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    parameters = bound.signature.parameters
    given = {
        key: value
        for key, value in bound.arguments.items()
        if isinstance(value, Symbol) or value is not parameters[key].default
    }
    if name.startswith(("random.", "npx.random.")):  # what is left out must be said
        for key, parameter in parameters.items():
            if key not in given and isinstance(parameter.default, (int, float)):
                given[key] = parameter.default
        given.pop("ctx", None)
    for operator in _by_function()[name]:
        found = _fits(operator, given, {key: item.default for key, item in parameters.items()})
        if found is not None:
            return found
    return None


def _write_where(condition: Any, x: Any = None, y: Any = None) -> Any:
    one, two = (isinstance(item, (int, float)) for item in (x, y))
    if one and two:
        return "_npi_where_scalar2", {"x": str(float(x)), "y": str(float(y))}, [condition]
    if one and isinstance(y, Symbol):
        return "_npi_where_lscalar", {"scalar": str(float(x))}, [condition, y]
    return ("_npi_where_rscalar", {"scalar": str(float(y))}, [condition, x]) if two else None


def _write_einsum(subscripts: Any, *operands: Any, **kwargs: Any) -> Any:
    if not isinstance(subscripts, str) or not all(isinstance(item, Symbol) for item in operands):
        return None
    return (
        "_npi_einsum",
        {"num_args": str(len(operands)), "subscripts": subscripts, "optimize": "0"},
        [*operands],
    )


def _write_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    attrs = {"axis": str(axis), "squeeze_axis": "False", "indices": "()", "sections": "0"}
    if isinstance(indices_or_sections, int):
        attrs["sections"] = str(indices_or_sections)
    else:
        attrs["indices"] = str((0, *indices_or_sections))
    return "_npi_split", attrs, [ary]


def _write_pad(x: Any, pad_width: Any = None, mode: str = "constant", **kwargs: Any) -> Any:
    value = kwargs.pop("constant_values", 0)
    nested = isinstance(pad_width, (tuple, list)) and all(
        isinstance(item, (tuple, list)) for item in pad_width
    )
    if (
        kwargs
        or not nested
        or not isinstance(value, (int, float))
        or mode not in ("constant", "edge", "reflect")
    ):
        return None
    widths = tuple((int(before), int(after)) for before, after in pad_width)
    return "_npi_pad", {"pad_width": str(widths), "mode": mode, "constant_value": str(value)}, [x]


def _write_percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    if not isinstance(q, (int, float)):
        return None
    attrs = {"axis": str(axis), "interpolation": interpolation, "keepdims": str(keepdims), "q_scalar": str(q)}
    return "_npi_percentile", attrs, [a]


def _write_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord is not None:
        return None
    axes = (axis,) if isinstance(axis, int) else axis
    return (
        "_npi_norm",
        {"ord": "2", "axis": str(axes), "keepdims": str(keepdims), "flag": "1" if axes else "-2"},
        [x],
    )


def _write_tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if isinstance(axes, int):
        return None
    of_a, of_b = (tuple(item) if isinstance(item, (tuple, list)) else (item,) for item in axes)
    return "_npi_tensordot", {"a_axes_summed": str(of_a), "b_axes_summed": str(of_b)}, [a, b]


def _write_ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    attrs, inputs = {}, [ary]
    for side, value in (("begin", to_begin), ("end", to_end)):
        if not isinstance(value, (Symbol, int, float, type(None))):
            return None
        is_symbol = isinstance(value, Symbol)
        attrs[f"to_{side}_arr_given"] = str(is_symbol)
        attrs[f"to_{side}_scalar"] = "None" if is_symbol else str(value)
        inputs.extend([value] if is_symbol else [])
    return "_npi_ediff1d", attrs, inputs


def _write_place(name: str) -> Any:
    """Of delete and insert."""

    def write(arr: Any, obj: Any, values: Any = None, axis: Any = None) -> Any:
        attrs = {"axis": str(axis)}
        inputs = [arr]
        operator = "delete" if name == "delete" else "insert_scalar"
        if isinstance(obj, int):
            attrs["int_ind"] = str(obj)
        elif isinstance(obj, slice):
            attrs.update(start=str(obj.start), stop=str(obj.stop), step=str(obj.step or 1))
            operator = operator.replace("scalar", "slice")
        else:
            return None
        if name == "insert":
            if isinstance(values, (int, float)):
                attrs["val"] = str(values)
            elif isinstance(values, Symbol):
                inputs.append(values)
            else:
                return None
        return f"_npi_{operator}", attrs, inputs

    return write if name == "insert" else lambda arr, obj, axis=None: write(arr, obj, None, axis)


_WRITERS: dict[str, Any] = {
    "ediff1d": _write_ediff1d,
    "delete": _write_place("delete"),
    "insert": _write_place("insert"),
    "where": _write_where,
    "einsum": _write_einsum,
    "split": _write_split,
    "pad": _write_pad,
    "percentile": _write_percentile,
    "linalg.norm": _write_norm,
    "tensordot": _write_tensordot,
}


# ---- from a node to a call ----


def _value(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a type, or the name of a choice
    return tuple(value) if isinstance(value, list) else value


def _number(attrs: dict[str, Any], name: str = "scalar") -> Any:
    value = attrs.get(name, 1)
    return int(value) if attrs.get("is_int", True) and float(value).is_integer() else float(value)


def _norm(f: Any, attrs: dict[str, Any], x: Any) -> Any:
    """`flag` says what norm `ord` means: 1 that of Frobenius, 2 the nuclear one."""
    axis, keepdims = attrs.get("axis"), bool(attrs.get("keepdims", False))
    order = {-2: None, 1: None, 2: "nuc"}.get(attrs.get("flag", -1), attrs.get("ord", 2))
    return f("linalg.norm")(x, order, axis, keepdims)


def _pad(f: Any, attrs: dict[str, Any], x: Any) -> Any:
    mode = attrs.get("mode", "constant")
    more = {"constant_values": attrs.get("constant_value", 0)} if mode == "constant" else {}
    return f("pad")(x, attrs["pad_width"], mode, **more)


def _percentile(f: Any, attrs: dict[str, Any], a: Any, q: Any = None) -> Any:
    share = attrs["q_scalar"] if q is None else q
    more = {
        "interpolation": attrs.get("interpolation", "linear"),
        "keepdims": bool(attrs.get("keepdims", False)),
    }
    return f("percentile")(a, share, attrs.get("axis"), **more)


def _place(attrs: dict[str, Any], tensor: Any) -> Any:
    """Where insert and delete work: at an integer, a slice, or an array of positions."""
    if tensor is not None:
        return tensor
    if attrs.get("int_ind") is not None:
        return attrs["int_ind"]
    return slice(attrs.get("start"), attrs.get("stop"), attrs.get("step"))


def _insert(f: Any, attrs: dict[str, Any], arr: Any, *rest: Any) -> Any:
    values = list(rest)
    value = values.pop(0) if attrs.get("val") is None else attrs["val"]
    return f("insert")(arr, _place(attrs, values[0] if values else None), value, attrs.get("axis"))


def _ediff1d(f: Any, attrs: dict[str, Any], ary: Any, *rest: Any) -> Any:
    given = iter(rest)
    begin, end = (
        next(given) if attrs.get(f"to_{side}_arr_given") else attrs.get(f"to_{side}_scalar")
        for side in ("begin", "end")
    )
    return f("ediff1d")(ary, end, begin)


def _choice(f: Any, attrs: dict[str, Any], *rest: Any) -> Any:
    given = list(rest)
    among = given.pop(0) if attrs.get("a") is None else attrs["a"]
    weights = given[0] if given else None
    return f("random.choice")(among, attrs.get("size"), bool(attrs.get("replace", True)), weights)


def _bernoulli(f: Any, attrs: dict[str, Any], *rest: Any) -> Any:
    name = "logit" if attrs.get("is_logit") else "prob"
    value = rest[0] if rest else attrs[name]
    return f("npx.random.bernoulli")(**{name: value}, size=attrs.get("size"), dtype=attrs.get("dtype"))


def _multinomial(f: Any, attrs: dict[str, Any], *rest: Any) -> Any:
    return f("random.multinomial")(attrs["n"], rest[0] if rest else attrs["pvals"], attrs.get("size"))


def _split(f: Any, attrs: dict[str, Any], data: Any, axis: Any = None) -> Any:
    parts = attrs.get("sections", 0) or attrs["indices"][1:]
    return f("split")(data, parts, attrs.get("axis", 1) if axis is None else axis)


_IRREGULAR: dict[str, Any] = {
    "_npi_bernoulli": _bernoulli,
    "_npi_choice": _choice,
    "_npi_delete": lambda f, a, arr, obj=None: f("delete")(arr, _place(a, obj), a.get("axis")),
    "_npi_diag_indices_from": lambda f, a, x: f("stack")(list(f("diag_indices_from")(x))),
    "_npi_dsplit": _split,
    "_npi_hsplit": lambda f, a, x: _split(f, a, x, 0 if x.ndim == 1 else 1),
    "_npi_ediff1d": _ediff1d,
    "_npi_einsum": lambda f, a, *x: f("einsum")(a["subscripts"], *x),
    "_npi_identity": lambda f, a: f("identity")(a["shape"][0], a.get("dtype")),
    "_npi_insert_scalar": _insert,
    "_npi_insert_slice": _insert,
    "_npi_insert_tensor": _insert,
    "_npi_multinomial": _multinomial,
    "_npi_norm": _norm,
    "_npi_pad": _pad,
    "_npi_percentile": _percentile,
    "_npi_split": _split,
    "_npi_share_memory": lambda f, a, x, y: f("full")((), f("shares_memory")(x, y), "bool"),
    "_npi_tensordot": lambda f, a, x, y: f("tensordot")(x, y, (a["a_axes_summed"], a["b_axes_summed"])),
    "_npi_tensorsolve": lambda f, a, x, y: f("linalg.tensorsolve")(x, y, a.get("a_axes") or None),
    "_npi_where_lscalar": lambda f, a, c, y: f("where")(c, float(a["scalar"]), y),
    "_npi_where_rscalar": lambda f, a, c, x: f("where")(c, x, float(a["scalar"])),
    "_npi_where_scalar2": lambda f, a, c: f("where")(c, float(a["x"]), float(a["y"])),
}


def call(operator: str, texts: dict[str, str], arrays: list[Any]) -> Any:
    """Runs the function of a node on arrays."""
    attrs = {key: _value(text) for key, text in texts.items() if not key.startswith("__")}
    if operator in _IRREGULAR:
        return _IRREGULAR[operator](function_of, attrs, *arrays)
    if operator in _rules():
        return _regular(operator, attrs, arrays)
    name = operator.removeprefix("_npi_")
    if name in _UNARY or name in _BINARY:
        return function_of(name)(*arrays)
    if name.endswith("_scalar"):
        name = name.removesuffix("_scalar")
        if name in _BINARY:
            return function_of(name)(arrays[0], _number(attrs))
        if name[:1] == "r" and name[1:] in _REFLECTED:
            return function_of(name[1:])(_number(attrs), arrays[0])
    from ...base import MXNetNotImplementedError

    raise MXNetNotImplementedError(f"[Symbol] there is no operator {operator!r}.")


def _regular(operator: str, attrs: dict[str, Any], arrays: list[Any]) -> Any:
    function, inputs, attributes = _rules()[operator]
    given = {name: attrs[key] for key, name in attributes.items() if key in attrs}
    if inputs and inputs[0].startswith("**"):
        return function_of(function)(*arrays)
    rest = iter(arrays)
    for item in inputs:
        name = item.lstrip("*@")
        if item.startswith("*"):
            given[name] = list(rest)
        elif item.startswith("@") and attrs.get(name) is not None:
            given[name] = attrs[name]
        else:
            array = next(rest, None)
            if array is not None:
                given[name] = array
    return function_of(function)(**given)
