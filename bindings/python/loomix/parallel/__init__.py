# SPDX-License-Identifier: Apache-2.0
"""Matrices that lie in blocks on the ranks of a job, which ``mpirun`` or ``srun`` started.

Every rank runs the same program, and calls the same functions with the same layouts. A *rank* is a process of the
job, a *mesh* its ranks in a grid with named axes, a *layout* says which rank holds which block of a matrix, and a
*remap* brings a matrix to another layout. A program that nobody launched is a job of one rank.

>>> from loomix import parallel
>>> a = parallel.Matrix.random((6, 4), "rows", seed=1)
>>> b = parallel.Matrix.random((4, 5), "columns", seed=2)
>>> (a.dot(b) * 2).to_global().shape
(6, 5)
"""

from .checkpoint import load, save
from .collectives import all_reduce, all_to_all, gather, own, reduce_scatter, share
from .driving import driver
from .groups import split
from .job import barrier, load_links, rank, set_buffers, set_cache, set_links, size, start, traffic
from .layout import Layout
from .mapping import map
from .matrix import Matrix
from .mesh import Axis, Mesh
from .shard import explain, shard
from .splits import Split, columns, rows
from .store import MeshStore, store

__all__ = [
    "Axis",
    "Layout",
    "Matrix",
    "Mesh",
    "MeshStore",
    "Split",
    "all_reduce",
    "all_to_all",
    "barrier",
    "columns",
    "driver",
    "explain",
    "gather",
    "load",
    "load_links",
    "map",
    "own",
    "rank",
    "reduce_scatter",
    "rows",
    "save",
    "set_buffers",
    "set_cache",
    "set_links",
    "shard",
    "share",
    "size",
    "split",
    "start",
    "store",
    "traffic",
]
