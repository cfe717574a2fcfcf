# SPDX-License-Identifier: Apache-2.0
"""Matrices that lie in blocks on ranks."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from .. import _core as _core
from .. import _parallel
from ..ndarray import NDArray
from .files import load_blocks, save_matrix
from .job import drawn_seed, ensure_started, from_rank_0, rank
from .layout import Layout, to_layout
from .operations import OPERATIONS, Operation, State, perform


class Matrix:
    """A matrix whose blocks lie on the ranks of the job, as a layout says.

    All ranks call the same functions with the same layouts, and each has its part. Calls return at once, as those
    of ``NDArray`` do; reading waits. An error in a block comes with what is computed from it, on other ranks, too.
    Types are the floating ones.

    Where ranks call different things, all of them get a ValueError that says who did what.

    Example
    -------
    >>> import loomix as mx
    >>> a = mx.parallel.Matrix.from_global(mx.nd.arange(6).reshape((2, 3)), "rows")
    >>> a
    <Matrix (2, 3) float32, rows on 1 rank>
    >>> (a + a.T.T - 1).sum(axis=0).asnumpy().tolist()
    [4.0, 8.0, 12.0]
    """

    def __init__(self, handle: _parallel.MatrixHandle) -> None:
        self._handle = handle

    # ---- made ----

    @staticmethod
    def from_local(blocks: Sequence[NDArray], layout: Layout, dtype: Any = "float32") -> Matrix:
        """Of arrays, one for each block that this rank owns, in the order of ``layout.blocks_of(rank)``. They are
        shared.

        >>> import loomix as mx
        >>> layout = mx.parallel.Layout.rows((2, 3))
        >>> mx.parallel.Matrix.from_local([mx.nd.ones((2, 3))], layout).sum().asnumpy().tolist()
        [6.0]
        """
        ensure_started()
        if State.driver is not None:
            raise RuntimeError(
                "[Matrix] from_local takes blocks of each rank, and this program runs on rank 0 alone; expected "
                "from_global in a driver's body."
            )
        return Matrix(_parallel.MatrixHandle.from_local(layout.handle, dtype, list(blocks)))

    @staticmethod
    def from_global(
        array: NDArray | None,
        layout: Layout | str,
        dtype: Any = "float32",
        root: int = 0,
        shape: tuple[int, int] | None = None,
    ) -> Matrix:
        """Of an array of rank ``root``; what others give is not looked at. It is cast to ``dtype``. Where the
        layout is a name, ranks that have no array give ``shape``.

        >>> import loomix as mx
        >>> mx.parallel.Matrix.from_global(mx.nd.ones((2, 3)), "columns").shape
        (2, 3)
        """
        ensure_started()
        if State.driver is not None and root != 0:
            raise ValueError(
                f"[Matrix] from_global of rank {root}; expected 0, where the driver's program runs."
            )
        if shape is None and isinstance(layout, str):
            if array is None:
                raise ValueError(
                    f"[Matrix] from_global by the layout {layout!r}: expected an array or a shape."
                )
            rows, columns = array.shape
            shape = (rows, columns)
        if array is not None and _parallel.rank() == root:
            array = array.astype(dtype, copy=False)
        return Matrix(perform("from_global", array, to_layout(layout, shape or (0, 0)), dtype, root))

    @staticmethod
    def full(shape: tuple[int, int], value: float, layout: Layout | str, dtype: Any = "float32") -> Matrix:
        """One number everywhere.

        >>> import loomix as mx
        >>> mx.parallel.Matrix.full((2, 3), 7, "rows").sum().asnumpy().tolist()
        [42.0]
        """
        ensure_started()
        return Matrix(perform("full", _of_shape(layout, shape), dtype, value))

    @staticmethod
    def random(
        shape: tuple[int, int],
        layout: Layout | str,
        dtype: Any = "float32",
        distribution: str = "uniform",
        parameters: tuple[float, float] = (0.0, 1.0),
        seed: int | None = 0,
    ) -> Matrix:
        """Random numbers by place: the same matrix for any layout and number of ranks.

        Parameters
        ----------
        distribution : str
            "uniform", from the first parameter up to below the second, or "normal", by mean and standard deviation.
        seed : int, optional
            Equal seeds give equal matrices. None: rank 0 draws it, so one ``mx.random.seed`` there is enough, and the
            others wait for it.

        Example
        -------
        >>> import loomix as mx
        >>> a = mx.parallel.Matrix.random((3, 4), "rows", distribution="normal", seed=7)
        >>> b = mx.parallel.Matrix.random((3, 4), "columns", distribution="normal", seed=7)
        >>> (a - b).norm().asnumpy().tolist()
        [0.0]
        """
        ensure_started()
        first, second = parameters
        number = from_rank_0(drawn_seed() if rank() == 0 else 0) if seed is None else seed
        return Matrix(perform("random", _of_shape(layout, shape), dtype, distribution, first, second, number))

    @staticmethod
    def load(folder: str, layout: Layout | str | None = None) -> Matrix:
        """What :meth:`save` wrote, on any number of ranks. Each file is read by one rank.

        Parameters
        ----------
        layout : Layout or str, optional
            Where it shall lie; by default stretches of rows.

        Raises
        ------
        OSError
            On every rank, if a file is missing, incomplete or damaged on one of them.

        Example
        -------
        >>> import tempfile
        >>> import loomix as mx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mx.parallel.Matrix.full((2, 3), 7, "rows").save(folder)
        ...     mx.parallel.Matrix.load(folder, "columns")
        <Matrix (2, 3) float32, columns on 1 rank>
        """
        ensure_started()
        where = layout.handle if isinstance(layout, Layout) else None
        return Matrix(perform("load", folder, layout if isinstance(layout, str) else "rows", where))

    def save(self, folder: str) -> None:
        """Writes the blocks of all ranks into a folder that all of them see. There the matrix replaces another one at
        once, when all is written.

        >>> import tempfile
        >>> import loomix as mx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mx.parallel.Matrix.full((2, 3), 7, "rows").save(folder)
        """
        perform("save", self._handle, folder)

    # ---- what it is ----

    @property
    def handle(self) -> _parallel.MatrixHandle:
        """The C++ object."""
        return self._handle

    @property
    def layout(self) -> Layout:
        """Where its blocks are."""
        return Layout(self._handle.layout())

    @property
    def shape(self) -> tuple[int, int]:
        """Of the whole."""
        return self.layout.shape

    @property
    def dtype(self) -> Any:
        """As of an NDArray."""
        return self._handle.dtype()

    @property
    def local(self) -> list[NDArray]:
        """The blocks of this rank, shared, in the order of ``layout.blocks_of(rank)``."""
        return self._handle.local()

    def wait_to_read(self) -> None:
        """Waits until the blocks of this rank are there; throws the error of what should have made them.

        >>> import loomix as mx
        >>> mx.parallel.Matrix.full((2, 3), 7, "rows").wait_to_read()
        """
        for block in self.local:
            block.wait_to_read()

    # ---- moved ----

    def to_global(self, root: int | None = None) -> Any:
        """The whole as an NDArray, on every rank, or on one and None on the others.

        >>> import loomix as mx
        >>> mx.parallel.Matrix.full((1, 2), 7, "rows").to_global().asnumpy()
        array([[7., 7.]], dtype=float32)
        """
        return perform("to_global", self._handle) if root is None else perform("to_root", self._handle, root)

    def replicated(self) -> NDArray:
        """The whole on every rank, to be read. Ranks keep it (see :func:`set_cache`), so asking again sends nothing
        until a block is written on any rank. From the second time on it waits until all ranks have said that.

        >>> import loomix as mx
        >>> a = mx.parallel.Matrix.full((1, 2), 7, "rows")
        >>> a.replicated().asnumpy()
        array([[7., 7.]], dtype=float32)
        """
        return perform("replicated", self._handle)

    def remap(
        self,
        layout: Layout | str,
        dtype: Any = None,
        transpose: bool = False,
        wire: str | None = None,
        relabel: bool = False,
    ) -> Matrix:
        """The same numbers in another layout, of another type, or transposed. What a rank lacks comes to it once,
        in the smaller of the two types; what it has is copied. The matrix itself where all of that is the same.

        Parameters
        ----------
        wire : str, optional
            A code for what travels: "float16", "bfloat16", "2bit" (a threshold, its negative or 0; "2bit:0.1" says
            the threshold, which is 0.5 by default) or "topk:0.01" (of each message, this part of the values, the
            largest). The first two know float32 and float64, the others float32. What "2bit" and "topk" leave out is
            kept with this matrix, and added when it goes to the same layout by the same code again.
        relabel : bool
            The layout says how blocks are cut and which ones lie together; on which ranks is left to this call, so
            that the fewest bytes travel. ``layout`` of the result says where they are, and :attr:`bytes_spared` what
            that was good for.

        Raises
        ------
        TypeError
            If the code does not know the type.
        ValueError
            If there is no such code.

        Example
        -------
        >>> import loomix as mx
        >>> a = mx.parallel.Matrix.full((2, 3), 7, "rows")
        >>> a.remap("columns", dtype="float16", transpose=True)
        <Matrix (3, 2) float16, columns on 1 rank>
        >>> a.remap("columns", wire="topk:0.1", relabel=True).bytes_spared
        0
        """
        shape = self.shape[::-1] if transpose else self.shape
        return Matrix(
            perform("remap", self._handle, to_layout(layout, shape), dtype, transpose, wire, relabel)
        )

    @property
    def bytes_spared(self) -> int:
        """How many bytes fewer all ranks together have sent because the :meth:`remap` that made this matrix was free
        to choose ranks; 0 for other matrices."""
        return self._handle.bytes_spared()

    def astype(self, dtype: Any) -> Matrix:
        """In another type.

        >>> import loomix as mx
        >>> mx.parallel.Matrix.full((2, 3), 7, "rows").astype("float64")
        <Matrix (2, 3) float64, rows on 1 rank>
        """
        return self.remap(self.layout, dtype)

    @property
    def T(self) -> Matrix:
        """Transposed; nothing travels."""
        return Matrix(perform("transposed", self._handle))

    # ---- computed ----

    def dot(
        self,
        other: Matrix,
        transpose_a: bool = False,
        transpose_b: bool = False,
        out_layout: Layout | str | None = None,
        algorithm: str | None = None,
    ) -> Matrix:
        """The product, of matrices of any layouts; of this one's type. Halves are multiplied in float32, and
        rounded once.

        Parameters
        ----------
        transpose_a, transpose_b : bool
            Takes an operand transposed.
        out_layout : Layout or str, optional
            Of the result; by default one that costs nothing.
        algorithm : str, optional
            "local", "ring", "grid" or "reduce"; by default the one that is fastest by the model, see
            :meth:`explain_dot`.

        Example
        -------
        >>> import loomix as mx
        >>> a = mx.parallel.Matrix.full((2, 3), 1, "rows")
        >>> a.dot(a, transpose_b=True).to_global().asnumpy().tolist()
        [[3.0, 3.0], [3.0, 3.0]]
        """
        return Matrix(perform("dot", *self._product(other, transpose_a, transpose_b, out_layout, algorithm)))

    def explain_dot(
        self,
        other: Matrix,
        transpose_a: bool = False,
        transpose_b: bool = False,
        out_layout: Layout | str | None = None,
        algorithm: str | None = None,
    ) -> str:
        """Which way :meth:`dot` takes with these arguments, and what all ways would cost: megabytes that a rank
        sends, messages one after the other, memory, and milliseconds by the model.

        >>> import loomix as mx
        >>> a = mx.parallel.Matrix.full((2, 3), 1, "rows")
        >>> print(a.explain_dot(a, transpose_b=True))  # doctest: +ELLIPSIS
        (2, 3) float32, rows on 1 rank
        times transposed (2, 3) float32, rows on 1 rank
        by: ...
        """
        return _parallel.explain_dot(*self._product(other, transpose_a, transpose_b, out_layout, algorithm))

    def _product(
        self,
        other: Matrix,
        transpose_a: bool,
        transpose_b: bool,
        out_layout: Layout | str | None,
        algorithm: str | None,
    ) -> tuple[Any, ...]:
        if not isinstance(other, Matrix):
            raise TypeError(f"[Matrix] dot with {type(other).__name__}; expected a Matrix.")
        shape = (self.shape[1 if transpose_a else 0], other.shape[0 if transpose_b else 1])
        out = None if out_layout is None else to_layout(out_layout, shape)
        return (self._handle, other._handle, transpose_a, transpose_b, out, algorithm)

    def sum(self, axis: int | None = None) -> NDArray:
        """Added up over axis 0 (a vector of columns), 1 (of rows) or both (of shape (1,)), in the order of ranks;
        on every rank.

        >>> import loomix as mx
        >>> mx.parallel.Matrix.full((2, 3), 1, "rows").sum(axis=1).asnumpy().tolist()
        [3.0, 3.0]
        """
        return perform("sum", self._handle, axis)

    def norm(self) -> NDArray:
        """The root of the sum of squares, of shape (1,); on every rank.

        >>> import loomix as mx
        >>> mx.parallel.Matrix.full((2, 2), 3, "rows").norm().asnumpy().tolist()
        [6.0]
        """
        return perform("norm", self._handle)

    def _with(self, operation: str, other: Any, reverse: bool = False) -> Matrix:
        if isinstance(other, Matrix):
            return Matrix(perform("with_matrix", self._handle, operation, other._handle))
        if isinstance(other, numbers.Real):
            return Matrix(perform("with_number", self._handle, operation, float(other), reverse))
        if isinstance(other, NDArray):
            return Matrix(perform("with_vector", self._handle, operation, other, reverse))
        return NotImplemented

    def __add__(self, other: Any) -> Matrix:
        return self._with("add", other)

    def __radd__(self, other: Any) -> Matrix:
        return self._with("add", other, True)

    def __sub__(self, other: Any) -> Matrix:
        return self._with("subtract", other)

    def __rsub__(self, other: Any) -> Matrix:
        return self._with("subtract", other, True)

    def __mul__(self, other: Any) -> Matrix:
        return self._with("multiply", other)

    def __rmul__(self, other: Any) -> Matrix:
        return self._with("multiply", other, True)

    def __truediv__(self, other: Any) -> Matrix:
        return self._with("divide", other)

    def __rtruediv__(self, other: Any) -> Matrix:
        return self._with("divide", other, True)

    def __neg__(self) -> Matrix:
        return self._with("multiply", -1.0)

    def __repr__(self) -> str:
        return f"<Matrix {self._handle.to_string()}>"


def _of_shape(layout: Layout | str, shape: tuple[int, int]) -> _parallel.LayoutHandle:
    handle = to_layout(layout, shape)
    if (handle.rows(), handle.columns()) != tuple(shape):
        raise ValueError(
            f"[Matrix] shape {tuple(shape)}, and a layout of {(handle.rows(), handle.columns())}; expected the same."
        )
    return handle


def _save(handle: _parallel.MatrixHandle, folder: str) -> None:
    save_matrix(folder, Matrix(handle))


def _load(folder: str, name: str, layout: _parallel.LayoutHandle | None) -> _parallel.MatrixHandle:
    blocks, there, dtype = load_blocks(folder)
    found = Matrix.from_local(blocks, there, dtype)
    return found.remap(name if layout is None else Layout(layout)).handle


OPERATIONS["save"] = Operation(_save, ("matrix", "text"))
OPERATIONS["load"] = Operation(_load, ("text", "text", "layout?"))
