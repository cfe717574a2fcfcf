# SPDX-License-Identifier: Apache-2.0
"""Names that MXNet's modules give besides their own, because they import them: star imports of programs rely on some.

A module calls :func:`complete` at its end with these names. They are looked up when they are first used.
"""

from __future__ import annotations
import __future__

import importlib
import importlib.util
import sys
from typing import Any

# Where names are; others are modules: of the same package, of one around it, or of Python's library.
_PLACES = {
    "np": "numpy",
    "nd": "loomix.ndarray",
    "sym": "loomix.symbol",
    "opt": "loomix.optimizer",
    "ctx": "loomix.context",
    "mx": "loomix",
    "ag": "loomix.autograd",
    "init": "loomix.initializer",
    "kvs": "loomix.kvstore",
    "py_array": "array:array",
    "NDabs": "loomix.ndarray:abs",
    "sparse_array": "loomix.ndarray.sparse:array",
    "gluon_loss": "loomix.gluon.loss",
    "_ndarray_cls": "loomix.ndarray:NDArray",
}
_HOLDERS = {
    "collections": "OrderedDict namedtuple defaultdict",
    "math": "sqrt cos pi",
    "numbers": "Number",
    "threading": "Lock",
    "multiprocessing": "current_process",
    "loomix.ndarray": "load multi_all_finite NDArray array zeros zeros_like concat tile",
    "loomix.symbol": "Symbol load_json",
    "loomix.ndarray.sparse": "CSRNDArray",
    "loomix.initializer": "Uniform InitDesc Xavier",
    "loomix.name": "NameManager",
    "loomix.module": "BaseModule Module",
    "loomix.module.executor_group": "DataParallelExecutorGroup",
    "loomix.executor_manager": "DataParallelExecutorManager",
    "loomix.callback": "LogValidationMetricsCallback",
    "loomix.optimizer": "get_updater",
    "loomix.gluon": "Parameter ParameterDict Block HybridBlock",
    "loomix.gluon.nn": "LeakyReLU",
    "loomix.gluon.utils": "HookHandle download check_sha1 replace_file _get_repo_file_url shape_is_known "
    "split_and_load",
    "loomix.gluon.parameter": "DeferredInitializationError",
    "loomix.gluon.rnn": "HybridRecurrentCell BidirectionalCell SequentialRNNCell",
    "loomix.kvstore": "KVStore",
    "loomix.metric": "EvalMetric CompositeEvalMetric",
    "loomix.runtime": "Features",
    "loomix._core": "NDArrayBase",
    "loomix.ndarray.ndarray": "_DTYPE_MX_TO_NP _DTYPE_NP_TO_MX _GRAD_REQ_MAP",
    "loomix.io": "DataDesc DataBatch DataIter",
    "loomix.model": "BatchEndParam save_checkpoint load_checkpoint load_params",
    "loomix.context": "Context cpu gpu current_context",
    "loomix.util": "is_np_array is_np_shape np_shape np_array set_np",
    "ctypes": "CFUNCTYPE POINTER Structure c_bool c_char c_char_p c_int c_void_p cast pointer",
    "loomix.image": "Augmenter CastAug ColorJitterAug ColorNormalizeAug ForceResizeAug HueJitterAug ImageIter "
    "LightingAug RandomGrayAug RandomOrderAug ResizeAug copyMakeBorder fixed_crop",
}
_PLACES.update({name: f"{holder}:{name}" for holder, names in _HOLDERS.items() for name in names.split()})


def _find(module: str, name: str) -> Any:
    """The value of a name, by `_PLACES`, as a public name of `base`, or as a module."""
    if name == "random" and module.startswith("loomix.image"):
        return importlib.import_module("random")
    path, _, attribute = _PLACES.get(name, "").partition(":")
    if path:
        found = importlib.import_module(path)
        return getattr(found, attribute) if attribute else found
    base = importlib.import_module("loomix.base")
    if hasattr(base, name) and not importlib.util.find_spec(name):
        return getattr(base, name)
    package = module if hasattr(sys.modules[module], "__path__") else module.rpartition(".")[0]
    while package:
        if importlib.util.find_spec(f"{package}.{name}"):
            return importlib.import_module(f"{package}.{name}")
        package = package.rpartition(".")[0]
    return importlib.import_module(name)


def complete(space: dict[str, Any], star: str, others: str = "") -> None:
    """Adds names to a module, given its ``globals()``: ``star`` to its star import, ``others`` beside that."""
    module, before = space["__name__"], space.get("__getattr__")
    own = space.get("__all__") or [
        name
        for name, value in space.items()
        if not name.startswith("_") and not isinstance(value, __future__._Feature)
    ]
    space["__all__"] = [*own, *(name for name in star.split() if name not in own)]
    late = {*star.split(), *others.split()} - set(space)

    def __getattr__(name: str) -> Any:
        if before is not None:
            try:
                return before(name)
            except AttributeError:
                if name not in late:
                    raise
        if name not in late:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        space[name] = found = _find(module, name)
        return found

    space["__getattr__"] = __getattr__
