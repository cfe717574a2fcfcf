#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exchanges record files with an installed MXNet: each writes what the other reads, byte for byte.

    PYTHONPATH=bindings/python python tests/compat/live_records.py MXNET_ENV/bin/python

MXNet 1.9.1 needs an interpreter of its own. Without one this prints so, and ends with status 0.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MAGIC = bytes.fromhex("0a23d7ce")


def draw_records(seed, count=300):
    """Records of many sizes; some hold magic numbers at aligned and other places."""
    draw = random.Random(seed)
    records = []
    for i in range(count):
        record = bytearray(draw.randbytes(draw.choice([0, 1, 3, 4, 17, 500, 10_000, 70_000])))
        for _ in range(draw.randrange(4) if i % 2 else 0):
            at = draw.randrange(len(record) + 1)
            record[at : at + draw.randrange(5)] = MAGIC * draw.randrange(1, 3)
        records.append(bytes(record))
    return records


def write(recordio, folder, seed):
    """Writes two indexed files: plain records, and packed ones with labels."""
    records = draw_records(seed)
    with_index = recordio.MXIndexedRecordIO(f"{folder}/raw.idx", f"{folder}/raw.rec", "w")
    for i, record in enumerate(records):
        with_index.write_idx(5 * i + 2, record)
    with_index.close()
    packed = recordio.MXRecordIO(f"{folder}/packed.rec", "w")
    for i, record in enumerate(records):
        label = i / 4 if i % 3 else [float(k) for k in range(i % 7 + 1)]
        packed.write(recordio.pack(recordio.IRHeader(0, label, i, i % 5), record))
    packed.close()


def read(recordio, folder, seed):
    """Reads them, in order and by key."""
    records = draw_records(seed)
    reader = recordio.MXRecordIO(f"{folder}/raw.rec", "r")
    assert [reader.read() for _ in records] == records and reader.read() is None
    reader = recordio.MXIndexedRecordIO(f"{folder}/raw.idx", f"{folder}/raw.rec", "r")
    for i in random.Random(seed).sample(range(len(records)), len(records)):
        assert reader.read_idx(5 * i + 2) == records[i]
    reader = recordio.MXRecordIO(f"{folder}/packed.rec", "r")
    for i, record in enumerate(records):
        header, content = recordio.unpack(reader.read())
        label = i / 4 if i % 3 else [float(k) for k in range(i % 7 + 1)]
        assert content == record and (header.id, header.id2) == (i, i % 5)
        assert header.label == label if i % 3 else list(header.label) == label


def main():
    """The command line; `--as PACKAGE` is the other process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mxnet", nargs="?", help="the interpreter that has MXNet")
    parser.add_argument("--as", dest="package", nargs=4, metavar=("PACKAGE", "DO", "FOLDER", "SEED"))
    args = parser.parse_args()
    if args.package:
        import importlib

        package, do, folder, seed = args.package
        {"read": read, "write": write}[do](importlib.import_module(f"{package}.recordio"), folder, int(seed))
        return 0
    if args.mxnet is None or shutil.which(args.mxnet) is None:
        print("live_records: skipped; name the interpreter of an environment with MXNet 1.9.1")
        return 0

    def run(python, package, do, folder, seed):
        command = [python, "-W", "ignore", __file__, "--as", package, do, folder, str(seed)]
        subprocess.run(command, check=True, timeout=300)

    for seed in range(3):
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            run(sys.executable, "loomix", "write", ours, seed)
            run(args.mxnet, "mxnet", "write", theirs, seed)
            for name in ("raw.idx", "raw.rec", "packed.rec"):
                assert Path(ours, name).read_bytes() == Path(theirs, name).read_bytes(), f"{name} differs"
            run(args.mxnet, "mxnet", "read", ours, seed)
            run(sys.executable, "loomix", "read", theirs, seed)
    print("live_records: Loomix and MXNet write the same bytes, and read each other's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
