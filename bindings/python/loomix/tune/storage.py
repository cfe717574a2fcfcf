# SPDX-License-Identifier: Apache-2.0
"""Where a search keeps what it knows: a journal in its folder, or a server that Optuna talks to; and locks of files,
which a process gives back however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..base import MXNetError

_DEADLINE = 60.0  # seconds; a lock is held for milliseconds, but for those of trials, which nobody waits for
_SYNC = 0.1  # seconds between writes of the journal to the disk itself


def optuna() -> Any:
    """The library, quiet; an error that says how to get it where it is missing."""
    try:
        import optuna as library
    except ImportError as error:
        raise ImportError(
            "[tune] searches stand on Optuna, which is not installed: pip install 'loomix[tune]'"
        ) from error
    library.logging.set_verbosity(library.logging.WARNING)
    return library


class FileLock:
    """A lock that lives as long as the process, and the commands that it started, hold the file open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Whether the lock was free, and is this process's now."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise MXNetError(f"[tune] {self.path} cannot be written: {error.strerror}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except BaseException:
            os.close(descriptor)
            raise
        self.descriptor = descriptor
        return True

    def acquire(self) -> bool:
        """Waits for the lock; an error names it if nobody gives it back."""
        end, pause = time.monotonic() + _DEADLINE, 0.0002
        while not self.try_acquire():
            if time.monotonic() > end:
                raise MXNetError(
                    f"[tune] {self.path} has been locked by another process for {_DEADLINE:.0f} s; "
                    "a process that was stopped (SIGSTOP) may hold it."
                )
            time.sleep(pause)
            pause = min(pause * 2, 0.01)
        return True

    def release(self) -> None:
        """Gives it back."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Holds it for a block."""
        self.acquire()
        try:
            yield
        finally:
            self.release()


class _Journal:
    """Optuna's journal in a file, faster. What is appended is brought to the disk at most ten times a second: a process
    that is killed loses nothing that it wrote, so this matters where a machine loses power."""

    def __init__(self, library: Any, path: Path) -> None:
        self.read_logs = library.storages.journal.JournalFileBackend(str(path)).read_logs
        self._path, self._lock = path, FileLock(path.with_suffix(".lock"))
        self._synced = -_SYNC

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """As Optuna's does."""
        text = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        with self._lock.held(), open(self._path, "r+b") as file:
            self._drop_torn_line(file)
            file.write(text.encode())
            file.flush()
            if time.monotonic() - self._synced >= _SYNC:
                os.fsync(file.fileno())
                self._synced = time.monotonic()

    @staticmethod
    def _drop_torn_line(file: BinaryIO) -> None:
        """A writer that was killed in the middle of a line leaves the line's beginning, which goes."""
        end = file.seek(0, os.SEEK_END)
        if end == 0:
            return
        file.seek(end - 1)
        if file.read(1) != b"\n":
            begin = max(0, end - (1 << 20))
            file.seek(begin)
            file.truncate(begin + file.read().rfind(b"\n") + 1)
        file.seek(0, os.SEEK_END)


def open_storage(folder: Path, url: str | None) -> Any:
    """Optuna's storage: the folder's journal, a database by its URL, or ``grpc://HOST:PORT``."""
    library = optuna()
    if url is None:
        journal = folder / "journal.log"
        try:
            journal.touch()
            return library.storages.JournalStorage(_Journal(library, journal))
        except OSError as error:
            raise MXNetError(f"[tune] {journal} cannot be written: {error.strerror}.") from error
    if url.startswith("grpc://"):
        host, colon, port = url[len("grpc://") :].rpartition(":")
        if not (host and colon and port.isdigit()):
            raise MXNetError(f"[tune] the storage is {url!r}; allowed is grpc://HOST:PORT.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", library.exceptions.ExperimentalWarning)
            return library.storages.GrpcStorageProxy(host=host, port=int(port))
    if "://" not in url:
        raise MXNetError(
            f"[tune] the storage is {url!r}; allowed are None for a journal in the folder, grpc://HOST:PORT, and "
            "URLs of databases such as postgresql://USER@HOST/NAME."
        )
    try:
        return library.storages.RDBStorage(url)
    except Exception as error:  # SQLAlchemy's and the drivers' have no class in common
        raise MXNetError(f"[tune] the storage {url!r} cannot be opened: {error}") from error
