# SPDX-License-Identifier: Apache-2.0
"""Runs the models of tests/compat/files by a program, run_model.cc or run_model_cpp.cc; compares with what MXNet gave.

python3 tests/compat/run_models.py COMMAND...    such as: qemu-aarch64 -L /usr/aarch64-linux-gnu build/run_model
"""

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FILES = Path(__file__).parent / "files"


def filled(position, shape):
    """The fill rule of the compatibility files."""
    return (
        (((37 * np.arange(int(np.prod(shape))) + 11 * position) % 17 - 8) / 32)
        .reshape(shape)
        .astype("float32")
    )


def params_of(arrays):
    """A file of float32 parameters."""
    text = struct.pack("<QQQ", 0x112, 0, len(arrays))
    for value in arrays.values():
        text += struct.pack("<Iii", 0xF993FAC9, 0, value.ndim) + struct.pack(f"<{value.ndim}q", *value.shape)
        text += struct.pack("<iii", 1, 0, 0) + value.tobytes()
    text += struct.pack("<Q", len(arrays))
    return text + b"".join(struct.pack("<Q", len(name)) + name.encode() for name in arrays)


def models():
    """(name, symbol's path, bytes of the parameters, inputs, expected outputs)"""
    images = {"data": np.load(FILES / "checkpoint/lenet_images.npy").astype("float32") / 255}
    for name, params, expected in (
        ("checkpoint/lenet", "checkpoint/lenet-0001.params", "checkpoint/lenet_prob.npy"),
        ("gluon/fnet", "gluon/fnet-0003.params", "gluon/fnet_out.npy"),
    ):
        symbol = FILES / f"{name}-symbol.json"
        yield name, symbol, (FILES / params).read_bytes(), images, [np.load(FILES / expected)]
    for entry in json.loads((FILES / "manifest.json").read_text())["entries"]:
        if entry["kind"] != "symbol":
            continue
        values = {}
        for i, (name, shape) in enumerate(zip(entry["arguments"], entry["arg_shapes"], strict=True)):
            values[name] = filled(i, shape)
            if name.endswith(("label", "ids")):
                values[name] = np.floor(8 * np.abs(values[name]))
        for i, (name, shape) in enumerate(zip(entry["aux_states"], entry["aux_shapes"], strict=True)):
            values[name] = filled(i, shape) if name.endswith("mean") else np.abs(filled(i, shape)) + 1
        first = entry["shapes"] or {entry["arguments"][0]: None}
        inputs = {name: value for name, value in values.items() if name in first or name.endswith("label")}
        params = params_of({f"arg:{name}": value for name, value in values.items() if name not in inputs})
        stem = entry["file"].removesuffix("-symbol.json")
        expected = [np.load(FILES / f"{stem}_out{i}.npy") for i in range(len(entry["outputs"]))]
        yield stem, FILES / entry["file"], params, inputs, expected


def main(command):
    worst, count, failed = 0.0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, symbol, params, inputs, expected in models():
            count += 1
            paths = [Path(folder, part) for part in ("params", "out")]
            paths[0].write_bytes(params)
            arguments = [*command, symbol, *paths]
            for i, (key, value) in enumerate(inputs.items()):
                path = Path(folder, f"in{i}")
                path.write_bytes(value.tobytes())
                arguments += [key, "x".join(map(str, value.shape)), path]
            done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=600)
            got = np.fromfile(paths[1], "float32") if done.returncode == 0 else np.zeros(0, "float32")
            want = np.concatenate([array.astype("float32").ravel() for array in expected])
            if got.shape != want.shape or not np.allclose(got, want, rtol=1e-4, atol=1e-5):
                print(f"FAILED: {name}: {done.stderr.strip() or 'the outputs differ'}")
                failed += 1
                continue
            worst = max(worst, float(np.abs(got - want).max()))
    print(f"run_models: {failed} of {count} failed; the largest difference is {worst:.1e}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
