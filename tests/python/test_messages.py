# SPDX-License-Identifier: Apache-2.0
"""Messages of mistakes that people make in their first hour: a suggestion first, a short list after it."""

from __future__ import annotations

import os
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest


def net(**name):
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc"), **name
    )


def bound():
    module = mx.mod.Module(net(name="softmax"))
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params()
    return module


def batch(features):
    return mx.io.DataBatch([mx.nd.ones((2, features))], [mx.nd.zeros(2)])


STORES = (
    "device, dist_async, dist_device_sync, dist_mpi, dist_nccl, dist_network, dist_ssp, dist_sync, local, "
    "nccl and 1 more"
)


@pytest.mark.parametrize(
    "call, texts",
    [
        (
            lambda: mx.nd.FullyConnected(mx.nd.ones((2, 3))),
            ["[FullyConnected] num_hidden is missing: expected int"],
        ),
        (
            lambda: mx.sym.Convolution(mx.sym.Variable("data"), kernal=(3, 3)),
            [
                "Cannot find argument 'kernal'. Did you mean 'kernel'? Possible Arguments:\n  kernel:",
                "\n  and 2 more",
            ],
        ),
        (
            lambda: mx.nd.Activation(mx.nd.ones(2), act_type="rellu"),
            ["'rellu' for act_type. Did you mean 'relu'? valid values are: {'relu', "],
        ),
        (
            lambda: mx.optimizer.create("adm"),
            ["Did you mean 'adam'? Known are adadelta, ", "groupadagrad, lamb and "],
        ),
        (lambda: mx.metric.create("acuracy"), ["Did you mean 'accuracy'? Known are acc, "]),
        (lambda: mx.init.create("Xavir"), ["Did you mean 'xavier'? Known are "]),
        (lambda: mx.init.create("zzzzzz"), ["[initializer] 'zzzzzz' is not registered. Known are "]),
        (lambda: mx.kv.create("locl"), [f"Did you mean 'local'? Known are {STORES}."]),
        (lambda: mx.kv.create("dist_snc"), [f"Did you mean 'dist_sync'? Known are {STORES}."]),
        (lambda: mx.kv.create("horovod"), ["not available in this version", STORES]),
        (lambda: mx.kv.create("redis"), [f"unknown type 'redis'. Known are {STORES}."]),
        (
            lambda: mx.gluon.model_zoo.vision.get_model("resnet19_v1"),
            ["Did you mean 'resnet18_v1'? Known are "],
        ),
        (lambda: mx.mod.Module(net(), data_names=["dta"]), ["Did you mean 'data'? Its inputs are ['data', "]),
        (
            lambda: bound().forward(batch(5)),
            ["inputs data (2, 5), softmax_label (2,) do not fit", "fc_weight has shape (4, 3)"],
        ),
        (
            lambda: mx.nd.FullyConnected(mx.nd.ones((2, 3)), mx.nd.ones((4, 7)), no_bias=True, num_hidden=4),
            ["input 'weight' has shape (4, 7); the other arguments ask for (4, 3) (data has shape (2, 3))."],
        ),
    ],
)
def test_values(call, texts):
    with pytest.raises(mx.MXNetError) as error:
        call()
    for text in texts:
        assert text in str(error.value)


def test_module_names():
    with pytest.raises(AttributeError, match="Did you mean: 'module'"):
        _ = mx.modul
    with pytest.raises(AttributeError, match="has no attribute 'zzzzzz'$"):
        _ = mx.zzzzzz


def test_parameters_of_another_network():
    module = mx.mod.Module(net(name="softmax"))
    module.bind([("data", (2, 5))], [("softmax_label", (2,))])
    with pytest.raises(
        ValueError, match=r"fc_weight has shape \(4, 3\); the network needs \(4, 5\) for data \(2, 5\)"
    ):
        module.init_params(arg_params={"fc_weight": mx.nd.ones((4, 3)), "fc_bias": mx.nd.ones(4)})


def test_the_label_of_a_loss_without_a_name():
    with mx.name.NameManager():
        module = mx.mod.Module(net())
        with pytest.raises(ValueError) as error:
            module.fit(mx.io.NDArrayIter(np.ones((4, 3)), np.zeros(4), 2), num_epoch=1)
    for text in (
        "'softmaxoutput0_label' is the label of a loss",
        "SoftmaxOutput(..., name='softmax')",
        "label_names=['softmaxoutput0_label']",
    ):
        assert text in str(error.value)
    with mx.name.NameManager():  # and what it says works
        module = mx.mod.Module(net(), label_names=["softmaxoutput0_label"])
    data = mx.io.NDArrayIter(np.ones((4, 3)), np.zeros(4), 2, label_name="softmaxoutput0_label")
    module.fit(data, num_epoch=1)


@pytest.mark.parametrize(
    "name, value, text",
    [
        (
            "LOG_LEVEL",
            "loud",
            "[LOOMIX_LOG_LEVEL] Invalid Input: 'loud' for log_level. valid values are: {'debug', ",
        ),
        ("CPU_WORKER_NTHREADS", "many", "[LOOMIX_CPU_WORKER_NTHREADS] Invalid Parameter format"),
    ],
)
def test_settings_that_cannot_be_used(name, value, text):
    run = subprocess.run(
        [sys.executable, "-c", "import loomix as mx\nmx.nd.ones(2)"],
        env={**os.environ, f"LOOMIX_{name}": value},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 1
    assert run.stderr.startswith(f"loomix.base.MXNetValueError: {text}")
    assert len(run.stderr.splitlines()) == 1


def test_other_errors_keep_their_tracebacks():
    program = "import loomix as mx\ntry:\n    mx.nd\nexcept mx.MXNetError:\n    pass\n1 / 0"
    program = program.replace("except mx.MXNetError", "except ValueError")
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "LOOMIX_LOG_LEVEL": "loud"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stderr.count("Traceback") == 1
    assert run.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"
