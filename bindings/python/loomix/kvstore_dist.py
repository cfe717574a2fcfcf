# SPDX-License-Identifier: Apache-2.0
"""The store of a cluster: values live on servers, workers push gradients and pull values."""

from __future__ import annotations

import atexit
import contextlib
import pickle
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import as_number, as_whole
from .base import MXNetError, MXNetNotImplementedError, MXNetTypeError, MXNetValueError, StateError
from .kvstore import KVStore

if TYPE_CHECKING:
    from .ndarray import NDArray
    from .optimizer import Optimizer

__all__ = ["DistKVStore", "create"]

# Names that MXNet's users write -> the store's type.
_TYPES = {
    "dist": "dist_sync",
    "dist_sync": "dist_sync",
    "dist_device_sync": "dist_device_sync",
    "dist_sync_device": "dist_device_sync",
    "dist_async": "dist_async",
    "dist_device_async": "dist_device_async",
    "dist_async_device": "dist_device_async",
    "dist_ssp": "dist_ssp",
}
_open = None  # the process's store: it has one place in the cluster


class DistKVStore(KVStore):
    """A worker's store in a cluster; made by ``mx.kv.create("dist_sync")``.

    Rank, scheduler and the numbers of nodes come from the environment (``DMLC_*`` or ``LOOMIX_KV_*``), which
    ``python -m loomix launch`` sets. Only the sum of this process's devices travels.

    Parameters
    ----------
    kind : str
        ``"dist_sync"`` (a pull gets the sum of everybody's pushes), ``"dist_async"`` (each push counts at
        once), ``"dist_ssp"`` (the same, but nobody runs more than ``staleness`` pushes ahead), or one of
        their names with ``device``.
    staleness : int, optional
        For ``dist_ssp``; ``LOOMIX_KV_STALENESS`` by default.

    Raises
    ------
    ConnectionError
        When the cluster is not complete within ``LOOMIX_KV_DEADLINE`` seconds.

    Examples
    --------
    Started by ``python -m loomix launch -n 2 -s 1 python example.py``:

    >>> import loomix as mx
    >>> store = mx.kv.create("dist_sync")  # doctest: +SKIP
    >>> store.init("w", mx.nd.zeros((2,)))  # doctest: +SKIP
    >>> store.push("w", mx.nd.ones((2,)))  # doctest: +SKIP
    >>> out = mx.nd.empty((2,))
    >>> store.pull("w", out)  # doctest: +SKIP
    >>> out.asnumpy().tolist()  # doctest: +SKIP
    [2.0, 2.0]
    """

    def __init__(self, kind: str = "dist_sync", staleness: int | None = None) -> None:
        settings = _core.cluster_settings()
        if settings["role"] != "worker":
            raise StateError(
                f"[kvstore] this process is a {settings['role']} (LOOMIX_KV_ROLE, DMLC_ROLE); only workers have a "
                f"store."
            )
        if staleness is None:
            staleness = settings["staleness"]
        if not isinstance(staleness, int) or staleness < 0:
            raise MXNetValueError(f"[kvstore] staleness is {staleness!r}; expected an int >= 0.")
        self._handle = _core.make_dist_store(_TYPES[kind], staleness)
        self._updater: Any = None
        self._calls = 0
        self._pushes_before: dict[Any, int] = {}  # of each key, when this process set its first value
        self._steps_passed_over = 0
        self._program_counts = False
        self._clipping: tuple[float, list[Any] | None] | None = None  # until the first push
        self._clipped: set[Any] | None = None  # keys, where no others may be pushed
        self._trained: set[Any] = set()  # keys that a Trainer or Module pushes
        self._has_pushed = False

    def init(self, key: Any, value: Any) -> None:
        """Sets the first values of keys: those of rank 0. All workers call it, with values of the same shapes
        and types; it returns when rank 0 has done so.

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
        super().init(key, value)
        self._follow_rank_0()
        for one in key if isinstance(key, (list, tuple)) else [key]:
            self._pushes_before[one] = self._handle.pushes(one)

    def _steps_to_pass_over(self, keys: list[Any]) -> int:
        """How many steps :meth:`Module.fit` leaves out in a worker that was started again: those of which it had
        pushed all of ``keys``. None where the program asks for :meth:`pushes`, as it counts for itself then."""
        if self._program_counts or not keys:
            return 0
        return max(0, min(self._pushes_before.get(key, 0) for key in keys) - self._steps_passed_over)

    def _follow_rank_0(self) -> None:
        """Waits until rank 0 has come to the same call; one that was started again finds it done."""
        from .ndarray import zeros

        mark, key = zeros((1,)), f"call {self._calls} of init or set_optimizer by rank 0"
        self._calls += 1
        self._handle.init(key, mark)
        if self.rank != 0:
            self._handle.pull(key, mark, 0)
            mark.wait_to_read()

    def pushes(self, key: Any) -> int:
        """How many times this worker has pushed ``key``, before it was started again, too.

        A worker that comes back goes on from there: what it pushes again of the round in which it died is
        known. A program that asks leaves out the steps of these pushes itself; otherwise :meth:`Module.fit` does.
        """
        self._program_counts = True
        return self._handle.pushes(key)

    def set_updater(self, updater: Callable[[Any, NDArray, NDArray], Any]) -> None:
        """Raises: an updater would be code on servers."""
        if updater is not None:
            raise MXNetNotImplementedError(
                "[KVStore] an updater is code and does not travel to servers; use set_optimizer, or update on the "
                "workers (MXNET_UPDATE_ON_KVSTORE=0)."
            )

    _set_updater = set_updater

    def set_optimizer(self, optimizer: Optimizer | str) -> None:
        """Makes the servers update values by an optimizer, which travels as name and settings.

        All workers call it; the one of rank 0 counts. Returns when the servers have it.

        Parameters
        ----------
        optimizer : Optimizer
            SGD, NAG, Adam, RMSProp or Ftrl, with one of MXNet's schedules or none. Others are code; they are
            pickled for servers that were started with ``LOOMIX_KV_ALLOW_PICKLE=1``.

        Raises
        ------
        NotImplementedError
            For what is code where servers do not run any.

        Examples
        --------
        >>> import loomix as mx
        >>> store = mx.kv.create("dist_async")  # doctest: +SKIP
        >>> store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1))  # doctest: +SKIP
        """
        from .optimizer import create
        from .optimizer.travel import describe, pickled

        optimizer = create(optimizer) if isinstance(optimizer, str) else optimizer
        try:
            described = describe(optimizer)
        except MXNetNotImplementedError as reason:
            self._send_code(pickled(optimizer), reason)
        else:
            self._handle.set_optimizer(*described)
        self._follow_rank_0()

    def set_clip_global_norm(self, max_norm: float, keys: Iterable[Any] | None = None) -> None:
        """Makes the servers scale the gradients of each round so that their norm, of all keys together, is at most
        ``max_norm``. All workers call it, alike, before their first push.

        The norm is that of the sums of all workers' pushes, before ``rescale_grad``: what
        :func:`loomix.gluon.utils.clip_global_norm` finds where workers pull these sums. Each key is pushed once
        a step; a pull waits until all of them are. A norm that is not finite clips nothing, and servers log it.

        Parameters
        ----------
        max_norm : float
            More than 0. It is the same as long as the cluster runs, and when it goes on from snapshots.
        keys : list of int or str, optional
            Those whose gradients count and are scaled. By default those that a Trainer or Module trains; in other
            programs all that have a value at the first push, so name them where some are never pushed.

        Raises
        ------
        ValueError
            For stores that have no rounds (other than ``dist_sync``), and for a number that is no limit.
        StateError
            After the first push.

        Examples
        --------
        >>> import loomix as mx
        >>> store = mx.kv.create("dist_sync")  # doctest: +SKIP
        >>> store.set_clip_global_norm(1.0)  # doctest: +SKIP
        """
        as_number("KVStore.set_clip_global_norm", "max_norm", max_norm)
        if max_norm <= 0:
            raise MXNetValueError(
                f"[KVStore.set_clip_global_norm] max_norm is {max_norm}; expected more than 0."
            )
        if self.type not in ("dist_sync", "dist_device_sync"):
            raise MXNetValueError(
                f"[KVStore.set_clip_global_norm] a store of type {self.type!r} has no rounds whose norm could be "
                f"found; only 'dist_sync' clips on servers. Elsewhere workers do it: "
                f"gluon.utils.clip_global_norm."
            )
        if isinstance(keys, (str, int)):
            raise MXNetTypeError(f"[KVStore.set_clip_global_norm] keys is {keys!r}; expected a list of keys.")
        if self._has_pushed:
            raise StateError(
                "[KVStore.set_clip_global_norm] this worker has pushed already; call it before the first push."
            )
        self._clipping = float(max_norm), None if keys is None else list(keys)

    def _note_trained(self, keys: Iterable[Any]) -> None:
        """Which keys a Trainer or Module will push, of those that it gives values to."""
        self._trained.update(keys)

    def _before_push(self, pushed: Any) -> None:
        """Tells the servers by which norm to clip: each worker before its first push, as no round is complete without
        the pushes of all."""
        if self._clipping is not None:
            most, keys = self._clipping
            if keys is None:
                keys = [key for key in self._pushes_before if not self._trained or key in self._trained]
                self._clipped = set(keys)
            self._handle.limit_norm(most, keys)
            self._clipping = None
        self._has_pushed = True
        if self._clipped is None:
            return
        for key in pushed if isinstance(pushed, (list, tuple)) else [pushed]:
            if key in self._pushes_before and key not in self._clipped:
                raise StateError(
                    f"[KVStore] key {key} is pushed, and is none of those by whose norm gradients are clipped: it had "
                    f"no value at the first push, or nobody meant to train it. Name the keys in set_clip_global_norm."
                )

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """As that of a store on one machine. The sum of this process's values travels to the servers."""
        self._before_push(key)
        super().push(key, value, priority)

    def pushpull(self, key: Any, value: Any, out: NDArray | None = None, priority: int = 0) -> None:
        """:meth:`push` and then :meth:`pull`; without ``out`` the result goes back to ``value``."""
        self._before_push(key)
        super().pushpull(key, value, out, priority)

    def _send_command_to_servers(self, head: int, body: Any) -> None:
        """Sends a command to all servers: 0 with a pickled optimizer, which is :meth:`set_optimizer`.

        Raises
        ------
        NotImplementedError
            For others: servers take no commands of MXNet's.
        """
        if head != 0:
            raise MXNetNotImplementedError(
                f"[KVStore] servers know no command {head}; set_optimizer, set_gradient_compression and "
                f"`python -m loomix top` do what MXNet's commands did."
            )
        self.set_optimizer(pickle.loads(body.encode("latin1") if isinstance(body, str) else bytes(body)))

    def _send_code(self, code: Any, reason: Any) -> None:
        """``reason``: why it cannot be sent as data."""
        try:
            self._handle.set_optimizer(*code)
        except MXNetError as error:
            if "LOOMIX_KV_ALLOW_PICKLE" not in str(error):
                raise
            raise MXNetNotImplementedError(
                f"{reason} Or start the servers with LOOMIX_KV_ALLOW_PICKLE=1: they then run code that "
                f"workers send, and that of everybody else who can reach them."
            ) from error

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> Any:
        """Raises: the states are on the servers, and in their snapshots."""
        raise StateError(
            f"[KVStore] the optimizer's states of a store of type {self.type!r} are on its servers, and cannot be "
            f"saved or loaded here. Snapshots hold them, with the values: `python -m loomix launch --snapshot-dir DIR` "
            f"(LOOMIX_KV_SNAPSHOT_DIR), and --restore to go on from one. MXNET_UPDATE_ON_KVSTORE=0 keeps the states on "
            f"the workers, which save them."
        )

    def load_optimizer_states(self, fname: str) -> None:
        """Raises: the states are on the servers."""
        self.save_optimizer_states(fname)

    def barrier(self, position: int | None = None) -> None:
        """Waits for all workers, and until what they pushed before has arrived: pulls after it see all of that.

        Parameters
        ----------
        position : int, optional
            Where in the program this barrier is: 1 or more, larger at each later barrier, the same on all workers. A
            worker that was started again does not wait at a position that others have passed. Without, it waits at the
            next barrier that nobody has passed.

        Raises
        ------
        ConnectionError
            When one does not come within ``LOOMIX_KV_DEADLINE`` seconds, or is lost.

        Examples
        --------
        >>> import loomix as mx
        >>> store = mx.kv.create("dist_sync")  # doctest: +SKIP
        >>> store.init("w", mx.nd.zeros(3))  # doctest: +SKIP
        >>> store.barrier(1)  # doctest: +SKIP
        """
        if position is None:
            self._handle.barrier()
        else:
            self._handle.barrier_at(as_whole("KVStore.barrier", "position", position, least=1))

    _barrier = barrier

    def close(self) -> None:
        """Waits for what is under way and leaves the cluster, which ends when all workers have left. The end
        of the process does it, too, and its exit status is 1 if what was under way failed.

        Raises
        ------
        ConnectionError
            When servers did not get the last pushes; the cluster is told.
        """
        global _open
        from .ndarray import waitall

        try:
            waitall()
            self._part("")
        finally:
            self._part("its last pushes failed")
            if _open is self:
                _open = None

    def _part(self, why: str) -> None:
        """Leaves the cluster; ``why`` says what went wrong."""
        with contextlib.suppress(MXNetError):  # the scheduler may be gone, or the store closed
            self._handle.leave(why)
        self._handle.close()


@atexit.register
def _leave() -> None:
    """At exit. A process that ends by an exception says so, instead of a goodbye; one whose last pushes are lost
    fails."""
    store = _open
    if store is None:
        return
    error = getattr(sys, "last_value", None)
    if error is None:
        rank = store.rank
        try:
            store.close()
        except MXNetError as lost:
            print(
                f"[KVStore] worker {rank} fails at its end, by what was still under way: {lost}",
                file=sys.stderr,
            )
            _core.set_exit_status(1)
        return
    store._part(f"its program ended with {type(error).__name__}: {error}")


def create(kind: str, staleness: int | None = None) -> Any:
    """The process's store in its cluster: a second call gives the same one.

    Raises
    ------
    StateError
        When there is one of another type.
    """
    global _open
    if kind not in _TYPES:
        raise MXNetValueError(f"[kvstore] unknown type {kind!r}; expected one of {', '.join(_TYPES)}.")
    if staleness is not None and _TYPES[kind] != "dist_ssp":
        raise MXNetTypeError(f"[kvstore] staleness belongs to 'dist_ssp'; came with {kind!r}.")
    if _open is None:
        _open = DistKVStore(kind, staleness)
    elif _open.type != _TYPES[kind]:
        raise StateError(
            f"[kvstore] this process has a store of type {_open.type!r} in its cluster; close() it before one of "
            f"type {kind!r}."
        )
    return _open
