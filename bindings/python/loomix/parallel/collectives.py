# SPDX-License-Identifier: Apache-2.0
"""Operations that all ranks along an axis of a mesh do together, on arrays and symbols, with gradients.

Each rank calls them with an array of its own, in the same order. What a rank gets depends on the arrays, not on
timing: sums are added in the order of ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from .. import _parallel
from .. import ndarray as nd
from .. import symbol as sym
from ..base import MXNetTypeError
from .job import ensure_started
from .mesh import Axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    Value = TypeVar("Value", nd.NDArray, sym.Symbol)

__all__ = ["all_reduce", "all_to_all", "gather", "group_of", "own", "reduce_scatter", "share"]


def group_of(over: Axis | Sequence[int]) -> str:
    """The name of the group of some ranks, as attributes of operators have it; "" where this rank is alone."""
    ensure_started()
    ranks = over.ranks if isinstance(over, Axis) else list(over)
    return _parallel.collective_group(ranks) if len(ranks) > 1 else ""


def _call(name: str, data: Any, **attrs: Any) -> Any:
    if not isinstance(data, (nd.NDArray, sym.Symbol)):
        raise MXNetTypeError(
            f"[parallel{name.removeprefix('_parallel')}] data is of type {type(data).__name__}; expected an NDArray "
            "or a Symbol."
        )
    module = nd if isinstance(data, nd.NDArray) else sym
    return getattr(module._internal, name)(data, **attrs)


def gather(
    data: Value,
    over: Axis | Sequence[int],
    axis: int = 0,
    whole: int = 0,
    partial_gradient: bool = True,
) -> Value:
    """The parts of all ranks put together along an axis.

    Parameters
    ----------
    data : NDArray or Symbol
        The part of this rank.
    over : Axis or list of int
        The ranks: ``mesh.axis("model")``.
    axis : int
    whole : int
        The size of the axis on all ranks together; 0: each has as many. The first ranks have one more where it does
        not go up.
    partial_gradient : bool
        Whether each rank goes on in its own way, so that the gradients of all are added
        (:func:`reduce_scatter`); else all have the same, of which each gets its part (:func:`own`).

    Example
    -------
    >>> import loomix as mx
    >>> mesh = mx.parallel.Mesh(model=1)
    >>> mx.parallel.gather(mx.nd.ones((2, 3)), mesh.axis("model"), axis=1).shape
    (2, 3)
    """
    return _call(
        "_parallel_gather",
        data,
        group=group_of(over),
        axis=axis,
        whole=whole,
        partial_gradient=partial_gradient,
    )


def reduce_scatter(data: Value, over: Axis | Sequence[int], axis: int = 0, whole: int = 0) -> Value:
    """The sum of the arrays of all ranks, of which each gets its part along an axis; the gradient is gathered.

    >>> import loomix as mx
    >>> mesh = mx.parallel.Mesh(model=1)
    >>> mx.parallel.reduce_scatter(mx.nd.ones((2, 3)), mesh.axis("model")).shape
    (2, 3)
    """
    return _call("_parallel_reduce_scatter", data, group=group_of(over), axis=axis, whole=whole)


def all_reduce(data: Value, over: Axis | Sequence[int], partial_gradient: bool = True) -> Value:
    """The sum of the arrays of all ranks, which all get; see :func:`gather` for `partial_gradient`.

    >>> import loomix as mx
    >>> mesh = mx.parallel.Mesh(model=1)
    >>> mx.parallel.all_reduce(mx.nd.ones((2, 3)), mesh.axis("model")).shape
    (2, 3)
    """
    return _call("_parallel_all_reduce", data, group=group_of(over), partial_gradient=partial_gradient)


def all_to_all(
    data: Value,
    over: Axis | Sequence[int],
    axis: int = 0,
    new_axis: int = 1,
    whole: int = 0,
    new_whole: int = 0,
) -> Value:
    """What is cut along `axis` over the ranks becomes what is cut along `new_axis`; the gradient goes back.

    `whole` and `new_whole` are the sizes of these axes on all ranks together, where they are not divided evenly.

    >>> import loomix as mx
    >>> mesh = mx.parallel.Mesh(model=1)
    >>> mx.parallel.all_to_all(mx.nd.ones((2, 3)), mesh.axis("model")).shape
    (2, 3)
    """
    return _call(
        "_parallel_all_to_all",
        data,
        group=group_of(over),
        axis=axis,
        new_axis=new_axis,
        whole=whole,
        new_whole=new_whole,
    )


def own(data: Value, over: Axis | Sequence[int], axis: int = 0, whole: int = 0) -> Value:
    """The part of this rank, along an axis, of an array that all ranks have; the gradient is gathered.

    >>> import loomix as mx
    >>> mesh = mx.parallel.Mesh(model=1)
    >>> mx.parallel.own(mx.nd.ones((2, 3)), mesh.axis("model"), axis=1).shape
    (2, 3)
    """
    return _call("_parallel_own", data, group=group_of(over), axis=axis, whole=whole)


def share(data: Value, over: Axis | Sequence[int]) -> Value:
    """The array itself, which all ranks have and each uses in its own way from here on: the gradients are added.

    >>> import loomix as mx
    >>> mesh = mx.parallel.Mesh(model=1)
    >>> mx.parallel.share(mx.nd.ones((2, 3)), mesh.axis("model")).shape
    (2, 3)
    """
    return _call("_parallel_share", data, group=group_of(over))
