# SPDX-License-Identifier: Apache-2.0
"""Parameters by their names."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, initializer
from .. import ndarray as nd
from .._arguments import expect
from ..base import AssertedError, MXNetKeyError
from ..ndarray.utils import load_mapped
from .base_parameter import Constant, Parameter

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        ItemsView,
        Iterable,
        Iterator,
        KeysView,
        Mapping,
        Sequence,
        ValuesView,
    )

    from ..context import Context
    from ..ndarray import NDArray

__all__ = ["ParameterDict", "brief", "read_arrays"]


class ParameterDict:
    """Parameters by their full names, which begin with a prefix.

    Parameters
    ----------
    prefix : str
    shared : ParameterDict, optional
        Parameters that it has are taken from there.

    Examples
    --------
    >>> import loomix as mx
    >>> params = mx.gluon.ParameterDict("net_")
    >>> params.get("weight", shape=(2, 3)).name
    'net_weight'
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._params: OrderedDict[str, Parameter] = OrderedDict()
        self._shared = shared

    def __repr__(self) -> str:
        lines = "\n".join(f"  {param!r}" for param in self.values())
        return f"{self._prefix + ' ' if self._prefix else ''}(\n{lines}\n)"

    def __getitem__(self, key: str) -> Parameter:
        try:
            return self._params[key]
        except KeyError:
            raise MXNetKeyError(
                f"[ParameterDict] there is no parameter '{key}'; there are {brief(self._params)}."
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def items(self) -> ItemsView[str, Parameter]:
        """Names and parameters."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """The parameters."""
        return self._params.values()

    @property
    def prefix(self) -> str:
        """What all names begin with that :meth:`get` makes."""
        return self._prefix

    def _find(self, name: str) -> Parameter | None:
        if name not in self._params and self._shared is not None and name in self._shared._params:
            self._params[name] = self._shared._params[name]
        return self._params.get(name)

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter called prefix and `name`; made, with these arguments of :class:`Parameter`, if there is
        none.

        Raises
        ------
        ValueError
            When the one that exists contradicts the arguments.
        """
        expect(isinstance(name, str), "ParameterDict.get", "name", name, "a str")
        name = self.prefix + name
        param = self._find(name)
        if param is None:
            param = Parameter(name, **kwargs)
            self._params[name] = param
            return param
        for key, value in kwargs.items():
            self._reconcile(param, key, value)
        return param

    @staticmethod
    def _reconcile(param: Parameter, key: str, value: Any) -> None:
        """Checks what is asked of a parameter that exists, and fills in what is not known of it."""
        current: Any = param._shape if key == "shape" else getattr(param, key, None)
        if current is None:
            setattr(param, key, value)
            return
        if key == "shape" and value is not None:
            shape = (value,) if isinstance(value, (int, np.integer)) else tuple(value)
            if len(shape) == len(current):
                merged = tuple(own or other for own, other in zip(current, shape))
                if all(other in (0, size) for other, size in zip(shape, merged)):
                    param._shape = merged
                    return
        elif key == "dtype" and _core.same_dtype(value, current):
            return
        elif value is None or value == current:
            return
        raise AssertedError(
            f"[ParameterDict.get] Parameter '{param.name}' has {key} {current!r}; it cannot be shared with {key} "
            f"{value!r}."
        )

    def get_constant(self, name: str, value: Any = None) -> Parameter:
        """The constant called prefix and `name`; made from `value` if there is none."""
        name = self.prefix + name
        param = self._find(name)
        if param is None:
            if value is None:
                raise MXNetKeyError(
                    f"[ParameterDict.get_constant] there is no constant '{name}'; expected a value to make it from."
                )
            param = Constant(name, value)
            self._params[name] = param
        elif value is not None:
            if not isinstance(param, Constant):
                raise AssertedError(
                    f"[ParameterDict.get_constant] '{name}' is of type {type(param).__name__} already; expected a "
                    "Constant."
                )
            given = value.asnumpy() if isinstance(value, nd.NDArray) else np.asarray(value)
            if given.shape != param.shape or (given != param.value.asnumpy()).any():
                raise AssertedError(
                    f"[ParameterDict.get_constant] the constant '{name}' has other values, of shape {param.shape}, "
                    f"than those given, of shape {given.shape}."
                )
        return param

    def update(self, other: ParameterDict) -> None:
        """Adds all parameters of another dict.

        Raises
        ------
        ValueError
            When both have different parameters of one name.
        """
        for name, param in other.items():
            own = self._params.setdefault(name, param)
            if own is not param:
                raise AssertedError(
                    f"[ParameterDict.update] both dicts have a Parameter '{name}', and not the same one."
                )

    def initialize(
        self,
        init: Any = initializer.Uniform(),
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Calls :meth:`Parameter.initialize` of all.

        Parameters
        ----------
        init : Initializer or str
            For parameters without an own one.
        ctx : Context or list of Context, optional
        verbose : bool
            Whether each initialisation is logged.
        force_reinit : bool
        """
        init = initializer.create(init)
        if verbose:
            init.set_verbosity(verbose=verbose)
        for param in self.values():
            param.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Sets all gradients to 0."""
        for param in self.values():
            param.zero_grad()

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Moves all parameters to other devices."""
        for param in self.values():
            param.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """The devices of all parameters, each once."""
        return list(dict.fromkeys(ctx for param in self.values() for ctx in param.list_ctx()))

    def setattr(self, name: str, value: Any) -> None:
        """Sets an attribute of all parameters.

        >>> import loomix as mx
        >>> net = mx.gluon.nn.Dense(2, in_units=2)
        >>> net.collect_params().setattr("grad_req", "null")
        """
        for param in self.values():
            setattr(param, name, value)

    def save(self, filename: str, strip_prefix: str = "") -> None:
        """Writes the values to a file, under the names without `strip_prefix`. All ranks call it where some are split
        over ranks."""
        makers: dict[str, Callable[[], Any]] = {}
        for param in self.values():
            if not param.name.startswith(strip_prefix):
                raise AssertedError(
                    f"[ParameterDict.save] the name of Parameter '{param.name}' does not start with strip_prefix, "
                    f"'{strip_prefix}': it is another block's, or of a child that was made outside of name_scope()."
                )
            makers[param.name[len(strip_prefix) :]] = param._saved
        if any(param._cut is not None for param in self.values()):
            from ..parallel.whole_files import write_params, write_together

            write_together(filename, lambda file: write_params(file, makers.items()))
        else:
            nd.save(filename, {name: make() for name, make in makers.items()})

    def load(
        self,
        filename: str,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Reads values from a file: one that :meth:`save` wrote, or a checkpoint of a module.

        Parameters
        ----------
        filename : str
        ctx : Context or list of Context, optional
            Devices of parameters that are not initialised yet.
        allow_missing : bool
            Whether parameters may keep their values because the file has none.
        ignore_extra : bool
            Whether the file may have others.
        restore_prefix : str
            Put in front of the names in the file.
        cast_dtype : bool
            Whether element types may differ.
        dtype_source : {'current', 'saved'}
            Whose type is then kept.
        """
        loaded = read_arrays(filename, self.values())
        if not isinstance(loaded, dict):
            raise AssertedError(f"[ParameterDict.load] the arrays in {filename} have no names.")
        self.load_dict(
            loaded, ctx, allow_missing, ignore_extra, restore_prefix, filename, cast_dtype, dtype_source
        )

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Takes over values from a dict of name to NDArray; arguments as for :meth:`load`."""
        for name in self.keys() if restore_prefix else ():
            if not name.startswith(restore_prefix):
                raise AssertedError(
                    f"[ParameterDict.load] the name of Parameter '{name}' does not start with restore_prefix, "
                    f"'{restore_prefix}'."
                )
        source = f"file '{filename}'" if filename else "param_dict"
        loaded = {
            restore_prefix + (key[4:] if key.startswith(("arg:", "aux:")) else key): value
            for key, value in param_dict.items()
        }
        for name in () if allow_missing else self.keys():
            if name not in loaded:
                raise AssertedError(
                    f"[ParameterDict.load] {source} has nothing for Parameter '{name}'; it has {brief(loaded)}. Does "
                    "the network have another prefix than the saved one? allow_missing=True lets parameters keep their "
                    "values."
                )
        for name, value in loaded.items():
            if name in self._params:
                self[name]._load_init(value, ctx, cast_dtype, dtype_source, source=source)
            elif not ignore_extra:
                raise AssertedError(
                    f"[ParameterDict.load] {source} has '{name}', which is none of the parameters "
                    f"{brief(self._params)}. Does the network have another prefix than the saved one? "
                    "ignore_extra=True passes over it."
                )


def read_arrays(filename: str, params: Iterable[Parameter]) -> Any:
    """The arrays of a file. Of parameters that are split over ranks only the own parts are read later on."""
    is_split = any(param._cut is not None for param in params)
    read = load_mapped if is_split else nd.load
    return read(filename) or {}  # a file of no arrays does not tell names from none


def brief(names: Any) -> str:
    """Some of the names, for errors."""
    names = list(names)
    text = ", ".join(f"'{name}'" for name in names[:10])
    return (text or "nothing") + (f", ... ({len(names)} in all)" if len(names) > 10 else "")
