# SPDX-License-Identifier: Apache-2.0
"""The store of parameters that several devices share.

``push`` adds up the values of all devices, always in the order given, and hands the sum to the updater (or
stores it); ``pull`` copies the stored value to the devices. All of it is work for the engine: the calls
return at once, and a gradient travels as soon as it is computed.
"""

import functools
import operator
from typing import ClassVar

import numpy as np

from .base import (
    MXNetIndexError,
    MXNetKeyError,
    MXNetNotImplementedError,
    MXNetTypeError,
    MXNetValueError,
    ShapeError,
    StateError,
)
from .model import write_whole

__all__ = ["KVStore", "KVStoreBase", "create"]

_LOCAL_TYPES = (
    "local",
    "local_allreduce_cpu",
    "local_allreduce_device",
    "local_update_cpu",
    "device",
)
_OTHER_TYPES = ("dist", "nccl", "p3", "horovod", "byteps")


class KVStoreBase:
    """The interface of a store; a class registered by :meth:`register` can be created by its name."""

    OPTIMIZER = "optimizer"
    kv_registry: ClassVar[dict] = {}

    @staticmethod
    def register(klass):
        """Class decorator: makes :func:`create` know the class by its name in lower case."""
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass

    def broadcast(self, key, value, out, priority=0):
        """Sets the first value of ``key`` and copies it to ``out``."""
        raise NotImplementedError(f"[{type(self).__name__}] broadcast is not implemented.")

    def pushpull(self, key, value, out=None, priority=0):
        """Adds up ``value`` over devices and copies the result to ``out`` (or back to ``value``)."""
        raise NotImplementedError(f"[{type(self).__name__}] pushpull is not implemented.")

    def set_optimizer(self, optimizer):
        """Makes the store update its values by an optimizer."""
        raise NotImplementedError(f"[{type(self).__name__}] set_optimizer is not implemented.")

    @staticmethod
    def is_capable(capability):
        """Whether the store can do ``capability``; the one known is ``"optimizer"``."""
        raise NotImplementedError("[KVStoreBase] is_capable is not implemented.")

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the optimizer's states to a file."""
        raise NotImplementedError(f"[{type(self).__name__}] save_optimizer_states is not implemented.")

    def load_optimizer_states(self, fname):
        """Reads the optimizer's states from a file."""
        raise NotImplementedError(f"[{type(self).__name__}] load_optimizer_states is not implemented.")

    @property
    def type(self):
        """Name of the kind of store."""
        raise NotImplementedError

    @property
    def rank(self):
        """Number of this worker."""
        raise NotImplementedError

    @property
    def num_workers(self):
        """How many workers there are."""
        raise NotImplementedError


def _by_key(key, value, what):
    """A list of (key, [values]) from a key with a value or values, or from lists of both.

    With a list of keys, ``value`` holds for each key one array or a list of them.
    """
    if not isinstance(key, (list, tuple)):
        _check_key(key)
        return [(key, list(value) if isinstance(value, (list, tuple)) else [value])]
    if not isinstance(value, (list, tuple)) or len(value) != len(key):
        raise MXNetValueError(f"[KVStore] {len(key)} keys came without as many entries of {what}.")
    pairs = []
    for one, values in zip(key, value):
        _check_key(one)
        pairs.append((one, list(values) if isinstance(values, (list, tuple)) else [values]))
    return pairs


def _check_key(key):
    if isinstance(key, bool) or not isinstance(key, (int, str)):
        raise MXNetTypeError(f"[KVStore] key {key!r} is a {type(key).__name__}; expected an int or a str.")


class KVStore(KVStoreBase):
    """The store of one machine.

    Parameters
    ----------
    kind : str
        ``"local"`` or ``"device"`` (or one of their older names); on CPUs they do the same.

    Examples
    --------
    >>> import loomix as mx
    >>> store = mx.kv.create("local")
    >>> store.init("w", mx.nd.zeros((2,)))
    >>> store.push("w", [mx.nd.ones((2,), ctx=mx.cpu(0)), mx.nd.ones((2,), ctx=mx.cpu(1))])
    >>> out = mx.nd.empty((2,))
    >>> store.pull("w", out)
    >>> out.asnumpy().tolist()
    [2.0, 2.0]
    """

    def __init__(self, kind="local"):
        self._type = kind
        self._values = {}
        self._updater = None
        self._optimizer_updater = None

    @property
    def type(self):
        return self._type

    @property
    def rank(self):
        return 0

    @property
    def num_workers(self):
        return 1

    @staticmethod
    def is_capable(capability):
        if capability.lower() == KVStoreBase.OPTIMIZER:
            return True
        raise MXNetValueError(f"[KVStore] unknown capability {capability!r}; expected 'optimizer'.")

    def _stored(self, key):
        try:
            return self._values[key]
        except KeyError:
            raise MXNetKeyError(f"[KVStore] key {key!r} has no value; call init first.") from None

    def init(self, key, value):
        """Sets the first value of one key or of several.

        Parameters
        ----------
        key : int, str or list of them
            The keys.
        value : NDArray or list of NDArray
            Their values, which are copied.

        Raises
        ------
        ValueError
            When a key has a value already.
        """
        for one, values in _by_key(key, value, "value"):
            if one in self._values:
                raise MXNetValueError(f"[KVStore] key {one!r} has a value already; init it once only.")
            self._values[one] = values[0].copy()

    def _merged(self, key, values, stored):
        """The sum of the devices' values, in their order, on the device of the stored value."""
        for value in values:
            if value.shape != stored.shape:
                raise ShapeError(
                    f"[KVStore] key {key!r} has shape {stored.shape}, but {value.shape} was pushed."
                )
            if value.dtype != stored.dtype:
                raise MXNetTypeError(
                    f"[KVStore] key {key!r} has dtype {stored.dtype}, but {value.dtype} was pushed."
                )
        values = [value.as_in_context(stored.context) for value in values]
        if len(values) == 1:
            return values[0]
        if all(value.stype == "default" for value in values):
            from .ndarray import add_n

            return add_n(*values)
        return functools.reduce(operator.add, values).tostype(stored.stype)

    def push(self, key, value, priority=0):
        """Adds up the devices' values and updates the stored value by the sum, or replaces it without an
        updater.

        Parameters
        ----------
        key : int, str or list of them
            The keys.
        value : NDArray, list of NDArray, or list of lists
            One value for each device; with several keys a list of these.
        priority : int
            Larger comes first among work that is ready.

        Raises
        ------
        KeyError
            When a key has no value yet.
        ValueError or TypeError
            When shape or dtype differ from those of the first value.
        """
        for one, values in _by_key(key, value, "value"):
            stored = self._stored(one)
            merged = self._merged(one, values, stored)
            if self._updater is not None:
                self._updater(one, merged, stored)
            elif stored.stype == merged.stype == "default":
                merged.copyto(stored)
            else:
                self._values[one] = merged.copy()

    def pull(self, key, out=None, priority=0, ignore_sparse=True):
        """Copies stored values to arrays.

        Parameters
        ----------
        key : int, str or list of them
            The keys.
        out : NDArray, list of NDArray, or list of lists
            Where to: one array for each device; with several keys a list of these.
        priority : int
            Larger comes first among work that is ready.
        ignore_sparse : bool
            Whether keys with row_sparse values are passed over (use :meth:`row_sparse_pull` for them).

        Raises
        ------
        KeyError
            When a key has no value yet.
        """
        if out is None:
            raise MXNetTypeError("[KVStore] pull needs the argument out: the arrays to copy to.")
        for one, outs in _by_key(key, out, "out"):
            stored = self._stored(one)
            if stored.stype != "default" and ignore_sparse:
                continue
            for target in outs:
                if target.shape != stored.shape:
                    raise ShapeError(
                        f"[KVStore] key {one!r} has shape {stored.shape}, but out has {target.shape}."
                    )
                stored.copyto(target)

    def pushpull(self, key, value, out=None, priority=0):
        """:meth:`push` and then :meth:`pull`; without ``out`` the result goes back to ``value``."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key, value, out, priority=0):
        """:meth:`init` and then :meth:`pull`."""
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(self, key, out=None, priority=0, row_ids=None):
        """Copies the rows ``row_ids`` of row_sparse values.

        Parameters
        ----------
        key : int, str or list of them
            The keys.
        out : RowSparseNDArray or list of them
            Where to.
        row_ids : NDArray or list of NDArray
            The rows, for all outputs or one array for each; they may repeat.
        """
        if out is None or row_ids is None:
            raise MXNetTypeError("[KVStore] row_sparse_pull needs both arguments out and row_ids.")
        from .ndarray import array, sparse, take

        for one, outs in _by_key(key, out, "out"):
            stored = self._stored(one)
            if stored.stype != "row_sparse":
                raise MXNetTypeError(
                    f"[KVStore] key {one!r} holds a {stored.stype} value; expected row_sparse."
                )
            rows = row_ids if isinstance(row_ids, (list, tuple)) else [row_ids] * len(outs)
            if len(rows) != len(outs):
                raise MXNetValueError(
                    f"[KVStore] {len(outs)} outputs came with {len(rows)} arrays of row_ids."
                )
            dense = stored.tostype("default")
            for target, ids in zip(outs, rows):
                ids = np.unique(ids.asnumpy().astype("int64"))
                if len(ids) and not 0 <= ids[0] <= ids[-1] < stored.shape[0]:
                    raise MXNetIndexError(
                        f"[KVStore] row_ids go from {ids[0]} to {ids[-1]}; key {one!r} has rows 0 to "
                        f"{stored.shape[0] - 1}."
                    )
                index = array(ids, ctx=stored.context, dtype="int64")
                part = sparse.row_sparse_array(
                    (take(dense, index), index), shape=stored.shape, ctx=stored.context, dtype=stored.dtype
                )
                part.copyto(target)

    def set_gradient_compression(self, compression_params):
        """Chooses how gradients are compressed between machines; a local store sends none."""
        raise MXNetNotImplementedError(
            f"[KVStore] gradient compression is for stores of several machines; this one is {self._type!r}."
        )

    def set_updater(self, updater):
        """Makes ``updater(key, merged, stored)`` change the stored value at each push."""
        self._updater = updater
        self._optimizer_updater = None

    _set_updater = set_updater  # MXNet's name

    def set_optimizer(self, optimizer):
        """Makes an optimizer change the stored values at each push.

        >>> import loomix as mx
        >>> mx.kv.create().set_optimizer(mx.optimizer.SGD(learning_rate=0.1))
        """
        from .optimizer import get_updater

        self._updater = self._optimizer_updater = get_updater(optimizer)

    def _states_owner(self):
        if self._optimizer_updater is None:
            raise StateError("[KVStore] there are no optimizer states; call set_optimizer first.")
        return self._optimizer_updater

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the optimizer's states to a file that MXNet 1.9.1 reads, too.

        Parameters
        ----------
        fname : str
            The file.
        dump_optimizer : bool
            Whether the optimizer's settings are written as well.
        """
        data = self._states_owner().get_states(dump_optimizer)
        write_whole(fname, lambda name: write_bytes(name, data))

    def load_optimizer_states(self, fname):
        """Reads what :meth:`save_optimizer_states` wrote."""
        with open(fname, "rb") as file:
            self._states_owner().set_states(file.read())

    def barrier(self):
        """Waits for all workers; here there is one."""

    _barrier = barrier


def write_bytes(path, data):
    """Writes a file of these bytes."""
    with open(path, "wb") as file:
        file.write(data)


def create(name="local"):
    """A store by the name of its type.

    Parameters
    ----------
    name : {"local", "device"} or the name of a registered class
        The type.

    Raises
    ------
    NotImplementedError
        For the types that span machines or need NCCL, which this version does not have.
    ValueError
        For unknown types.
    """
    if not isinstance(name, str):
        raise MXNetTypeError(f"[kvstore] the type is a {type(name).__name__}; expected a str.")
    kind = name.lower()
    if kind in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[kind]()
    if kind in _LOCAL_TYPES:
        return KVStore(kind)
    if kind.startswith(_OTHER_TYPES):
        raise MXNetNotImplementedError(
            f"[kvstore] type {name!r} is not available in this version; expected 'local' or 'device'."
        )
    raise MXNetValueError(f"[kvstore] unknown type {name!r}; expected one of {_LOCAL_TYPES}.")
