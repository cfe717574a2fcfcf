# SPDX-License-Identifier: Apache-2.0
"""The store of parameters that several devices share.

``push`` adds up the values of all devices, always in the order given, and hands the sum to the updater (or
stores it); ``pull`` copies the stored value to the devices. All of it is work for the engine: the calls
return at once, and a gradient travels as soon as it is computed.
"""

from __future__ import annotations

import atexit
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _core
from .._arguments import as_whole
from ..base import AssertedError, MXNetTypeError, MXNetValueError, StateError, as_list
from ..model import read_whole, write_whole
from .base import KVStoreBase

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ..optimizer import Optimizer

__all__ = ["GroupKVStore", "KVStore"]


def _paired(key: Any, value: Any, what: str) -> list[Any]:
    """A list of (key, values) from a key with a value or values, or from lists of both.

    With a list of keys, ``value`` holds for each key one array or a list of them.
    """
    if not isinstance(key, (list, tuple)):
        return [(key, value)]
    if not isinstance(value, (list, tuple)) or len(value) != len(key):
        given = (
            f"{len(value)}"
            if isinstance(value, (list, tuple))
            else f"something of type {type(value).__name__}"
        )
        raise MXNetValueError(
            f"[KVStore] {what} has {given} for {len(key)} keys; expected a list with one entry each."
        )
    return list(zip(key, value))


def _by_key(key: Any, value: Any, what: str) -> list[Any]:
    """The same, with each key once: what several entries of a list bring for one key counts together."""
    pairs = _paired(key, value, what)
    if len(pairs) == 1:
        return pairs
    together: dict[Any, list[Any]] = {}
    for one, values in pairs:
        together.setdefault(one, []).extend(as_list(values))
    return list(together.items()) if len(together) < len(pairs) else pairs


class KVStore(KVStoreBase):
    """The store of one machine.

    Parameters
    ----------
    kind : str
        ``"local"`` or ``"device"`` (or one of their older names); on CPUs they do the same, but that only
        ``"device"`` compresses gradients.

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

    def __init__(self, kind: str = "local") -> None:
        self._handle = _core.StoreHandle(kind)
        self._updater: Any = None

    @property
    def handle(self) -> Any:
        """What the store is for the C++ core."""
        return self._handle

    _key_kind: type | None = None  # int or str, from the first key on

    def _check_kind(self, key: Any) -> None:
        """A store's keys are all numbers or all texts, as they are in MXNet."""
        for one in key if isinstance(key, (list, tuple)) else (key,):
            kind = str if isinstance(one, str) else int
            if self._key_kind is None:
                self._key_kind = kind
            if kind is not self._key_kind and isinstance(one, (str, int)):
                raise AssertedError(
                    f"[KVStore] key {one!r} is {kind.__name__}, and the keys of this store are "
                    f"{self._key_kind.__name__}; mixed types of keys are not allowed."
                )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.type!r}: worker {self.rank} of {self.num_workers}>"

    @property
    def type(self) -> str:
        return self._handle.type

    @property
    def rank(self) -> int:
        return self._handle.rank

    @property
    def num_workers(self) -> int:
        return self._handle.num_workers

    @staticmethod
    def is_capable(capability: str) -> bool:
        if capability.lower() == KVStoreBase.OPTIMIZER:
            return True
        raise MXNetValueError(f"[KVStore] unknown capability {capability!r}; expected 'optimizer'.")

    def init(self, key: Any, value: Any) -> None:
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
        self._check_kind(key)
        for one, values in _paired(key, value, "value"):
            self._handle.init(one, values)

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
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
        self._check_kind(key)
        priority = as_whole("KVStore", "priority", priority)
        for one, values in _by_key(key, value, "value"):
            self._handle.push(one, values, priority)

    def pull(
        self, key: Any, out: NDArray | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
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
            Whether sparse arrays in ``out`` are passed over (use :meth:`row_sparse_pull` for them).

        Raises
        ------
        KeyError
            When a key has no value yet.
        """
        if out is None:
            raise MXNetTypeError("[KVStore] pull needs the argument out: the arrays to copy to.")
        self._check_kind(key)
        priority = as_whole("KVStore", "priority", priority)
        for one, outs in _by_key(key, out, "out"):
            wanted = [
                target
                for target in as_list(outs)
                if not ignore_sparse or getattr(target, "stype", "default") == "default"
            ]
            if wanted or not as_list(outs):
                self._handle.pull(one, wanted, priority)

    def pushpull(self, key: Any, value: Any, out: NDArray | None = None, priority: int = 0) -> None:
        """:meth:`push` and then :meth:`pull`; without ``out`` the result goes back to ``value``."""
        self._check_kind(key)
        priority = as_whole("KVStore", "priority", priority)
        pulled = _by_key(key, value if out is None else out, "out")
        for (one, values), (_, outs) in zip(_by_key(key, value, "value"), pulled):
            self._handle.pushpull(one, values, outs, priority)

    @property
    def _joins(self) -> bool:
        """Whether values of several keys may travel together, past methods that somebody may have replaced."""
        own = type(self)
        return all(getattr(own, name) is getattr(KVStore, name) for name in ("push", "pull", "pushpull"))

    def _pushpull_all(
        self, keys: list[Any], values: list[Any], outs: list[Any], priorities: list[int]
    ) -> None:
        """:meth:`pushpull` for different keys, with lists of arrays each. Small ones of GPUs travel together."""
        if not self._joins:
            super()._pushpull_all(keys, values, outs, priorities)
            return
        self._check_kind(keys)
        self._handle.pushpull_all(keys, values, outs, priorities)

    def broadcast(self, key: Any, value: Any, out: NDArray, priority: int = 0) -> None:
        """:meth:`init` and then :meth:`pull`."""
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(
        self, key: Any, out: NDArray | None = None, priority: int = 0, row_ids: Any = None
    ) -> None:
        """Copies the rows ``row_ids`` of row_sparse values.

        Parameters
        ----------
        key : int, str or list of them
            The keys.
        out : RowSparseNDArray, list of them, or list of lists
            Where to: one array or more; with several keys a list of these.
        row_ids : NDArray, list of NDArray, or list of lists
            The rows: one array for all outputs, or one for each, in lists as those of ``out``. They may repeat.
        """
        if out is None or row_ids is None:
            raise MXNetTypeError("[KVStore] row_sparse_pull needs both arguments out and row_ids.")
        self._check_kind(key)
        priority = as_whole("KVStore", "priority", priority)
        pulled = [(one, as_list(outs)) for one, outs in _paired(key, out, "out")]
        rows = [ids for part in as_list(row_ids) for ids in as_list(part)]
        count = sum(len(outs) for _, outs in pulled)
        if len(rows) == 1:
            rows *= count
        if len(rows) != count:
            raise MXNetValueError(
                f"[KVStore] row_sparse_pull has {len(rows)} arrays of row_ids for {count} outputs; expected one for "
                f"all, or one for each."
            )
        for one, outs in pulled:
            self._handle.row_sparse_pull(one, outs, rows[: len(outs)], priority)
            del rows[: len(outs)]

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Makes gradients smaller where they travel between devices; ``"local"`` stores send none.

        Parameters
        ----------
        compression_params : dict
            ``{"type": "2bit", "threshold": 0.5}``: a value becomes plus or minus the threshold, or zero, and
            what is lost is added to the next gradient. ``{"type": "fp16"}``: a value becomes a half.

        Raises
        ------
        NotImplementedError
            When the store sends no gradients.

        Examples
        --------
        >>> import loomix as mx
        >>> mx.kv.create("device").set_gradient_compression({"type": "2bit", "threshold": 0.5})
        """
        if not isinstance(compression_params, dict):
            raise MXNetTypeError(
                f"[KVStore] compression_params is of type {type(compression_params).__name__}; expected a dict."
            )
        if "type" not in compression_params:
            raise MXNetValueError(
                "[KVStore] compression_params has no entry 'type'; expected '2bit' or 'fp16'."
            )
        self._handle.set_gradient_compression(compression_params)

    def set_updater(self, updater: Callable[[Any, NDArray, NDArray], Any]) -> None:
        """Makes ``updater(key, merged, stored)`` change the stored value at each push."""
        self._handle.set_updater(updater)
        self._updater = updater

    _set_updater = set_updater  # MXNet's name

    def set_optimizer(self, optimizer: Optimizer | str) -> None:
        """Makes an optimizer, or the one of a name, change the stored values at each push.

        >>> import loomix as mx
        >>> mx.kv.create().set_optimizer(mx.optimizer.SGD(learning_rate=0.1))
        """
        from ..optimizer import create, get_updater

        self.set_updater(get_updater(create(optimizer) if isinstance(optimizer, str) else optimizer))

    def _states_owner(self) -> Any:
        if not hasattr(self._updater, "get_states"):
            raise StateError("[KVStore] there are no optimizer states; call set_optimizer first.")
        return self._updater

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
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

    def load_optimizer_states(self, fname: str) -> None:
        """Reads what :meth:`save_optimizer_states` wrote."""
        read_whole(fname, self._states_owner().set_states)

    def _send_command_to_servers(self, head: int, body: Any) -> None:
        """Sends a command to all servers; here there are none."""

    def barrier(self, position: int | None = None) -> Any:
        """Waits for all workers; here there is one. ``position`` is for workers that are started again, as those of
        a cluster with servers are."""
        if position is not None:
            as_whole("KVStore.barrier", "position", position, least=1)

    _barrier = barrier


class GroupKVStore(KVStore):
    """A store without servers: of type ``"dist_mpi"``, ``"dist_network"``, ``"dist_nccl"`` or ``"nccl"``.

    ``"dist_mpi"`` and ``"dist_nccl"`` are for the processes that ``mpirun`` started, ``"dist_network"`` for those
    that ``torchrun`` did, or whoever sets ``MASTER_ADDR``, ``MASTER_PORT``, ``RANK`` and ``WORLD_SIZE``. All
    processes have all values. A push adds up what all of them pushed (an all-reduce), and each updates its own copy;
    so all must make the same calls in the same order. The first value of rank 0 counts.

    With ``"dist_mpi"`` and ``"dist_network"`` values travel between hosts, and sums are in the order of ranks. With
    ``"dist_nccl"``, and with ``"nccl"`` for one process, they travel between GPUs: a push brings one array for each
    GPU, always for the same ones in the same order.

    Raises
    ------
    ConnectionError
        When there is no MPI, or not all ranks come within ``LOOMIX_KV_DEADLINE`` seconds. Values have it as their
        error when a process does not answer for so long, is late for ``LOOMIX_KV_LATE_DEADLINE`` seconds, makes
        another call than the others, or ends by an exception, which it names. All processes of the job then end.
    NotImplementedError
        When the build is without NCCL.

    Examples
    --------
    Started by ``mpirun -n 2 python example.py``:

    >>> import loomix as mx
    >>> store = mx.kv.create("dist_mpi")  # doctest: +SKIP
    >>> store.init("w", mx.nd.zeros((2,)))  # doctest: +SKIP
    >>> store.push("w", mx.nd.ones((2,)))  # doctest: +SKIP
    >>> store.pull("w", out := mx.nd.empty((2,)))  # doctest: +SKIP
    >>> out.asnumpy().tolist()  # doctest: +SKIP
    [2.0, 2.0]
    """

    def __init__(self, kind: str = "dist_mpi", communicator: Any = None) -> None:
        if communicator is not None and kind not in ("dist_mpi", "dist_nccl"):
            raise MXNetTypeError(
                f"[kvstore] a store of type {kind!r} is without MPI; it takes no communicator."
            )
        self._handle = _core.make_group_store(kind, _communicator_handle(communicator))
        self._updater: Any = None
        _groups.add(self)

    def barrier(self, position: int | None = None) -> None:
        """Waits for all processes, and until what they pushed before is added up. They are started and end together, so
        they meet at every ``position``."""
        super().barrier(position)
        self._handle.barrier()

    _barrier = barrier


def _communicator_handle(communicator: Any) -> int:
    """Of an MPI communicator; 0 for none."""
    if communicator is None:
        return 0
    if isinstance(communicator, int) and not isinstance(communicator, bool) and communicator > 0:
        return communicator
    mpi = sys.modules.get("mpi4py.MPI")  # where a communicator comes from, it is there
    if mpi is None or not isinstance(communicator, mpi.Comm):
        raise MXNetTypeError(
            f"[kvstore] the communicator is {communicator!r}; expected one of mpi4py, or its handle."
        )
    return int(mpi._handleof(communicator))


_groups: weakref.WeakSet[GroupKVStore] = weakref.WeakSet()


@atexit.register
def _tell_why() -> None:
    """At exit: a process that ends by an exception says so, as others would wait for it."""
    error = getattr(sys, "last_value", None)
    for store in list(_groups)[:1]:  # one of them tells all processes
        if error is not None:
            store.handle.leave(f"its program ended with {type(error).__name__}: {error}")


def write_bytes(path: str, data: Any) -> None:
    """Writes a file of these bytes."""
    with open(path, "wb") as file:
        file.write(data)
