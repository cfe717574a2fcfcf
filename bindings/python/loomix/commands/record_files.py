# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix rec``: looks into record files and rearranges them."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import recordio
from ..base import MXNetError

if TYPE_CHECKING:
    from argparse import Namespace


def _index_path(path: str) -> str:
    return os.path.splitext(path)[0] + ".idx"


class _Records:
    """The whole records of a file: offsets and keys. Keys come from the index beside it; else they count from 0."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.reader = recordio.MXRecordIO(path, "r", on_damage="skip")
        self.index: dict[Any, Any] = {}
        if os.path.exists(_index_path(path)):
            with recordio.MXIndexedRecordIO(_index_path(path), path, "r") as indexed:
                self.index = indexed.idx
        self.keys = {offset: key for key, offset in self.index.items()}

    def __iter__(self) -> Iterator[Any]:
        """(offset, key or None, record)"""
        for i, record in enumerate(self.reader):
            offset = self.reader.offset
            yield offset, self.keys.get(offset) if self.index else i, record

    def complain(self) -> int:
        """Says what is damaged; the number of damages."""
        for offset, size, reason in self.reader.damages:
            print(
                f"{self.path}, offset {offset}: {reason} ({size} bytes are no whole record)", file=sys.stderr
            )
        return self.reader.damage_count


def _describe(record: bytes) -> str:
    try:
        header, content = recordio.unpack(record)
    except MXNetError:
        return "-"
    if header.flag > 64:
        return "-"
    labels = [header.label] if header.flag == 0 else header.label
    return f"id {header.id}  label {' '.join(f'{label:g}' for label in labels)}  content {len(content)}"


def ls(args: Namespace) -> int:
    """Lists offset, bytes, key and header of each record."""
    records = _Records(args.file)
    for offset, key, record in records:
        print(f"{offset:12} {len(record):10} {'-' if key is None else key:>8}  {_describe(record)}")
    return 1 if records.complain() else 0


def cat(args: Namespace) -> int:
    """Writes records, or the images in them, to standard output."""
    records = _Records(args.file)
    wanted = {int(key) for key in args.keys}
    for _, key, record in records:
        if not wanted or key in wanted:
            sys.stdout.buffer.write(recordio.unpack(record)[1] if args.content else record)
            wanted.discard(key)
            if args.keys and not wanted:
                break
    sys.stdout.buffer.flush()
    if wanted:
        print(f"{args.file}: there are no records {sorted(wanted)}", file=sys.stderr)
    damaged = not args.keys and records.complain()
    return 1 if wanted or damaged else 0


def verify(args: Namespace) -> int:
    """Reads a file, and compares it with its index."""
    records = _Records(args.file)
    count = size = 0
    offsets = set()
    for offset, _, record in records:
        count += 1
        size += len(record)
        offsets.add(offset)
    faults = records.complain()
    print(f"{args.file}: {count} whole records, {size} bytes, {faults} damages")
    if not records.index:
        print(f"{args.file}: has no index {_index_path(args.file)}")
        return 1 if faults else 0
    for key, offset in records.index.items():
        if offset not in offsets:
            faults += 1
            print(
                f"{_index_path(args.file)}: no record begins at offset {offset}, key {key}", file=sys.stderr
            )
    missing = len(offsets - set(records.index.values()))
    if missing:
        faults += 1
        print(f"{_index_path(args.file)}: {missing} records are not in the index", file=sys.stderr)
    print(f"{_index_path(args.file)}: {len(records.index)} entries")
    return 1 if faults else 0


def index(args: Namespace) -> int:
    """Writes the index of a file again; keys are the ids of the images, or count from 0."""
    records = _Records(args.file)
    path = args.output or _index_path(args.file)
    with open(path + ".partial", "w") as out:
        for i, (offset, _, record) in enumerate(records):
            out.write(f"{recordio.unpack(record)[0].id if args.ids else i}\t{offset}\n")
    os.replace(path + ".partial", path)
    return 1 if records.complain() else 0


@contextlib.contextmanager
def _writer(path: str) -> Iterator[Any]:
    """A file and its index, which get their names when all is written."""
    parts = _index_path(path) + ".partial", path + ".partial"
    with recordio.MXIndexedRecordIO(*parts, "w") as writer:
        yield writer
    os.replace(parts[0], _index_path(path))
    os.replace(parts[1], path)


def _new_key(key: Any, i: int) -> Any:
    return i if key is None else key


def shuffle(args: Namespace) -> int:
    """Writes the records of a file in random order."""
    records = _Records(args.file)
    places = [(offset, _new_key(key, i)) for i, (offset, key, _) in enumerate(records)]
    random.Random(args.seed).shuffle(places)
    with _writer(args.output) as writer:
        for offset, key in places:
            writer.write_idx(key, records.reader._read_at(offset))
    print(f"{args.output}: {len(places)} records")
    return 1 if records.complain() else 0


def split(args: Namespace) -> int:
    """Writes the records of a file into several, in order: NAME_0.rec, NAME_1.rec ..."""
    records = _Records(args.file)
    count = sum(1 for _ in records)
    records.reader.reset()
    step = args.records or -(-count // args.parts) or 1
    name, ending = os.path.splitext(args.output or args.file)
    rest = iter(enumerate(records))
    for part in range(args.parts or -(-count // step)):
        path = f"{name}_{part}{ending}"
        written = 0
        with _writer(path) as writer:
            for i, (_, key, record) in rest:
                writer.write_idx(_new_key(key, i), record)
                written += 1
                if written == step:
                    break
        print(f"{path}: {written} records")
    return 1 if records.complain() else 0


def _parser() -> Any:
    parser = argparse.ArgumentParser(prog="python -m loomix rec", description=__doc__.split(": ", 1)[1])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(function: Callable[[Any], Any]) -> Any:
        sub = commands.add_parser(function.__name__, description=function.__doc__, help=function.__doc__)
        sub.add_argument("file", help="a record file")
        sub.set_defaults(run=function)
        return sub

    command(ls)
    sub = command(cat)
    sub.add_argument(
        "keys", nargs="*", help="keys of the index, or numbers from 0 where there is none; default: all"
    )
    sub.add_argument("--content", action="store_true", help="without the header: the images as files")
    command(verify)
    sub = command(index)
    sub.add_argument("--output", help="default: the file's name with .idx")
    sub.add_argument("--ids", action="store_true", help="keys are the ids in the headers")
    sub = command(shuffle)
    sub.add_argument("output", help="the record file to write")
    sub.add_argument("--seed", type=int, default=0)
    sub = command(split)
    size = sub.add_mutually_exclusive_group(required=True)
    size.add_argument("--parts", type=int, help="number of files")
    size.add_argument("--records", type=int, help="records in each file")
    sub.add_argument("--output", help="name of the files, without the number; default: the file's own")
    return parser


def main(_: str, arguments: Sequence[str]) -> Any:
    """Runs ``rec`` with these arguments; its exit status."""
    args = _parser().parse_args(arguments)
    for name in ("parts", "records"):
        if getattr(args, name, None) is not None and getattr(args, name) < 1:
            print(f"[rec split] --{name} is {getattr(args, name)}; at least 1 is needed.", file=sys.stderr)
            return 2
    try:
        return args.run(args)
    except BrokenPipeError:  # of `rec ls ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (MXNetError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
