# SPDX-License-Identifier: Apache-2.0
"""What a layer's split is, and what that makes of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .. import autograd
from .. import ndarray as nd
from .._parts import Part, SplitArray, stretch
from ..initializer import fills_parts
from .collectives import all_reduce, gather, group_of, own

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..initializer import InitDesc
    from ..ndarray import NDArray
    from .mesh import Mesh

__all__ = ["Cut", "Split", "columns", "part_of", "rows"]


class Split(NamedTuple):
    """How a layer is split over an axis of a mesh: see :func:`columns` and :func:`rows`.

    >>> from loomix import parallel
    >>> parallel.columns("model")
    Split(kind='columns', axis='model')
    """

    kind: str  #: "columns" or "rows"
    axis: str  #: of the mesh


def columns(axis: str) -> Split:
    """Each rank along the axis has some of the layer's outputs, and computes these from the whole input.

    >>> from loomix import parallel
    >>> parallel.columns("model").kind
    'columns'
    """
    return Split("columns", axis)


def rows(axis: str) -> Split:
    """Each rank along the axis has what some of the layer's inputs are multiplied by; the products are added.

    >>> from loomix import parallel
    >>> parallel.rows("model").kind
    'rows'
    """
    return Split("rows", axis)


def part_of(whole: int, parts: int, i: int) -> int:
    """The size of one of the parts that an axis is cut into; the first ones have one more."""
    return stretch(whole, parts, i)[1]


class Cut:
    """Which part of a parameter this rank has."""

    def __init__(self, mesh: Mesh, mesh_axis: str, axis: int) -> None:
        self.mesh_axis, self.axis = mesh_axis, axis
        self._over = mesh.axis(mesh_axis)
        self.size, self.rank, self.group = len(self._over.ranks), self._over.rank, group_of(self._over)
        others = [name for name in mesh.shape if name != mesh_axis]
        #: How many ranks have the same part, each with examples of its own, and which of them this one is.
        self.replicas = (mesh.num_parts(*others), mesh.part_index(*others)) if others else (1, 0)

    def __repr__(self) -> str:
        return f"axis {self.axis} cut over {self.mesh_axis!r}, {self.size} ranks"

    def own_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of this rank's part."""
        sizes = list(shape)
        sizes[self.axis] = part_of(sizes[self.axis], self.size, self.rank)
        return tuple(sizes)

    def begin(self, shape: Any) -> int:
        """Where this rank's part begins, along the axis."""
        return stretch(shape[self.axis], self.size, self.rank)[0]

    def anywhere(self, found: bool) -> bool:
        """Whether something is so on any of the ranks; all call it."""
        return bool(all_reduce(nd.array([float(found)]), self._over).asscalar() > 0)

    def part(self, whole: NDArray) -> NDArray:
        """This rank's part of an array."""
        with autograd.pause():
            return own(whole, self._over, axis=self.axis, whole=whole.shape[self.axis])

    def first_value(self, init: Any, desc: InitDesc, shape: Any, make: Callable[[Any], NDArray]) -> NDArray:
        """This rank's part of what an initializer makes of a parameter of this shape; `make` gives arrays of 0. The
        whole is there only for initializers that know no parts."""
        if not fills_parts(init, desc):
            whole = make(shape)
            init(desc, whole)
            return self.part(whole)
        value = make(self.own_shape(shape)).as_nd_ndarray()
        desc.part = Part(tuple(shape), self.axis, self.begin(shape))
        init(desc, value)
        return value

    def of_whole(self, part: NDArray, shape: Any) -> SplitArray:
        """The array of this shape, of which this is the rank's part."""
        return SplitArray(part, self, shape)

    def whole(self, part: NDArray, shape: Any) -> NDArray:
        """The array of this shape, from the parts of all ranks; all call it."""
        with autograd.pause():
            return gather(part, self._over, axis=self.axis, whole=shape[self.axis])
