# SPDX-License-Identifier: Apache-2.0
"""Short operators of bound graphs are one task of the engine: who decides how many, and that nothing else shows it."""

import json
import os
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest
from loomix import engine


def chain(net, length=12):
    """Operators of which no two are fused."""
    for i in range(length):
        net = mx.sym.softmax(net) if i % 2 else mx.sym.transpose(net)
    return net


def bound():
    executor = chain(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(3, 3))
    executor.arg_dict["x"][:] = mx.nd.array(np.arange(9).reshape(3, 3))
    executor.forward(is_train=False)
    return executor


def test_the_size_counts_for_what_is_bound_in_its_scope():
    joined = bound()
    assert joined.explain().tasks == 1
    assert "tasks" in str(joined.explain())
    with engine.bulk(5):
        fives = bound()
    with engine.bulk(1):
        apart = bound()
    assert (fives.explain().tasks, apart.explain().tasks) == (3, 12)
    assert "tasks" not in str(apart.explain()).split("pass ")[0]
    for executor in (fives, apart):
        np.testing.assert_array_equal(executor.outputs[0].asnumpy(), joined.outputs[0].asnumpy())


def test_sizes_that_are_none():
    for size in (-1, 1 << 30):
        with pytest.raises(ValueError, match=r"\[set_bulk_size\] size is .*expected 0 to"):
            engine.set_bulk_size(size)
    with pytest.raises(ValueError, match=r"\[hybridize\] backward_bulk_size is -2"):
        mx.gluon.nn.Dense(1).hybridize(backward_bulk_size=-2)
    assert engine.set_bulk_size(0) == 0


class Chain(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        for i in range(12):
            x = F.softmax(x) if i % 2 else F.transpose(x)
        return x


@pytest.mark.parametrize("sizes", [(None, None), (1, None), (None, 1), (4, 4)])
def test_hybridized_blocks_have_sizes_of_their_own(sizes):
    block = Chain()
    block.hybridize(forward_bulk_size=sizes[0], backward_bulk_size=sizes[1])
    x = mx.nd.array(np.arange(9).reshape(3, 3))
    x.attach_grad()
    for _ in range(2):
        with mx.autograd.record():
            y = block(x)
        y.backward(mx.nd.array(np.eye(3)))
    made = block.explain()
    backward = len(made.operators) - made.forward_steps
    forward_tasks = -(-made.forward_steps // (sizes[0] or 64))
    backward_tasks = -(-backward // (sizes[1] or 64))
    assert made.tasks == forward_tasks + backward_tasks
    plain = mx.nd.array(np.arange(9).reshape(3, 3))
    plain.attach_grad()
    with mx.autograd.record():
        y = Chain()(plain)
    y.backward(mx.nd.array(np.eye(3)))
    np.testing.assert_allclose(x.grad.asnumpy(), plain.grad.asnumpy(), rtol=1e-5, atol=1e-7)


def test_a_cached_op_has_sizes_of_its_own():
    op = mx.nd.CachedOp(chain(mx.sym.Variable("x")), [("forward_bulk_size", "3")])
    x = mx.nd.ones((3, 3))
    np.testing.assert_allclose(op(x).asnumpy(), np.full((3, 3), 1 / 3), rtol=1e-6)
    with pytest.raises(ValueError, match=r"\[CachedOp\] forward_bulk_size is -3"):
        mx.nd.CachedOp(chain(mx.sym.Variable("x")), [("forward_bulk_size", -3)])


SETTINGS = """
import json, loomix as mx
net = mx.sym.Variable("x")
for i in range(12):
    net = mx.sym.softmax(net) if i % 2 else mx.sym.transpose(net)
tasks = []
for train in (False, True):
    executor = net.simple_bind(mx.cpu(), x=(3, 3), grad_req="null")
    executor.forward(is_train=train)
    tasks.append(executor.explain().tasks)
print(json.dumps(tasks))
"""


@pytest.mark.parametrize(
    ("settings", "tasks"),
    [
        ({"LOOMIX_BULK_SIZE": "4"}, [3, 3]),
        ({"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN": "6"}, [2, 2]),
        ({"MXNET_EXEC_BULK_EXEC_INFERENCE": "0"}, [12, 1]),
        ({"MXNET_EXEC_BULK_EXEC_TRAIN": "0"}, [1, 12]),
    ],
)
def test_settings(settings, tasks):
    done = subprocess.run(
        [sys.executable, "-c", SETTINGS],
        env={**os.environ, **settings},
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout) == tasks


def test_each_operator_is_in_the_profile(tmp_path):
    executor = bound()
    mx.nd.waitall()
    path = str(tmp_path / "profile.json")
    mx.profiler.set_config(filename=path, profile_all=True)
    mx.profiler.set_state("run")
    executor.forward(is_train=False)
    mx.nd.waitall()
    mx.profiler.set_state("stop")
    mx.profiler.dump()
    with open(path, encoding="utf-8") as file:
        names = [event.get("name") for event in json.load(file)["traceEvents"]]
    assert names.count("softmax") == names.count("transpose") == 6
