# SPDX-License-Identifier: Apache-2.0
"""Files of optimizer states, as MXNet 1.9.1 writes and reads them.

Such a file is a pickle: a dict from parameter to state, or a pair of that dict and the optimizer. Behind a dict alone,
which says nothing of the optimizer, a second pickle tells how far it has come; MXNet reads up to there. A pickle can
run any code when it is read, so the reader here knows arrays, optimizers, schedules and a few harmless containers, and
refuses every other name. The writer uses MXNet's names for our classes.
"""

from __future__ import annotations

import functools
import io
import math
import mmap
import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import lr_scheduler
from .._parts import SplitArray
from ..base import MXNetValueError
from .base import Optimizer

if TYPE_CHECKING:
    pass

__all__ = ["LIST_MAGIC", "SavedArray", "array_record", "dense_head", "dump_states", "load_states"]

LIST_MAGIC = 0x112
_ARRAY_MAGIC = 0xF993FAC9
_DTYPE_CODES = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "uint8": 3,
    "int32": 4,
    "int8": 5,
    "int64": 6,
    "bool": 7,
    "bfloat16": 12,
}
_DTYPES = {code: name for name, code in _DTYPE_CODES.items() if name != "bfloat16"}  # NumPy's
_HARMLESS = {
    ("_codecs", "encode"),  # bytes, in old protocols
    ("builtins", "bytearray"),
    ("builtins", "bool"),
    ("builtins", "complex"),
    ("builtins", "float"),
    ("builtins", "int"),
    ("builtins", "object"),
    ("builtins", "set"),
    ("builtins", "slice"),
    ("collections", "OrderedDict"),
    ("copyreg", "__newobj__"),
    ("copyreg", "_reconstructor"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
}
_ARRAY_NAMES = {
    ("mxnet.ndarray.ndarray", "NDArray"),
    ("mxnet.ndarray.sparse", "RowSparseNDArray"),
    ("mxnet.ndarray.sparse", "CSRNDArray"),
    ("mxnet.numpy.multiarray", "ndarray"),
}
_OPTIMIZER_MODULES = ("mxnet.optimizer.optimizer", "mxnet.optimizer.contrib", "mxnet.optimizer")
_LEAST_IN_PARTS = 1 << 20  # bytes of an array; above what the pickler puts into frames
_OUR_PACKAGE = __name__.split(".")[0]


class SavedArray:
    """Stands for an array while a pickle is read."""

    def __init__(self, handle: Any = None) -> None:
        self.record = handle

    def __setstate__(self, state: Any) -> None:
        self.record = state.get("handle") if isinstance(state, dict) else None

    def array(self) -> Any:
        from ..ndarray import load_frombuffer

        if self.record is None:
            return None
        head, tail = struct.pack("<QQQ", LIST_MAGIC, 0, 1), struct.pack("<Q", 0)
        return load_frombuffer(head + bytes(self.record) + tail)[0]

    def part(self, axis: int, size: int, own: slice) -> Any:
        """This stretch of an array that has so many elements along the axis; of others all."""
        values = self._values()
        if values is None or axis >= values.ndim or values.shape[axis] != size:
            return self.array()
        from ..ndarray import array

        return array(values[(slice(None),) * axis + (own,)], dtype=values.dtype)

    def _values(self) -> Any:
        """The elements where they are, if they are of a dense array of a type that NumPy has."""
        if self.record is None or len(self.record) < 12:
            return None
        magic, stype, ndim = struct.unpack_from("<Iii", self.record)
        place = 12 + 8 * ndim
        if magic != _ARRAY_MAGIC or stype != 0 or ndim < 1 or len(self.record) < place + 12:
            return None
        shape = struct.unpack_from(f"<{ndim}q", self.record, 12)
        dtype = _DTYPES.get(struct.unpack_from("<i", self.record, place + 8)[0])
        if dtype is None or len(self.record) != place + 12 + math.prod(shape) * np.dtype(dtype).itemsize:
            return None
        return np.frombuffer(self.record, dtype, offset=place + 12).reshape(shape)


def _subclasses(klass: type) -> Iterator[type]:
    child: type
    for child in klass.__subclasses__():
        yield child
        yield from _subclasses(child)


class _Names:
    """Of unpicklers: which names files may ask for."""

    def find_class(self, module: Any, name: str) -> Any:
        if (module, name) in _ARRAY_NAMES:
            return SavedArray
        if (module, name) in _HARMLESS:
            return super().find_class(module, name)  # type: ignore[misc]
        if module in _OPTIMIZER_MODULES and name.lower() in Optimizer.opt_registry:
            return Optimizer.opt_registry[name.lower()]
        if module == "mxnet.lr_scheduler" and name in lr_scheduler.__all__:
            return getattr(lr_scheduler, name)
        # Classes of the user's own: only those that the running program has defined already.
        for known in (*Optimizer.opt_registry.values(), *_subclasses(lr_scheduler.LRScheduler)):
            if (known.__module__, known.__qualname__) == (module, name):
                return known
        raise MXNetValueError(
            f"[optimizer states] the file asks for {module}.{name}, which is not an array, a registered "
            f"optimizer or a "
            "schedule; such a file is not read, since it could run any code."
        )


class _Reader(_Names, pickle.Unpickler):
    pass


class _MappedReader(_Names, pickle._Unpickler):  # the C unpickler reads all bytes
    """Leaves the bytes of large arrays where they are, in a file that is mapped."""

    dispatch: ClassVar[dict[Any, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        super().__init__(self)

    def read(self, size: int) -> bytes:
        """Of the file: load() has a method of its own."""
        found = self._data.read(size)
        if len(found) < size:
            raise pickle.UnpicklingError("pickle data was truncated")
        return found

    def readline(self) -> bytes:
        """Of the file."""
        return self._data.readline()

    def find_class(self, module: Any, name: str) -> Any:
        if (module, name) == ("builtins", "bytearray"):
            return lambda *given: given[0] if given and type(given[0]) is memoryview else bytearray(*given)
        return super().find_class(module, name)

    def _load_bytes(self, form: str) -> None:
        (size,) = struct.unpack(form, self.read(struct.calcsize(form)))
        begin = self._data.tell()
        if self._unframer.current_frame or begin + size > len(self._data):  # type: ignore[attr-defined]
            self.append(self.read(size))  # type: ignore[attr-defined]
            return
        self._data.seek(begin + size)
        self.append(memoryview(self._data)[begin : begin + size])  # type: ignore[attr-defined]

    dispatch[pickle.BINBYTES[0]] = lambda self: self._load_bytes("<I")
    dispatch[pickle.BINBYTES8[0]] = lambda self: self._load_bytes("<Q")


def _resolve(value: Any, take: Callable[[SavedArray], Any] = SavedArray.array) -> Any:
    """``value`` with every saved array in it made a real one."""
    if isinstance(value, SavedArray):
        return take(value)
    if isinstance(value, dict):
        for key in value:
            value[key] = _resolve(value[key], take)
    elif isinstance(value, list):
        value[:] = [_resolve(item, take) for item in value]
    elif isinstance(value, tuple):
        return tuple(_resolve(item, take) for item in value)
    elif isinstance(value, Optimizer):
        _resolve(value.__dict__, take)
    return value


def load_states(data: Any, take: Callable[[Any, SavedArray], Any] | None = None) -> Any:
    """States, the optimizer or None, and how far it has come or None, from the bytes of a states file, or from the file
    as it is mapped. `take` makes an array, or a part of it, of what is saved of a key's state.

    Raises
    ------
    ValueError
        When the bytes are not such a file, or ask for names that are not allowed.
    """
    mapped = isinstance(data, mmap.mmap)
    reader: Any = _MappedReader if mapped else _Reader
    file = data if mapped else io.BytesIO(data)
    try:
        value = reader(file).load()
        progress = reader(file).load() if file.tell() < len(data) else None
    except MXNetValueError:
        raise
    except Exception as error:
        raise MXNetValueError(
            f"[optimizer states] the bytes are no states file: {type(error).__name__}: {error}."
        ) from None
    states, optimizer = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
    right = isinstance(states, dict) and (optimizer is None or isinstance(optimizer, Optimizer))
    if not right or not (progress is None or isinstance(progress, dict)):
        raise MXNetValueError(
            "[optimizer states] the file holds no dict of states; is it another kind of pickle?"
        )
    if take is not None:
        states = {key: _resolve(state, functools.partial(take, key)) for key, state in states.items()}
    return _resolve(states), _resolve(optimizer), _resolve(progress)


def _shape_bytes(shape: Sequence[int]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def dense_head(shape: Sequence[int], dtype: Any) -> bytes:
    """What is in front of the elements of a dense array in version 2 of the array format."""
    head = struct.pack("<Ii", _ARRAY_MAGIC, 0) + _shape_bytes(shape)
    return head + struct.pack("<iii", 1, 0, _DTYPE_CODES[np.dtype(dtype).name])  # read on the CPU anywhere


def array_record(array: Any) -> bytes:
    """The bytes of one array in version 2 of the array format."""
    stype = array.stype
    if stype == "default":
        parts, indices, code = array, [], 0
    elif stype == "row_sparse":
        parts, indices, code = array.data, [array.indices], 1
    else:
        parts, indices, code = array.data, [array.indptr, array.indices], 2
    values = parts.asnumpy()
    record = struct.pack("<Ii", _ARRAY_MAGIC, code)
    if code:
        record += _shape_bytes(values.shape)
    record += _shape_bytes(array.shape)
    record += struct.pack("<iii", 1, 0, _DTYPE_CODES[np.dtype(array.dtype).name])  # read on the CPU anywhere
    indices = [index.asnumpy() for index in indices]
    for index in indices:
        record += struct.pack("<i", _DTYPE_CODES[index.dtype.name]) + _shape_bytes(index.shape)
    return b"".join([record, values.tobytes(), *(index.tobytes() for index in indices)])


class _Global:
    """A module-level name that is written as given, without a look at whether it exists here."""

    def __init__(self, module: Any, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> Any:
        """Only asked for by the pickler, never called."""


_GLOBALS: dict[tuple[str, str], _Global] = {}


def _global(module: Any, name: str) -> Any:
    return _GLOBALS.setdefault((module, name), _Global(module, name))


class _ByteArray:
    """Stands for the bytearray of an array in parts, and in it for its bytes, which are never there as a whole."""

    def __init__(self, array: SplitArray) -> None:
        self.bytes = _Bytes(array)


class _Bytes:
    def __init__(self, array: SplitArray) -> None:
        self.array = array


class _Writer(pickle._Pickler):  # the C pickler insists on importing what it names
    is_kept = True  # whether anybody keeps what is written
    dispatch: ClassVar[dict[Any, Any]] = dict(pickle._Pickler.dispatch)

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=4)
        self._file = file

    def _save_bytes_in_parts(self, obj: _Bytes) -> None:
        """What the pickler writes of bytes that are too long for a frame."""
        head = dense_head(obj.array.shape, obj.array.dtype)
        size = len(head) + obj.array.nbytes
        long = size > 0xFFFFFFFF
        mark = (
            pickle.BINBYTES8 + struct.pack("<Q", size) if long else pickle.BINBYTES + struct.pack("<I", size)
        )
        self._write_large_bytes(mark, head)  # type: ignore[attr-defined]
        obj.array.write(self._file, self.is_kept)
        self.memoize(obj)

    dispatch[_Bytes] = _save_bytes_in_parts

    def memoize(self, obj: Any) -> None:
        """Does not hold on to the bytes of arrays, so that no more than one array's are there at a time."""
        super().memoize(obj)  # type: ignore[misc]
        parts = obj if type(obj) is tuple else obj.values() if type(obj) is dict else (obj,)
        if any(isinstance(part, (bytes, bytearray)) for part in parts):
            memo = self.memo  # type: ignore[attr-defined]
            number, _ = memo.pop(id(obj))
            memo[-1 - number] = number, None  # no object has such an id

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if not isinstance(obj, _Global):
            super().save_global(obj, name)  # type: ignore[misc]
            return
        self.save(obj.module)  # type: ignore[attr-defined]
        self.save(obj.name)  # type: ignore[attr-defined]
        self.write(pickle.STACK_GLOBAL)  # type: ignore[attr-defined]
        self.memoize(obj)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _Global):
            return obj.name
        if isinstance(obj, SplitArray):
            handle: Any = _ByteArray(obj)
            if obj.nbytes < _LEAST_IN_PARTS:
                whole = obj.whole()  # by all ranks
                handle = bytearray(array_record(whole) if self.is_kept else b"")
            return _global("mxnet.ndarray.ndarray", "NDArray"), (None,), {"handle": handle}
        if isinstance(obj, _ByteArray):
            return bytearray, (obj.bytes,)
        if hasattr(obj, "asnumpy") and hasattr(obj, "stype"):
            kinds = {"row_sparse": ("mxnet.ndarray.sparse", "RowSparseNDArray")}
            kinds["csr"] = ("mxnet.ndarray.sparse", "CSRNDArray")
            place = kinds.get(obj.stype, ("mxnet.ndarray.ndarray", "NDArray"))
            return _global(*place), (None,), {"handle": bytearray(array_record(obj))}
        if isinstance(obj, np.generic):
            value = obj.item()
            return type(value), (value,)
        module, name = type(obj).__module__, type(obj).__qualname__
        if isinstance(obj, Optimizer) and module.startswith(_OUR_PACKAGE + "."):
            home = "contrib" if module.endswith(".contrib") else "optimizer"
            return self._rebuilt(f"mxnet.optimizer.{home}", name, obj.__getstate__())
        if isinstance(obj, lr_scheduler.LRScheduler) and module == lr_scheduler.__name__:
            return self._rebuilt("mxnet.lr_scheduler", name, dict(obj.__dict__))
        return NotImplemented

    @staticmethod
    def _rebuilt(module: Any, name: str, state: Any) -> Any:
        return _global("copyreg", "__newobj__"), (_global(module, name),), state


def dump_states(
    file: Any, states: Any, optimizer: Optimizer, with_settings: bool = False, is_kept: bool = True
) -> None:
    """Writes a states file: the dict of states and how far the optimizer has come, or that together with all of it.

    `is_kept` says whether anybody keeps what is written: ranks may take part alone, and save themselves the bytes.
    """
    writer = _Writer(file)
    writer.is_kept = is_kept
    writer.dump((states, optimizer) if with_settings else states)
    if not with_settings:
        _Writer(file).dump(optimizer._progress())
