# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, and how parameters, gradients and a KVStore come together in a training step."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import math
import mmap
import os
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import _star
from ._arguments import as_mapping, as_path, as_whole, expect
from ._files import write_whole as write_whole
from .base import MXNetTypeError, MXNetValueError
from .context import Context as Context
from .context import cpu
from .log import note

if TYPE_CHECKING:
    from .callback import LogValidationMetricsCallback as LogValidationMetricsCallback
    from .executor_manager import DataParallelExecutorManager as DataParallelExecutorManager
    from .feed_forward import FeedForward as FeedForward
    from .initializer import Uniform as Uniform
    from .io import DataDesc as DataDesc
    from .kvstore import KVStoreBase
    from .ndarray import NDArray
    from .optimizer import get_updater as get_updater
    from .symbol import Symbol

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]

BatchEndParam = namedtuple("BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"])  # type: ignore[name-match]
BatchEndParam.__doc__ = """What batch-end and evaluation-end callbacks get.

Examples
--------
>>> import loomix as mx
>>> mx.model.BatchEndParam(epoch=0, nbatch=50, eval_metric=None, locals=None).nbatch
50
"""

SKLEARN_INSTALLED = importlib.util.find_spec("sklearn") is not None
_LARGE_ARRAY = 16 * 1024 * 1024  # beyond it, updating on each device beats merging, updating once and copying


def read_whole(path: str | os.PathLike[str], take: Callable[[Any], Any], in_parts: bool = False) -> None:
    """Calls ``take`` with the bytes of a file, which its errors then name; mapped, where it takes parts of them."""
    with open(as_path("load", "fname", path), "rb") as file:
        in_parts = in_parts and os.fstat(file.fileno()).st_size > 0
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if in_parts else file.read()
    try:
        take(data)
    except MXNetValueError as error:
        error.args = (f"{error} (in file '{os.fspath(path)}')",)
        raise


def checkpoint_name(prefix: str, epoch: int, ending: str) -> str:
    """The name of a file of a checkpoint.

    >>> checkpoint_name("net", 3, "params")
    'net-0003.params'
    """
    prefix = as_path("checkpoint", "prefix", prefix)
    return f"{prefix}-{as_whole('checkpoint', 'epoch', epoch):04d}.{ending}"


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Saves a network: ``prefix-symbol.json`` and ``prefix-EPOCH.params`` (four digits at least).

    Parameters
    ----------
    prefix : str
        Start of the file names.
    epoch : int
        Number of the checkpoint.
    symbol : Symbol or None
        The network; None writes the parameters only.
    arg_params, aux_params : dict of str to NDArray
        Parameters and auxiliary states.
    remove_amp_cast : bool
        Whether the casts of automatic mixed precision are left out.

    Raises
    ------
    OSError
        When a file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> prefix = os.path.join(tempfile.mkdtemp(), "net")
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> mx.model.save_checkpoint(prefix, 3, net, {"fc_weight": mx.nd.ones((2, 4))}, {})
    >>> sorted(os.listdir(os.path.dirname(prefix)))
    ['net-0003.params', 'net-symbol.json']
    >>> arguments, states = mx.model.load_params(prefix, 3)
    >>> sorted(arguments)
    ['fc_weight']
    """
    from .ndarray import save

    params = checkpoint_name(prefix, epoch, "params")
    expect(
        symbol is None or hasattr(symbol, "save"), "save_checkpoint", "symbol", symbol, "a Symbol, or None"
    )
    kinds = {
        "arg": as_mapping("save_checkpoint", "arg_params", arg_params),
        "aux": as_mapping("save_checkpoint", "aux_params", aux_params),
    }
    arrays = {}
    for kind, given in kinds.items():
        for name, array in given.items():
            expect(hasattr(array, "as_in_context"), "save_checkpoint", name, array, "an NDArray")
            arrays[f"{kind}:{name}"] = array.as_in_context(cpu())
    if symbol is not None:
        write_whole(f"{prefix}-symbol.json", lambda name: symbol.save(name, remove_amp_cast=remove_amp_cast))
    write_whole(params, lambda name: save(name, arrays))
    note(logging, 'Saved checkpoint to "%s"', params)


def load_params(prefix: str, epoch: int) -> Any:
    """The parameters and the auxiliary states of a checkpoint, as two dicts of name to NDArray.

    Raises
    ------
    OSError or MXNetError
        When the file is missing or damaged.
    TypeError
        When its arrays have no names.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> prefix = os.path.join(tempfile.mkdtemp(), "net")
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> mx.model.save_checkpoint(prefix, 3, net, {"fc_weight": mx.nd.ones((2, 4))}, {})
    >>> sorted(os.listdir(os.path.dirname(prefix)))
    ['net-0003.params', 'net-symbol.json']
    >>> arguments, states = mx.model.load_params(prefix, 3)
    >>> sorted(arguments)
    ['fc_weight']
    """
    from .ndarray import load

    return _params_by(load, prefix, epoch)


def _params_by(read: Callable[[str], Any], prefix: str, epoch: int) -> Any:
    path = checkpoint_name(prefix, epoch, "params")
    arrays = read(path)
    if not isinstance(arrays, dict):
        if arrays:
            raise MXNetTypeError(
                f"[load_params] the arrays in {path} have no names; expected arg:NAME and aux:NAME."
            )
        logging.getLogger().warning("[load_params] %s holds no parameters", path)
        return {}, {}
    kinds: dict[str, dict[str, NDArray]] = {"arg": {}, "aux": {}}
    for key, array in arrays.items():
        kind, _, name = key.partition(":")
        if kind in kinds:
            kinds[kind][name] = array
    return kinds["arg"], kinds["aux"]


def load_checkpoint(prefix: str, epoch: int) -> tuple[Any, ...]:
    """Symbol, parameters and auxiliary states that :func:`save_checkpoint` wrote.

    >>> import loomix as mx
    >>> symbol, arg_params, aux_params = mx.model.load_checkpoint("model", 10)  # doctest: +SKIP

    Raises
    ------
    OSError or MXNetError
        When a file is missing or damaged.
    """
    from .ndarray import load

    return checkpoint_by(load, prefix, epoch)


def checkpoint_by(read: Callable[[str], Any], prefix: str, epoch: int) -> tuple[Any, ...]:
    """As :func:`load_checkpoint`, by a function that reads the file of arrays."""
    from .symbol import load

    as_whole("load_checkpoint", "epoch", epoch)
    return (load(f"{prefix}-symbol.json"), *_params_by(read, prefix, epoch))


def _create_kvstore(
    kvstore: str | KVStoreBase | None, num_device: int, arg_params: Mapping[str, NDArray]
) -> Any:
    """The store for a training loop, and whether the optimizer runs on it.

    Parameters
    ----------
    kvstore : KVStore, str or None
        A store, a type of store, or None for none. One device needs no local store.
    num_device : int
        Devices in use.
    arg_params : dict of str to NDArray
        Parameters; large ones are better updated on each device than on the store.

    Returns
    -------
    tuple of (KVStore or None, bool)
    """
    from .kvstore import KVStoreBase, create
    from .kvstore.base import check_type

    on_store = os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") not in ("0", "false", "False")
    if kvstore is None:
        store = None
    elif isinstance(kvstore, str):
        if num_device == 1 and "dist" not in kvstore:
            check_type(kvstore)
            store = None
        else:
            store = create(kvstore)
            on_store = on_store and store.is_capable(KVStoreBase.OPTIMIZER)
            largest = max((math.prod(array.shape) for array in arg_params.values()), default=0)
            on_store = on_store and not (kvstore == "local" and largest > _LARGE_ARRAY)
    elif isinstance(kvstore, KVStoreBase):
        store = kvstore
        on_store = on_store and store.is_capable(KVStoreBase.OPTIMIZER)
    else:
        raise MXNetTypeError(
            f"[kvstore] got an object of type {type(kvstore).__name__}; expected a KVStore, the name of a type, or "
            "None."
        )
    return store, on_store and store is not None


def _create_sparse_kvstore(kvstore: Any) -> Any:
    """The store for parameters that are row_sparse, which it keeps and updates; see :func:`_create_kvstore`."""
    from .kvstore import KVStoreBase, create

    store = create(kvstore) if isinstance(kvstore, str) else kvstore
    if not isinstance(store, KVStoreBase) or not store.is_capable(KVStoreBase.OPTIMIZER):
        raise MXNetTypeError(
            f"[kvstore] got {kvstore!r} for parameters that are row_sparse; expected a KVStore that runs the "
            "optimizer, or the name of its type."
        )
    return store, True


def _initialize_kvstore(
    kvstore: Any, param_arrays: Any, arg_params: Any, param_names: Any, update_on_kvstore: bool
) -> None:
    """Hands the parameters to a store; where they change on it, all devices begin with its values."""
    for i, (name, arrays) in enumerate(zip(param_names, param_arrays)):
        if not hasattr(kvstore, "init"):
            kvstore.broadcast(name, arg_params[name], out=arrays, priority=-i)
            continue
        kvstore.init(name, arg_params[name])
        if update_on_kvstore:
            kvstore.pull(name, arrays, priority=-i)


def _live(param_arrays: Any, grad_arrays: Any, param_names: Any) -> list[Any]:
    """(number, name, devices' weights, devices' gradients) of the parameters that are trained."""
    names = range(len(param_arrays)) if param_names is None else param_names
    rows = enumerate(zip(names, param_arrays, grad_arrays))
    return [(i, name, weights, grads) for i, (name, weights, grads) in rows if grads[0] is not None]


def _exchange(kvstore: Any, name: Any, values: Any, out: Any, priority: int, ignore_sparse: bool) -> None:
    """Hands values to a store and gets what it makes of them; stores of others may only know it as one step."""
    if hasattr(kvstore, "push"):
        kvstore.push(name, values, priority=priority)
        kvstore.pull(name, out, priority=priority, ignore_sparse=ignore_sparse)
    else:
        kvstore.pushpull(name, values, out=out, priority=priority)


def _exchange_all(kvstore: Any, rows: list[Any], ignore_sparse: bool) -> None:
    """The same for rows of (number, key, values, out). Our own stores get dense ones at once, and may join them."""
    together: list[Any] = []
    for i, name, values, out in rows:
        is_dense = all(array.stype == "default" for array in (*values, *out))
        if is_dense and getattr(kvstore, "_joins", False):
            together.append((name, values, out, -i))
        else:
            _exchange(kvstore, name, values, out, -i, ignore_sparse)
    if together:
        kvstore._pushpull_all(*map(list, zip(*together)))


def _update_params_on_kvstore(param_arrays: Any, grad_arrays: Any, kvstore: Any, param_names: Any) -> None:
    """Gives the gradients to a store, whose optimizer changes the parameters, and gets these back.

    Of row_sparse parameters only the rows of a batch are wanted: `Module.prepare` gets them.
    """
    live = _live(param_arrays, grad_arrays, param_names)
    _exchange_all(
        kvstore, [(i, name, grads, weights) for i, name, weights, grads in live], ignore_sparse=True
    )


def _update_params(
    param_arrays: Any,
    grad_arrays: Any,
    updater: Callable[[Any, Any, Any], Any],
    num_device: int,
    kvstore: Any = None,
    param_names: Any = None,
    anywhere: Callable[[bool], bool] | None = None,
) -> None:
    """Changes the parameters on each device, by gradients that a store has added up if there is one.

    Not if they overflow and the optimizer has a loss scale (see contrib.amp).
    """
    live = _live(param_arrays, grad_arrays, param_names)
    if kvstore is not None:
        _exchange_all(kvstore, [(i, name, grads, grads) for i, name, _, grads in live], ignore_sparse=False)
    scaler = getattr(getattr(updater, "optimizer", None), "_amp_loss_scaler", None)
    factors: Mapping[Any, Any] = {}
    if scaler is not None:
        gradients = [grad for _, _, _, grads in live for grad in grads]
        on_device = scaler._device_scale(updater.optimizer, gradients, anywhere)  # type: ignore[attr-defined]
        if on_device is not None:
            factors = on_device.follow(gradients)
        elif scaler.follow(gradients, anywhere):
            return
    for k in range(num_device if live else 0):
        if scaler is not None:
            updater._factor = factors.get(live[0][3][k].context)  # type: ignore[attr-defined]
        keys = [i * num_device + k for i, _, _, _ in live]
        updater(keys, [grads[k] for _, _, _, grads in live], [weights[k] for _, _, weights, _ in live])


# MXNet's other names of this module, made when they are asked for: their modules need this one.
_ELSEWHERE = {
    "DataDesc": "io",
    "DataParallelExecutorManager": "executor_manager",
    "FeedForward": "feed_forward",
    "LogValidationMetricsCallback": "callback",
    "Uniform": "initializer",
    "get_updater": "optimizer",
}


if not TYPE_CHECKING:  # type checkers would take any name for one of this module's

    def __getattr__(name):
        if name not in _ELSEWHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f".{_ELSEWHERE[name]}", __package__), name)


_star.complete(
    globals(),
    "Context DataDesc DataParallelExecutorManager LogValidationMetricsCallback Uniform cpu "
    "get_updater io kvs logging metric mx_real_t namedtuple nd np opt os sym time warnings",
)
