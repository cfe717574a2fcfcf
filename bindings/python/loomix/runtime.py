# SPDX-License-Identifier: Apache-2.0
"""What this build of Loomix contains."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from . import _star
from .base import MXNetKeyError, suggest

__all__ = ["Feature", "Features", "feature_list"]


class Feature(NamedTuple):
    """One optional part: its name, and whether this build has it.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.runtime.Feature("CUDA", False).enabled
    False
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Any]:
    """All optional parts, as a list of :class:`Feature`.

    Examples
    --------
    >>> import loomix as mx
    >>> "OPENMP" in [feature.name for feature in mx.runtime.feature_list()]
    True
    """
    from . import _core

    return [Feature(name, bool(enabled)) for name, enabled in _core.features().items()]


class Features(dict):
    """The optional parts by name; there is one such object, :attr:`instance`.

    >>> Features().is_enabled("OPENMP")  # doctest: +SKIP
    True
    """

    instance: ClassVar[Features | None] = None

    def __new__(cls) -> Features:
        if cls.instance is None:
            cls.instance = super().__new__(cls)
        return cls.instance

    def __init__(self) -> None:
        super().__init__((feature.name, feature) for feature in feature_list())

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> Any:
        """Whether the part with this name (in any case) is there.

        Raises
        ------
        KeyError
            For a name that is not known.
        """
        try:
            return self[feature_name.upper()].enabled
        except KeyError:
            raise MXNetKeyError(
                f"[Features] unknown feature {feature_name!r}. {suggest(feature_name, self)}"
            ) from None


_star.complete(globals(), "check_call collections ctypes", "_LIB")
