# SPDX-License-Identifier: Apache-2.0
"""Which rank holds which block of a matrix."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core as _core
from .. import _parallel
from .job import rank as own_rank
from .job import size as job_size
from .mesh import Mesh


class Layout:
    """Which rank holds which block of a matrix: cuts of its rows, cuts of its columns, and the owners of each
    block between them.

    A value that every rank has whole. Made by the functions below; functions that take one also take the names
    "rows", "columns" and "replicated". Blocks are numbered row by row. ``print`` draws it.

    Example
    -------
    >>> from loomix import parallel
    >>> print(parallel.Layout.blocks([0, 4, 8], [0, 3, 6], [0, 0, 0, 0]))
    (8, 6): 4 blocks on 1 rank
       0   3   6
    0  +---+---+
       | 0 | 0 |
    4  +---+---+
       | 0 | 0 |
    8  +---+---+
    """

    def __init__(self, handle: _parallel.LayoutHandle) -> None:
        self._handle = handle

    @property
    def handle(self) -> _parallel.LayoutHandle:
        """The C++ object."""
        return self._handle

    @staticmethod
    def rows(shape: tuple[int, int], ranks: int | None = None) -> Layout:
        """Stretches of rows, one a rank; their sizes differ by one at most.

        >>> from loomix import parallel
        >>> parallel.Layout.rows((8, 6), ranks=3).row_cuts
        [0, 3, 6, 8]
        """
        return Layout(_parallel.LayoutHandle.by_rows(*shape, _ranks(ranks)))

    @staticmethod
    def columns(shape: tuple[int, int], ranks: int | None = None) -> Layout:
        """Stretches of columns, one a rank.

        >>> from loomix import parallel
        >>> parallel.Layout.columns((8, 6), ranks=2).column_cuts
        [0, 3, 6]
        """
        return Layout(_parallel.LayoutHandle.by_columns(*shape, _ranks(ranks)))

    @staticmethod
    def grid(shape: tuple[int, int], p: int, q: int) -> Layout:
        """Stretch i of the rows and j of the columns on rank i * q + j.

        >>> from loomix import parallel
        >>> parallel.Layout.grid((8, 6), 2, 2).owners(3)
        [3]
        """
        return Layout(_parallel.LayoutHandle.on_grid(*shape, p, q))

    @staticmethod
    def cyclic(shape: tuple[int, int], block: tuple[int, int], p: int, q: int) -> Layout:
        """Blocks of one size, dealt out in turn over p times q ranks, as ScaLAPACK does.

        >>> from loomix import parallel
        >>> parallel.Layout.cyclic((8, 6), (2, 2), 2, 2).blocks_of(3)
        [4, 10]
        """
        return Layout(_parallel.LayoutHandle.cyclic(*shape, *block, p, q))

    @staticmethod
    def replicated(shape: tuple[int, int], ranks: int | None = None) -> Layout:
        """All of it on each rank.

        >>> from loomix import parallel
        >>> parallel.Layout.replicated((8, 6), ranks=3).owners(0)
        [0, 1, 2]
        """
        return Layout(_parallel.LayoutHandle.replicated(*shape, _ranks(ranks)))

    @staticmethod
    def over(mesh: Mesh, shape: tuple[int, int], rows: str = "", columns: str = "") -> Layout:
        """Rows cut over one axis of a mesh, columns over another one; replicated over the axes that are not named.

        >>> from loomix import parallel
        >>> parallel.Layout.over(parallel.Mesh(data=1), (8, 6), rows="data").owners(0)
        [0]
        """
        return Layout(_parallel.LayoutHandle.on_mesh(mesh.handle, *shape, rows, columns))

    @staticmethod
    def blocks(
        row_cuts: Sequence[int], column_cuts: Sequence[int], owners: Sequence[int], copies: int = 1
    ) -> Layout:
        """Anything: cuts begin with 0, end with the size and never fall; ``owners`` has ``copies`` ranks for each
        block, row by row.

        >>> from loomix import parallel
        >>> parallel.Layout.blocks([0, 3, 8], [0, 6], [1, 0]).blocks_of(0)
        [1]
        """
        return Layout(
            _parallel.LayoutHandle.of_blocks(list(row_cuts), list(column_cuts), list(owners), copies, "")
        )

    @staticmethod
    def from_scalapack(descriptor: Sequence[int], p: int, q: int) -> Layout:
        """What a descriptor of ScaLAPACK's says (DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC, LLD), on p times q ranks,
        row by row.

        >>> from loomix import parallel
        >>> parallel.Layout.from_scalapack([1, 0, 8, 6, 2, 2, 0, 0, 4], 2, 2).blocks_of(3)
        [4, 10]
        """
        return Layout(_parallel.LayoutHandle.from_scalapack(list(descriptor), p, q))

    def to_scalapack(self, p: int, q: int, rank: int | None = None, context: int = 0) -> list[int]:
        """The descriptor for a rank of such a grid, this one by default; ValueError for layouts that are not
        block-cyclic on it.

        >>> from loomix import parallel
        >>> parallel.Layout.cyclic((8, 6), (2, 2), 2, 2).to_scalapack(2, 2)
        [1, 0, 8, 6, 2, 2, 0, 0, 4]
        """
        return list(self._handle.to_scalapack(own_rank() if rank is None else rank, p, q, context))

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return (self._handle.rows(), self._handle.columns())

    @property
    def row_cuts(self) -> list[int]:
        """Where rows are cut: 0 first, their number last."""
        return self._handle.row_cuts()

    @property
    def column_cuts(self) -> list[int]:
        """Where columns are cut."""
        return self._handle.column_cuts()

    def block(self, number: int) -> tuple[int, int, int, int]:
        """A block's first row and column, and how many it has of each.

        >>> from loomix import parallel
        >>> parallel.Layout.grid((8, 6), 2, 2).block(3)
        (4, 3, 4, 3)
        """
        return self._handle.block(number)

    def owners(self, block: int) -> list[int]:
        """The ranks that hold a block.

        >>> from loomix import parallel
        >>> parallel.Layout.grid((8, 6), 2, 2).owners(2)
        [2]
        """
        return self._handle.owners(block)

    def blocks_of(self, rank: int) -> list[int]:
        """The numbers of a rank's blocks, ascending.

        >>> from loomix import parallel
        >>> parallel.Layout.rows((8, 6), ranks=4).blocks_of(2)
        [2]
        """
        return self._handle.blocks_of(rank)

    @property
    def T(self) -> Layout:
        """Of the transposed matrix, with each element where it is."""
        return Layout(self._handle.transposed())

    def to_svg(self) -> str:
        """A picture, true to scale, with a colour a rank.

        >>> from loomix import parallel
        >>> parallel.Layout.rows((8, 6)).to_svg()[:4]
        '<svg'
        """
        return self._handle.to_svg()

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._handle.equals(other._handle)

    def __hash__(self) -> int:
        return self._handle.hash()

    def __str__(self) -> str:
        return self._handle.to_string()

    def __repr__(self) -> str:
        return f"<Layout {self.shape}: {self._handle.name()}>"


def _ranks(ranks: int | None) -> int:
    return job_size() if ranks is None else ranks


def to_layout(given: Layout | str, shape: tuple[int, int]) -> _parallel.LayoutHandle:
    """Of a layout, or the name of one for a matrix of this shape."""
    names = {"rows": Layout.rows, "columns": Layout.columns, "replicated": Layout.replicated}
    if isinstance(given, Layout):
        return given.handle
    if given not in names:
        raise ValueError(f"[parallel] layout {given!r}; expected a Layout, or one of {', '.join(names)}.")
    return names[given](shape).handle
