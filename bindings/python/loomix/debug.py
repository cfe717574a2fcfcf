# SPDX-License-Identifier: Apache-2.0
"""Help in finding what goes wrong in a computation."""

from __future__ import annotations

from . import _core

__all__ = ["nan_check"]


class nan_check:
    """Makes the first operator that makes NaN or infinity an error, which names it with its Python line.

    So are class numbers out of range in ``softmax_cross_entropy``, ``SoftmaxOutput``, ``pick`` and ``Embedding``, which
    otherwise are clipped or passed over, and data that hold NaN before any operator has run. The error shows where the
    result is read, and later results have it, too. For all threads, from the call on, also in bound networks and
    hybridized blocks; every operator reads its inputs and outputs once more, so it is for debugging. The environment's
    ``LOOMIX_NAN_CHECK=1`` does the same from the start.

    Parameters
    ----------
    on : bool
        Whether to look.

    Examples
    --------
    >>> import loomix as mx
    >>> with mx.debug.nan_check():  # until the end of the block; a call alone lasts
    ...     try:
    ...         mx.nd.log(mx.nd.array([1, -1])).asnumpy()
    ...     except ValueError as error:
    ...         print(str(error).splitlines()[0])
    [nan_check] log made NaN: element (1,) of its output 'output', of shape (2,).
    """

    def __init__(self, on: bool = True) -> None:
        self._before = _core.exchange_nan_check(bool(on))

    def __enter__(self) -> nan_check:
        return self

    def __exit__(self, *error: object) -> None:
        _core.exchange_nan_check(self._before)
