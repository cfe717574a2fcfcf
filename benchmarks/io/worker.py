# SPDX-License-Identifier: Apache-2.0
"""Record files: 10 kB records as Python `bytes` on tmpfs, beside MXNet and beside plain buffered `read()`, `write()`.

A run is one record. `plain` reads and writes pieces of the same size without any format.
"""

import importlib
import os
import random
import shutil
import tempfile

from harness import serve

BYTES = 10_000
COUNT = 8192
FOLDER = "/dev/shm" if os.path.isdir("/dev/shm") else None


class Files:
    """A folder on tmpfs that goes away with the process."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="loomix-bench-", dir=FOLDER)

    def __del__(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def __call__(self, name):
        return os.path.join(self.path, name)


def order():
    """The records in random order."""
    keys = list(range(COUNT))
    random.Random(1).shuffle(keys)
    return keys


def recordio(module):
    """Makes the cases for a package with MXNet's interface."""
    payload = random.Random(0).randbytes(BYTES)

    def filled():
        files, rec = Files(), importlib.import_module(f"{module}.recordio")
        writer = rec.MXIndexedRecordIO(files("r.idx"), files("r.rec"), "w")
        for i in range(COUNT):
            writer.write_idx(i, payload)
        writer.close()
        return files, rec

    def read():
        files, rec = filled()
        reader = rec.MXRecordIO(files("r.rec"), "r")

        def run(count):
            files  # noqa: B018  # lives as long as the run
            for _ in range(count):
                if reader.read() is None:
                    reader.reset()

        return run

    def random_read():
        files, rec = filled()
        reader = rec.MXIndexedRecordIO(files("r.idx"), files("r.rec"), "r")
        keys = order()

        def run(count):
            files  # noqa: B018
            for i in range(count):
                reader.read_idx(keys[i % COUNT])

        return run

    def write():
        files, rec = Files(), importlib.import_module(f"{module}.recordio")
        writer = rec.MXRecordIO(files("r.rec"), "w")

        def run(count):
            files  # noqa: B018
            for i in range(count):
                if i % COUNT == 0:
                    writer.reset()
                writer.write(payload)

        return run

    return {"read": read, "random_read": random_read, "write": write}


def plain():
    """The same with Python's buffered files."""
    payload = random.Random(0).randbytes(BYTES)

    def filled():
        files = Files()
        with open(files("p"), "wb") as file:
            for _ in range(COUNT):
                file.write(payload)
        return files, open(files("p"), "rb")

    def read():
        files, file = filled()

        def run(count):
            files  # noqa: B018
            for _ in range(count):
                if not file.read(BYTES):
                    file.seek(0)

        return run

    def random_read():
        files, file = filled()
        offsets = [BYTES * key for key in order()]

        def run(count):
            files  # noqa: B018
            for i in range(count):
                file.seek(offsets[i % COUNT])
                file.read(BYTES)

        return run

    def write():
        files = Files()
        file = open(files("p"), "wb")

        def run(count):
            files  # noqa: B018
            for i in range(count):
                if i % COUNT == 0:
                    file.seek(0)
                    file.truncate()
                file.write(payload)

        return run

    return {"read": read, "random_read": random_read, "write": write}


MAKERS = {"loomix": recordio("loomix"), "mxnet": recordio("mxnet"), "plain": plain()}
CASES = {
    f"record_{case}": {framework: makers[case] for framework, makers in MAKERS.items()}
    for case in ("read", "random_read", "write")
}

if __name__ == "__main__":
    serve(CASES)
