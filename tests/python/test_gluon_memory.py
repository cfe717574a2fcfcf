# SPDX-License-Identifier: Apache-2.0
"""Memory of Gluon's blocks: eager training stays flat, and a compiled network takes what it needs and no more."""

import gc
import os
import subprocess
import sys
import textwrap

import loomix as mx
import pytest
from loomix import autograd, gluon
from loomix.gluon import nn

pytestmark = pytest.mark.library

nd = mx.nd
STEPS = int(os.environ.get("LOOMIX_TEST_STEPS", "300"))  # `.ci/long gluon`: 10,000


def resident():
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Recurrent(gluon.Block):
    """A cell step by step, and layers with dropout and moving averages after it."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.cell = gluon.rnn.LSTMCell(32)
            self.rest = nn.HybridSequential()
            self.rest.add(nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(10))

    def forward(self, x):
        states = self.cell.begin_state(x.shape[0])
        for step in range(x.shape[1]):
            out, states = self.cell(x[:, step], states)
        return self.rest(out)


def growth_of_eager_training():
    """Bytes by which this process grows in STEPS steps."""
    net = Recurrent()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    loss = gluon.loss.SoftmaxCELoss()
    x, y = nd.random.normal(shape=(64, 4, 32)), nd.zeros(64)

    def train(count):
        for _ in range(count):
            with autograd.record():
                value = loss(net(x), y)
            value.backward()
            trainer.step(64)
            value.wait_to_read()  # how far steps run ahead, and so what pools hold, would depend on the machine's load
        mx.nd.waitall()
        gc.collect()
        return resident()

    before = train(max(120, STEPS // 2))  # until pools and caches have what they keep
    return train(STEPS) - before


def run(*arguments):
    """What a process of its own prints, in which no other test has left memory."""
    result = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=max(100, STEPS // 5),
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.timeout(max(120, STEPS // 5 + 20))
def test_eager_training_stays_flat():
    assert int(run(__file__)) < 2 << 20


def test_compiled_inference_takes_weights_and_plan():
    """In a fresh process, after a small network of the same layers has loaded and compiled what all of them share."""
    program = """
        import os, re, sys
        import loomix as mx
        from loomix.gluon.model_zoo import vision

        def resident():
            mx.nd.waitall()
            mx.cpu().empty_cache()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def made(side):
            net = vision.resnet18_v1(classes=10)
            net.collect_params().setattr("grad_req", "null")
            net.initialize()
            net.hybridize()
            x = mx.nd.zeros((4, 3, side, side))
            for _ in range(3):
                net(x).wait_to_read()
            return net

        small = made(32)
        before = resident()
        net = made(160)
        grown = resident() - before
        shape = (4, 3, 160, 160)
        weights = sum(param.data().size * 4 for param in net.collect_params().values())
        bound = net(mx.sym.var("data")).simple_bind(mx.cpu(), grad_req="null", data=shape)
        plan = bound._handle.planned_bytes(False)
        held = re.search("held until an argument changes: ([0-9.]+) MB", bound._handle.explain(False))
        held = int(float(held[1]) * 2**20) if held else weights
        data = 4 * 3 * 160 * 160 * 4
        print(grown, weights, held, plan, data)
    """
    grown, weights, held, plan, data = map(int, run("-c", textwrap.dedent(program)).split())
    # convolutions keep their weights once more, in the form that their kernels read, as the executor says
    assert grown <= 1.05 * (weights + held + plan + data), (grown, weights, held, plan)
    assert grown > weights


if __name__ == "__main__":
    print(growth_of_eager_training())
