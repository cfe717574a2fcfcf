# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix convert``: models between MXNet's files and ONNX, parameters between these and safetensors.

The format of https://huggingface.co/docs/safetensors has names, types, shapes and plain bytes, and no code.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base import MXNetError, MXNetTypeError, MXNetValueError
from ..model import write_whole
from ..ndarray import NDArray, array, load, save

_SYMBOL = "-symbol.json"
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


def _params_beside(symbol_file: str) -> str:
    """The .params file of a graph's prefix.

    Raises
    ------
    MXNetError
        When there is none, or more than one.
    """
    prefix = Path(symbol_file.removesuffix(_SYMBOL))
    found = sorted(prefix.parent.glob(f"{glob.escape(prefix.name)}-[0-9][0-9][0-9][0-9]*.params"))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise MXNetValueError(
            f"beside {symbol_file} there must be one file {prefix.name}-NUMBER.params, or --params names it; "
            f"there is {names}."
        )
    return str(found[0])


def to_onnx(options: argparse.Namespace) -> str:
    """Writes a checkpoint to an ONNX file; what was written.

    Sizes of ``--shape`` that are names may change from call to call.
    """
    from ..onnx import DEFAULT_OPSET, export_model

    shapes = {name: tuple(s if isinstance(s, int) else 1 for s in sizes) for name, sizes in options.shape}
    dynamic = any(isinstance(size, str) for _, sizes in options.shape for size in sizes)
    export_model(
        options.source,
        options.params or _params_beside(options.source),
        shapes,
        onnx_file_path=options.target,
        dynamic=dynamic,
        dynamic_input_shapes=dict(options.shape) if dynamic else None,
        opset_version=options.opset or DEFAULT_OPSET,
    )
    return f"{options.target}: opset {options.opset or DEFAULT_OPSET}"


def from_onnx(options: argparse.Namespace) -> str:
    """Writes the model of an ONNX file as a checkpoint, of epoch 0 if ``--params`` names no file."""
    from ..onnx import import_model

    symbol, arguments, states = import_model(options.source, dict(options.shape))
    params = options.params or f"{options.target.removesuffix(_SYMBOL)}-0000.params"
    arrays = {f"arg:{name}": value for name, value in arguments.items()}
    arrays |= {f"aux:{name}": value for name, value in states.items()}
    write_whole(options.target, symbol.save)
    write_whole(params, lambda name: save(name, arrays))
    return f"{options.target} and {params}: {len(arrays)} arrays"


def _kind(path: str) -> str:
    return _SYMBOL if path.endswith(_SYMBOL) else os.path.splitext(path)[1]


def _shape(text: str) -> tuple[str, tuple[int | str, ...]]:
    """A name and sizes, of which some may be names.

    >>> _shape("data:batch,3,224,224")
    ('data', ('batch', 3, 224, 224))
    """
    name, _, rest = text.rpartition(":")
    sizes = tuple(int(size) if size.isdigit() else size for size in rest.strip("()").split(",") if size)
    if not name or not sizes or 0 in sizes:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME:SIZE,SIZE,...")
    if any(isinstance(size, str) and not size.isidentifier() for size in sizes):
        raise argparse.ArgumentTypeError(f"{text!r} has a size that is neither a number nor a name")
    return name, sizes


_WAYS: dict[tuple[str, str], Callable[[argparse.Namespace], str]] = {
    (".params", ".safetensors"): lambda o: f"{o.target}: {to_safetensors(o.source, o.target)} arrays",
    (".safetensors", ".params"): lambda o: f"{o.target}: {to_params(o.source, o.target)} arrays",
    (_SYMBOL, ".onnx"): to_onnx,
    (".onnx", _SYMBOL): from_onnx,
}


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m loomix convert",
        description="Converts a model between MXNet's files and ONNX, or its parameters between MXNet's .params files "
        "and safetensors. The files' endings say which way.",
    )
    parser.add_argument("source", help="a file that ends in -symbol.json, .onnx, .params or .safetensors")
    parser.add_argument("target", help="the file to write; one that exists is replaced")
    with_onnx = parser.add_argument_group("with ONNX")
    with_onnx.add_argument(
        "--shape", type=_shape, action="append", default=[], metavar="NAME:SIZES",
        help="shape of an input, such as data:1,3,224,224; to ONNX all are needed, and a size may be a name, such as "
        "data:batch,3,224,224: it may change from call to call",
    )  # fmt: skip
    with_onnx.add_argument("--params", help="the .params file; by default the one with the graph's prefix")
    with_onnx.add_argument("--opset", type=int, help="version of ONNX's operators to write, 13 to 21; 17")
    options = parser.parse_args(arguments)
    ways = _kind(options.source), _kind(options.target)
    if ".onnx" not in ways and (options.shape or options.params or options.opset):
        parser.error("--shape, --params and --opset are for ONNX.")
    if ways[0] == ".onnx" and options.opset:
        parser.error("--opset is for writing ONNX.")
    return options


def main(_: str, arguments: Sequence[str]) -> int:
    """Runs ``convert`` with these arguments; its exit status."""
    options = _parse(arguments)
    way = _WAYS.get((_kind(options.source), _kind(options.target)))
    if way is None:
        ways = "; ".join(f"*{source} to *{target}" for source, target in _WAYS)
        print(
            f"[convert] there is no way from {options.source} to {options.target}; the ways are {ways}.",
            file=sys.stderr,
        )
        return 2
    if not os.path.isfile(options.source):
        print(f"[convert] there is no file {options.source}.", file=sys.stderr)
        return 2
    try:
        print(way(options))
    except (MXNetError, OSError) as error:
        print(f"[convert] {error}", file=sys.stderr)
        return 2
    return 0
