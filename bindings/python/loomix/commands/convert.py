# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix convert``: parameters from MXNet's format to safetensors, and back.

The format of https://huggingface.co/docs/safetensors has names, types, shapes and plain bytes, and no code.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base import MXNetError, MXNetTypeError, MXNetValueError
from ..model import write_whole
from ..ndarray import NDArray, array, load, save

_ENDINGS = (".params", ".safetensors")
_KINDS = ("arg", "aux")  # before the colon in the names of a checkpoint
_METADATA = "loomix.kinds"  # {"conv0_weight": "arg", ...}: so the way back gives the same names
_TYPES = {
    "BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64",
    "BOOL": "bool", "I8": "int8", "I32": "int32", "I64": "int64", "U8": "uint8",
}  # fmt: skip


def _safetensors() -> Any:
    try:
        import safetensors
    except ImportError:
        raise MXNetError(
            "the package safetensors is not installed; run pip install 'loomix[convert]'."
        ) from None
    return safetensors


def _without_kinds(arrays: Mapping[str, NDArray]) -> tuple[dict[str, NDArray], dict[str, str]]:
    """The arrays by names without "arg:" and "aux:", and those kinds by name."""
    named: dict[str, NDArray] = {}
    kinds: dict[str, str] = {}
    for name, value in arrays.items():
        kind, colon, rest = name.partition(":")
        short = rest if colon and kind in _KINDS else name
        if short in named:
            raise MXNetValueError(f"'arg:{short}' and 'aux:{short}' would have one name.")
        named[short] = value
        if short != name:
            kinds[short] = kind
    return named, kinds


def to_safetensors(source: str, target: str) -> int:
    """Writes the arrays of a ``.params`` file to a safetensors file; how many there are.

    Names lose their ``arg:`` and ``aux:``, which go into the file's metadata.

    Raises
    ------
    MXNetError
        When an array is sparse or without a name, or the source cannot be read.
    """
    package = _safetensors()
    arrays = load(source)
    if not isinstance(arrays, dict):
        raise MXNetValueError(f"{source} holds {len(arrays)} arrays without names; safetensors needs names.")
    named, kinds = _without_kinds(arrays)
    values, specs = [], {}
    for name, value in named.items():
        if value.stype != "default":
            raise MXNetTypeError(
                f"'{name}' of {source} is {value.stype}; safetensors holds dense arrays only."
            )
        host = np.ascontiguousarray(value.asnumpy())
        values.append(host)  # kept alive until the file is written
        dtype = "bfloat16" if host.dtype.names else host.dtype.name
        specs[name] = package.TensorSpec(
            dtype=dtype, shape=list(value.shape), data_ptr=host.ctypes.data, data_len=host.nbytes
        )
    metadata = {_METADATA: json.dumps(kinds)} if kinds else None
    content = package.serialize(specs, metadata)
    write_whole(target, lambda name: Path(name).write_bytes(content))
    return len(specs)


def to_params(source: str, target: str) -> int:
    """Writes the arrays of a safetensors file to a ``.params`` file; how many there are.

    A scalar becomes an array of shape (1,), as MXNet's files have no others.

    Raises
    ------
    MXNetError
        When an array's type is none of Loomix's, or the source is damaged.
    """
    package = _safetensors()
    try:
        with package.safe_open(source, "np") as opened:
            kinds = json.loads((opened.metadata() or {}).get(_METADATA, "{}"))
        with open(source, "rb") as file:
            tensors = package.deserialize(file.read())
    except (package.SafetensorError, ValueError) as error:
        raise MXNetValueError(f"{source} is no whole safetensors file: {error}") from None
    arrays = {}
    for name, tensor in tensors:
        if tensor["dtype"] not in _TYPES:
            raise MXNetTypeError(
                f"'{name}' of {source} has the type {tensor['dtype']}; known are {', '.join(_TYPES)}."
            )
        dtype = _TYPES[tensor["dtype"]]
        host = np.frombuffer(tensor["data"], np.uint16 if dtype == "bfloat16" else dtype)
        if dtype == "bfloat16":
            host = host.view(np.dtype([("bfloat16", np.uint16)]))
        kind = kinds.get(name) if isinstance(kinds, dict) else None
        whole = f"{kind}:{name}" if kind in _KINDS else name
        arrays[whole] = array(host.reshape(tensor["shape"] or 1), dtype=dtype)
    write_whole(target, lambda name: save(name, arrays))
    return len(arrays)


def main(_: str, arguments: Sequence[str]) -> int:
    """Runs ``convert`` with these arguments; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m loomix convert",
        description="Converts a model's parameters between MXNet's .params files and safetensors, bit by bit. "
        "The files' endings say which way.",
    )
    parser.add_argument("source", help="a file that ends in .params or .safetensors")
    parser.add_argument(
        "target", help="the file to write, with the other ending; one that exists is replaced"
    )
    args = parser.parse_args(arguments)
    endings = tuple(os.path.splitext(path)[1] for path in (args.source, args.target))
    ways = {_ENDINGS: to_safetensors, _ENDINGS[::-1]: to_params}
    if endings not in ways:
        print(
            f"[convert] there is no way from {args.source} to {args.target}; one file must end in .params and "
            "the other in .safetensors.",
            file=sys.stderr,
        )
        return 2
    if not os.path.isfile(args.source):
        print(f"[convert] there is no file {args.source}.", file=sys.stderr)
        return 2
    try:
        count = ways[endings](args.source, args.target)
    except (MXNetError, OSError) as error:
        print(f"[convert] {error}", file=sys.stderr)
        return 2
    print(f"{args.target}: {count} arrays")
    return 0
