# SPDX-License-Identifier: Apache-2.0
"""Hybrid blocks that define ``forward`` alone: what is traced and compiled is what runs without."""

import loomix as mx
import numpy as onp
import pytest
from loomix import autograd, gluon, np, npx
from loomix.base import MXNetError
from loomix.gluon import nn, rnn

pytestmark = pytest.mark.filterwarnings("ignore:.*has values and keeps them")


@pytest.fixture(autouse=True)
def numpy_mode():
    npx.set_np()
    yield
    npx.reset_np()


def block(forward, *children, params=None):
    """A block with a function (self, *args) as its forward."""

    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            for i, child in enumerate(children):
                setattr(self, f"child{i}", child)
            for key, shape in (params or {}).items():
                setattr(self, key, self.params.get(key, shape=shape, init="ones"))

    net = type("Net", (Net,), {"forward": forward})()
    net.initialize(mx.init.Xavier())
    return net


def arrays_of(out):
    return [out] if isinstance(out, np.ndarray) else [a for item in out for a in arrays_of(item)]


def same(one, two):
    for a, b in zip(arrays_of(one), arrays_of(two)):
        assert type(a) is type(b) and a.shape == b.shape and a.dtype == b.dtype
        onp.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)


def check(net, *args):
    """Outputs and gradients without compiling, of the traced call, and of a compiled one."""

    def run():
        for x in args:
            if isinstance(x, np.ndarray) and x.dtype == onp.float32:
                x.attach_grad()
        with autograd.record():
            out = net(*args)
            total = sum((a * a).sum() for a in arrays_of(out))
        total.backward()
        grads = [x.grad.copy() for x in args if isinstance(x, np.ndarray) and x.dtype == onp.float32]
        return [out, grads, [p.grad() * 1 for p in net.collect_params().values() if p.grad_req != "null"]]

    plain = run()
    net.hybridize()
    same(plain, run())
    same(plain, run())
    return plain[0]


def test_operators_methods_and_parts():
    def forward(self, x, y):
        h = npx.relu(np.dot(x, self.weight.data()) - 1)
        h = h.reshape(-1, 2, 2).transpose(0, 2, 1) / (1 + np.exp(-y)) + np.arange(2)
        return h[:, 0], h[h.shape[0] - 1, :, -1:].mean(), [np.concatenate([x, x[:, ::2]], axis=1)]

    net = block(forward, params={"weight": (3, 4)})
    out = check(net, np.random.uniform(size=(5, 3)), np.random.uniform(size=(5, 2, 2)))
    assert isinstance(out, tuple) and isinstance(out[2], list) and out[1].shape == ()
    assert "weight" in net._graph[1].list_arguments()[1]


def test_in_place_writes_to_own_arrays():
    def forward(self, x):
        h = np.zeros(x.shape)
        h[:] = 3
        h[1:, 0] = 2
        with autograd.pause():
            h += 1
        flat = (x * 1).reshape(-1)
        return h * x, flat[2:4] * flat[1]

    check(block(forward), np.random.uniform(size=(3, 2)))


def test_views_follow_writes():
    def forward(self, x):
        h = x + 1
        flat = h.reshape(-1)
        h += 1  # flat is the same memory
        h[0] = 7
        return flat * 2, h[1] + h[0]

    net = block(forward)
    x = np.arange(6).reshape(3, 2)
    plain = net(x)
    net.hybridize()
    same(plain, net(x))
    same(plain, net(x))


def test_layers_and_blocks_of_other_kinds():
    inner = nn.HybridSequential()
    inner.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.Flatten(), nn.Dense(6))
    head = block(lambda self, x: self.child0(x) * 2 + self.bias.data(), nn.Dense(3), params={"bias": (3,)})
    outer = nn.HybridSequential()
    outer.add(inner, head)
    outer.initialize(mx.init.Xavier())
    check(outer, np.random.uniform(size=(2, 1, 6, 6)))
    assert outer._traced is not None
    lstm = block(lambda self, x: self.child0(x)[:, -1], rnn.LSTM(4, layout="NTC"))
    check(lstm, np.random.uniform(size=(2, 5, 3)))


def test_moving_averages_change_once_a_call():
    net = block(lambda self, x: self.child0(x), nn.BatchNorm(in_channels=2))
    x = np.array([[1.0, 2.0], [3.0, 6.0]])
    net.hybridize()
    for expected in (0.1 * 2, 0.19 * 2, 0.271 * 2):
        with autograd.record():
            out = net(x)
        out.backward()
        assert float(net.child0.running_mean.data()[0]) == pytest.approx(expected)


def test_random_numbers_are_drawn_anew():
    net = block(lambda self, x: npx.dropout(x, p=0.5) + np.random.normal(size=(100,)))
    net.hybridize()
    x = np.ones((100,))
    with autograd.record():
        outs = [net(x).asnumpy() for _ in range(3)]
    assert not (outs[0] == outs[1]).any() and not (outs[1] == outs[2]).any()
    results = [net(x) for _ in range(2)]
    assert abs(results[1].mean() - 1) < 0.5


@pytest.mark.parametrize("traced_child", [False, True])
def test_export_and_import(tmp_path, traced_child):
    table = np.array([1.0, 2.0, 3.0])  # from outside: a parameter of the file
    child = block(lambda self, x: npx.relu(x) + 1) if traced_child else nn.Activation("tanh")
    net = block(lambda self, x: self.child1(self.child0(x)) * table, nn.Dense(3), child)
    net.hybridize()
    x = np.random.uniform(size=(2, 4))
    net(x)
    expected = net(x)
    files = net.export(str(tmp_path / "net"))
    same(expected, gluon.SymbolBlock.imports(files[0], ["data"], files[1])(x))
    x = np.random.uniform(size=(5, 4))
    same(net(x), gluon.SymbolBlock.imports(files[0], ["data"], files[1])(x))


def test_an_imported_block_inside():
    x = mx.sym.var("x")
    inside = gluon.SymbolBlock(mx.sym.FullyConnected(mx.sym.relu(x), num_hidden=2, name="fc"), x)
    inside.initialize()
    inside(np.ones((3, 4)))
    net = block(lambda self, x: self.child0(x - 1) * 3, inside)
    check(net, np.random.uniform(0, 2, size=(3, 4)))


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, x: x * 2 if x.sum() > 0 else x,
        lambda self, x: x * float(x[0, 0]),
        lambda self, x: x * x.max().item(),
        lambda self, x: np.array(x.asnumpy() * 2),
        lambda self, x: x * x.mean().tolist(),
        lambda self, x: x if bool((self.weight.data() > 0).all()) else x * 2,
        lambda self, x: x[x > 0].reshape(1, -1),
        lambda self, x: np.array(onp.from_dlpack(x)) * 2,
    ],
)
def test_values_may_not_decide(forward):
    net = block(forward, params={"weight": (2,)})
    x = np.ones((2, 2))
    net(x)
    net.hybridize()
    with pytest.raises(MXNetError, match=r"hybridiz.*depend"):
        net(x)
    net.hybridize(False)
    net(x)


class Twice(autograd.Function):
    def forward(self, x):
        return x * 2

    def backward(self, dy):
        return dy * 2


def write_input(self, x):
    x += 1
    return x


def write_outside(self, x):
    self.seen[:] = x
    return x * 2


def write_view(self, x):
    h = x * 2
    part = h[0]
    part += 1
    return h


def predict_inside(self, x):
    with autograd.train_mode():
        return npx.dropout(x)


@pytest.mark.parametrize(
    ("forward", "text"),
    [
        (write_input, "in place"),
        (write_outside, "in place"),
        (write_view, "view of a part"),
        (predict_inside, "training and prediction"),
        (lambda self, x: Twice()(x), "CustomOp"),
        (lambda self, x: None, "returned nothing|None"),
    ],
)
def test_what_cannot_be_traced(forward, text):
    net = block(forward)
    net.seen = np.zeros((2, 2))
    net.hybridize()
    with pytest.raises((MXNetError, TypeError, ValueError), match=text):
        net(np.ones((2, 2)))
    assert mx._core.active_trace() is None


def test_gradients_stop():
    def forward(self, x):
        with autograd.pause():
            a = x * x
        return a * x + x.detach() * x

    check(block(forward), np.array([2.0, 3.0]))


def test_each_kind_of_input_has_its_graph():
    calls = []

    def forward(self, x, factor, flag=None):
        calls.append(x.shape)
        if flag is not None:
            x = x + flag["bias"]
        return x.reshape(x.shape[0] * x.shape[1]) * factor

    net = block(forward)
    net.hybridize()
    x, y = np.ones((2, 3)), np.ones((4, 1))
    for _ in range(2):
        assert net(x, 2).shape == (6,) and net(y, 2).shape == (4,) and float(net(y, 3)[0]) == 3
        assert float(net(x, 1, {"bias": np.array([1.0])})[0]) == 2
    assert len(calls) == 4
    net.hybridize()
    net(x, 2)
    assert len(calls) == 5


def test_one_array_given_twice():
    net = block(lambda self, x, y: x * 2 + y)
    net.hybridize()
    x = np.ones((2,))
    net(x, x)
    assert net(x, np.zeros((2,))).tolist() == [2, 2]


def test_arrays_from_outside_are_read_in_each_call():
    table = np.ones((2,))
    table.attach_grad()
    net = block(lambda self, x: x * table)
    net.hybridize()
    x = np.ones((2,))
    net(x)
    table[:] = 5
    with autograd.record():
        out = net(x)
    out.backward()
    assert out.tolist() == [5, 5] and table.grad.tolist() == [1, 1]


def test_sizes_that_the_block_finds_out():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(2, 0), init="ones", allow_deferred_init=True)

        def infer_shape(self, x):
            self.weight.shape = (2, x.shape[1])

        def forward(self, x):
            return np.dot(x, self.weight.data().T)

    net = Net()
    net.initialize()
    net.hybridize()
    for _ in range(2):
        assert net(np.ones((1, 3))).tolist() == [[3, 3]]


def test_training():
    net = block(lambda self, x: self.child1(npx.relu(self.child0(x))), nn.Dense(16), nn.Dense(1))
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    rng = onp.random.RandomState(0)
    x = np.array(rng.uniform(-1, 1, (64, 2)).astype("float32"))
    y = np.abs(x[:, :1]) + x[:, 1:]
    losses = []
    for _ in range(60):
        with autograd.record():
            loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss))
    assert losses[-1] < 0.1 * losses[0]


def test_without_numpy_mode():
    npx.reset_np()
    net = block(lambda self, x: mx.nd.sum(mx.nd.relu(self.child0(x))) + 1, nn.Dense(3))
    x = mx.nd.ones((2, 2))
    plain = net(x)
    net.hybridize()
    for _ in range(2):
        out = net(x)
        assert type(out) is mx.nd.NDArray and out.shape == (1,)
        assert out.asscalar() == pytest.approx(plain.asscalar())
    mixed = block(lambda self, x: (mx.nd.sum(x), np.sum(x)))
    mixed.hybridize()
    with pytest.raises(MXNetError, match="mixes functions of mx.nd and mx.np"):
        mixed(x)
