# SPDX-License-Identifier: Apache-2.0
"""Batches from arrays in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import expect, suggests
from ..base import AssertedError, MXNetNotImplementedError, MXNetTypeError, MXNetValueError, ShapeError
from .base import DataDesc, DataIter

if TYPE_CHECKING:
    from ..ndarray import NDArray

__all__ = ["NDArrayIter"]

_MODES = ("pad", "discard", "roll_over")


def named_arrays(data: Any, default_name: Any, allow_empty: Any) -> list[tuple[Any, Any]]:
    """A list of (name, NDArray) pairs from an array, a list or a dict of arrays (NumPy or NDArray).

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        For nothing, where there must be something.
    """
    from ..ndarray import NDArray, array

    if data is None:
        data = []
    if isinstance(data, (np.ndarray, NDArray)) or (hasattr(data, "shape") and hasattr(data, "dtype")):
        data = [data]
    if isinstance(data, (list, tuple)):
        if any(isinstance(item, (int, float, np.number)) for item in data):
            raise ShapeError(
                f"[NDArrayIter] {default_name} is a {type(data).__name__} of numbers, which would be an input each; "
                "expected an array of samples: np.array(...) of it."
            )
        names = [default_name] if len(data) == 1 else [f"_{i}_{default_name}" for i in range(len(data))]
        data = dict(zip(names, data))
    if not isinstance(data, dict):
        raise MXNetTypeError(
            f"[NDArrayIter] {default_name} is of type {type(data).__name__}; expected an NDArray, a "
            f"numpy.ndarray, a list of "
            "them, or a dict with them as values."
        )
    if not data and not allow_empty:
        raise AssertedError(f"[NDArrayIter] {default_name} is empty; expected at least one array.")
    pairs = []
    for name in data:
        expect(isinstance(name, str), "NDArrayIter", f"a name in {default_name}", name, "a str")
    for name, value in sorted(data.items()):
        if not isinstance(value, NDArray):
            try:
                value = array(value if hasattr(value, "tocsr") else np.asarray(value))
            except Exception as error:
                raise MXNetTypeError(f"[NDArrayIter] {name} is not an array: {error}.") from None
        if not value.shape:
            raise ShapeError(f"[NDArrayIter] {name} is a single number; expected an array of samples.")
        pairs.append((name, value))
    return pairs


def sparse_rows(array: Any, rows: Any) -> Any:
    """The given rows of a sparse array, in this order, with the same storage."""
    from ..ndarray import sparse

    if array.stype == "csr":
        begins, columns, values = (part.asnumpy() for part in (array.indptr, array.indices, array.data))
        spans = [slice(begins[row], begins[row + 1]) for row in rows]
        ends = np.concatenate([[0], np.cumsum([span.stop - span.start for span in spans])])
        parts = (
            np.concatenate([values[s] for s in spans]),
            np.concatenate([columns[s] for s in spans]),
            ends,
        )
        shape = (len(rows), array.shape[1])
        return sparse.csr_matrix(parts, shape=shape, ctx=array.context, dtype=array.dtype)
    stored = {int(row): place for place, row in enumerate(array.indices.asnumpy())}
    kept = [(place, stored[int(row)]) for place, row in enumerate(rows) if int(row) in stored]
    values = array.data.asnumpy()[[place for _, place in kept]]
    shape = (len(rows), *array.shape[1:])
    stored_rows = (values, np.array([place for place, _ in kept], np.int64))
    return sparse.row_sparse_array(stored_rows, shape=shape, ctx=array.context, dtype=array.dtype)


class NDArrayIter(DataIter):
    """Batches from arrays in memory.

    Parameters
    ----------
    data : array, list or dict of arrays
        Inputs; NumPy arrays become float32. Several get the names ``_0_data``, ``_1_data`` and so on, or the
        dict's, which come in the order of the names.
    label : array, list or dict of arrays, optional
        Labels, with as many samples.
    batch_size : int
        Samples in a batch.
    shuffle : bool
        Whether the order is drawn anew (with ``numpy.random``) at the beginning and at each reset.
    last_batch_handle : {"pad", "discard", "roll_over"}
        What becomes of samples that do not fill a batch: it is filled up from the beginning, or they are
        left out, or they begin the next pass.
    data_name, label_name : str
        Names of single arrays.
    layout : str
        Letters of the axes; ``N`` is the batch axis.

    Raises
    ------
    ValueError
        When an array has fewer samples than the first, the batch size is not positive, or the mode is not known.

    Examples
    --------
    >>> import numpy as np
    >>> batches = NDArrayIter(np.arange(6).reshape(3, 2), np.arange(3), batch_size=2)
    >>> [(batch.label[0].asnumpy().tolist(), batch.pad) for batch in batches]
    [([0.0, 1.0], 0), ([2.0, 0.0], 1)]
    """

    @suggests()
    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ) -> None:
        super().__init__(batch_size)
        expect(
            isinstance(layout, str),
            "NDArrayIter",
            "layout",
            layout,
            "the letters of the axes, such as 'NCHW'",
        )
        for what, name in (("data_name", data_name), ("label_name", label_name)):
            expect(name is None or isinstance(name, str), "NDArrayIter", what, name, "a str")
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise MXNetValueError(f"[NDArrayIter] batch_size is {batch_size!r}; expected an int >= 1.")
        if last_batch_handle not in _MODES:
            raise MXNetValueError(
                f"[NDArrayIter] last_batch_handle is {last_batch_handle!r}; expected one of {_MODES}."
            )
        self.data = named_arrays(data, data_name, allow_empty=False)
        self.label = named_arrays(label, label_name, allow_empty=True)
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.layout = layout
        self.data_list = [array for _, array in self.data + self.label]
        self.num_source = len(self.data_list)
        lengths = {name: self._length(array) for name, array in self.data + self.label}
        self.num_data = lengths[self.data[0][0]]
        if min(lengths.values()) < self.num_data:
            raise ShapeError(
                f"[NDArrayIter] the arrays differ in length: {lengths}; expected as many samples in each as in the "
                "first. What others have beyond that is left out."
            )
        if last_batch_handle != "discard" and any(array.stype != "default" for array in self.data_list):
            raise MXNetNotImplementedError(
                "[NDArrayIter] batches of sparse arrays cannot be filled up; expected last_batch_handle='discard'."
            )
        self.idx = np.arange(
            self.num_data
        )  # shuffled on and on, as MXNet does, so that a seed gives the same batches
        self._order = self.idx.copy()
        self._rolled = self._order[:0]
        self.cursor = -batch_size
        self.reset()

    def _axis(self, array: NDArray) -> int:
        axis = self.layout.find("N")
        return axis if 0 < axis < len(array.shape) else 0

    def _length(self, array: NDArray) -> int:
        return array.shape[self._axis(array)]

    def _describe(self, pairs: Any) -> Any:
        descriptions = []
        for name, array in pairs:
            shape, axis = list(array.shape), self._axis(array)
            shape[axis] = self.batch_size
            descriptions.append(DataDesc(name, tuple(shape), array.dtype, self.layout))
        return descriptions

    @property
    def provide_data(self) -> Any:
        """Descriptions of the inputs of a batch."""
        return self._describe(self.data)

    @property
    def provide_label(self) -> Any:
        """Descriptions of the labels of a batch."""
        return self._describe(self.label)

    def hard_reset(self) -> None:
        """Begins again, without the samples that the last pass left over."""
        if self.shuffle:
            np.random.shuffle(self.idx)
            self._order = self._order[self.idx]
        self._rolled = self._order[:0]
        self.cursor = -self.batch_size

    def reset(self) -> None:
        """Begins again; in the mode "roll_over" with the samples that the last pass left over."""
        left = self._order[:0]
        if (
            self.last_batch_handle == "roll_over"
            and self.num_data - self.batch_size < self.cursor < self.num_data
        ):
            # A pass of fewer samples than a batch needs gives none, and leaves those of the passes before, too.
            left = np.concatenate(
                [self._rolled if self.cursor < 0 else left, self._order[max(self.cursor, 0) :]]
            )
        self.hard_reset()
        self._rolled = left
        self.cursor -= len(left)

    def iter_next(self) -> Any:
        last = self.num_data - (1 if self.last_batch_handle == "pad" else self.batch_size)
        if self.cursor <= last:
            self.cursor += self.batch_size
        return self.cursor <= last

    def _rows(self) -> Any:
        """Numbers of the samples of the current batch, or a slice if they lie together."""
        begin, end = self.cursor, self.cursor + self.batch_size
        if begin >= 0 and end <= self.num_data:
            return self._order[begin:end] if self.shuffle else slice(begin, end)
        places = np.arange(max(begin, 0), end) % max(self.num_data, 1)
        return np.concatenate([self._rolled, self._order[places]])

    def _cut(self, pairs: Any) -> list[NDArray]:
        from ..ndarray import array as make_array
        from ..ndarray import slice_axis, take

        rows, index, batch = self._rows(), None, []
        for _, array in pairs:
            axis = self._axis(array)
            if array.stype != "default" and not isinstance(rows, slice):
                batch.append(sparse_rows(array, rows))
            elif not isinstance(rows, slice):
                index = make_array(rows, dtype="int32") if index is None else index
                batch.append(take(array, index.as_in_context(array.context), axis=axis))
            elif axis == 0:
                batch.append(array[rows])
            else:
                batch.append(slice_axis(array, axis=axis, begin=rows.start, end=rows.stop))
        return batch

    def getdata(self) -> list[NDArray]:
        return self._cut(self.data)

    def getlabel(self) -> list[NDArray]:
        return self._cut(self.label)

    def getpad(self) -> Any:
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            return -self.cursor
        if self.last_batch_handle == "pad" and self.cursor + self.batch_size > self.num_data:
            return self.cursor + self.batch_size - self.num_data
        return 0

    def get_state(self) -> dict[Any, Any]:
        """Order and position, as a dict of numbers and lists (it can be written as JSON)."""
        return {
            "idx": self.idx.tolist(),
            "order": self._order.tolist(),
            "rolled": self._rolled.tolist(),
            "cursor": int(self.cursor),
        }

    def set_state(self, state: Any) -> None:
        """Goes back to what :meth:`get_state` returned: the same batches follow.

        Raises
        ------
        ValueError
            When the state belongs to other data.
        """
        idx, order, rolled = (np.asarray(state[key], self.idx.dtype) for key in ("idx", "order", "rolled"))
        everything = np.arange(self.num_data)
        if not all(np.array_equal(np.sort(numbers), everything) for numbers in (idx, order)):
            raise MXNetValueError(
                f"[NDArrayIter] the state is not one of an iterator over {self.num_data} samples."
            )
        self.idx, self._order, self._rolled = idx, order, rolled
        self.cursor = int(state["cursor"])
