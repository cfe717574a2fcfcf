# SPDX-License-Identifier: Apache-2.0
"""Gradients of several GPUs that travel while the backward pass goes on."""

import json
import os
import subprocess
import sys

import loomix as mx
import pytest

pytestmark = [
    pytest.mark.skipif(mx.context.num_gpus() < 2, reason="fewer than two GPUs"),
    pytest.mark.skipif(
        "standin" not in os.environ.get("LOOMIX_CUDA_LIBRARY", ""),
        reason="layers are slow for the stand-in only",
    ),
]

# The backward pass begins with the layer whose gradient is the first bucket, and ends with slow ones.
STEPS = """
import json, sys
import loomix as mx

kind, file = sys.argv[1:]
places = [mx.gpu(0), mx.gpu(1)]
net = mx.gluon.nn.HybridSequential()
for inputs, outputs in ((512, 512),) * 5 + ((512, 128), (128, 128)):
    net.add(mx.gluon.nn.Dense(outputs, activation="relu", in_units=inputs))
net.initialize(ctx=places)
net.hybridize()
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", kvstore=kind, update_on_kvstore=False)
data = [mx.nd.random.uniform(-1, 1, (512, 512), ctx=place) for place in places]

def step():
    with mx.autograd.record():
        losses = [(net(part) ** 2).sum() for part in data]
    mx.autograd.backward(losses)
    trainer.allreduce_grads()
    mx.nd.waitall()

def traced_step():
    mx.profiler.set_config(filename=file)
    mx.profiler.set_state("run")
    step()
    mx.profiler.set_state("stop")
    mx.profiler.dump()
    with open(file) as trace:
        events = json.load(trace)["traceEvents"]
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return [(rows[e["tid"]], e["name"], e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X"]

for _ in range(5):
    step()
print(json.dumps([traced_step() for _ in range(6)]))
"""


def run_steps(tmp_path, kind, captured):
    environment = {
        **os.environ,
        "LOOMIX_KV_BUCKET_KB": "1100",
        "LOOMIX_CAPTURED_STEPS": captured,
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", STEPS, kind, str(tmp_path / "trace.json")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout)


@pytest.mark.parametrize("captured", ["4096", "1"])
@pytest.mark.parametrize("kind", ["device", "nccl"])
def test_the_first_bucket_travels_before_the_pass_ends(kind, captured, tmp_path):
    """Threads may be late, so half of the steps have to show it. What waits for the pass shows it in none."""
    seen = []
    for events in run_steps(tmp_path, kind, captured):
        passes = [
            max(
                end
                for row, name, _, end in events
                if row == f"gpu({i}) compute stream" and name.startswith(("captured", "_backward"))
            )
            for i in range(2)
        ]
        if kind == "nccl":  # the first task of a bucket joins its gradients, the next one adds up
            travels = [
                sorted(begin for row, _, begin, _ in events if row == f"gpu({i}) communicate stream")[1]
                for i in range(2)
            ]
        else:  # from one of the GPUs to the other, which adds up
            travels = [
                min(begin for row, name, begin, _ in events if "copy_out stream" in row and name == "copy")
            ]
        seen.append(max(travels) < min(passes))
    assert 2 * sum(seen) >= len(seen), seen
