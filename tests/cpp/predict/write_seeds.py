# SPDX-License-Identifier: Apache-2.0
"""Writes tests/cpp/predict/seeds: small models with inputs and calls, in the form that fuzz_predict.h describes.

PYTHONPATH=bindings/python python tests/cpp/predict/write_seeds.py
"""

from __future__ import annotations

import json
from pathlib import Path

import loomix as mx
import numpy as np

FOLDER = Path(__file__).parent / "seeds"
FILES = Path(__file__).parents[2] / "compat/files"
SET, FORWARD, OUTPUT, RESHAPE, PARTIAL, LIST, FREE = 0, 1, 3, 4, 5, 6, 7
CALLS = [
    (SET, 0),
    (SET, 1),
    (FORWARD, 0),
    (OUTPUT, 0),
    (RESHAPE, 2 * 16),
    (FORWARD, 1),
    (OUTPUT, 1),
    (PARTIAL, 0),
]
CALLS += [(SET, 64), (FORWARD, 0), (OUTPUT, 0), (LIST, 0), (FREE, 0), (FORWARD, 0)]


def seed(name: str, graph: str, params: bytes, inputs: dict[str, tuple[int, ...]], flags: int = 0) -> None:
    """Writes one file."""
    data = bytes([flags, len(inputs)])
    for key, shape in inputs.items():
        data += bytes([len(key)]) + key.encode() + bytes([len(shape), *shape, 0])
    text = json.dumps(json.loads(graph), separators=(",", ":")).encode()  # without spaces, to be small
    data += len(text).to_bytes(2, "little") + text + len(params).to_bytes(3, "little") + params
    (FOLDER / f"{name}.bin").write_bytes(data + bytes(byte for call in CALLS for byte in call))


def own(name: str, symbol: mx.sym.Symbol, inputs: dict[str, tuple[int, ...]], flags: int = 0) -> None:
    """A network with random weights."""
    arguments, _, states = symbol.infer_shape(**inputs)
    random = np.random.RandomState(1)
    arrays = {
        f"{kind}:{key}": mx.nd.array(random.uniform(0.1, 1, shape))
        for kind, keys, shapes in (
            ("arg", symbol.list_arguments(), arguments),
            ("aux", symbol.list_auxiliary_states(), states),
        )
        for key, shape in zip(keys, shapes)
        if key not in inputs and not key.endswith("label")
    }
    path = FOLDER / "params"
    mx.nd.save(str(path), arrays)
    seed(name, symbol.tojson(), path.read_bytes(), inputs, flags)
    path.unlink()


def main() -> None:
    """Writes all."""
    FOLDER.mkdir(exist_ok=True)
    sym, data = mx.sym, mx.sym.Variable("data")
    picture, rows = {"data": (1, 3, 6, 6)}, {"data": (2, 5)}
    conv = sym.Convolution(data, kernel=(3, 3), num_filter=4, pad=(1, 1), name="conv")
    norm = sym.Activation(sym.BatchNorm(conv, fix_gamma=False), act_type="relu")
    pool = sym.Pooling(norm, kernel=(2, 2), stride=(2, 2), pool_type="max")
    fc = sym.FullyConnected(sym.Flatten(pool), num_hidden=3, name="fc")
    own("network", sym.SoftmaxOutput(fc, name="softmax"), picture)
    own("inner_output", sym.SoftmaxOutput(fc, name="softmax"), picture, 1)
    own("threads", sym.SoftmaxOutput(fc, name="softmax"), picture, 4)
    wide = sym.Convolution(data, kernel=(1, 1), num_filter=32, name="conv")
    own("blocks", sym.Activation(sym.BatchNorm(wide), act_type="relu") + wide, {"data": (1, 32, 3, 3)})
    own("group", sym.Group([sym.sum(data, axis=1), sym.transpose(data), sym.topk(data, k=2)]), rows)
    own("deconvolution", sym.Deconvolution(data, kernel=(2, 2), stride=(2, 2), num_filter=2), picture)
    own("embedding", sym.Embedding(data, input_dim=7, output_dim=3), {"data": (2, 2)})
    own("recurrent", sym.RNN(data, state_size=2, num_layers=1, mode="gru"), {"data": (3, 1, 2)})
    own("take", sym.take(data, sym.Variable("index"), mode="clip"), {**rows, "index": (3,)})
    own(
        "shapes",
        sym.slice_like(sym.Reshape(data, shape=(0, 0, -1)), sym.tile(data, reps=(1, 1, 1, 1)), axes=0),
        picture,
    )
    own("split", sym.concat(*sym.split(data, num_outputs=3, axis=1), dim=2), picture)
    own("norms", sym.Cast(sym.LayerNorm(sym.L2Normalization(data)), dtype="float64"), rows)
    own("upsampling", sym.UpSampling(sym.LRN(data, nsize=3), scale=2, sample_type="nearest"), picture)
    own("boxes", sym.contrib.box_nms(data, overlap_thresh=0.4), {"data": (1, 3, 6)})
    own("anchors", sym.contrib.MultiBoxPrior(conv, sizes=(0.3,), ratios=(1, 2)), picture)
    own("regions", sym.ROIPooling(data, sym.Variable("rois"), (2, 2), 1.0), {**picture, "rois": (2, 5)})
    own("loop", sym.contrib.foreach(lambda x, s: (x + s, x * s), data, sym.zeros((5,)))[0], rows)
    own("sampled", sym.BilinearSampler(data, sym.Variable("grid")), {**picture, "grid": (1, 2, 3, 3)})
    own("linear_algebra", sym.linalg.gemm2(data, data, transpose_b=True), rows)
    own(
        "sequence",
        sym.SequenceLast(data, sym.Variable("lengths"), use_sequence_length=True),
        {**rows, "lengths": (5,)},
    )
    for path in sorted((FILES / "symbol").glob("*-symbol.json")):
        text = path.read_text()
        if len(text) < 8000:
            seed(
                f"mxnet_{path.name.split('-')[0]}",
                text,
                (FILES / "ndarray/dict.params").read_bytes(),
                picture,
            )


if __name__ == "__main__":
    main()
