# SPDX-License-Identifier: Apache-2.0
"""Processes that load batches.

Each worker has a socket of its own, over which it gets numbers of samples and sends back batches. The arrays of a batch
lie in anonymous shared memory, whose descriptor travels over the socket: nothing has a name, so nothing is left over,
whichever process is killed. A worker whose socket is closed ends itself; so workers never outlive the loader's process,
for no process but that one keeps the other ends open.
"""

from __future__ import annotations

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
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ndarray as nd
from ...base import MXNetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

_LENGTH = struct.Struct("<Q")
_ends: weakref.WeakSet[socket.socket] = weakref.WeakSet()  # of all workers, on this side


class _Array:
    """Stands in a pickled batch for an array in shared memory."""

    def __init__(self, array: np.ndarray[Any, Any], offset: int, is_ndarray: bool) -> None:
        self.shape, self.dtype = array.shape, array.dtype.str
        self.offset, self.is_ndarray = offset, is_ndarray


def _aside(batch: Any, arrays: list[Any], end: int = 0) -> tuple[Any, int]:
    """The batch with its arrays put aside, and where in shared memory they end."""
    if isinstance(batch, (list, tuple)):
        parts = []
        for part in batch:
            part, end = _aside(part, arrays, end)
            parts.append(part)
        return (tuple(parts) if isinstance(batch, tuple) else parts), end
    is_ndarray = isinstance(batch, nd.NDArray)
    if not is_ndarray and not (isinstance(batch, np.ndarray) and batch.dtype.kind in "biufc"):
        return batch, end
    array = np.ascontiguousarray(batch.asnumpy() if is_ndarray else batch).reshape(batch.shape)
    arrays.append(array)
    return _Array(array, end, is_ndarray), end + -(-array.nbytes // 64) * 64


def _back(batch: Any, memory: Any) -> Any:
    if isinstance(batch, (list, tuple)):
        parts = [_back(part, memory) for part in batch]
        return tuple(parts) if isinstance(batch, tuple) else parts
    if not isinstance(batch, _Array):
        return batch
    dtype = np.dtype(batch.dtype)
    count = int(np.prod(batch.shape, dtype=np.int64))
    array = np.frombuffer(memory, dtype, count, batch.offset) if count else np.empty(0, dtype)
    array = array.reshape(batch.shape)
    return nd.array(array, dtype=dtype) if batch.is_ndarray else array.copy()


# ---- in the worker ----


def _send(end: socket.socket, reply: Any, arrays: list[Any], size: int) -> None:
    data = pickle.dumps(reply, protocol=pickle.HIGHEST_PROTOCOL)
    if not size:
        end.sendall(_LENGTH.pack(len(data)) + b"\0" + data)
        return
    descriptor = os.memfd_create("loomix-batch", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, size)
        with mmap.mmap(descriptor, size) as memory:
            offset = 0
            for array in arrays:
                target = np.frombuffer(memory, np.uint8, array.nbytes, offset)
                target[:] = array.reshape(-1).view(np.uint8)
                del target
                offset += -(-array.nbytes // 64) * 64
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


def _reply(number: int, indices: Any, load: Callable[[Any], Any]) -> tuple[Any, list[Any], int]:
    arrays: list[Any] = []
    try:
        batch, total = _aside(load(indices), arrays)
    except BaseException as error:  # whatever it is, the other side is to hear of it
        return (number, False, "".join(traceback.format_exception(error))), [], 0
    return (number, True, batch), arrays, max(total, 1) if arrays else 0


def _work(end: socket.socket, others: list[socket.socket], load: Callable[[Any], Any], seed: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that iterates
    for other in others:
        other.close()
    random.seed(seed)
    np.random.seed(seed)
    from ... import random as own_random

    own_random.seed(seed)
    try:
        while True:
            (size,) = _LENGTH.unpack(_receive_exactly(end, _LENGTH.size))
            number, indices = pickle.loads(_receive_exactly(end, size))
            _send(end, *_reply(number, indices, load))
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
        data = pickle.dumps((number, indices))
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
        MXNetError
            Naming the worker, if it failed, died, or needs more than `timeout` seconds.
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
            raise MXNetError(f"[DataLoader] {worker.describe()} failed to load a batch:\n{batch}")
        return batch

    def _receive(self, worker: _Worker) -> None:
        try:
            header, descriptors, _, _ = socket.recv_fds(worker.end, _LENGTH.size + 1, 1)
            if not header:
                raise EOFError
            header += _receive_exactly(worker.end, _LENGTH.size + 1 - len(header))
            (size,) = _LENGTH.unpack(header[:-1])
            number, succeeded, batch = pickle.loads(_receive_exactly(worker.end, size))
        except (EOFError, OSError):
            self._fail(worker)
        worker.pending.pop(number, None)
        try:
            wanted = number not in self._forgotten
            self._forgotten.discard(number)
            if descriptors and wanted:
                with mmap.mmap(descriptors[0], 0, access=mmap.ACCESS_READ) as memory:
                    batch = _back(batch, memory)
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
