# SPDX-License-Identifier: Apache-2.0
"""Jobs for free processes: through mpi4py, Ray or Dask, whichever is there."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from typing import Any

from .. import _core as _core
from .. import _parallel, random
from ..base import NetworkError
from .job import drawn_seed, ensure_started, from_rank_0
from .operations import State

_WAYS = ("mpi", "ray", "dask", "here")


def job_seed(base: int, number: int) -> int:
    """Of a job: by the seed of all, and its number alone."""
    mixed = (base + (number + 1) * 0x9E3779B97F4A7C15) & (1 << 64) - 1
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ mixed >> shift) * factor & (1 << 64) - 1
    return (mixed ^ mixed >> 31) & (1 << 31) - 1


class _Job:
    """What a process runs for a job: the function, after a seed that depends on the job's number alone."""

    def __init__(self, function: Callable[[Any], Any], base: int) -> None:
        self.function = function
        self.base = base

    def __call__(self, number: int, job: Any) -> Any:
        random.seed(job_seed(self.base, number))
        return self.function(job)


def map(function: Callable[[Any], Any], jobs: Iterable[Any], by: str | None = None) -> list[Any]:
    """Calls ``function(job)`` for each job, on whatever process is free, and gives the results in the order of jobs.

    Before each job ``mx.random.seed`` is called there. Its seed depends on the job's number, and on one number that is
    drawn here (of an MPI job, on rank 0). So one ``mx.random.seed`` before this call makes all jobs repeatable,
    whoever runs them.

    A process of Ray's that dies costs its job one more try; one of Dask's as many as its scheduler allows (3, unless
    ``distributed.scheduler.allowed-failures`` says otherwise), and at least one. One of an MPI job ends the whole job,
    as MPI has it. An exception in a job ends this call.

    Parameters
    ----------
    by : str, optional
        "mpi": all ranks of this job of MPI call this; rank 0 hands out the jobs, the others run them, and all get the
        results (``mpi4py.futures``). "ray": the processes of Ray. "dask": those of the current Dask client. "here":
        this process, one job after the other. By default the first of these that is running: a job of several
        ranks where mpi4py is installed, Ray, a Dask client, this process.

    Raises
    ------
    ConnectionError
        For a job whose processes have died in each of its tries.

    Example
    -------
    >>> import loomix as mx
    >>> mx.parallel.map(abs, [-3, 4], by="here")
    [3, 4]
    """
    if by not in (None, *_WAYS):
        raise ValueError(f"[parallel] map by {by!r}; expected one of {', '.join(_WAYS)}.")
    way = by or _running()
    numbered = list(enumerate(jobs))
    if way == "mpi":
        return _by_mpi(function, numbered)
    job = _Job(function, drawn_seed())
    if way == "ray":
        return _by_ray(job, numbered)
    if way == "dask":
        return _by_dask(job, numbered)
    return [job(number, item) for number, item in numbered]


def _running() -> str:
    ensure_started()
    if (
        _parallel.size() > 1
        and _parallel.kind() == "mpi"
        and State.driver is None
        and importlib.util.find_spec("mpi4py")
    ):
        return "mpi"
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        return "ray"
    distributed = sys.modules.get("distributed")
    if distributed is not None and distributed.client._get_global_client() is not None:
        return "dask"
    return "here"


def _by_mpi(function: Callable[[Any], Any], numbered: list[tuple[int, Any]]) -> list[Any]:
    ensure_started()
    if State.driver is not None:
        raise RuntimeError(
            "[parallel] map by mpi is called by all ranks, and this program is a driver's, which rank 0 runs alone."
        )
    from mpi4py import MPI
    from mpi4py.futures import MPICommExecutor

    job = _Job(function, from_rank_0(drawn_seed() if _parallel.rank() == 0 else 0))
    ranks = MPI.COMM_WORLD
    results: list[Any] | BaseException | None = None
    with MPICommExecutor(ranks, root=0) as executor:
        if executor is not None:
            try:
                results = list(executor.starmap(job, numbered))
            except Exception as error:  # which all ranks get
                results = error
    results = ranks.bcast(results, root=0)
    if isinstance(results, BaseException):
        raise results
    assert results is not None
    return results


def _by_ray(job: _Job, numbered: list[tuple[int, Any]]) -> list[Any]:
    import ray

    if not ray.is_initialized():
        ray.init()
    run = ray.remote(max_retries=1, retry_exceptions=False)(lambda *arguments: job(*arguments))
    waiting = [run.remote(number, item) for number, item in numbered]
    results = []
    for (number, _), one in zip(numbered, waiting):
        try:
            results.append(ray.get(one))
        except ray.exceptions.WorkerCrashedError as error:
            raise _given_up(number) from error
    return results


def _by_dask(job: _Job, numbered: list[tuple[int, Any]]) -> list[Any]:
    from dask.distributed import KilledWorker, get_client

    client = get_client()

    def start(number: int, item: Any) -> Any:
        return client.submit(job, number, item, pure=False)

    waiting = [start(number, item) for number, item in numbered]
    results = []
    for (number, item), future in zip(numbered, waiting):
        try:
            try:
                results.append(future.result())
            except KilledWorker as error:
                if error.allowed_failures > 0:  # the scheduler has tried it again
                    raise
                results.append(start(number, item).result())
        except KilledWorker as error:
            raise _given_up(number) from error
    return results


def _given_up(number: int) -> NetworkError:
    return NetworkError(f"[parallel] job {number} is given up: each process that tried it died.")
