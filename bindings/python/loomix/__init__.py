# SPDX-License-Identifier: Apache-2.0
"""Loomix: deep learning on one threaded dependency engine, with MXNet 1.x's Python interface.

``import loomix as mx`` is cheap: submodules, and the C++ extension behind them, load when they are first
used.
"""

from __future__ import annotations

import importlib as _importlib
import os as _os
import sys as _sys
from typing import Any

# OpenMP teams that spin between two operations would take the cores from the engine's workers.
# The variable is read when the extension loads libgomp, so it must be set before that.
_os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def _bound_openblas() -> None:
    """Gives OpenBLAS, too, the bound of LOOMIX_MAX_CPU_ISA; it reads its variable when the extension loads it."""
    bounds = {"sse41": ("avx", "Core2"), "avx2": ("avx512f", "Haswell")}
    beyond, core = bounds.get(_os.environ.get("LOOMIX_MAX_CPU_ISA", ""), ("", ""))
    if core and "OPENBLAS_CORETYPE" not in _os.environ:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            has_more = any(line.startswith("flags") and beyond in line.split() for line in info)
        if has_more:  # else OpenBLAS chooses well by itself
            _os.environ["OPENBLAS_CORETYPE"] = core


_bound_openblas()

__version__ = "0.1.0"
_this = _sys.modules[__name__]

# Public name -> submodule. Several names for one module are MXNet's habit.
_MODULES = {
    "array_api": "array_api",
    "attribute": "attribute",
    "autograd": "autograd",
    "base": "base",
    "callback": "callback",
    "context": "context",
    "contrib": "contrib",
    "debug": "debug",
    "engine": "engine",
    "error": "error",
    "executor": "executor",
    "executor_manager": "executor_manager",
    "explanation": "explanation",
    "gluon": "gluon",
    "habits": "habits",
    "image": "image",
    "img": "image",
    "init": "initializer",
    "initializer": "initializer",
    "io": "io",
    "kv": "kvstore",
    "kvstore": "kvstore",
    "kvstore_server": "kvstore_server",
    "libinfo": "libinfo",
    "library": "library",
    "log": "log",
    "lr_scheduler": "lr_scheduler",
    "metric": "metric",
    "misc": "misc",
    "mod": "module",
    "model": "model",
    "module": "module",
    "mon": "monitor",
    "monitor": "monitor",
    "name": "name",
    "nd": "ndarray",
    "ndarray": "ndarray",
    "np": "numpy",
    "numpy": "numpy",
    "numpy_extension": "numpy_extension",
    "npx": "numpy_extension",
    "onnx": "onnx",
    "operator": "operator",
    "optimizer": "optimizer",
    "parallel": "parallel",
    "predictor": "predictor",
    "profiler": "profiler",
    "random": "random",
    "recordio": "recordio",
    "registry": "registry",
    "rnd": "random",
    "rnn": "rnn",
    "rtc": "rtc",
    "runtime": "runtime",
    "sym": "symbol",
    "symbol": "symbol",
    "symbol_doc": "symbol_doc",
    "test_utils": "test_utils",
    "tune": "tune",
    "util": "util",
    "visualization": "visualization",
    "viz": "visualization",
}

# Public name -> the submodule that defines it.
_OBJECTS = {
    "AttrScope": "attribute",
    "Context": "context",
    "MXNetError": "base",
    "Predictor": "predictor",
    "cpu": "context",
    "cpu_pinned": "context",
    "current_context": "context",
    "gpu": "context",
    "is_np_array": "util",
    "is_np_shape": "util",
    "np_array": "util",
    "np_shape": "util",
    "set_np_shape": "util",
    "use_np": "util",
    "use_np_array": "util",
    "use_np_shape": "util",
}

__all__ = [*_MODULES, *_OBJECTS]  # noqa: PLE0604 - `import *` loads everything


# What MXNet has and Loomix will not have, and what to use instead.
_NOT_PLANNED = {
    "notebook": "use callbacks",
    "th": "use PyTorch, and nd.from_dlpack for its tensors",
    "torch": "use PyTorch, and nd.from_dlpack for its tensors",
    "tvmop": "there is no TVM here",
}


def _why_absent(name: str) -> str | None:
    """What there is to say of a part of MXNet that is absent; None for other names."""
    return f"mx.{name} is not planned: {_NOT_PLANNED[name]}" if name in _NOT_PLANNED else None


class _AbsentModules:
    """Says why a module is absent where it is imported: ``from loomix import th``, ``import loomix.tvmop``."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> None:
        package, _, name = fullname.rpartition(".")
        why = _why_absent(name) if package == __name__ else None
        if why:
            raise ModuleNotFoundError(f"{why}.")  # with `name`, Python would go on to an error of its own


_sys.meta_path.append(_AbsentModules)  # behind all finders that find something


def _missing(name: str) -> Any:
    """The error for a name that this package does not have."""
    why = _why_absent(name)
    if why is None:
        import difflib

        near = difflib.get_close_matches(name, __dir__(), 1, 0.7) if not name.startswith("_") else []
        hint = f". Did you mean: {near[0]!r}?" if near else ""  # without `obj`, or Python would say it again
        return AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)
    have = ", ".join(sorted(set(_MODULES.values())))
    return AttributeError(f"module {__name__!r} has no attribute {name!r}: {why}. Its modules are {have}.")


def _import(module: str) -> Any:
    try:
        return _importlib.import_module(f"{__name__}.{module}")
    except ImportError as error:
        if type(error.__cause__).__module__ != f"{__name__}.base":
            raise
        reason = error.__cause__  # a setting that cannot be used, as a rule
    _end_in_one_line(reason)
    raise reason


def _end_in_one_line(reason: BaseException) -> None:
    """If nobody catches ``reason``, the program ends with its text alone: no line of a script has caused it."""
    show = _sys.excepthook

    def show_once(kind: Any, error: BaseException, traceback: Any) -> None:
        if error is reason:
            print(f"{kind.__module__}.{kind.__name__}: {error}", file=_sys.stderr)
        else:
            show(kind, error, traceback)

    _sys.excepthook = show_once


def __getattr__(name: str) -> Any:
    """Loads the submodule (or the object of a submodule) called ``name`` on first use."""
    if name in _MODULES:
        value = _import(_MODULES[name])
    elif name in _OBJECTS:
        value = getattr(_import(_OBJECTS[name]), name)
    else:
        raise _missing(name)
    globals()[name] = value
    return value


def _serve() -> None:
    """As with MXNet, a process whose environment says that it is a server or the scheduler becomes one here."""
    own_command = "-m" in _sys.orig_argv and _sys.argv[:1] == ["-m"]  # `python -m loomix ...` decides itself
    if not own_command and (_os.environ.get("LOOMIX_KV_ROLE") or _os.environ.get("DMLC_ROLE")) in (
        "server",
        "scheduler",
    ):
        from . import kvstore_server

        _sys.exit(kvstore_server.run_during_import())


_serve()


def _start_profiler() -> None:
    if "LOOMIX_PROFILER_AUTOSTART" in _os.environ or "MXNET_PROFILER_AUTOSTART" in _os.environ:
        from . import profiler

        profiler._autostart()


_start_profiler()


def __dir__() -> Any:
    return sorted(set(globals()) | set(_MODULES) | set(_OBJECTS))
