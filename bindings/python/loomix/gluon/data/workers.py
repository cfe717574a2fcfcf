# SPDX-License-Identifier: Apache-2.0
"""Processes that load batches.

Each worker has a socket of its own, over which it gets numbers of samples and sends back batches. The arrays of a batch
lie in anonymous shared memory, whose descriptor travels over the socket: nothing has a name, so nothing is left over,
whichever process is killed. Samples are stacked right there, and the arrays that arrive lie there still. When the last
of them is dropped, the worker hears of it with its next batch and uses the memory again: fresh pages cost ten times
what filling them does. A worker whose socket is closed ends itself; so workers never outlive the loader's process, for
no process but that one keeps the other ends open.
"""

from __future__ import annotations

import ctypes
import mmap
import multiprocessing
import os
import pickle
import random
import select
import signal
import socket
import struct
import time
import traceback
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ... import ndarray as nd
from ...base import MXNetError
from ...util import is_np_array

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

_LENGTH = struct.Struct("<Q")
_KEPT_SEGMENTS = 3  # of a worker, without a use
_SHARED_FROM = 65536  # bytes
_SHARED_TYPES = {"float32", "float64", "float16", "uint8", "int32", "int8", "int64"}
_ends: weakref.WeakSet[socket.socket] = weakref.WeakSet()  # of all workers, on this side


class Stack:
    """Arrays of one shape and type that become one array when they are written to shared memory."""

    def __init__(self, parts: list[np.ndarray[Any, Any]]) -> None:
        self.parts = parts
        self.shape, self.dtype = (len(parts), *parts[0].shape), parts[0].dtype
        self.nbytes = parts[0].nbytes * len(parts)

    def write(self, target: np.ndarray[Any, Any]) -> None:
        """Fills an array of this shape."""
        np.stack(self.parts, out=target)


class WorkerTraceback(Exception):
    """The traceback of an error in a worker, as the cause of the same error here."""


class _Array:
    """Stands in a pickled batch for an array in shared memory."""

    def __init__(self, array: Stack, offset: int, is_ndarray: bool) -> None:
        self.shape, self.dtype = array.shape, array.dtype.str
        self.offset, self.is_ndarray = offset, is_ndarray


class _Whole(Stack):
    """One array."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.parts = [array]
        self.shape, self.dtype, self.nbytes = array.shape, array.dtype, array.nbytes

    def write(self, target: np.ndarray[Any, Any]) -> None:
        """Fills an array of this shape."""
        np.copyto(target, self.parts[0])


def _view(memory: Any, array: Any) -> np.ndarray[Any, Any]:
    """The array that lies there in shared memory."""
    dtype = np.dtype(array.dtype)
    count = int(np.prod(array.shape, dtype=np.int64))
    flat = np.frombuffer(memory, dtype, count, array.offset) if count else np.empty(0, dtype)
    return flat.reshape(array.shape)


def _aside(batch: Any, arrays: list[Any], end: int = 0) -> tuple[Any, int]:
    """The batch with its arrays put aside, and where in shared memory they end."""
    if isinstance(batch, (list, tuple)):
        parts = []
        for part in batch:
            part, end = _aside(part, arrays, end)
            parts.append(part)
        return (tuple(parts) if isinstance(batch, tuple) else parts), end
    is_ndarray = isinstance(batch, nd.NDArray)
    if is_ndarray:
        batch = batch.asnumpy()
    if isinstance(batch, np.ndarray) and batch.dtype.kind in "biufc":
        batch = _Whole(batch)
    if not isinstance(batch, Stack):
        return batch, end
    placed = _Array(batch, end, is_ndarray)
    arrays.append((placed, batch))
    return placed, end + -(-batch.nbytes // 64) * 64


def _back(batch: Any, memory: Any) -> Any:
    if isinstance(batch, (list, tuple)):
        parts = [_back(part, memory) for part in batch]
        return tuple(parts) if isinstance(batch, tuple) else parts
    if not isinstance(batch, _Array):
        return batch
    array = _view(memory, batch)
    return as_ndarray(array) if batch.is_ndarray else array


def as_ndarray(array: np.ndarray[Any, Any]) -> nd.NDArray:
    """An NDArray over the same memory; a copy where it is small or of a type that arrays do not have."""
    if array.nbytes >= _SHARED_FROM and array.dtype.name in _SHARED_TYPES:
        return in_mode(_core.share_numpy(array))
    return in_mode(nd.array(array, dtype=array.dtype))


def in_mode(array: nd.NDArray) -> nd.NDArray:
    """The array, or the same memory as one of ``mx.np`` in NumPy mode."""
    return array.as_np_ndarray() if is_np_array() else array


# ---- in the worker ----


class _Segments:
    """A worker's shared memory, in pieces that have numbers."""

    def __init__(self) -> None:
        self._memory: dict[int, mmap.mmap] = {}
        self._free: list[int] = []
        self._next = 0

    def give_back(self, free: list[int], dropped: list[int]) -> None:
        """The other side needs these no longer; it has forgotten the dropped ones."""
        self._free += free
        for number in dropped:
            del self._memory[number]

    def take(self, size: int) -> tuple[int, mmap.mmap, int | None]:
        """The number of a piece, its memory, and its descriptor if the other side does not have it yet."""
        for number in self._free:
            if len(self._memory[number]) >= size:
                self._free.remove(number)
                return number, self._memory[number], None
        if self._free:  # too small: the number gets larger memory
            number = self._free.pop()
        else:
            number, self._next = self._next, self._next + 1
        descriptor = os.memfd_create("loomix-batch", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, size)
        self._memory[number] = mmap.mmap(descriptor, size)
        return number, self._memory[number], descriptor


def _send(end: socket.socket, reply: Any, arrays: list[Any], size: int, segments: _Segments) -> None:
    segment, descriptor = None, None
    if size:
        segment, memory, descriptor = segments.take(size)
        for placed, array in arrays:
            array.write(_view(memory, placed))
    data = pickle.dumps((*reply, segment), protocol=pickle.HIGHEST_PROTOCOL)
    if descriptor is None:
        end.sendall(_LENGTH.pack(len(data)) + b"\0" + data)
        return
    try:
        socket.send_fds(end, [_LENGTH.pack(len(data)) + b"\1"], [descriptor])
    finally:
        os.close(descriptor)
    end.sendall(data)


def _receive_exactly(end: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = end.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _pickled(error: BaseException) -> bytes | None:
    """An error for the other side to raise; None if it does not survive that, or would end the process there."""
    if not isinstance(error, Exception):
        return None
    try:
        data = pickle.dumps(error)
        return data if type(pickle.loads(data)) is type(error) else None
    except Exception:  # classes may do as they like when they are pickled
        return None


def _reply(number: int, indices: Any, load: Callable[[Any], Any]) -> tuple[Any, list[Any], int]:
    arrays: list[Any] = []
    try:
        batch, total = _aside(load(indices), arrays)
    except BaseException as error:  # whatever it is, the other side is to hear of it
        return (number, False, (_pickled(error), "".join(traceback.format_exception(error)))), [], 0
    return (number, True, batch), arrays, max(total, 1) if arrays else 0


def _work(end: socket.socket, others: list[socket.socket], load: Callable[[Any], Any], seed: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that iterates
    for other in others:
        other.close()
    random.seed(seed)
    np.random.seed(seed)
    from ... import random as own_random

    own_random.seed(seed)
    segments = _Segments()
    try:
        while True:
            (size,) = _LENGTH.unpack(_receive_exactly(end, _LENGTH.size))
            number, indices, free, dropped = pickle.loads(_receive_exactly(end, size))
            segments.give_back(free, dropped)
            _send(end, *_reply(number, indices, load), segments)
    except (EOFError, OSError):
        os._exit(0)  # the other side is gone


# ---- on the other side ----


class _Worker:
    def __init__(self, index: int, load: Callable[[Any], Any]) -> None:
        self.index = index
        self.end, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        _ends.add(self.end)
        self.process: BaseProcess = multiprocessing.get_context("fork").Process(
            target=_work,
            args=(theirs, list(_ends), load, int(np.random.randint(2**31))),
            daemon=True,
            name=f"loomix-data-{index}",
        )
        self.process.start()
        theirs.close()
        self.pending: dict[int, float] = {}  # numbers of batches, and when they were asked for
        self.memory: dict[int, mmap.mmap] = {}  # of its segments
        self.returned: deque[int] = deque()  # segments whose arrays are gone, which any thread may notice
        self._free = 0

    def lend(self, segment: int, descriptors: list[int]) -> Any:
        """The memory of a segment, which is free again when what is made of it is gone."""
        self._free -= segment in self.memory
        if descriptors:
            self.memory[segment] = mmap.mmap(descriptors[0], 0)
        memory = self.memory[segment]
        lease = (ctypes.c_char * len(memory)).from_buffer(memory)
        weakref.finalize(lease, self.returned.append, segment).atexit = False
        return lease

    def sort_returned(self) -> tuple[list[int], list[int]]:
        """The segments that the worker may use again, and those that are dropped for there are enough."""
        free, dropped = [], []
        while self.returned:
            segment = self.returned.popleft()
            if self._free < _KEPT_SEGMENTS:
                self._free += 1
                free.append(segment)
            else:
                del self.memory[segment]
                dropped.append(segment)
        return free, dropped

    def describe(self) -> str:
        return f"worker {self.index} (process {self.process.pid})"

    def end_of(self) -> str:
        """How the process ended."""
        self.process.join(1)
        code = self.process.exitcode
        if code is not None and code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with status {code}" if code is not None else "closed its connection"


class WorkerPool:
    """Worker processes that call ``load(indices)``; results are asked for by number."""

    def __init__(self, count: int, load: Callable[[Any], Any]) -> None:
        self.broken = False
        self._workers: list[_Worker] = []
        self._done: dict[int, tuple[_Worker, bool, Any]] = {}
        self._forgotten: set[int] = set()
        self._next = 0
        self._pid = os.getpid()
        for i in range(count):
            self._workers.append(_Worker(i, load))

    def submit(self, indices: list[Any]) -> int:
        """Asks the worker with the least to do for a batch; returns its number."""
        worker = min(self._workers, key=lambda w: (len(w.pending), w.index))
        number, self._next = self._next, self._next + 1
        data = pickle.dumps((number, indices, *worker.sort_returned()))
        try:
            worker.end.sendall(_LENGTH.pack(len(data)) + data)
        except OSError:
            self._fail(worker)
        worker.pending[number] = time.monotonic()
        return number

    def forget(self, number: int) -> None:
        """Drops a batch when it comes."""
        if self._done.pop(number, None) is None:
            self._forgotten.add(number)

    def result(self, number: int, timeout: float) -> Any:
        """The batch; waits for it.

        Raises
        ------
        Exception
            What a sample raised, caused by a :class:`WorkerTraceback`.
        MXNetError
            Naming the worker, if it died or needs more than `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while number not in self._done:
            left = deadline - time.monotonic()
            if left <= 0:
                worker = next(w for w in self._workers if number in w.pending)
                self.shutdown()
                raise MXNetError(
                    f"[DataLoader] {worker.describe()} did not give batch {number} within {timeout} s. Give a "
                    "longer timeout if that is to be expected; with num_workers=0 the data set can be debugged."
                )
            ready, _, _ = select.select([w.end for w in self._workers if w.pending], [], [], left)
            for worker in self._workers:
                if worker.end in ready:
                    self._receive(worker)
        worker, succeeded, batch = self._done.pop(number)
        if not succeeded:
            data, text = batch
            where = f"[DataLoader] {worker.describe()} failed to load a batch:\n{text}"
            if data is None:
                raise MXNetError(where)
            raise pickle.loads(data) from WorkerTraceback(where)
        return batch

    def _receive(self, worker: _Worker) -> None:
        try:
            header, descriptors, _, _ = socket.recv_fds(worker.end, _LENGTH.size + 1, 1)
            if not header:
                raise EOFError
            header += _receive_exactly(worker.end, _LENGTH.size + 1 - len(header))
            (size,) = _LENGTH.unpack(header[:-1])
            number, succeeded, batch, segment = pickle.loads(_receive_exactly(worker.end, size))
        except (EOFError, OSError):
            self._fail(worker)
        worker.pending.pop(number, None)
        try:
            wanted = number not in self._forgotten
            self._forgotten.discard(number)
            if segment is not None:
                lease = worker.lend(segment, descriptors)
                batch = _back(batch, lease) if wanted else None
                del lease
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        if wanted:
            self._done[number] = (worker, succeeded, batch)

    def _fail(self, worker: _Worker) -> None:
        how = worker.end_of()
        text = worker.describe()
        self.shutdown()
        raise MXNetError(f"[DataLoader] {text} {how} while it had batches to load.")

    def shutdown(self) -> None:
        """Ends the workers."""
        self.broken = True
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.end.close()
        if os.getpid() != self._pid:
            return  # a forked child has no say over its parent's workers
        for worker in workers:
            if worker.process.is_alive():
                worker.process.terminate()
        for worker in workers:
            worker.process.join(5)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
