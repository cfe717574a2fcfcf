# SPDX-License-Identifier: Apache-2.0
"""Optimizers against their formulas in NumPy (float64), and the updater that keeps their states."""

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.library

STEPS = 5
SHAPE = (4, 3)


def problem(seed=0):
    """A weight, and a gradient for each step."""
    random = np.random.RandomState(seed)
    return random.randn(*SHAPE), random.randn(STEPS, *SHAPE)


def train(name, dtype="float32", index="x_weight", **settings):
    weight, grads = problem()
    optimizer = mx.optimizer.create(name, **settings)
    array = mx.nd.array(weight, dtype=dtype)
    state = optimizer.create_state_multi_precision(index, array)
    for grad in grads:
        optimizer.update_multi_precision(index, array, mx.nd.array(grad, dtype=dtype), state)
    return array.asnumpy()


def scaled(grad, rescale, clip):
    grad = grad * rescale
    return grad if clip is None else np.clip(grad, -clip, clip)


def sgd(w, g, s, t, lr, wd, momentum=0.0):
    s["v"] = momentum * s.get("v", 0) - lr * (g + wd * w)
    return w + s["v"]


def nag(w, g, s, t, lr, wd, momentum=0.0):
    if momentum == 0:
        return w - lr * (g + wd * w)
    kept = momentum * s.get("v", 0)
    step = kept - lr * (g + wd * w)
    w = w - kept + (momentum + 1) * step
    s["v"] = kept - lr * (g + wd * w)  # of the new weight, as in MXNet
    return w


def signum(w, g, s, t, lr, wd, momentum=0.9, wd_lh=0.0):
    if momentum == 0:
        return w - lr * np.sign(g) - lr * wd * w
    s["v"] = momentum * s.get("v", 0) - (1 - momentum) * (g + wd * w)
    return (1 - lr * wd_lh) * w + lr * np.sign(s["v"])


def adam(w, g, s, t, lr, wd, beta1=0.9, beta2=0.999, epsilon=1e-8):
    g = g + wd * w
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    rate = lr * np.sqrt(1 - beta2**t) / (1 - beta1**t)
    return w - rate * s["m"] / (np.sqrt(s["v"]) + epsilon)


def adagrad(w, g, s, t, lr, wd, eps=1e-7):
    s["h"] = s.get("h", 0) + g * g
    return w - lr * (g / np.sqrt(s["h"] + eps) + wd * w)


def rmsprop(w, g, s, t, lr, wd, gamma1=0.9, gamma2=0.9, epsilon=1e-8, centered=False):
    g = g + wd * w
    s["n"] = gamma1 * s.get("n", 0) + (1 - gamma1) * g * g
    if not centered:
        return w - lr * g / np.sqrt(s["n"] + epsilon)
    s["g"] = gamma1 * s.get("g", 0) + (1 - gamma1) * g
    s["d"] = gamma2 * s.get("d", 0) - lr * g / np.sqrt(s["n"] - s["g"] ** 2 + epsilon)
    return w + s["d"]


def adadelta(w, g, s, t, lr, wd, rho=0.9, epsilon=1e-5):
    s["g"] = rho * s.get("g", 0) + (1 - rho) * g * g
    step = np.sqrt(s.get("d", 0) + epsilon) / np.sqrt(s["g"] + epsilon) * g
    s["d"] = rho * s.get("d", 0) + (1 - rho) * step * step
    return w - step - wd * w


def ftrl(w, g, s, t, lr, wd, lamda1=0.01, beta=1):
    n = s.get("n", 0)
    sigma = (np.sqrt(n + g * g) - np.sqrt(n)) / lr
    s["z"] = s.get("z", 0) + g - sigma * w
    s["n"] = n + g * g
    z = s["z"]
    return (np.sign(z) * lamda1 - z) / ((beta + np.sqrt(s["n"])) / lr + wd) * (np.abs(z) > lamda1)


def adamax(w, g, s, t, lr, wd, beta1=0.9, beta2=0.999):
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["u"] = np.maximum(beta2 * s.get("u", 0), np.abs(g))
    return w - lr / (1 - beta1**t) * s["m"] / s["u"]


def nadam(w, g, s, t, lr, wd, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.004):
    now = beta1 * (1 - 0.5 * 0.96 ** (t * decay))
    upcoming = beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * decay))
    s["p"] = s.get("p", 1.0) * now
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    ahead = (1 - now) * g / (1 - s["p"]) + upcoming * s["m"] / (1 - s["p"] * upcoming)
    return w - lr * ahead / (np.sqrt(s["v"] / (1 - beta2**t)) + epsilon)


def ftml(w, g, s, t, lr, wd, beta1=0.6, beta2=0.999, epsilon=1e-8):
    g = g + wd * w
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    d = (1 - beta1**t) / lr * (np.sqrt(s["v"] / (1 - beta2**t)) + epsilon)
    sigma = d - beta1 * s.get("d", 0)
    s["z"] = beta1 * s.get("z", 0) + (1 - beta1) * g - sigma * w
    s["d"] = d
    return -s["z"] / d


def dcasgd(w, g, s, t, lr, wd, momentum=0.0, lamda=0.04):
    old = s.get("w", w)
    s["v"] = momentum * s.get("v", 0) - lr * (g + wd * w + lamda * g * g * (w - old))
    s["w"] = w
    return w + s["v"]


def lamb(w, g, s, t, lr, wd, beta1=0.9, beta2=0.999, epsilon=1e-6, bias_correction=True, bounds=(0, np.inf)):
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    m, v = s["m"], s["v"]
    if bias_correction:
        m, v = m / (1 - beta1**t), v / (1 - beta2**t)
    step = m / (np.sqrt(v) + epsilon) + wd * w
    r1 = np.clip(np.linalg.norm(w), *bounds)
    return w - lr * r1 / np.linalg.norm(step) * step


def lars(w, g, s, t, lr, wd, momentum=0.0, eta=0.001):
    lr = lr * eta * np.linalg.norm(w) / (np.linalg.norm(g) + wd * np.linalg.norm(w))
    return sgd(w, g, s, t, lr, wd, momentum)


DECAY_FIRST = {adamax, nadam}  # these clip the gradient after the decay was added
CASES = [
    ("sgd", sgd, {}),
    ("sgd", sgd, {"momentum": 0.9}),
    ("ccsgd", sgd, {"momentum": 0.9}),
    ("nag", nag, {}),
    ("nag", nag, {"momentum": 0.9}),
    ("signum", signum, {}),
    ("signum", signum, {"momentum": 0.0}),
    ("signum", signum, {"wd_lh": 0.1}),
    ("adam", adam, {}),
    ("adam", adam, {"beta1": 0.5, "beta2": 0.9}),
    ("adagrad", adagrad, {}),
    ("rmsprop", rmsprop, {}),
    ("rmsprop", rmsprop, {"centered": True}),
    ("adadelta", adadelta, {}),
    ("ftrl", ftrl, {}),
    ("adamax", adamax, {}),
    ("nadam", nadam, {}),
    ("ftml", ftml, {}),
    ("dcasgd", dcasgd, {}),
    ("dcasgd", dcasgd, {"momentum": 0.9}),
    ("lamb", lamb, {}),
    ("lamb", lamb, {"bias_correction": False}),
]


@pytest.mark.parametrize("common", [{}, {"wd": 0.1, "rescale_grad": 0.5}, {"clip_gradient": 0.7}])
@pytest.mark.parametrize(("name", "rule", "settings"), CASES)
def test_rule(name, rule, settings, common):
    learning_rate = 0.05
    weight, grads = problem()
    state = {}
    for t, grad in enumerate(grads, start=1):
        rescale, clip, wd = (
            common.get("rescale_grad", 1.0),
            common.get("clip_gradient"),
            common.get("wd", 0.0),
        )
        if rule in DECAY_FIRST:
            grad = scaled(grad * rescale + wd * weight, 1.0, clip)
        else:
            grad = scaled(grad, rescale, clip)
        weight = rule(weight, grad, state, t, learning_rate, wd, **settings)
    got = train(name, learning_rate=learning_rate, **settings, **common)
    np.testing.assert_allclose(got, weight, rtol=2e-4, atol=2e-5)


def test_adamax_leaves_weights_that_never_had_a_gradient():
    optimizer = mx.optimizer.Adamax(learning_rate=0.1)
    weight, grad = mx.nd.array([1, 2, 3]), mx.nd.array([0, 0.5, np.nan])
    optimizer.update(0, weight, grad, optimizer.create_state(0, weight))
    assert weight[0].asscalar() == 1 and weight[1].asscalar() < 2 and np.isnan(weight[2].asscalar())


@pytest.mark.parametrize("mixed", [False, True])
def test_nag_keeps_what_mxnet_keeps(mixed):
    weight, grad, momentum = [1, 2, -3], [0.5, -0.7, 0.2], [0.4, -0.5, 0.1]
    arrays = [mx.nd.array(values, dtype="float16" if mixed else "float32") for values in (weight, grad)]
    arrays.append(mx.nd.array(momentum))
    if mixed:
        arrays.append(arrays[0].astype("float32"))
    update = mx.nd.mp_nag_mom_update if mixed else mx.nd.nag_mom_update
    update(*arrays, lr=0.05, momentum=0.9, wd=0.1, rescale_grad=0.8, out=arrays[0])
    np.testing.assert_allclose(arrays[0].asnumpy(), [1.2765, 1.6292, -2.9057], rtol=1e-3)
    np.testing.assert_allclose(arrays[2].asnumpy(), [0.3336175, -0.4301460, 0.0965285], rtol=1e-4)


def test_nag_that_writes_elsewhere_decays_by_the_old_weight():
    weight, grad, momentum = mx.nd.array([1, 2]), mx.nd.array([0.5, -0.7]), mx.nd.array([0.4, -0.5])
    mx.nd.nag_mom_update(weight, grad, momentum, lr=0.05, momentum=0.9, wd=0.1, rescale_grad=0.8)
    np.testing.assert_allclose(momentum.asnumpy(), [0.335, -0.432], rtol=1e-5)


def group_adagrad(w, g, s, t, lr, wd, eps=1e-5):
    s["h"] = s.get("h", 0) + (g * g).mean(axis=1, keepdims=True)
    return w - lr * g / np.sqrt(s["h"] + eps)


def test_group_adagrad_adds_eps_below_the_root():
    weight, grads = problem()
    state = {}
    for t, grad in enumerate(grads, start=1):
        weight = group_adagrad(weight, grad, state, t, 0.05, 0.0, eps=0.5)
    got = train("groupadagrad", learning_rate=0.05, eps=0.5)
    np.testing.assert_allclose(got, weight, rtol=2e-4, atol=2e-5)


@pytest.mark.filterwarnings("ignore:.*multi_precision")
def test_lamb_in_float16():
    optimizer = mx.optimizer.LAMB(learning_rate=0.1)
    weight = mx.nd.array([1.0, 2.0], dtype="float16")
    state = optimizer.create_state_multi_precision(0, weight)
    assert [part.dtype for part in state] == [np.float16] * 2
    optimizer.update_multi_precision(0, weight, mx.nd.array([1.0, -1.0], dtype="float16"), state)
    step = 0.1 * np.sqrt(5 / 2)
    np.testing.assert_allclose(weight.asnumpy(), [1 - step, 2 + step], rtol=2e-3)


@pytest.mark.parametrize("rates", [[1.0, 0.5, 0.25], [0.0, 0.5, 0.25]])
def test_lars_corrects_each_momentum(rates):
    """When the rate changes, and whatever weights have one call; a rate that was 0 corrects nothing."""
    results = []
    for together in (True, False):
        made = mx.optimizer.LARS(momentum=0.9, lr_scheduler=lambda step: rates[step - 1])
        update = mx.optimizer.get_updater(made)
        weights = [mx.nd.ones((2,)) for _ in range(9)]
        for _ in rates:
            if together:
                update(list(range(9)), [w * 0.5 for w in weights], weights)
            else:
                for i, w in enumerate(weights):
                    update(i, w * 0.5, w)
        results += [w.asnumpy() for w in weights]
    for result in results:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rates_of_lars_from_the_weights(dtype):
    weights = [mx.nd.array(x, dtype=dtype) for x in ([3, 4], [[1.0], [2.0]], [0.0], [2.0])]
    grads = [mx.nd.array(x, dtype=dtype) for x in ([0.5, 0], [[1.0], [0.0]], [1.0], [0.0])]
    lrs, wds, common = (
        (0.1, 0.2, 0.3, 0.4),
        (0.01, 0.0, 0.1, 0.2),
        {"eta": 0.5, "eps": 1e-3, "rescale_grad": 0.5},
    )
    rates, decays = mx.nd.empty(4), mx.nd.empty(4)
    arrays = [a for pair in zip(weights, grads) for a in pair]
    update = mx.nd._internal._multi_lars_rates
    update(rates, decays, *arrays, lrs=lrs, wds=wds, num_weights=4, out=[rates, decays], **common)
    squares = [mx.nd.multi_sum_sq(*a, num_arrays=4) for a in (weights, grads)]
    want = mx.nd.multi_lars(mx.nd.array(lrs), *squares, mx.nd.array(wds), **common)
    np.testing.assert_allclose(rates.asnumpy(), want.asnumpy(), rtol=1e-6)
    np.testing.assert_array_equal(decays.asnumpy(), np.float32(wds))
    with pytest.raises(ValueError, match=r"_multi_lars_rates.*lrs has 1 values; expected 4"):
        update(rates, decays, *arrays, lrs=(0.1,), wds=wds, num_weights=4, out=[rates, decays], **common)


def test_lars():
    weight, grads = problem()
    state = {}
    for t, grad in enumerate(grads, start=1):
        weight = lars(weight, grad, state, t, 10.0, 0.01, momentum=0.9)
    got = train("lars", learning_rate=10.0, wd=0.01, momentum=0.9)
    np.testing.assert_allclose(got, weight, rtol=2e-4, atol=2e-5)
    plain = train("lars", index="x_bias", learning_rate=0.1)
    np.testing.assert_allclose(plain, train("sgd", learning_rate=0.1), rtol=1e-5)


def test_lbsgd_sums_batches():
    weight, grads = problem()
    optimizer = mx.optimizer.LBSGD(learning_rate=0.1, batch_scale=2, warmup_epochs=1, updates_per_epoch=1)
    array = mx.nd.array(weight)
    for grad in grads[:4]:
        optimizer.update(0, array, mx.nd.array(grad), None)
    expected = weight - 0.1 * 2 * (grads[:2].mean(axis=0) + grads[2:4].mean(axis=0))
    np.testing.assert_allclose(array.asnumpy(), expected, rtol=1e-5)


def test_sgld_noise():
    mx.random.seed(2)
    optimizer = mx.optimizer.SGLD(learning_rate=0.04)
    array = mx.nd.zeros((100, 100))
    optimizer.update(0, array, mx.nd.ones((100, 100)), None)
    assert array.asnumpy().mean() == pytest.approx(-0.02, abs=0.01)
    assert array.asnumpy().std() == pytest.approx(0.2, rel=0.03)


@pytest.mark.parametrize("name", ["sgd", "nag", "adam", "lamb", "adagrad"])
def test_multi_precision_keeps_a_float32_weight(name):
    settings = {"learning_rate": 0.05, "momentum": 0.9} if name in ("sgd", "nag") else {"learning_rate": 0.05}
    got = train(name, dtype="float16", multi_precision=True, **settings)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got, train(name, **settings), rtol=5e-3, atol=5e-3)


def test_multi_precision_states():
    half = mx.nd.zeros((2,), dtype="float16")
    momentum, master = mx.optimizer.SGD(momentum=0.9, multi_precision=True).create_state_multi_precision(
        0, half
    )
    assert momentum.dtype == master.dtype == np.float32
    master, inner = mx.optimizer.Adam(multi_precision=True).create_state_multi_precision(0, half)
    assert master.dtype == np.float32 and len(inner) == 2


@pytest.mark.parametrize("settings", [{}, {"momentum": 0.9}])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_updating_several_at_once_is_the_same(settings, dtype):
    random = np.random.RandomState(1)
    values, grads = random.randn(6, 5), random.randn(3, 6, 5)
    names = {i: f"p{i}_{'weight' if i % 2 else 'bias'}" for i in range(6)}

    def run(together):
        optimizer = mx.optimizer.SGD(
            learning_rate=0.1, wd=0.1, param_idx2name=names, multi_precision=dtype == "float16", **settings
        )
        updater = mx.optimizer.get_updater(optimizer)
        weights = [mx.nd.array(value, dtype=dtype) for value in values]
        for step in grads:
            arrays = [mx.nd.array(grad, dtype=dtype) for grad in step]
            if together:
                updater(list(range(6)), arrays, weights)
            else:
                for i in range(6):
                    updater(i, arrays[i], weights[i])
        return np.stack([weight.asnumpy() for weight in weights])

    np.testing.assert_allclose(run(True), run(False), rtol=1e-6 if dtype == "float32" else 2e-3)


def test_multipliers():
    data = mx.sym.Variable("data")
    weight = mx.sym.Variable("fc_weight", lr_mult=0.5, wd_mult=3)
    net = mx.sym.FullyConnected(data, weight=weight, num_hidden=2, name="fc")
    names = {0: "fc_weight", 1: "fc_bias", 2: "bn_gamma"}
    optimizer = mx.optimizer.SGD(learning_rate=2.0, wd=0.1, sym=net, param_idx2name=names)
    assert [optimizer._get_lr(i) for i in range(3)] == [1.0, 2.0, 2.0]
    assert [optimizer._get_wd(i) for i in range(3)] == pytest.approx([0.3, 0.0, 0.1])
    optimizer.set_lr_mult({"fc_bias": 3.0})
    optimizer.set_wd_mult({1: 1.0})
    assert optimizer._get_lr(1) == 6.0 and optimizer._get_wd(1) == pytest.approx(0.1)
    assert optimizer._get_lr("fc_bias") == 6.0  # a store's key is the name


def test_schedule_and_counts():
    schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    optimizer = mx.optimizer.SGD(lr_scheduler=schedule, begin_num_update=10)
    updater = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.zeros((1,))
    updater(0, mx.nd.ones((1,)), weight)
    assert optimizer.num_update == 11
    assert weight.asscalar() == pytest.approx(-(0.5**5))
    with pytest.raises(UserWarning):
        optimizer.set_learning_rate(0.1)
    plain = mx.optimizer.SGD(learning_rate=0.3)
    plain.set_learning_rate(0.4)
    assert plain.learning_rate == 0.4
    with pytest.warns(UserWarning, match="base_lr"):
        mx.optimizer.SGD(learning_rate=0.2, lr_scheduler=schedule)
    assert schedule.base_lr == 0.2


def test_devices_count_on_their_own():
    optimizer = mx.optimizer.Adam(learning_rate=0.1)
    updater = mx.optimizer.get_updater(optimizer)
    for device in (0, 1):
        weight = mx.nd.ones((2,), ctx=mx.cpu(device))
        updater(device, mx.nd.ones((2,), ctx=mx.cpu(device)), weight)
        assert weight.asnumpy() == pytest.approx([0.9, 0.9], rel=1e-4)
    assert optimizer._all_index_update_counts == {0: {0: 1}, 1: {1: 1}}


def test_registration(monkeypatch):
    registry = dict(mx.optimizer.Optimizer.opt_registry)  # other tests read the names in messages
    monkeypatch.setattr(mx.optimizer.Optimizer, "opt_registry", registry)

    @mx.optimizer.register
    class Halving(mx.optimizer.Optimizer):
        def update(self, index, weight, grad, state):
            weight[:] *= 0.5

    weight = mx.nd.ones((2,))
    mx.optimizer.create("halving").update(0, weight, weight, None)
    assert weight.asnumpy().tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="no_such"):
        mx.optimizer.create("no_such")
    with pytest.raises(TypeError):
        mx.optimizer.SGD(param_idx2name=["a"])


# What MXNet 1.9.1 makes of a weight by row_sparse gradients. The third row has none: with lazy updates it stays.
BY_ROWS = [
    ("sgd", {}, [-0.0725, 3.755, 0.7575, 2.9975, 2, 2, -2.95, 4.95]),
    (
        "sgd",
        {"lazy_update": False},
        [-0.09388, 3.61725, 0.62212, 3.04262, 1.71475, 1.71475, -2.75738, 4.65738],
    ),
    ("sgd", {"momentum": 0.9, "clip_gradient": 1.5}, [-0.5675, 3.8525, 0.435, 1.28, 2, 2, -1.7, 1.7]),
    (
        "sgd",
        {"momentum": 0.9, "clip_gradient": 1.5, "lazy_update": False},
        [-1.02988, 4.10462, 0.05662, 1.40612, 1.46275, 1.46275, -2.11888, 2.11888],
    ),
    ("adam", {}, [0.0714, 2.92888, 2.19889, -0.1988, 2, 2, -1.37207, 1.37207]),
    (
        "adam",
        {"lazy_update": False},
        [-0.26793, 3.15784, 1.63533, 0.31382, 0.53697, 0.53697, -1.13739, 1.14866],
    ),
    ("ftrl", {}, [0.03856, 1.89554, 1.37987, -0.09685, 2, 2, -1.18713, 1.32541]),
    ("adagrad", {"wd": 0}, [0.14645, 2.85355, 2.14645, -0.14645, 2, 2, -1.5, 1.5]),
    ("nag", {"momentum": 0.9}, [-1.78916, 6.10417, -2.53511, 8.22754, 1.26293, 1.26293, -5.69046, 10.74946]),
    ("rmsprop", {}, [-1.5875, 4.38104, -1.24847, 3.28624, 0.01116, 0.01116, -0.95855, 0.97922]),
]


@pytest.mark.parametrize(("name", "settings", "expected"), BY_ROWS)
@pytest.mark.parametrize("stype", ["row_sparse", "default"])
def test_row_sparse_gradients(name, settings, expected, stype):
    if name == "ftrl" and stype == "default":  # dense weights have no lazy form of it
        expected = [0.03856, 1.89554, -0.58407, 0.69325, 0, 0, -0.39505, 0.44144]
    if name == "nag" and stype == "default":  # in place, the momentum decays by the new weight
        expected = [-1.69661, 5.96672, -2.42243, 8.06173, 1.28675, 1.28675, -5.54847, 10.45357]
    updater = mx.optimizer.get_updater(
        mx.optimizer.create(name, **{"learning_rate": 0.5, "wd": 0.1, **settings})
    )
    weight = mx.nd.array([[1, 2], [3, -1], [2, 2], [-1, 1]]).tostype(stype)
    for rows in ([0], [1, 3], [0, 1]):
        parts = np.array([[1.0, -2.0]]) * (1 + np.array(rows)[:, None])
        updater(0, mx.nd.sparse.row_sparse_array((parts, rows), shape=(4, 2), dtype="float32"), weight)
    assert weight.stype == stype
    assert weight.tostype("default").asnumpy().ravel() == pytest.approx(np.array(expected), abs=2e-5)


def test_row_updates_add_rows_and_make_new_arrays():
    """Rows that a weight does not store are zero; without ``out`` the weight stays."""
    weight = mx.nd.sparse.row_sparse_array(([[1.0]], [1]), shape=(4, 1), dtype="float32")
    momentum = mx.nd.sparse.zeros("row_sparse", (4, 1))
    for rows in ([0, 3], [], [1, 3]):
        grad = mx.nd.sparse.row_sparse_array((np.ones((len(rows), 1)), rows), shape=(4, 1), dtype="float32")
        mx.nd.sgd_mom_update(weight, grad, momentum, lr=1, momentum=0.5, out=weight)
    assert weight.indices.asnumpy().tolist() == [0, 1, 3]
    assert weight.data.asnumpy().ravel().tolist() == [-1, 0, -2.5]
    assert momentum.tostype("default").asnumpy().ravel().tolist() == [-1, -1, 0, -1.5]
    new = mx.nd.sgd_update(weight, grad, lr=1)
    assert new.stype == "row_sparse"
    assert new.tostype("default").asnumpy().ravel().tolist() == [-1, -1, 0, -3.5]
    assert weight.data.asnumpy().ravel().tolist() == [-1, 0, -2.5]
