# SPDX-License-Identifier: Apache-2.0
"""The same modules by Dask: results are passed on as values, a queue has progress, and a variable is shared by all.

python with_dask.py [FOLDER]        two processes; Client("tcp://HOST:8786") takes the workers of a cluster instead
"""

import sys
from pathlib import Path

import steps
from dask.distributed import Client, LocalCluster, Queue, Variable


def train(source: str, size: int, folder: str) -> str:
    """A step that says what it has done to whoever listens."""
    result = f"{folder}/net{size}.json"
    steps.train(source, size, f"{folder}/net{size}.params", result)
    Queue("done").put(size)
    if size > Variable("largest").get():
        Variable("largest").set(size)
    return result


def main(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.upload_file(steps.__file__)
        Variable("largest").set(0)
        source = f"{folder}/data.params"
        made = client.submit(steps.data, source)
        trained = [
            client.submit(lambda _, size: train(source, size, folder), made, size) for size in (4, 8, 16)
        ]
        client.submit(lambda results: steps.best(f"{folder}/best.json", *results), trained).result()
        print("trained:", sorted(Queue("done").get(batch=True)), "largest:", Variable("largest").get())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
