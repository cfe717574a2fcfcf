# SPDX-License-Identifier: Apache-2.0
"""Classes by name: what stands behind ``mx.init.register``, ``mx.metric.create("acc")`` and the like."""

from __future__ import annotations

import inspect
import json
import warnings
from typing import Any

from . import _star
from ._arguments import check_known, expect
from .base import AssertedError, MXNetTypeError, MXNetValueError, suggest
from .base import string_types as string_types

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]

_registries: dict[type, dict[str, type]] = {}


def _table(base_class: type) -> Any:
    return _registries.setdefault(base_class, {})


def get_registry(base_class: type) -> dict[Any, Any]:
    """A copy of the classes registered below ``base_class``: lower-case name to class."""
    return dict(_table(base_class))


def get_register_func(base_class: type, nickname: str) -> Any:
    """A function ``register(klass, name=None)`` for subclasses of ``base_class``.

    Parameters
    ----------
    base_class : type
        Every registered class must derive from it.
    nickname : str
        What such a class is called in messages, for example ``"metric"``.
    """
    table = _table(base_class)

    def register(klass: type, name: str | None = None) -> Any:
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise MXNetTypeError(f"[register] {klass!r} is not a subclass of {base_class.__name__}.")
        key = (name or klass.__name__).lower()
        if table.get(key, klass) is not klass:
            old = table[key]
            warnings.warn(
                f"[register] {nickname} {key!r}: {klass.__module__}.{klass.__name__} replaces "
                f"{old.__module__}.{old.__name__}.",
                UserWarning,
                stacklevel=2,
            )
        table[key] = klass
        return klass

    register.__doc__ = f"""Registers a {nickname} class under a name: its own in lower case, or another.

    Examples
    --------
    >>> import loomix as mx
    >>> @mx.{nickname}.register
    ... class OfMine(mx.{nickname}.{base_class.__name__}):
    ...     pass
    """
    return register


def get_alias_func(base_class: type, nickname: str) -> Any:
    """A decorator ``alias(*names)`` that registers a class under further names."""
    register = get_register_func(base_class, nickname)

    def alias(*names: Any) -> Any:
        def decorate(klass: type) -> Any:
            for name in names:
                register(klass, name)
            return klass

        return decorate

    alias.__doc__ = f"""Class decorator: registers a {nickname} under further names.

    Examples
    --------
    >>> import loomix as mx
    >>> @mx.{nickname}.alias("mine", "my_own")
    ... class OfMine(mx.{nickname}.{base_class.__name__}):
    ...     pass
    """
    return alias


def get_create_func(base_class: type, nickname: str) -> Any:
    """A function ``create(name_or_instance, *args, **kwargs)``.

    It takes an instance (returned as it is), a registered name, JSON text ``["name", {arguments}]``, or the
    same as the keyword ``nickname=``.
    """
    table = _table(base_class)

    def create(*args: Any, **kwargs: Any) -> Any:
        if args:
            name, args = args[0], args[1:]
        elif nickname in kwargs:
            name = kwargs.pop(nickname)
        else:
            raise MXNetTypeError(f"[{nickname}] the name is missing. {suggest('', table)}")
        if isinstance(name, base_class):
            if args or kwargs:
                raise MXNetValueError(f"[{nickname}] an instance was given; it takes no further arguments.")
            return name
        if isinstance(name, dict):
            return create(**name)
        wanted = f"a name or an object of {base_class.__name__}"
        expect(isinstance(name, str), nickname, f"the {nickname}", name, wanted)
        if name.startswith("["):
            if args or kwargs:
                raise MXNetValueError(f"[{nickname}] JSON text was given; it takes no further arguments.")
            try:
                name, kwargs = json.loads(name)
                return create(name, **kwargs)
            except (json.JSONDecodeError, TypeError) as error:
                raise MXNetValueError(
                    f"[{nickname}] {name!r} is not JSON of the form [name, {{...}}]: {error}."
                ) from None
        if name.startswith("{"):
            return create(**json.loads(name))
        klass = table.get(name.lower())
        if klass is None:
            raise AssertedError(f"[{nickname}] {name!r} is not registered. {suggest(name, table)}")
        parameters = inspect.signature(klass).parameters
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            check_known(klass.__name__, kwargs, parameters, {})
        return klass(*args, **kwargs)

    create.__doc__ = f"""A {nickname} from an instance, a registered name or JSON text.

    Examples
    --------
    >>> import loomix as mx
    >>> made = mx.{nickname}.create("OfMine")  # a class that mx.{nickname}.register knows, in any case
    """
    return create


_star.complete(globals(), "json string_types warnings")
