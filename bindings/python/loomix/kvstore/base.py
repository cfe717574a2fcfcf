# SPDX-License-Identifier: Apache-2.0
"""What every store has, and stores by the name of their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..base import MXNetNotImplementedError, MXNetTypeError, MXNetValueError, as_list, suggest

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ..optimizer import Optimizer

__all__ = ["KVStoreBase", "TestStore", "create"]

_GROUP_TYPES = ("dist_mpi", "dist_network", "dist_nccl", "nccl")
_OTHER_TYPES = ("p3", "horovod", "byteps")


class KVStoreBase:
    """The interface of a store; a class registered by :meth:`register` can be created by its name.

    Examples
    --------
    >>> import loomix as mx
    >>> isinstance(mx.kv.create("local"), mx.kv.KVStoreBase)
    True
    """

    OPTIMIZER = "optimizer"
    kv_registry: ClassVar[dict] = {}

    @staticmethod
    def register(klass: type) -> Any:
        """Class decorator: makes :func:`create` know the class by its name in lower case."""
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass

    def broadcast(self, key: Any, value: Any, out: NDArray, priority: int = 0) -> Any:
        """Sets the first value of ``key`` and copies it to ``out``."""
        raise NotImplementedError(f"[{type(self).__name__}] broadcast is not implemented.")

    def pushpull(self, key: Any, value: Any, out: NDArray | None = None, priority: int = 0) -> Any:
        """Adds up ``value`` over devices and copies the result to ``out`` (or back to ``value``)."""
        raise NotImplementedError(f"[{type(self).__name__}] pushpull is not implemented.")

    def _pushpull_all(
        self, keys: list[Any], values: list[Any], outs: list[Any], priorities: list[int]
    ) -> None:
        """:meth:`pushpull` for each key."""
        for key, value, out, priority in zip(keys, values, outs, priorities):
            self.pushpull(key, value, out=out, priority=priority)

    def set_optimizer(self, optimizer: Optimizer) -> Any:
        """Makes the store update its values by an optimizer."""
        raise NotImplementedError(f"[{type(self).__name__}] set_optimizer is not implemented.")

    @staticmethod
    def is_capable(capability: str) -> Any:
        """Whether the store can do ``capability``; the one known is ``"optimizer"``."""
        raise NotImplementedError("[KVStoreBase] is_capable is not implemented.")

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> Any:
        """Writes the optimizer's states to a file."""
        raise NotImplementedError(f"[{type(self).__name__}] save_optimizer_states is not implemented.")

    def load_optimizer_states(self, fname: str) -> Any:
        """Reads the optimizer's states from a file."""
        raise NotImplementedError(f"[{type(self).__name__}] load_optimizer_states is not implemented.")

    @property
    def type(self) -> Any:
        """Name of the kind of store."""
        raise NotImplementedError

    @property
    def rank(self) -> Any:
        """Number of this worker."""
        raise NotImplementedError

    @property
    def num_workers(self) -> Any:
        """How many workers there are."""
        raise NotImplementedError


_LOCAL_TYPES = ("local", "device", "local_allreduce_cpu", "local_update_cpu", "local_allreduce_device")
_KINDS = (
    "local",
    "device",
    "dist_sync",
    "dist_async",
    "dist_ssp",
    "dist_device_sync",
    "dist_mpi",
    "dist_network",
    "dist_nccl",
    "nccl",
)


def _known(kind: str) -> str:
    return suggest(kind, (*_KINDS, *KVStoreBase.kv_registry))


@KVStoreBase.register
class TestStore(KVStoreBase):
    """The smallest store, ``create("teststore")``: it adds up what the devices of a process bring, and keeps nothing.

    >>> import loomix as mx
    >>> gradients = [mx.nd.ones(2), mx.nd.ones(2) * 2]
    >>> mx.kv.create("teststore").pushpull("w", gradients)
    >>> gradients[0].asnumpy()
    array([3., 3.], dtype=float32)
    """

    __test__ = False  # for pytest, which takes classes by such names for tests

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Copies an array to each of ``out``."""
        for target in as_list(out):
            value.copyto(target)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Copies the sum of arrays to each of ``out``, or of themselves."""
        values = as_list(value)
        total = values[0].copy()
        for array in values[1:]:
            total += array.as_in_context(total.context)
        for target in values if out is None else as_list(out):
            total.copyto(target)

    @staticmethod
    def is_capable(capability: str) -> bool:
        """False for "optimizer", the one capability there is: updates happen outside.

        Raises
        ------
        ValueError
            For another capability.
        """
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise MXNetValueError(f"[TestStore] unknown capability {capability!r}; expected 'optimizer'.")
        return False

    @property
    def type(self) -> str:
        return "teststore"

    @property
    def rank(self) -> int:
        return 0

    @property
    def num_workers(self) -> int:
        return 1


def check_type(name: str) -> None:
    """Raises ValueError for a name that no type of store has."""
    from .. import kvstore_dist

    kind = name.lower()
    known = (*KVStoreBase.kv_registry, *_GROUP_TYPES, *_LOCAL_TYPES, *kvstore_dist._TYPES)
    if kind not in known and not kind.startswith(_OTHER_TYPES):
        raise MXNetValueError(f"[kvstore] unknown type {name!r}. {_known(kind)}")


def create(name: str = "local", **kwargs: Any) -> Any:
    """A store by the name of its type.

    Parameters
    ----------
    name : str
        ``"local"`` or ``"device"`` for one machine; ``"dist_sync"``, ``"dist_async"``, ``"dist_ssp"`` or
        ``"dist_device_sync"`` for a cluster with servers; ``"dist_mpi"`` or ``"dist_nccl"`` for the processes that
        ``mpirun`` started, without servers; ``"dist_network"`` for those of a job without MPI; ``"nccl"`` for the
        GPUs of one process; or the name of a registered class.
    staleness : int, optional
        For ``"dist_ssp"``: how many pushes of a key a worker may be ahead of the slowest.
    communicator : mpi4py.MPI.Comm or int, optional
        For ``"dist_mpi"`` and ``"dist_nccl"``: the processes that take part, each of which makes the store; all that
        ``mpirun`` started if it is left out. An integer is a handle, as ``mpi4py.MPI._handleof(comm)`` gives it.

    Raises
    ------
    NotImplementedError
        For types that need NCCL where the build is without, and MXNet's that need other packages.
    ValueError
        For unknown types.
    ConnectionError
        When the cluster is not complete in time.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.kv.create("device").type
    'device'
    """
    if not isinstance(name, str):
        raise MXNetTypeError(f"[kvstore] the type is of type {type(name).__name__}; expected a str.")
    from .kvstore import GroupKVStore, KVStore

    check_type(name)
    kind = name.lower()
    if kind in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[kind]()
    if kind in _GROUP_TYPES and kwargs.keys() <= {"communicator"}:
        return GroupKVStore(kind, **kwargs)
    if kind.startswith("dist") and kind not in _GROUP_TYPES:
        from .. import kvstore_dist

        return kvstore_dist.create(kind, **kwargs)
    if kind.startswith(_OTHER_TYPES):
        raise MXNetNotImplementedError(
            f"[kvstore] type {name!r} is not available in this version. {_known(kind)}"
        )
    if kwargs:
        raise MXNetTypeError(f"[kvstore] a store of type {name!r} takes no {', '.join(kwargs)}.")
    return KVStore(kind)
