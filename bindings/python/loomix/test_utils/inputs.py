# SPDX-License-Identifier: Apache-2.0
"""Random input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import MXNetValueError
from .compare import default_context, default_dtype

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..context import Context

__all__ = [
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
]


def random_arrays(*shapes: Any) -> Any:
    """Standard normal NumPy arrays of these shapes; one shape gives one array, ``()`` a number.

    Examples
    --------
    >>> import loomix as mx
    >>> a, b = mx.test_utils.random_arrays((2, 3), (4,))
    >>> a.shape, b.shape
    ((2, 3), (4,))
    """
    arrays = [
        np.random.randn(*shape).astype(default_dtype()) if shape else np.random.randn() for shape in shapes
    ]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes: Any, **kwargs: Any) -> list[Any]:
    """NumPy arrays of these shapes, uniform from ``low`` (0) below ``high`` (1), of type ``dtype``.

    Examples
    --------
    >>> import loomix as mx
    >>> a, b = mx.test_utils.random_uniform_arrays((2, 3), (4,))
    >>> a.shape, b.shape
    ((2, 3), (4,))
    """
    low, high, dtype = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0), kwargs.pop("dtype", default_dtype())
    if kwargs:
        raise MXNetValueError(
            f"[random_uniform_arrays] got {sorted(kwargs)}; expected 'low', 'high' and 'dtype'."
        )
    return [np.random.uniform(low, high, size=shape).astype(dtype) for shape in shapes]


def random_sample(population: Any, k: int) -> list[Any]:
    """``k`` different elements of a sequence, in random order.

    Examples
    --------
    >>> import loomix as mx
    >>> sorted(mx.test_utils.random_sample([1, 2, 3], 3))
    [1, 2, 3]
    """
    return [population[i] for i in np.random.permutation(len(population))[:k]]


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[Any, ...]:
    """A random shape of two dimensions up to these sizes.

    Examples
    --------
    >>> import loomix as mx
    >>> len(mx.test_utils.rand_shape_2d())
    2
    """
    return rand_shape_nd(2, (dim0, dim1), allow_zero_size)


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[Any, ...]:
    """A random shape of three dimensions up to these sizes.

    Examples
    --------
    >>> import loomix as mx
    >>> len(mx.test_utils.rand_shape_3d())
    3
    """
    return rand_shape_nd(3, (dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(
    num_dim: Any, dim: int | Sequence[int] = 10, allow_zero_size: bool = False
) -> tuple[Any, ...]:
    """A random shape of ``num_dim`` dimensions up to ``dim`` (one size, or one for each).

    Examples
    --------
    >>> import loomix as mx
    >>> len(mx.test_utils.rand_shape_nd(4))
    4
    """
    low = 0 if allow_zero_size else 1
    return tuple(int(size) for size in np.random.randint(low, np.asarray(dim) + 1, size=num_dim))


def rand_ndarray(
    shape: Sequence[int],
    stype: str = "default",
    density: Any = None,
    dtype: DTypeLike | None = None,
    modifier_func: Any = None,
    shuffle_csr_indices: bool = False,
    distribution: Any = None,
    ctx: Context | None = None,
) -> Any:
    """A random NDArray, uniform in [-1, 1).

    Parameters
    ----------
    shape : tuple of int
        Shape.
    stype : {"default", "row_sparse", "csr"}
        Storage.
    density : float, optional
        Share of the rows (row_sparse) or elements (csr) that are stored; random by default.
    dtype : dtype, optional
        float32 by default.
    modifier_func : callable, optional
        Applied to each stored value.
    shuffle_csr_indices, distribution
        For csr: whether the columns of a row are in a random order, and how elements spread; see
        :func:`rand_sparse_ndarray`.
    ctx : Context, optional
        The device.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.rand_ndarray((2, 3)).shape
    (2, 3)
    """
    from ..ndarray import array

    ctx = ctx or default_context()
    dtype = default_dtype() if dtype is None else dtype
    if stype == "default":
        values = np.random.uniform(-1, 1, shape).astype(dtype)
        if modifier_func is not None and values.size:
            values = np.vectorize(modifier_func, otypes=[values.dtype])(values)
        return array(values, ctx=ctx, dtype=dtype)
    if stype not in ("row_sparse", "csr"):
        raise MXNetValueError(
            f"[rand_ndarray] stype is {stype!r}; expected 'default', 'row_sparse' or 'csr'."
        )
    from .matrices import rand_sparse_ndarray

    return rand_sparse_ndarray(
        shape,
        stype,
        density,
        dtype,
        distribution,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
        ctx=ctx,
    )[0]
