# SPDX-License-Identifier: Apache-2.0
"""Files of optimizer states, as MXNet 1.9.1 writes and reads them.

Such a file is a pickle: a dict from parameter to state, or a pair of that dict and the optimizer. Behind a dict alone,
which says nothing of the optimizer, a second pickle tells how far it has come; MXNet reads up to there. A pickle can
run any code when it is read, so the reader here knows arrays, optimizers, schedules and a few harmless containers, and
refuses every other name. The writer uses MXNet's names for our classes.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import lr_scheduler
from ..base import MXNetValueError
from .base import Optimizer

if TYPE_CHECKING:
    pass

__all__ = ["LIST_MAGIC", "SplitState", "array_record", "dump_states", "load_states"]

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
_OUR_PACKAGE = __name__.split(".")[0]


class _SavedArray:
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


def _subclasses(klass: type) -> Iterator[type]:
    child: type
    for child in klass.__subclasses__():
        yield child
        yield from _subclasses(child)


class _Reader(pickle.Unpickler):
    def find_class(self, module: Any, name: str) -> Any:
        if (module, name) in _ARRAY_NAMES:
            return _SavedArray
        if (module, name) in _HARMLESS:
            return super().find_class(module, name)
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


def _resolve(value: Any) -> Any:
    """``value`` with every saved array in it made a real one."""
    if isinstance(value, _SavedArray):
        return value.array()
    if isinstance(value, dict):
        for key in value:
            value[key] = _resolve(value[key])
    elif isinstance(value, list):
        value[:] = [_resolve(item) for item in value]
    elif isinstance(value, tuple):
        return tuple(_resolve(item) for item in value)
    elif isinstance(value, Optimizer):
        _resolve(value.__dict__)
    return value


def load_states(data: Any) -> Any:
    """States, the optimizer or None, and how far it has come or None, from the bytes of a states file.

    Raises
    ------
    ValueError
        When the bytes are not such a file, or ask for names that are not allowed.
    """
    file = io.BytesIO(data)
    try:
        value = _Reader(file).load()
        progress = _Reader(file).load() if file.tell() < len(data) else None
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
    return _resolve(states), _resolve(optimizer), _resolve(progress)


def _shape_bytes(shape: Sequence[int]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


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


class _Writer(pickle._Pickler):  # the C pickler insists on importing what it names
    is_kept = True  # whether anybody keeps what is written

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
        if isinstance(obj, SplitState):
            whole = obj.whole()  # by all ranks
            record = array_record(whole) if self.is_kept else b""
            return _global("mxnet.ndarray.ndarray", "NDArray"), (None,), {"handle": bytearray(record)}
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


class SplitState:
    """Stands in a dict of states for an array of which this rank has a part."""

    def __init__(self, whole: Callable[[], Any]) -> None:
        self.whole = whole


def dump_states(
    file: Any, states: Any, optimizer: Optimizer, with_settings: bool = False, is_kept: bool = True
) -> None:
    """Writes a states file: the dict of states and how far the optimizer has come, or that together with all of it.

    `is_kept` says whether anybody keeps what is written: ranks may take part alone, and save themselves the bytes.
    """
    writer = _Writer(file, protocol=4)
    writer.is_kept = is_kept
    writer.dump((states, optimizer) if with_settings else states)
    if not with_settings:
        _Writer(file, protocol=4).dump(optimizer._progress())
