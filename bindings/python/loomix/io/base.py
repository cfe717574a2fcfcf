# SPDX-License-Identifier: Apache-2.0
"""What iterators hand out, and the interface that all of them have."""

from __future__ import annotations

import inspect
import warnings
from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import as_shape
from ..base import AssertedTypeError, suggest

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import Self

__all__ = ["DataBatch", "DataDesc", "DataIter"]


_warned: set[tuple[str, str]] = set()


def warn_of_unknown(iterator: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Says of each unknown argument, once, that it has no effect. MXNet's iterators take them without a word."""
    for name in names:
        if (iterator, name) not in _warned:
            _warned.add((iterator, name))
            warnings.warn(
                f"[{iterator}] the argument {name!r} is unknown and has no effect. {suggest(name, known)}",
                UserWarning,
                stacklevel=3,
            )


def arguments_of(kind: type) -> list[str]:
    """The names of the arguments that objects of a class are made with."""
    params = inspect.signature(kind).parameters.values()
    return [param.name for param in params if param.kind is not param.VAR_KEYWORD]


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """Name and shape of one input, and as attributes its dtype and layout.

    Parameters
    ----------
    name : str
        Name of the variable.
    shape : tuple of int
        Shape of a batch. A number is that of one axis, and a text such as ``"(8, 3)"`` will do.
    dtype : dtype
        Type of the values.
    layout : str
        Axes in letters; ``N`` is the batch axis.

    Examples
    --------
    >>> name, shape = DataDesc("data", (8, 3, 32, 32))
    >>> name, shape
    ('data', (8, 3, 32, 32))
    """

    dtype: Any
    layout: str

    def __new__(
        cls, name: str, shape: Sequence[int], dtype: DTypeLike | None = np.float32, layout: str = "NCHW"
    ) -> Self:
        self = super().__new__(cls, name, as_shape("DataDesc", "shape", shape))
        self.dtype = dtype
        self.layout = layout
        return self

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Position of ``N`` in the layout, 0 without a layout.

        >>> DataDesc.get_batch_axis("TNC")
        1
        """
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Any, types: Any) -> list[Any]:
        """A list of descriptions from (name, shape) pairs and (name, dtype) pairs (or None)."""
        known = dict(types) if types is not None else {}
        return [
            DataDesc(name, shape, known[name]) if name in known else DataDesc(name, shape)
            for name, shape in shapes
        ]


def _of_array(array: Any) -> str:
    """ "(2, 3) int32", for reprs."""
    dtype = getattr(array, "dtype", np.float32)
    kind = np.dtype(dtype)
    name = "bfloat16" if kind.names else kind.name
    return f"{array.shape}" + ("" if name == "float32" else f" {name}")


def _as_arrays(values: Any) -> Any:
    """The list itself, or one with NDArrays in place of its NumPy arrays; those of float64 become float32."""
    if values is None or not any(isinstance(value, np.ndarray) for value in values):
        return values
    from ..ndarray import array

    known = ("float16", "float32", "uint8", "int8", "int32", "int64", "bool")
    return [
        array(value, dtype=value.dtype if value.dtype.name in known else None)
        if isinstance(value, np.ndarray)
        else value
        for value in values
    ]


class DataBatch:
    """A batch.

    Parameters
    ----------
    data : list of NDArray
        Inputs. NumPy arrays are copied to NDArrays.
    label : list of NDArray, optional
        Labels; likewise.
    pad : int, optional
        How many samples at the end only fill the batch up.
    index : array, optional
        Numbers of the samples.
    bucket_key : optional
        Which symbol of a BucketingModule the batch is for.
    provide_data, provide_label : list of DataDesc, optional
        Descriptions, needed together with ``bucket_key``.

    Examples
    --------
    >>> import loomix as mx
    >>> batch = mx.io.DataBatch(data=[mx.nd.zeros((2, 3))], label=[mx.nd.array([0, 1])])
    >>> batch.data[0].shape
    (2, 3)
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        pad: Any = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Any = None,
        provide_label: Any = None,
    ) -> None:
        for what, value in (("data", data), ("label", label)):
            if value is not None and not isinstance(value, (list, tuple)):
                raise AssertedTypeError(
                    f"[DataBatch] {what} is of type {type(value).__name__}; expected a list of NDArray."
                )
        self.data = _as_arrays(data)
        self.label = _as_arrays(label)
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __repr__(self) -> str:
        parts = [f"data {', '.join(map(_of_array, self.data or ()))}"]
        if self.label:
            parts.append(f"label {', '.join(map(_of_array, self.label))}")
        parts += [
            f"{name} {value}" for name, value in (("pad", self.pad), ("bucket_key", self.bucket_key)) if value
        ]
        return f"<{type(self).__name__}: {'; '.join(parts)}>"

    def __str__(self) -> str:
        labels = [label.shape for label in self.label] if self.label else None
        return f"DataBatch: data shapes: {[data.shape for data in self.data]} label shapes: {labels}"


class DataIter:
    """Base of the iterators.

    A subclass gives ``provide_data`` and ``provide_label`` (lists of :class:`DataDesc`), ``reset``,
    ``iter_next``, ``getdata`` and ``getlabel``; or overrides ``next``.

    Parameters
    ----------
    batch_size : int
        Samples in a batch.

    Examples
    --------
    >>> import loomix as mx
    >>> class Twice(mx.io.DataIter):
    ...     def __init__(self):
    ...         super().__init__(batch_size=1)
    ...         self.left = 2
    ...     def next(self):
    ...         if not self.left:
    ...             raise StopIteration
    ...         self.left -= 1
    ...         return mx.io.DataBatch([mx.nd.ones((1, 2))])
    >>> len(list(Twice()))
    2
    """

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __repr__(self) -> str:
        parts = [f"batch_size={self.batch_size}"]
        for what in ("data", "label"):
            try:
                described = getattr(self, f"provide_{what}", None)
            except Exception:  # of a subclass that is not ready: a repr never fails
                continue
            if described:
                parts.append(f"{what} " + ", ".join(f"{item[0]} {tuple(item[1])}" for item in described))
        return f"<{type(self).__name__}: {'; '.join(parts)}>"

    def reset(self) -> Any:
        """Begins again."""

    def next(self) -> DataBatch:
        """The next :class:`DataBatch`.

        Raises
        ------
        StopIteration
            At the end.
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch(data=self.getdata(), label=self.getlabel(), pad=self.getpad(), index=self.getindex())

    def __next__(self) -> Any:
        return self.next()

    def iter_next(self) -> Any:
        """Moves to the next batch; False at the end."""

    def getdata(self) -> Any:
        """Inputs of the current batch, a list of NDArray."""

    def getlabel(self) -> Any:
        """Labels of the current batch, a list of NDArray."""

    def getindex(self) -> Any:
        """Numbers of the samples of the current batch, or None."""
        return None

    def getpad(self) -> Any:
        """How many samples at the end of the current batch only fill it up."""
