# SPDX-License-Identifier: Apache-2.0
"""Ranks that srun starts: by MPI through PMIx, and without MPI by variables."""

import os
import shutil
import subprocess
import sys

import pytest
from loomix.commands import launch
from slurm_of_one import slurm  # noqa: F401 (a fixture)
from test_mpi_kvstore import environment_of
from test_mpi_kvstore import no_mpi as no_mpi  # a fixture

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

PROGRAM = """
import numpy as np
from loomix import parallel
a = parallel.Matrix.random((30, 20), "rows", seed=1)
b = parallel.Matrix.random((20, 10), "columns", seed=2)
expected = np.dot(a.to_global().asnumpy(), b.to_global().asnumpy())
np.testing.assert_allclose(a.dot(b).to_global().asnumpy(), expected, rtol=1e-5)
print("rank", parallel.rank(), "of", parallel.size())
"""
FAILS = """
from loomix import parallel
a = parallel.Matrix.random((30, 20), "rows", seed=1)
if parallel.rank() == 1:
    raise ValueError("my mistake")
a.sum().wait_to_read()
a.remap("columns").local[0].wait_to_read()
"""


def srun(configuration, mpi, *command, ranks=3, **variables):
    command = ["srun", f"--mpi={mpi}", "-n", str(ranks), "--overcommit", *command]
    return subprocess.run(
        command,
        env=environment_of(SLURM_CONF=configuration, **variables),
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.fixture
def pmix(slurm, no_mpi):  # noqa: F811
    if no_mpi:
        pytest.skip(no_mpi)
    found = subprocess.run(
        ["srun", "--mpi=list"], env={**os.environ, "SLURM_CONF": slurm}, capture_output=True, text=True
    )
    if "pmix" not in found.stdout + found.stderr:
        pytest.skip("this Slurm has no PMIx")
    return slurm


def test_by_pmix(pmix):
    done = srun(pmix, "pmix", sys.executable, "-c", PROGRAM)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of 3" for rank in range(3)]


def test_by_pmix_a_rank_that_fails_ends_all(pmix):
    done = srun(pmix, "pmix", sys.executable, "-c", FAILS)
    assert done.returncode != 0 and "my mistake" in done.stderr, done.stdout + done.stderr


# srun says to each process which one it is, in variables of its own.
SHELL = "RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS exec "


@pytest.mark.parametrize("program", [PROGRAM, FAILS], ids=["good", "fails"])
def test_without_mpi(slurm, program):  # noqa: F811
    path = shutil.which("bash")
    line = SHELL + '"$0" -c "$1"'
    variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(launch.free_port())}
    done = srun(slurm, "none", path, "-c", line, sys.executable, program, **variables)
    if program is FAILS:
        assert done.returncode != 0 and "my mistake" in done.stderr, done.stdout + done.stderr
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of 3" for rank in range(3)]
