# SPDX-License-Identifier: Apache-2.0
"""Loomix: deep learning on one threaded dependency engine, with MXNet 1.x's Python interface.

``import loomix as mx`` is cheap: submodules, and the C++ extension behind them, load when they are first
used.
"""

import importlib as _importlib
import os as _os

# OpenMP teams that spin between two operations would take the cores from the engine's workers.
# The variable is read when the extension loads libgomp, so it must be set before that.
_os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__version__ = "0.1.0"

# Public name -> submodule. Several names for one module are MXNet's habit.
_MODULES = {
    "attribute": "attribute",
    "autograd": "autograd",
    "base": "base",
    "callback": "callback",
    "context": "context",
    "contrib": "contrib",
    "engine": "engine",
    "error": "error",
    "executor": "executor",
    "gluon": "gluon",
    "image": "image",
    "img": "image",
    "init": "initializer",
    "initializer": "initializer",
    "io": "io",
    "kv": "kvstore",
    "kvstore": "kvstore",
    "kvstore_server": "kvstore_server",
    "libinfo": "libinfo",
    "log": "log",
    "lr_scheduler": "lr_scheduler",
    "metric": "metric",
    "mod": "module",
    "model": "model",
    "module": "module",
    "mon": "monitor",
    "monitor": "monitor",
    "name": "name",
    "nd": "ndarray",
    "ndarray": "ndarray",
    "np": "numpy",
    "npx": "numpy_extension",
    "operator": "operator",
    "optimizer": "optimizer",
    "profiler": "profiler",
    "random": "random",
    "recordio": "recordio",
    "registry": "registry",
    "rnd": "random",
    "rnn": "rnn",
    "runtime": "runtime",
    "sym": "symbol",
    "symbol": "symbol",
    "test_utils": "test_utils",
    "util": "util",
    "visualization": "visualization",
    "viz": "visualization",
}

# Public name -> the submodule that defines it.
_OBJECTS = {
    "AttrScope": "attribute",
    "Context": "context",
    "MXNetError": "base",
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


def __getattr__(name):
    """Loads the submodule (or the object of a submodule) called ``name`` on first use."""
    if name in _MODULES:
        target = f"{__name__}.{_MODULES[name]}"
        try:
            value = _importlib.import_module(target)
        except ModuleNotFoundError as error:
            if error.name != target:
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r} in this version") from None
    elif name in _OBJECTS:
        value = getattr(_importlib.import_module(f"{__name__}.{_OBJECTS[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _serve():
    """As with MXNet, a process whose environment says that it is a server or the scheduler becomes one here."""
    import sys

    own_command = "-m" in sys.orig_argv and sys.argv[:1] == ["-m"]  # `python -m loomix ...` decides itself
    if not own_command and (_os.environ.get("LOOMIX_KV_ROLE") or _os.environ.get("DMLC_ROLE")) in (
        "server",
        "scheduler",
    ):
        from . import kvstore_server

        sys.exit(kvstore_server.run_during_import())


_serve()


def __dir__():
    return sorted(set(globals()) | set(_MODULES) | set(_OBJECTS))
