# SPDX-License-Identifier: Apache-2.0
"""Several Python threads: what one executor or module does for them, and Predictor."""

from __future__ import annotations

import threading
import time

import loomix as mx
import numpy as np
import pytest


def in_thread(function):
    """What `function` returned on another thread, which has ended; or what it raised."""
    result = []

    def run():
        try:
            result.append(function())
        except Exception as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return result[0]


class Other:
    """A thread that lives on and does what it is told, step by step."""

    def __enter__(self):
        self._order, self._done = threading.Event(), threading.Event()
        self._function, self._stop = None, False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def _run(self):
        while True:
            self._order.wait()
            self._order.clear()
            if self._stop:
                return
            try:
                self._result = self._function()
            except Exception as error:
                self._result = error
            self._done.set()

    def do(self, function):
        self._function = function
        self._order.set()
        assert self._done.wait(20)
        self._done.clear()
        return self._result

    def __exit__(self, *error):
        self._stop = True
        self._order.set()
        self._thread.join()


def executor():
    return (mx.sym.Variable("x") * 2).simple_bind(mx.cpu(), x=(3,), grad_req="write")


def network():
    data = mx.sym.Variable("data")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=4, name="fc"), name="softmax")


def module(for_training=True):
    made = mx.mod.Module(network())
    made.bind([("data", (2, 3))], [("softmax_label", (2,))], for_training=for_training)
    made.init_params(mx.init.One())
    made.init_optimizer()
    return made


def batch(value):
    return mx.io.DataBatch([mx.nd.full((2, 3), value)], [mx.nd.array([1, 2])])


def test_executor_one_thread_after_the_other():
    run = executor()
    for value in (1, 2, 3):
        x = np.full(3, value, "float32")
        got = in_thread(lambda x=x: run.forward(x=x)[0].asnumpy())
        assert (got == 2 * value).all()
        assert (run.outputs[0].asnumpy() == 2 * value).all()  # of the last pass, whichever thread ran it


def test_outputs_replaced_by_another_thread_raise():
    run = executor()
    run.forward(x=np.ones(3, "float32"))
    with Other() as other:
        other.do(lambda: run.forward(x=np.full(3, 5, "float32"))[0].asnumpy())
        with pytest.raises(mx.base.StateError, match=r"\[Executor\] outputs: thread '.*' has begun a pass"):
            _ = run.outputs
        with pytest.raises(mx.base.StateError, match="backward"):
            run.backward(mx.nd.ones(3))
        assert (run.forward(x=np.ones(3, "float32"))[0].asnumpy() == 2).all()


def test_arrays_keep_what_their_threads_pass_computed():
    run = executor()
    own = run.forward(x=np.ones(3, "float32"))[0]
    with Other() as other:
        theirs = other.do(lambda: run.forward(x=np.full(3, 5, "float32"))[0])
        assert (own.asnumpy() == 2).all()
        assert (theirs.asnumpy() == 10).all()


def test_gradient_after_another_threads_pass():
    run = executor()
    run.forward(is_train=True, x=np.ones(3, "float32"))

    def step():
        run.forward(is_train=True, x=np.full(3, 7, "float32"))
        run.backward(mx.nd.full(3, 3))
        return run.grad_dict["x"].asnumpy()

    assert (in_thread(step) == 6).all()


def test_overlapping_calls_raise():
    run = executor()
    inside, go = threading.Event(), threading.Event()

    def slow(name, array):
        inside.set()
        go.wait(20)

    run.set_monitor_callback(slow)  # called within forward
    thread = threading.Thread(target=lambda: run.forward())
    thread.start()
    assert inside.wait(20)
    with pytest.raises(mx.base.StateError, match=r"another thread is in the middle of a call.*mx\.Predictor"):
        run.forward()
    go.set()
    thread.join()
    run.forward()


def test_module_refuses_what_another_thread_replaced():
    mod = module()
    with Other() as other:
        mod.forward_backward(batch(1))
        other.do(lambda: mod.forward_backward(batch(2)))
        with pytest.raises(mx.base.StateError, match=r"\[Module\] update"):
            mod.update()
        with pytest.raises(mx.base.StateError, match="get_outputs"):
            mod.get_outputs()
        with pytest.raises(mx.base.StateError, match="update_metric"):
            mod.update_metric(mx.metric.create("acc"), [mx.nd.array([1, 2])])
        assert other.do(mod.update) is None
        mod.forward_backward(batch(1))
        mod.update()


def test_module_of_other_shapes_is_watched_too():
    mod = module()
    larger = mx.io.DataBatch([mx.nd.ones((4, 3))], [mx.nd.zeros(4)])
    mod.forward(batch(1), is_train=False)
    with Other() as other:
        other.do(lambda: mod.forward(larger, is_train=False))
        with pytest.raises(mx.base.StateError, match="get_outputs"):
            mod.get_outputs()


def test_module_one_thread_after_the_other():
    mod = module()
    mod.forward(batch(1), is_train=False)
    first = mod.get_outputs()[0].asnumpy()
    in_thread(lambda: mod.forward(batch(3), is_train=False))
    assert not np.shares_memory(mod.get_outputs()[0].asnumpy(), first)  # that thread is gone
    data = mx.io.NDArrayIter(np.ones((8, 3), "float32"), np.zeros(8), 2)
    assert in_thread(lambda: mod.fit(data, num_epoch=1, force_rebind=True)) is None
    assert mod.score(data, "acc")[0][1] == 1.0


def test_threads_on_one_module_are_never_wrong_silently():
    mod = module(for_training=False)
    expected = {}
    for value in (1, 2, 3, 4):
        weight = mx.nd.array(np.arange(12).reshape(4, 3) * 0.1)
        mod.set_params({"fc_weight": weight, "fc_bias": mx.nd.zeros(4)}, {})
        mod.forward(batch(value))
        expected[value] = mod.get_outputs()[0].asnumpy()
    wrong, refused = [], []

    def ask(value):
        own = batch(value)
        for _ in range(100):
            try:
                mod.forward(own)
                got = mod.get_outputs()[0]
                time.sleep(0)
                if not np.allclose(got.asnumpy(), expected[value]):
                    wrong.append(value)
            except mx.base.StateError:
                refused.append(value)

    threads = [threading.Thread(target=ask, args=(value,)) for value in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- Predictor ----


@pytest.fixture
def weights():
    rng = np.random.default_rng(5)
    return {
        "fc_weight": mx.nd.array(rng.normal(size=(4, 3))),
        "fc_bias": mx.nd.array(rng.normal(size=4)),
    }


def softmax(x, weights):
    z = x @ weights["fc_weight"].asnumpy().T + weights["fc_bias"].asnumpy()
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_predictor_serves_threads_at_once(weights):
    predictor = mx.Predictor(network(), weights, {"data": (1, 3)})
    rng = np.random.default_rng(1)
    wrong = []

    def ask(seed):
        rng = np.random.default_rng(seed)
        for _ in range(40):
            x = rng.normal(size=(rng.integers(1, 4), 3)).astype("float32")
            if not np.allclose(predictor.predict(x).asnumpy(), softmax(x, weights), atol=1e-5):
                wrong.append(x)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    x = rng.normal(size=(2, 3)).astype("float32")
    first = predictor.predict(x)
    predictor.predict(x + 1)
    assert np.allclose(first.asnumpy(), softmax(x, weights), atol=1e-5)  # a later call leaves it alone


def test_predictor_shares_its_weights(weights):
    predictor = mx.Predictor(network(), weights, (1, 3))
    executors = [predictor._bind({"data": (size, 3)}) for size in (1, 2)]
    assert executors[0].arg_dict["fc_weight"]._shares_memory(executors[1].arg_dict["fc_weight"])
    weights["fc_weight"][:] = 0  # its own copy, not the caller's
    assert not np.allclose(predictor.predict(np.eye(3)[:1]).asnumpy(), 0.25)


def test_predictor_from_files(weights, tmp_path):
    prefix = str(tmp_path / "model")
    mx.model.save_checkpoint(prefix, 3, network(), weights, {})
    x = np.ones((2, 3), "float32")
    expected = softmax(x, weights)
    for predictor in (
        mx.Predictor(prefix, epoch=3, input_shapes=[("data", (2, 3))]),
        mx.Predictor(prefix + "-symbol.json", prefix + "-0003.params", {"data": (2, 3)}),
        mx.Predictor(network(), (weights, {}), [mx.io.DataDesc("data", (2, 3))]),
    ):
        assert np.allclose(predictor(data=mx.nd.array(x)).asnumpy(), expected, atol=1e-5)
        assert predictor.output_names == ["softmax_output"]
    assert "data (2, 3)" in repr(predictor)


def test_predictor_keeps_states(weights):
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn", fix_gamma=False)
    ones = mx.nd.ones(3)
    params = {
        "arg:bn_gamma": ones,
        "arg:bn_beta": ones,
        "aux:bn_moving_mean": ones,
        "aux:bn_moving_var": ones,
    }
    got = mx.Predictor(net, params, (1, 3)).predict(mx.nd.full((1, 3), 3)).asnumpy()
    assert np.allclose(got, 3, atol=1e-2)


@pytest.mark.parametrize(
    "change, text",
    [
        ({"input_shapes": None}, "input_shapes is missing"),
        ({"input_shapes": {"image": (1, 3)}}, "'image', which is no argument"),
        ({"params": {}}, "'fc_weight' has neither weights nor a shape"),
        ({"params": {"fc_weight": mx.nd.ones((4, 9)), "fc_bias": mx.nd.ones(4)}}, r"needs \(4, 3\)"),
        ({"params": 3}, "params is of type int"),
        ({"model": 3}, "model is of type int"),
        ({"epoch": 3}, "epoch belongs to the prefix"),
        ({"input_shapes": [3.5]}, "expected a dict"),
    ],
)
def test_predictor_refuses(change, text, weights):
    given = {"model": network(), "params": weights, "input_shapes": {"data": (1, 3)}, **change}
    with pytest.raises(mx.MXNetError, match=text):
        mx.Predictor(**given)


@pytest.mark.parametrize(
    "inputs, named, text",
    [
        ((), {}, "no 'data'"),
        ((1, 2), {}, "got 2 inputs; expected 1"),
        ((), {"image": 3}, "'image', which is no input"),
        ((np.zeros((1, 3)),), {"data": 3}, "'data', twice"),
        ((np.zeros(3),), {}, r"expected 2 axes like \(1, 3\)"),
        ((np.zeros((1, 7)),), {}, "fc_weight"),
        (("three",), {}, "is of type str"),
    ],
)
def test_predict_refuses(inputs, named, text, weights):
    predictor = mx.Predictor(network(), weights, {"data": (1, 3)})
    with pytest.raises(mx.MXNetError, match=text):
        predictor.predict(*inputs, **named)


def test_predictor_keeps_few_shapes(weights):
    predictor = mx.Predictor(network(), weights, {"data": (1, 3)})
    for size in range(1, 20):
        assert predictor.predict(np.ones((size, 3))).shape == (size, 4)
    assert len(predictor._idle) == 8


def test_nothing_is_left_of_a_thread_per_request(weights):
    predictor = mx.Predictor(network(), weights, {"data": (1, 3)})
    for _ in range(5):
        in_thread(lambda: predictor.predict(np.ones((1, 3))))
    assert sum(map(len, predictor._idle.values())) == 1
