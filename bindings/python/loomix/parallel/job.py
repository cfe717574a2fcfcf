# SPDX-License-Identifier: Apache-2.0
"""The ranks that this process is one of."""

from __future__ import annotations

import atexit
import json
import os
import sys
from typing import Any

from .. import _core as _core  # whose library the extension needs
from .. import _parallel
from ..base import MXNetFileError
from ..kvstore.kvstore import _communicator_handle
from ..ndarray import random
from .operations import State, perform

_KINDS = ("mpi", "network", "single")
# What launchers of MPI programs set, and those of others.
_LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS")
_TOLD = ("RANK", "WORLD_SIZE", "MASTER_PORT")


def start(group: str | None = None, communicator: Any = None) -> None:
    """Says what the ranks are; at first use that is done without arguments.

    Parameters
    ----------
    group : str, optional
        "mpi" (the processes that ``mpirun`` or ``srun`` started), "network" (those of a job without MPI, as
        ``torchrun`` starts them) or "single" (this process alone). By default "mpi" where a launcher started this
        process, or a communicator is given, "network" where ``RANK``, ``WORLD_SIZE`` and ``MASTER_PORT`` are set,
        and "single" elsewhere.
    communicator : mpi4py.MPI.Comm, optional
        Its ranks, instead of all.

    Raises
    ------
    RuntimeError
        If they are started already.

    Example
    -------
    >>> from loomix import parallel
    >>> parallel.rank(), parallel.size()
    (0, 1)
    """
    if group not in (None, *_KINDS):
        raise ValueError(f"[parallel] group {group!r}; expected 'mpi', 'network' or 'single'.")
    if group in ("network", "single") and communicator is not None:
        raise ValueError(f"[parallel] a communicator is given, and the group is {group!r}; expected 'mpi'.")
    if group is None:
        launched = communicator is not None or any(name in os.environ for name in _LAUNCHED)
        told = all(name in os.environ for name in _TOLD)
        group = "mpi" if launched else "network" if told else "single"
    _parallel.start(group, _communicator_handle(communicator))


def ensure_started() -> None:
    """The ranks by default, unless :func:`start` has been called."""
    if not _parallel.started():
        start()


def rank() -> int:
    """Which rank this process is.

    >>> from loomix import parallel
    >>> parallel.rank()
    0
    """
    ensure_started()
    return _parallel.rank()


def size() -> int:
    """How many ranks there are.

    >>> from loomix import parallel
    >>> parallel.size()
    1
    """
    ensure_started()
    return _parallel.size()


def barrier() -> None:
    """Waits until all ranks have called it.

    >>> from loomix import parallel
    >>> parallel.barrier()
    """
    ensure_started()
    perform("barrier")


def traffic() -> dict[str, Any]:
    """What this rank has sent and received so far: a dict of ``calls``, ``waited_s``, and ``sent`` and
    ``received``, lists of bytes by rank.

    >>> from loomix import parallel
    >>> parallel.traffic()["sent"]
    [0]
    """
    ensure_started()
    return _parallel.traffic()


def set_cache(bytes_of_copies: int) -> None:
    """How many bytes of whole matrices this rank keeps of those that came to it: by :meth:`Matrix.replicated`, or in a
    product that needs one on every rank. 256 MiB by default; 0: none. The same on all ranks. The copies are let go of
    when memory is short for a matrix.

    >>> from loomix import parallel
    >>> parallel.set_cache(64 << 20)
    """
    ensure_started()
    perform("set_cache", bytes_of_copies)


def set_buffers(count: int) -> None:
    """How many buffers a product or a remap has for what travels, each way: how far it may be ahead of what is
    computed. 2 by default. More hide ranks that are uneven, and take more memory: :meth:`Matrix.explain_dot` says how
    much.

    >>> from loomix import parallel
    >>> parallel.set_buffers(2)
    """
    ensure_started()
    perform("set_buffers", count)


def set_links(bytes_per_second: float, latency: float, flops: float) -> None:
    """What :meth:`Matrix.dot` chooses its way by; the same on all ranks.

    Parameters
    ----------
    bytes_per_second : float
        From a rank to another one while all send; 3e9 by default.
    latency : float
        Seconds that a message takes; 3e-5 by default.
    flops : float
        Operations a second of a rank, in products; 5e10 by default.

    Example
    -------
    >>> from loomix import parallel
    >>> parallel.set_links(bytes_per_second=3e9, latency=3e-5, flops=5e10)
    """
    ensure_started()
    perform("set_links", bytes_per_second, latency, flops)


def load_links(path: str) -> None:
    """:func:`set_links` of what ``mpirun -n 2 python -m loomix links --file PATH`` measured. All ranks read the same
    file.

    >>> import json, os, tempfile
    >>> from loomix import parallel
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "links.json")
    ...     with open(path, "w") as file:
    ...         json.dump({"bytes_per_second": 3e9, "latency": 3e-5, "flops": 5e10}, file)
    ...     parallel.load_links(path)
    """
    names = ("bytes_per_second", "latency", "flops")
    try:
        with open(path, encoding="utf-8") as file:
            links = json.load(file)
        numbers = [float(links[name]) for name in names]
    except (ValueError, TypeError, KeyError) as error:
        raise MXNetFileError(
            f"[parallel] {path} is damaged: expected an object of {', '.join(names)}, all numbers ({error!r})."
        ) from None
    set_links(*numbers)


def from_rank_0(number: int) -> int:
    """The number that rank 0 gives, on all ranks, which call this together; in a driver's body on rank 0."""
    if _parallel.size() == 1 or State.driver is not None:
        return number
    if _parallel.rank() == 0:
        _parallel.tell(number.to_bytes(8, "little"))
        return number
    while (message := _parallel.listen(3600.0)) is None:
        pass
    return int.from_bytes(message, "little")


def drawn_seed() -> int:
    """A number of this process's generator, which ``mx.random.seed`` sets."""
    return int(random.randint(0, 2**31 - 1, shape=(1,), dtype="int32").asscalar())


@atexit.register
def _tell_why() -> None:
    """At exit: a process that ends by an exception says so, as others would wait for it."""
    error = getattr(sys, "last_value", None)
    if error is not None and _parallel.started() and _parallel.size() > 1:
        _parallel.give_up(f"its program ended with {type(error).__name__}: {error}")
