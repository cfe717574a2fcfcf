# SPDX-License-Identifier: Apache-2.0
"""Graphs of MXNet's files with random damage: each is refused with an error of ours, or runs."""

import random
import re
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np

FILES = sorted((Path(__file__).parents[1] / "compat" / "files" / "symbol").glob("*-symbol.json"))
# Of the first argument of each graph.
SHAPES = {
    "foreach": (3, 2, 4), "group_attrs": (2, 2), "lenet": (2, 1, 28, 28), "lstm_unrolled": (2, 3, 4), "mlp": (2, 20),
    "old_0800": (2, 3, 16, 16), "old_0904": (2, 4), "prefix_misc": (2, 5), "resnet": (2, 3, 32, 32),
    "rnn_fused": (5, 2, 3),
}  # fmt: skip
VALUES = [
    "-1", "0", "2147483648", "-2147483649", "4294967295", "9223372036854775807", "99999999999999999999", "1e30", "nan",
    "None", "True", "()", "(1,)", "(0,0)", "(2147483647,2147483647)", "[", "{", "null", '"a"', "\\u0000",
]  # fmt: skip
MOST_NUMBERS = 5e7  # in all arrays of a graph: what is larger may be right, but takes long


def damage(text, draw):
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        kind = draw.random()
        if kind < 0.55:
            number = draw.choice(list(re.finditer(r"-?\d+(\.\d+)?", text)))
            text = text[: number.start()] + draw.choice(VALUES) + text[number.end() :]
        elif kind < 0.7:
            names = list(re.finditer(r'"[^"]*"', text))
            to, source = draw.choice(names), draw.choice(names)
            text = text[: to.start()] + source.group() + text[to.end() :]
        else:
            at, left_out = draw.randrange(len(text)), 1 if kind < 0.85 else draw.randrange(20)
            text = text[:at] + chr(draw.randrange(32, 127)) * (kind < 0.85) + text[at + left_out :]
    return text


def run(text, shape, draw):
    """Whether the graph was one that could run."""
    try:
        graph = mx.sym.load_json(text)
        mx.sym.load_json(graph.tojson())
        data = graph.list_arguments()[0]
        shapes = [shape for group in graph.infer_shape_partial(**{data: shape}) or () for shape in group]
        if any(not shape or 0 in shape or -1 in shape for shape in shapes):
            return False
        if sum(np.prod(shape, dtype=float) for shape in shapes) > MOST_NUMBERS:
            return False
        train = draw.random() < 0.5
        executor = graph.simple_bind(mx.cpu(), grad_req="write" if train else "null", **{data: shape})
        outputs = executor.forward(is_train=train)
        if train:
            executor.backward([mx.nd.ones(out.shape, dtype=out.dtype) for out in outputs])
        mx.nd.waitall()
    except mx.MXNetError as error:
        assert "nternal" not in str(error), error
        return False
    return True


def main(first, count, last_file):
    ran = 0
    for seed in range(first, first + count):
        draw = random.Random(seed)
        file = draw.choice(FILES)
        text = damage(file.read_text(), draw)
        Path(last_file).write_text(text)  # a crash leaves it
        ran += run(text, SHAPES[file.name.removesuffix("-symbol.json")], draw)
    print(ran)


def test_damaged_graphs(tmp_path):
    last = tmp_path / "last.json"
    command = [sys.executable, "-W", "ignore", __file__, "0", "2000", str(last)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{last.read_text()}\n{done.stderr[-4000:]}"
    assert int(done.stdout) > 200  # else the damage is so great that nothing but the reader is tried


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
