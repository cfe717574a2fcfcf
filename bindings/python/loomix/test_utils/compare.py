# SPDX-License-Identifier: Apache-2.0
"""Tolerances and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import MXNetValueError
from ..context import Context, current_context

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..ndarray import NDArray

__all__ = [
    "almost_equal",
    "almost_equal_ignore_nan",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "assign_each",
    "assign_each2",
    "checkShapes",
    "collapse_sum_like",
    "compare_ndarray_tuple",
    "compare_optimizer",
    "default_atols",
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "effective_dtype",
    "get_atol",
    "get_etol",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "locationError",
    "np_reduce",
    "same",
    "same_array",
    "set_default_context",
]

_INTEGERS = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")


def default_context() -> Context:
    """The device that tests run on: that of this thread, see :func:`set_default_context`.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.default_context()
    cpu(0)
    """
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Makes ``ctx`` the default device of this thread.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.set_default_context(mx.cpu())
    """
    Context._default_ctx.value = ctx


def default_dtype() -> Any:
    """float32.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.default_dtype().__name__
    'float32'
    """
    return np.float32


def _by_dtype(half: Any, single: Any, double: Any) -> Any:
    table = {np.dtype(name): 0 for name in _INTEGERS}
    table.update({np.dtype("float16"): half, np.dtype("float32"): single, np.dtype("float64"): double})
    return table


def default_rtols() -> Any:
    """Relative tolerances by dtype.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.default_rtols()[np.dtype("float32")]
    0.0001
    """
    return _by_dtype(1e-2, 1e-4, 1e-5)


def default_atols() -> Any:
    """Absolute tolerances by dtype.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.default_atols()[np.dtype("float32")]
    0.001
    """
    return _by_dtype(1e-1, 1e-3, 1e-20)


def default_numeric_eps() -> dict[Any, Any]:
    """Steps of numeric gradients by dtype; powers of two, so that adding them is exact.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.default_numeric_eps()[np.dtype("float32")]
    0.001953125
    """
    return {
        np.dtype("float16"): 1.0 / 2**6,
        np.dtype("float32"): 1.0 / 2**9,
        np.dtype("float64"): 1.0 / 2**14,
    }


def get_rtol(rtol: float | None = None, dtype: DTypeLike | None = np.dtype(np.float64)) -> Any:
    """``rtol``, or the default for a dtype.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.get_rtol(0.1)
    0.1
    """
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: DTypeLike | None = np.dtype(np.float64)) -> Any:
    """``atol``, or the default for a dtype.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.get_atol(0.1)
    0.1
    """
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def as_numpy(array: NDArray) -> Any:
    return array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)


def tolerance_for(dtype: DTypeLike | None, given: Any, defaults: Any) -> Any:
    table = given if isinstance(given, dict) else defaults if given is None else None
    return given if table is None else table.get(dtype, 0)


def get_tols(x: Any, y: Any, rtol: float | None, atol: float | None) -> Any:
    """Tolerances for comparing two arrays: those of the less precise dtype.

    Parameters
    ----------
    x, y : array
        The arrays.
    rtol, atol : float, dict of dtype to float, or None
        Given tolerances, or by dtype, or the defaults.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.get_tols(np.zeros(1, "float16"), np.zeros(1, "float32"), None, None)
    (0.01, 0.1)
    """
    dtypes = [np.asarray(as_numpy(array)).dtype for array in (x, y)]
    rtols = [tolerance_for(dtype, rtol, default_rtols()) for dtype in dtypes]
    atols = [tolerance_for(dtype, atol, default_atols()) for dtype in dtypes]
    return max(rtols), max(atols)


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have equal elements.

    >>> same(np.ones(2), np.array([1, 1]))
    True
    """
    return np.array_equal(as_numpy(a), as_numpy(b))


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether ``|a - b| <= atol + rtol * |b|`` everywhere, by the tolerances of the less precise dtype.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.almost_equal(np.array([1.0]), np.array([1.1]), rtol=0.2)
    True
    """
    a, b = as_numpy(a), as_numpy(b)
    if not use_broadcast and a.shape != b.shape:
        raise MXNetValueError(f"[almost_equal] shapes {a.shape} and {b.shape} differ.")
    rtol, atol = get_tols(a, b, rtol, atol)
    return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: Any = (10, 10),
) -> None:
    """Raises AssertionError, telling the worst elements, unless two arrays are :func:`almost_equal`.

    Parameters
    ----------
    a, b : array
        NDArrays, NumPy arrays or numbers.
    rtol, atol : float, dict of dtype to float, or None
        Tolerances.
    names : tuple of str
        What the arrays are called in the message.
    equal_nan : bool
        Whether NaN equals NaN.
    use_broadcast : bool
        Whether shapes may differ if they broadcast.
    mismatches : tuple of int
        How many elements the message lists (the first number).

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.assert_almost_equal(mx.nd.array([1, 2]), np.array([1, 2.000001]))
    """
    a, b = as_numpy(a), as_numpy(b)
    rtol, atol = get_tols(a, b, rtol, atol)
    if not use_broadcast:
        assert a.shape == b.shape, f"shapes {a.shape} and {b.shape} differ"
    if np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan):
        return
    wide_a, wide_b = np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64))
    with np.errstate(all="ignore"):
        excess = np.abs(wide_a - wide_b) / (atol + rtol * np.abs(wide_b))
    excess = np.where(np.isnan(excess), np.inf, excess)
    excess = np.where((wide_a == wide_b) | (equal_nan & np.isnan(wide_a) & np.isnan(wide_b)), 0, excess)
    bad = np.flatnonzero(excess > 1)
    worst = bad[np.argsort(-excess.ravel()[bad], kind="stable")][: max(mismatches[0], 1)]
    lines = [
        f"Items are not equal: {len(bad)} of {excess.size} exceed rtol={rtol:g}, atol={atol:g} "
        f"(error {excess.max():g} times the tolerance)."
    ]
    for flat in worst:
        place = tuple(int(i) for i in np.unravel_index(flat, excess.shape))
        lines.append(
            f"  at {place}: {names[0]}={float(wide_a[place])!r}, {names[1]}={float(wide_b[place])!r}"
        )
    raise AssertionError("\n".join(lines))


def assert_allclose(
    a: Any, b: Any, rtol: float | None = 1e-07, atol: float | None = 0, equal_nan: bool = True
) -> None:
    """:func:`assert_almost_equal` with NumPy's default tolerances.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.assert_allclose(mx.nd.array([1, 2]), np.array([1, 2]))
    """
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_exception(f: Any, exception_type: Any, *args: Any, **kwargs: Any) -> None:
    """Raises AssertionError unless ``f(*args, **kwargs)`` raises ``exception_type``, now or when it is
    waited for.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.assert_exception(mx.nd.dot, ValueError, mx.nd.zeros((2, 3)), mx.nd.zeros((2, 3)))
    """
    from ..ndarray import waitall

    try:
        f(*args, **kwargs)
        waitall()
    except exception_type:
        return
    raise AssertionError(f"{f} did not raise {exception_type.__name__}")


def same_array(array1: Any, array2: Any) -> bool:
    """Whether two NDArrays share memory; both keep their values.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.zeros((4, 2))
    >>> mx.test_utils.same_array(x, x[:2].reshape((4,))), mx.test_utils.same_array(x, x.copy())
    (False, False)
    """
    array1[:] += 1
    if not same(array1, array2):
        array1[:] -= 1
        return False
    array1[:] -= 1
    return same(array1, array2)


def get_etol(etol: float | None = None) -> float:
    """The share of elements that may differ: none by default.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.get_etol()
    0
    """
    return 0 if etol is None else etol


def effective_dtype(dat: Any) -> Any:
    """The type whose precision an array has: its own.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.effective_dtype(mx.nd.array([1]))
    dtype('float32')
    """
    return np.dtype(dat.dtype)


def get_tolerance(dat: Any, tol: Any, default_tol: Any) -> float:
    """The tolerance for an array: ``tol`` (a number, or by type), else the default of its type.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.get_tolerance(np.zeros(1, "float32"), 0.1, None)
    0.1
    """
    return tolerance_for(effective_dtype(dat), tol, default_tol)


def _without_nan(a: Any, b: Any) -> tuple[Any, Any]:
    """Copies in which the places where either is NaN are zero in both."""
    a, b = np.copy(as_numpy(a)), np.copy(as_numpy(b))
    bad = np.isnan(a) | np.isnan(b)
    a[bad] = b[bad] = 0
    return a, b


def almost_equal_ignore_nan(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """:func:`almost_equal` where neither array is NaN.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.almost_equal_ignore_nan(np.array([1, np.nan]), np.array([1.0, 2.0]))
    True
    """
    return almost_equal(*_without_nan(a, b), rtol, atol)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None, names: Sequence[str] = ("a", "b")
) -> None:
    """:func:`assert_almost_equal` where neither array is NaN.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.assert_almost_equal_ignore_nan(np.array([1, np.nan]), np.array([1.0, 2.0]))
    """
    assert_almost_equal(*_without_nan(a, b), rtol, atol, names)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    etol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: Any = (10, 10),
) -> None:
    """:func:`assert_almost_equal`, but a share ``etol`` of the elements may differ.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.assert_almost_equal_with_err(np.array([1.0, 2.0]), np.array([1.0, 3.0]), etol=0.5)
    """
    a, b = as_numpy(a), as_numpy(b)
    rtol, atol = get_tols(a, b, rtol, atol)
    bad = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if bad.mean() > get_etol(etol):
        assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)


def locationError(a: Any, b: Any, index: Any, names: Sequence[str], maxError: bool = False) -> str:
    """A line that says where two arrays differ, and how.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.locationError(np.array([1.0]), np.array([2.0]), (0,), ("a", "b"))
    'Location of error: (0,), a=1.00000000, b=2.00000000'
    """
    what = "maximum error" if maxError else "error"
    place = tuple(int(i) for i in index)
    return f"Location of {what}: {place}, {names[0]}={as_numpy(a)[place]:.8f}, {names[1]}={as_numpy(b)[place]:.8f}"


def checkShapes(a: Any, b: Any) -> None:
    """Raises AssertionError where shapes differ.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.checkShapes(np.zeros(2), np.ones(2))
    """
    assert a.shape == b.shape, f"[checkShapes] the shapes are {a.shape} and {b.shape}; expected the same"


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: float | None = None, atol: float | None = None) -> None:
    """:func:`assert_almost_equal` for arrays, or nested tuples of arrays and None.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.compare_ndarray_tuple((mx.nd.array([1]), None), (mx.nd.array([1]), None))
    """
    if t1 is None or t2 is None:
        return
    if not isinstance(t1, tuple):
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)
        return
    for one, two in zip(t1, t2):
        compare_ndarray_tuple(one, two, rtol, atol)


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: Any,
    dtype: DTypeLike | None,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float | None = 1e-4,
    atol: float | None = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Raises AssertionError unless two optimizers change the same weights in the same way.

    Parameters
    ----------
    opt1, opt2 : Optimizer
        The optimizers.
    shape : tuple of int, or list of them
        Shapes of the weights; with several tensors a list.
    dtype : dtype
        Type of weights and gradients.
    w_stype, g_stype : str
        Their storage.
    rtol, atol : float
        Tolerances.
    compare_states : bool
        Whether the states must agree, too.
    ntensors : int
        How many weights are updated at once.

    Examples
    --------
    >>> import loomix as mx
    >>> sgd = mx.optimizer.SGD
    >>> mx.test_utils.compare_optimizer(sgd(learning_rate=0.1), sgd(learning_rate=0.1), (2, 3), "float32")
    """
    from ..optimizer import get_updater
    from .inputs import rand_ndarray

    shapes = shape if isinstance(shape, list) else [shape] * ntensors
    weights = [rand_ndarray(one, w_stype, density=1, dtype=dtype) for one in shapes]
    gradients = [rand_ndarray(one, g_stype, density=0.5, dtype=dtype) for one in shapes]
    results = []
    for opt in (opt1, opt2):
        own = [weight.copy() for weight in weights]
        updater = get_updater(opt)
        given = [gradient.copy() for gradient in gradients]
        updater(list(range(ntensors)), given, own)
        states = [updater.states[i] for i in range(ntensors)]
        results.append((own, states))
    if compare_states:
        for one, two in zip(results[0][1], results[1][1]):
            states = [tuple(state) if isinstance(state, list) else state for state in (one, two)]
            compare_ndarray_tuple(states[0], states[1], rtol, atol)
    for one, two in zip(results[0][0], results[1][0]):
        assert_almost_equal(one, two, rtol=rtol, atol=atol)


def assign_each(the_input: Any, function: Any) -> Any:
    """A function of each element; without a function a copy.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.assign_each(np.array([1.0, 2.0]), lambda x: x + 1)
    array([2., 3.])
    """
    return np.array(the_input) if function is None else np.vectorize(function)(the_input)


def assign_each2(input1: Any, input2: Any, function: Any) -> Any:
    """A function of each two elements; without a function a copy of the first array.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.assign_each2(np.array([1.0, 2.0]), np.array([3.0, 4.0]), lambda x, y: x * y)
    array([3., 8.])
    """
    return np.array(input1) if function is None else np.vectorize(function)(input1, input2)


def np_reduce(dat: Any, axis: Any, keepdims: bool, numpy_reduce_func: Any) -> Any:
    """A reduction of NumPy's, applied to one axis after the other.

    >>> float(np_reduce(np.ones((2, 3)), (0, 1), False, np.sum))
    6.0
    """
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    result, wanted = dat, {number % dat.ndim for number in axes}
    for number in sorted(wanted, reverse=True):
        result = numpy_reduce_func(result, axis=number)
    if keepdims:
        result = result.reshape([1 if i in wanted else size for i, size in enumerate(dat.shape)])
    return result


def collapse_sum_like(a: Any, shape: Sequence[int]) -> Any:
    """The sum of an array over the axes along which ``shape`` would be broadcast to it.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.test_utils.collapse_sum_like(np.ones((2, 3)), (1, 3))
    array([[2., 2., 2.]])
    """
    lead = a.ndim - len(shape)
    if lead < 0 or any(own not in (1, size) for own, size in zip(shape, a.shape[lead:])):
        raise MXNetValueError(f"[collapse_sum_like] shape {tuple(shape)} cannot be broadcast to {a.shape}.")
    axes = list(range(lead)) + [
        lead + i for i, (own, size) in enumerate(zip(shape, a.shape[lead:])) if own != size
    ]
    return a.sum(axis=tuple(axes), keepdims=True).reshape(shape)
