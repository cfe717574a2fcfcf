# SPDX-License-Identifier: Apache-2.0
"""The name ``mxnet`` for Loomix, for programs whose source stays as it is."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["install"]

_OURS = __name__.rpartition(".")[0]
_THEIRS = "mxnet"
_VERSION = "1.9.1"  # whose interface Loomix has
_WITH_VERSION = (_THEIRS, f"{_THEIRS}.libinfo")


class _Module(types.ModuleType):
    """A module that says MXNet's version: everything but what describes the module itself is Loomix's."""

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(sys.modules[_ours(self.__name__)], name)
        except AttributeError as error:
            error.obj = self  # so that a missing name is looked for here once, too
            raise

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(sys.modules[_ours(self.__name__)], name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(sys.modules[_ours(self.__name__)], name)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(sys.modules[_ours(self.__name__)])})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``mxnet`` and its modules, and loads Loomix's in their place."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == _THEIRS:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if not fullname.startswith(_THEIRS + "."):
            return None
        ours = importlib.util.find_spec(_ours(fullname))
        if ours is None:
            return None
        package = ours.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, self, origin=ours.origin, is_package=package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        if spec.name not in _WITH_VERSION:
            return None
        return _Module(spec.name, importlib.import_module(_ours(spec.name)).__doc__)

    def exec_module(self, module: types.ModuleType) -> None:
        assert module.__spec__ is not None  # the import system has set it
        name = module.__spec__.name
        if name in _WITH_VERSION:
            module.__dict__["__version__"] = _VERSION
            if name == _THEIRS:
                module.__dict__["libinfo"] = None  # of its own: the import sets it here, not in Loomix
                importlib.import_module(f"{_THEIRS}.libinfo")
        else:
            # Replaced and not filled: there must be one object of each module, whatever its name.
            sys.modules[name] = importlib.import_module(_ours(name))


def _ours(name: str) -> str:
    return _OURS + name[len(_THEIRS) :]


def install() -> None:
    """Makes ``mxnet`` a name of Loomix, in this process: ``import mxnet as mx``, ``from mxnet import gluon`` and
    ``import mxnet.gluon.nn as nn`` import Loomix, and pickles of MXNet's classes load as Loomix's.

    ``mxnet.__version__`` is the version of MXNet whose interface this is; ``loomix.__version__`` is Loomix's own.
    Call it before anything imports ``mxnet``; a second call does nothing. ``python -m loomix run script.py`` does it
    for a script that cannot be changed.

    Raises
    ------
    ImportError
        When another ``mxnet`` is imported already.

    Examples
    --------
    >>> import loomix.alias
    >>> loomix.alias.install()
    >>> import mxnet as mx
    >>> from mxnet.gluon import nn
    >>> mx.__version__, nn.Dense is loomix.gluon.nn.Dense
    ('1.9.1', True)
    """
    there = sys.modules.get(_THEIRS)
    if there is not None and not isinstance(there, _Module):
        where = getattr(there, "__file__", None) or "an unknown place"
        version = getattr(there, "__version__", "of an unknown version")
        raise ImportError(
            f"[alias] mxnet {version} from {where} is imported already; call loomix.alias.install() before "
            "anything imports mxnet.",
            name=_THEIRS,
        )
    importlib.import_module("multiprocessing.pool")  # MXNet imports it, and programs use it without an import
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
