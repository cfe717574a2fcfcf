# SPDX-License-Identifier: Apache-2.0
"""Jobs for the processes of Ray and Dask, some of which are killed. ``.ci/long futures`` installs these and runs it."""

import os
import signal

import loomix as mx
import pytest
from loomix import parallel

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


class Dies:
    """A job: item "die" kills its process, the first times that it is tried."""

    def __init__(self, folder, deaths):
        self.folder, self.deaths = folder, deaths

    def __call__(self, item):
        if item == "raise":
            raise KeyError("my mistake")
        if item == "die":
            died = len(os.listdir(self.folder))
            if died < self.deaths:
                with open(os.path.join(self.folder, str(died)), "w"):
                    os.kill(os.getpid(), signal.SIGKILL)
        return item, mx.nd.random.uniform(shape=(1,)).asscalar()


@pytest.fixture
def by_ray():
    ray = pytest.importorskip("ray")
    # Workers have what this process can import: the classes above, too.
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": path}})
    yield
    ray.shutdown()


@pytest.fixture
def by_dask(monkeypatch, request):
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    with dask.config.set({"distributed.scheduler.allowed-failures": getattr(request, "param", 3)}):
        with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
            yield


def run(folder, deaths, jobs=("a", "die", "b")):
    folder.mkdir(exist_ok=True)
    mx.random.seed(3)
    return parallel.map(Dies(str(folder), deaths), jobs)


def expect_more_tries(folder, tries):
    expected = [("a", "die", "b")] * 2
    found = [run(folder, 0), run(folder, tries)]
    assert [tuple(name for name, _ in one) for one in found] == expected
    assert found[0] == found[1], "seeds depend on the number of a job alone"
    assert len(os.listdir(folder)) == tries
    with pytest.raises(ConnectionError, match=r"job 1 is given up: each process that tried it died"):
        run(folder.with_name("more"), tries + 1)
    assert len(os.listdir(folder.with_name("more"))) == tries + 1
    with pytest.raises(KeyError, match="my mistake"):
        run(folder, 0, ["a", "raise"])


def test_ray_tries_once_more(by_ray, tmp_path):
    expect_more_tries(tmp_path / "deaths", 1)


# With no failure allowed map asks once more; else the scheduler does.
@pytest.mark.parametrize("by_dask, tries", [(0, 1), (1, 1), (3, 3)], indirect=["by_dask"])
def test_dask_tries_once_more(by_dask, tries, tmp_path):
    expect_more_tries(tmp_path / "deaths", tries)
