# SPDX-License-Identifier: Apache-2.0
"""What the C++ core asks of operators written in Python: their answers are checked here, and their errors explained."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from . import base

# Class registered by mx.operator.register, by its name there.
registry: dict[str, Any] = {}

_PACKAGE = os.path.dirname(__file__) + os.sep
_MOST_FRAMES = 5

# What a user's exception is outside: the first that fits.
_KINDS: tuple[tuple[type[BaseException], type[base.MXNetError]], ...] = (
    (base.ShapeError, base.ShapeError),
    (base.StateError, base.StateError),
    (base.DeviceError, base.DeviceError),
    (ValueError, base.MXNetValueError),
    (TypeError, base.MXNetTypeError),
    (IndexError, base.MXNetIndexError),
    (KeyError, base.MXNetKeyError),
    (MemoryError, base.MXNetMemoryError),
    (NotImplementedError, base.MXNetNotImplementedError),
    (OSError, base.MXNetFileError),
)

# What functions that index shapes raise while these are not known yet.
_NOT_YET = (LookupError, TypeError, ValueError, AssertionError, ArithmeticError)


def _class_name(thing: Any) -> str:
    klass = type(thing)
    return f"{klass.__module__}.{klass.__qualname__}"


def _who(prop: Any) -> str:
    name = getattr(prop, "_registered_as", None)
    return f"operator {name!r} ({_class_name(prop)})"


def _lines_of(error: BaseException) -> str:
    """The user's lines on the way to the error, the innermost first."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_PACKAGE)]
    places = [f"{f.filename}:{f.lineno}, in {f.name}" for f in reversed(frames)]
    return "; at " + ", called from ".join(places[:_MOST_FRAMES]) if places else ""


def _explained(error: BaseException, who: str, what: str) -> base.MXNetError:
    kind = next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), base.MXNetError)
    text = str(error)
    return kind(
        f"[Custom] {who}: {what} raised {type(error).__name__}{': ' + text if text else ''}{_lines_of(error)}."
    )


def _wrong(prop: Any, what: str, came: Any, expected: str) -> base.MXNetError:
    return base.MXNetValueError(f"[Custom] {_who(prop)}: {what} returned {came!r}; expected {expected}.")


def _ask(prop: Any, method: str, *args: Any) -> Any:
    try:
        return getattr(prop, method)(*args)
    except Exception as error:
        raise _explained(error, _who(prop), method) from error


def _names(prop: Any, method: str) -> list[str]:
    names = _ask(prop, method)
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise _wrong(prop, method, names, "a list of names")
    if len(set(names)) < len(names):
        raise _wrong(prop, method, names, "names that differ")
    return list(names)


def describe(op_type: str, arguments: dict[str, str]) -> tuple[Any, list[str], list[str], list[str]]:
    """Makes the object that describes an operator: it, and the names of arguments, outputs and states."""
    klass = registry.get(op_type)
    if klass is None:
        known = ", ".join(sorted(name for name in registry if "@" not in name)) or "none"
        raise base.MXNetValueError(
            f"[Custom] op_type {op_type!r} is not registered; registered are: {known}. "
            "Decorate its CustomOpProp with mx.operator.register."
        )
    try:
        prop = klass(**arguments)
    except Exception as error:
        who = f"operator {op_type!r} ({klass.__module__}.{klass.__qualname__})"
        raise _explained(error, who, f"making it with {arguments}") from error
    prop._registered_as = op_type
    inputs, outputs = _names(prop, "list_arguments"), _names(prop, "list_outputs")
    states = _names(prop, "list_auxiliary_states")
    if not outputs:
        raise _wrong(prop, "list_outputs", outputs, "at least one name")
    if set(inputs) & set(states):
        raise _wrong(prop, "list_auxiliary_states", states, f"names that differ from the arguments {inputs}")
    return prop, inputs, outputs, states


def _groups(prop: Any, method: str, result: Any) -> list[list[Any]]:
    """What infer_shape and infer_type return: a list each for arguments, outputs and, if it is there, states."""
    counts = [len(_names(prop, f"list_{kind}")) for kind in ("arguments", "outputs", "auxiliary_states")]
    whole = isinstance(result, (list, tuple)) and len(result) in (2, 3)
    groups = [*result, ()][:3] if whole else []
    if not whole or not all(isinstance(group, (list, tuple)) for group in groups):
        raise _wrong(
            prop, method, result, "three lists: of the arguments, the outputs and the auxiliary states"
        )
    for group, count, kind in zip(groups, counts, ("arguments", "outputs", "auxiliary states")):
        if len(group) != count:
            raise _wrong(prop, method, result, f"{count} for the {kind}, not {len(group)}")
    return [list(group) for group in groups]


def infer_shape(prop: Any, shapes: Sequence[Any], all_known: bool) -> list[list[Any]] | None:
    """The shapes of arguments, outputs and states; None if those that are known do not suffice."""
    try:
        result = prop.infer_shape([None if shape is None else list(shape) for shape in shapes])
    except Exception as error:
        if not all_known and isinstance(error, _NOT_YET):
            return None
        raise _explained(error, _who(prop), f"infer_shape of {shapes}") from error
    groups = _groups(prop, "infer_shape", result)
    for shape in (shape for group in groups for shape in group):
        _check_shape(prop, shape, result)
    return groups


def _check_shape(prop: Any, shape: Any, result: Any) -> None:
    if shape is None:
        return
    sizes = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    if not all(isinstance(size, base.integer_types) and size >= -1 for size in sizes):
        raise _wrong(prop, "infer_shape", result, "shapes, each a tuple of sizes")


def infer_type(prop: Any, types: Sequence[Any]) -> list[list[Any]]:
    """The element types of arguments, outputs and states; None for those that do not follow."""
    from . import _core

    groups = _groups(prop, "infer_type", _ask(prop, "infer_type", list(types)))
    for dtype in (dtype for group in groups for dtype in group if dtype is not None):
        try:
            _core.numpy_dtype(dtype)
        except TypeError as error:
            raise _wrong(prop, "infer_type", groups, f"element types; {error}") from error
    return groups


def dependencies(prop: Any, num_arguments: int, num_outputs: int) -> list[int]:
    """Which of out_grad, in_data and out_data, counted through, backward reads."""
    numbers = list(range(num_arguments + 2 * num_outputs))
    parts = numbers[:num_outputs], numbers[num_outputs:-num_outputs], numbers[-num_outputs:]
    needed = _ask(prop, "declare_backward_dependency", *map(list, parts))
    if not isinstance(needed, (list, tuple)) or not set(needed) <= set(numbers):
        raise _wrong(prop, "declare_backward_dependency", needed, f"a list of some of {numbers}")
    return [int(number) for number in needed]


def create(prop: Any, context: Any, shapes: Sequence[Any], dtypes: Sequence[Any]) -> Any:
    """The object that computes."""
    made = _ask(prop, "create_operator", context, [list(shape) for shape in shapes], list(dtypes))
    for method in ("forward", "backward"):
        if not callable(getattr(made, method, None)):
            raise _wrong(prop, "create_operator", made, "a CustomOp")
    return made


def _run(prop: Any, function: Callable[..., Any], **arguments: Any) -> None:
    try:
        function(**arguments)
    except BaseException as error:
        what = f"{type(getattr(function, '__self__', function)).__qualname__}.{function.__name__}"
        raise _explained(error, _who(prop), what) from None


def forward(
    prop: Any, operator: Any, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any
) -> None:
    """Calls the user's forward."""
    _run(prop, operator.forward, is_train=is_train, req=req, in_data=in_data, out_data=out_data, aux=aux)


def backward(
    prop: Any, operator: Any, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any
) -> None:
    """Calls the user's backward."""
    _run(
        prop, operator.backward, req=req, in_data=in_data, out_data=out_data, in_grad=in_grad,
        out_grad=out_grad, aux=aux,
    )  # fmt: skip
