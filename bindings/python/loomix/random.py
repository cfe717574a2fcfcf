# SPDX-License-Identifier: Apache-2.0
"""Random numbers: seeds, generator states, and MXNet's ``mx.random`` sampling functions.

Each device has a generator of its own. A sampling operator takes its place in the stream when it is pushed,
so what it draws depends on the order of the calls only. :func:`get_state` and :func:`set_state` freeze and
restore all generators, NumPy's included (data iterators shuffle with it), which makes a resumed run
bit-equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _star
from .base import MXNetTypeError, MXNetValueError
from .base import integer_types as integer_types
from .context import Context

if TYPE_CHECKING:
    from .ndarray.random import exponential as exponential
    from .ndarray.random import gamma as gamma
    from .ndarray.random import generalized_negative_binomial as generalized_negative_binomial
    from .ndarray.random import multinomial as multinomial
    from .ndarray.random import negative_binomial as negative_binomial
    from .ndarray.random import normal as normal
    from .ndarray.random import poisson as poisson
    from .ndarray.random import randint as randint
    from .ndarray.random import randn as randn
    from .ndarray.random import shuffle as shuffle
    from .ndarray.random import uniform as uniform

__all__ = ["get_state", "seed", "set_state"]

_SAMPLERS = (
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
)
__all__ += [*_SAMPLERS]  # noqa: PLE0604


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Seeds the generators of one device, or of all.

    Parameters
    ----------
    seed_state : int
        The seed.
    ctx : Context or "all"
        The device. With ``"all"`` every device is seeded with ``seed_state`` and its own number, so that
        devices draw different streams.

    Raises
    ------
    TypeError
        When the seed is not an integer.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.random.seed(1); a = mx.nd.random.uniform(shape=3).asnumpy()
    >>> mx.random.seed(1); b = mx.nd.random.uniform(shape=3).asnumpy()
    >>> bool((a == b).all())
    True
    """
    from . import _core

    if isinstance(seed_state, bool) or not isinstance(seed_state, (int, np.integer)):
        raise MXNetTypeError(
            f"[random.seed] seed_state is of type {type(seed_state).__name__}; expected an integer."
        )
    state = int(seed_state) % 2**64
    if isinstance(ctx, Context):
        _core.random_seed(state, ctx)
    elif ctx == "all":
        _core.random_seed(state, None)
    else:
        raise MXNetValueError(f"[random.seed] ctx is {ctx!r}; expected a Context or 'all'.")


def get_state() -> dict[Any, Any]:
    """The states of all generators: one for each device in use, and NumPy's global one.

    Returns
    -------
    dict
        Holds strings, numbers and lists only, so that it can be written as JSON.

    Examples
    --------
    >>> import loomix as mx
    >>> state = mx.random.get_state()
    >>> a = mx.nd.random.normal(shape=2).asnumpy()
    >>> mx.random.set_state(state)
    >>> bool((a == mx.nd.random.normal(shape=2).asnumpy()).all())
    True
    """
    from . import _core

    kind, keys, position, has_gauss, cached = np.random.get_state()
    return {
        "devices": _core.random_get_state(),
        "numpy": [kind, [int(key) for key in keys], int(position), int(has_gauss), float(cached)],
    }


def set_state(state: Any) -> None:
    """Restores what :func:`get_state` returned.

    Raises
    ------
    ValueError
        When the value does not come from :func:`get_state`.

    Examples
    --------
    >>> import loomix as mx
    >>> state = mx.random.get_state()
    >>> a = mx.nd.random.uniform(shape=3).asnumpy()
    >>> mx.random.set_state(state)
    >>> bool((mx.nd.random.uniform(shape=3).asnumpy() == a).all())
    True
    """
    from . import _core

    try:
        devices = state["devices"]
        kind, keys, position, has_gauss, cached = state["numpy"]
        np.random.set_state((kind, np.asarray(keys, dtype=np.uint32), position, has_gauss, cached))
    except (KeyError, TypeError, ValueError) as error:
        raise MXNetValueError(f"[random.set_state] not a generator state: {error}.") from None
    _core.random_set_state(devices)


if not TYPE_CHECKING:  # type checkers would take any name for one of this module's

    def __getattr__(name):
        if name in _SAMPLERS:
            from .ndarray import random

            return getattr(random, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[Any]:
    return sorted([*globals(), *_SAMPLERS])


_star.complete(globals(), "Context check_call ctypes integer_types", "_LIB")
