# SPDX-License-Identifier: Apache-2.0
"""Attributes that symbols take from the scope they are made in."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from . import _star
from .base import MXNetValueError, _MXClassPropertyMetaClass, classproperty
from .base import string_types as string_types

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AttrScope"]


class _Current(threading.local):
    """The innermost scope of a thread; every thread starts with an empty one."""

    def __init__(self) -> None:
        self.value = AttrScope()


class AttrScope(metaclass=_MXClassPropertyMetaClass):
    """Every symbol made inside ``with AttrScope(key="value"):`` gets these attributes.

    Inner scopes add to outer ones and win over them; attributes given to a symbol itself win over the scope.

    Parameters
    ----------
    **kwargs : str
        Attribute names and values.

    Raises
    ------
    ValueError
        When a value is not a string.

    Examples
    --------
    >>> import loomix as mx
    >>> with mx.AttrScope(ctx_group="stage1"):
    ...     data = mx.sym.Variable("data")
    >>> data.attr("ctx_group")
    'stage1'
    """

    _current: ClassVar[_Current]

    def __init__(self, **kwargs: Any) -> None:
        self._own = kwargs
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise MXNetValueError(
                    f"[AttrScope] {key}={value!r} is not a string; attribute values must be strings."
                )
        self._attr = kwargs
        self._outer: list[Any] = []

    def get(self, attr: Mapping[str, str] | None) -> Any:
        """The attributes of this scope, overridden by those in ``attr`` (a dict or None).

        >>> AttrScope(a="1", b="2").get({"b": "3"})
        {'a': '1', 'b': '3'}
        """
        if not self._attr:
            return attr or {}
        return {**self._attr, **attr} if attr else dict(self._attr)

    def __enter__(self) -> Self:
        outer = AttrScope._current.value
        self._outer.append((outer, self._attr))
        self._attr = {**outer._attr, **self._own}
        AttrScope._current.value = self
        return self

    def __exit__(self, *exc_info: Any) -> None:
        AttrScope._current.value, self._attr = self._outer.pop()

    @classproperty
    def current(cls) -> Any:
        """The scope of this thread now; may be set."""
        return AttrScope._current.value

    @current.setter  # type: ignore[no-redef]
    def current(cls, value: Any) -> None:
        AttrScope._current.value = value


AttrScope._current = _Current()


def current() -> Any:
    """The scope of this thread now."""
    return AttrScope._current.value


_star.complete(globals(), "classproperty defaultdict string_types threading warnings")
