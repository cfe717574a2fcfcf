# SPDX-License-Identifier: Apache-2.0
"""Ranks in a grid with named axes."""

from __future__ import annotations

import math
from typing import NamedTuple

from .. import _core as _core
from .. import _parallel
from .job import rank as own_rank
from .job import size as job_size


class Axis(NamedTuple):
    """The ranks along an axis of a mesh, from this rank's place.

    >>> from loomix import parallel
    >>> parallel.Mesh(data=1).axis("data")
    Axis(ranks=[0], rank=0)
    """

    ranks: list[int]  #: those that differ in this axis alone, this one among them
    rank: int  #: the place of this one there


class Mesh:
    """The ranks of the job in a grid with named axes, in row-major order: the last axis varies fastest.

    Parameters
    ----------
    **axes : int
        The sizes of the axes, which multiply to the number of ranks.

    Raises
    ------
    ValueError
        If they do not; it says both numbers.

    Example
    -------
    >>> from loomix import parallel
    >>> mesh = parallel.Mesh(data=1, model=1)
    >>> mesh.shape
    {'data': 1, 'model': 1}
    >>> mesh.coordinates()
    {'data': 0, 'model': 0}
    """

    def __init__(self, **axes: int) -> None:
        self._handle = _parallel.MeshHandle(list(axes.items()))
        self._handle.check_ranks(job_size())
        self.split_axes: set[str] = set()  #: those that layers are split over

    @property
    def handle(self) -> _parallel.MeshHandle:
        """The C++ object."""
        return self._handle

    @property
    def shape(self) -> dict[str, int]:
        """The sizes of the axes."""
        return dict(self._handle.axes())

    def coordinates(self, rank: int | None = None) -> dict[str, int]:
        """Where a rank is, this one by default."""
        places = self._handle.coordinates(own_rank() if rank is None else rank)
        return dict(zip(self.shape, places))

    def axis(self, name: str) -> Axis:
        """The ranks along an axis, from this rank's place.

        >>> from loomix import parallel
        >>> parallel.Mesh(data=1, model=1).axis("model").ranks
        [0]
        """
        ranks = self._handle.line(own_rank(), name)
        return Axis(ranks, ranks.index(own_rank()))

    def num_parts(self, *axes: str) -> int:
        """How many parts data has that is dealt out over the ranks along some axes, by default along all: what
        iterators take as ``num_parts``.

        >>> from loomix import parallel
        >>> mesh = parallel.Mesh(data=1, model=1)
        >>> mesh.num_parts("data"), mesh.part_index("data")
        (1, 0)
        """
        return math.prod(len(self.axis(name).ranks) for name in axes or self.shape)

    def part_index(self, *axes: str) -> int:
        """Which of the :meth:`num_parts` parts is this rank's: what iterators take as ``part_index``.

        >>> from loomix import parallel
        >>> parallel.Mesh(data=1).part_index()
        0
        """
        index = 0
        for name in axes or self.shape:
            along = self.axis(name)
            index = index * len(along.ranks) + along.rank
        return index

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{name}={size}' for name, size in self.shape.items())})"
