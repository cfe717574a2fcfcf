# SPDX-License-Identifier: Apache-2.0
"""Warnings of what MXNet does and people rarely mean. Each comes once; LOOMIX_HABITS makes it an error, or no
concern. One is an error from the start, as it loses values.

>>> import loomix as mx
>>> mx.habits.NAMES
('integer-scalar', 'float-mask', 'float32-integers', 'integer-normalize', 'swapped-views')
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import warnings
from typing import Any, NamedTuple

import numpy as np

from . import _core
from .base import MXNetError, MXNetValueError

__all__ = ["NAMES", "HabitError", "HabitWarning", "set_habit"]

NAMES = ("integer-scalar", "float-mask", "float32-integers", "integer-normalize", "swapped-views")
_ACTIONS = ("warn", "error", "off")
_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_warned: set[str] = set()


class HabitWarning(UserWarning):
    """Something that MXNet does, too, and that is rarely meant.

    Examples
    --------
    >>> import loomix as mx
    >>> issubclass(mx.habits.HabitWarning, UserWarning)
    True
    """


class HabitError(MXNetError, ValueError):
    """The same where LOOMIX_HABITS says that it is an error.

    Examples
    --------
    >>> import loomix as mx
    >>> issubclass(mx.habits.HabitWarning, UserWarning)
    True
    """


def _check(name: str, action: str) -> None:
    if name not in (*NAMES, "all"):
        raise MXNetValueError(f"[habits] unknown habit {name!r}; expected {', '.join(NAMES)} or all.")
    if action not in _ACTIONS:
        raise MXNetValueError(f"[habits] {name}={action!r}: expected {', '.join(_ACTIONS)}.")


@functools.cache
def _actions() -> dict[str, str]:
    """What becomes of each habit, by LOOMIX_HABITS."""
    actions = dict.fromkeys(NAMES, "warn") | {"swapped-views": "error"}
    for item in filter(None, _core.habits().replace(" ", "").split(",")):
        name, _, action = item.partition("=")
        _check(name, action)
        actions.update(dict.fromkeys(NAMES, action) if name == "all" else {name: action})
    return actions


def set_habit(name: str, action: str) -> str:
    """Says what becomes of a habit: ``"warn"`` (once), ``"error"`` or ``"off"``; returns what it was.

    >>> set_habit("float-mask", "error")
    'warn'
    >>> set_habit("float-mask", "warn")
    'error'
    """
    _check(name, action)
    if name == "all":
        raise MXNetValueError(f"[habits] set_habit takes one habit; expected {', '.join(NAMES)}.")
    _warned.discard(name)
    before = _actions()[name]
    _actions()[name] = action
    return before


def is_watched(name: str) -> bool:
    """Whether it is worth looking for the habit."""
    action = _actions()[name]
    return action == "error" or (action == "warn" and name not in _warned)


def meet(name: str, text: str) -> None:
    """Warns of a habit at the user's line the first time, or raises."""
    action = _actions()[name]
    if action == "error":
        raise HabitError(f"{text} [{name}]")
    if action == "off" or name in _warned:
        return
    _warned.add(name)
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{text} [{name}]", HabitWarning, stacklevel=level)


def integer_scalar(sign: str, dtype: Any, number: float, reverse: bool) -> None:
    """Of an array of integers and a number with a fraction; the extension calls this."""
    if not is_watched("integer-scalar"):
        return
    kind = np.dtype(dtype).name
    given = f"{number:g} {sign} x" if reverse else f"x {sign} {number:g}"
    meet(
        "integer-scalar",
        f"`{given}` of an array x of {kind}: as in MXNet the number becomes {kind} first, so it counts as "
        f"{int(number)}. For the fraction use `x.astype('float32')`.",
    )


def float_mask(index: Any, shape: tuple[int, ...]) -> None:
    """Of an index array that looks like a mask but holds floating-point numbers."""
    if index.dtype not in (np.float32, np.float64, np.float16):
        return
    if index.size <= 2 or index.shape != shape[: len(index.shape)] or not is_watched("float-mask"):
        return
    values = index if isinstance(index, np.ndarray) else index.asnumpy()
    if not ((values == 0) | (values == 1)).all():
        return
    meet(
        "float-mask",
        f"an index of {np.dtype(index.dtype).name} zeros and ones, of the array's own shape {index.shape}: as in MXNet "
        "it holds the positions 0 and 1. For a mask use `x[mask.astype('bool')]` or nd.contrib.boolean_mask.",
    )


def float32_integers(source: Any, values: Any) -> None:
    """Of integers that became float32, the type that arrays have where none is said."""
    if isinstance(source, np.ndarray) and source.dtype.kind not in "iu":
        return
    if not values.size or np.abs(values).max() < 2**24 or not is_watched("float32-integers"):
        return
    exact = np.asarray(source)
    if exact.dtype.kind not in "iu":
        return
    wrong = exact[values.astype(np.float64).astype(object) != exact.astype(object)]
    if wrong.size:
        kind = exact.dtype.name
        meet(
            "float32-integers",
            f"nd.array of integers: as in MXNet they become float32, which cannot hold {wrong.flat[0]}. To keep them "
            f"use nd.array(values, dtype={kind!r}).",
        )


def integer_normalize(dtype: Any) -> None:
    """Of an image of integers whose values are to become small numbers around 0."""
    kind = np.dtype(dtype)
    if kind.kind not in "iu" or not is_watched("integer-normalize"):
        return
    meet(
        "integer-normalize",
        f"Normalize of an image of {kind.name}: as in MXNet the result is {kind.name}, too, so fractions and values "
        "outside of its range are lost. Put ToTensor() before it, which makes float32 from 0 to 1.",
    )


class _Copy(NamedTuple):
    """An assignment of an item of an array to another item of it."""

    array: int
    version: int  # of the array's memory before
    written: int
    read: int
    before: Any  # what the written item held; None where the habit is no error


class _Copies(threading.local):
    last: _Copy | None = None


_copies = _Copies()


def _item_shared(array: Any, value: Any) -> int:
    """The first item of an array that shares memory with a value, of which some do."""
    first, end = 0, len(array)
    while end - first > 1:
        middle = (first + end) // 2
        if array._slice(first, middle)._shares_memory(value):
            end = middle
        else:
            first = middle
    return first


def swapped_views(array: Any, key: int, value: Any) -> None:
    """Of ``x[i], x[j] = x[j], x[i]``, which is how ``np.random.shuffle`` and ``random.shuffle`` work. Both values are
    views, so the second assignment reads what the first one has written. The error undoes the first one."""
    if not is_watched("swapped-views"):
        return
    read, written, version = _item_shared(array, value), key % len(array), array._version
    last, _copies.last = _copies.last, None
    if read == written:
        return
    items = array._detach()  # not for the tape
    if (
        last is None
        or last.array != id(array)
        or version - last.version > 2
        or (last.written, last.read) != (read, written)
    ):
        may_fail = _actions()["swapped-views"] == "error"
        before = items._slice(written, written + 1).copy() if may_fail else None
        _copies.last = _Copy(id(array), version, written, read, before)
        return
    if last.before is not None:
        items._slice(read, read + 1)[:] = last.before
    meet(
        "swapped-views",
        f"x[{written}] is set to x[{read}], which has just been overwritten by x[{written}]: in `x[i], x[j] = x[j], "
        "x[i]` both values are views, so one row is lost, as in MXNet. To shuffle use mx.nd.random.shuffle(x); to swap "
        "use `x[i], x[j] = x[j].copy(), x[i].copy()`.",
    )
