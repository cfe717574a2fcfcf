# SPDX-License-Identifier: Apache-2.0
"""A store that adds up gradients over the ranks of a mesh that share a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import autograd
from .. import ndarray as nd
from ..base import as_list
from ..kvstore.base import KVStoreBase
from .collectives import all_reduce
from .job import rank as own_rank

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from .mesh import Mesh

__all__ = ["MeshStore", "store"]


class MeshStore(KVStoreBase):
    """See :func:`store`.

    >>> from loomix import parallel
    >>> parallel.store(parallel.Mesh(data=1)).num_workers
    1
    """

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def _groups(self) -> list[Any]:
        """Along each axis that no layer is split over. Those that layers are split over have added up already."""
        axes = [name for name in self._mesh.shape if name not in self._mesh.split_axes]
        return [axis for axis in map(self._mesh.axis, axes) if len(axis.ranks) > 1]

    def _sum(self, array: NDArray) -> NDArray:
        for axis in self._groups():
            array = all_reduce(array, axis)
        return array

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Gives all ranks that share a parameter the value of the first of them, in the order of the calls."""
        first = as_list(value)[0]
        with autograd.pause():
            is_first = all(axis.rank == 0 for axis in self._groups())
            found = self._sum(first if is_first else nd.zeros_like(first))
            for array in as_list(out):
                found.copyto(array)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Adds up values over devices, and over the ranks that share the parameter. Sums run in the order of the calls,
        which is the same on all ranks; `priority` does not change it."""
        values = as_list(value)
        with autograd.pause():
            total = (
                values[0] if len(values) == 1 else nd.add_n(*(v.copyto(values[0].context) for v in values))
            )
            total = self._sum(total)
            for array in as_list(value if out is None else out):
                if array is not total:
                    total.copyto(array)

    @staticmethod
    def is_capable(capability: str) -> bool:
        """It runs no optimizer: each rank updates its own parts."""
        return False

    @property
    def type(self) -> str:
        """Name of the kind of store."""
        return "parallel"

    @property
    def rank(self) -> int:
        """Number of this rank."""
        return own_rank()

    @property
    def num_workers(self) -> int:
        """How many ranks share what is not split."""
        count = 1
        for axis in self._groups():
            count *= len(axis.ranks)
        return count


def store(mesh: Mesh) -> MeshStore:
    """A store for ``Trainer`` that adds up each gradient over the ranks that share the parameter: those along the
    axes of the mesh that no layer is split over.

    >>> import loomix as mx
    >>> mesh = mx.parallel.Mesh(data=1, model=1)
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", kvstore=mx.parallel.store(mesh))
    """
    return MeshStore(mesh)
