# SPDX-License-Identifier: Apache-2.0
"""Recording and gradients. Expected values are worked out by hand."""

import threading

import loomix as mx
import numpy as np
import pytest

nd, autograd = mx.nd, mx.autograd


def variable(values):
    array = nd.array(values)
    array.attach_grad()
    return array


def test_scopes_nest_and_restore():
    assert not autograd.is_recording() and not autograd.is_training()
    with autograd.record():
        assert autograd.is_recording() and autograd.is_training()
        with autograd.pause():
            assert not autograd.is_recording() and not autograd.is_training()
        with autograd.predict_mode():
            assert autograd.is_recording() and not autograd.is_training()
        with pytest.raises(KeyError), autograd.record(train_mode=False):
            assert not autograd.is_training()
            raise KeyError
        assert autograd.is_recording() and autograd.is_training()
    assert not autograd.is_recording()
    assert autograd.set_recording(True) is False
    assert autograd.set_recording(False) is True


def test_flags_belong_to_threads():
    seen = []
    with autograd.record():
        thread = threading.Thread(target=lambda: seen.append(autograd.is_recording()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_chain():
    x = variable([1, 2, 3])
    with autograd.record():
        y = (x * x + 3 * x).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [5, 7, 9]


def test_head_gradient_and_requests():
    x, y, z = variable([1, 2]), nd.array([3, 4]), nd.array([5, 6])
    y.attach_grad(grad_req="add")
    z.attach_grad(grad_req="null")
    for _ in range(2):
        with autograd.record():
            out = x * y * z
        out.backward(nd.array([1, 10]))
    assert x.grad.asnumpy().tolist() == [15, 240]
    assert y.grad.asnumpy().tolist() == [10, 240]
    with pytest.raises(ValueError):
        y.attach_grad(grad_req="sometimes")


def test_paused_parts_are_constants():
    x = variable([2.0])
    with autograd.record():
        with autograd.pause():
            c = x * 5
        y = x * c
        z = x.detach() * x
    autograd.backward([y, z])
    assert x.grad.asnumpy().tolist() == [12]


def test_grad_returns_arrays_and_leaves_buffers():
    x = variable([3.0])
    with autograd.record():
        y = x * x * x
    (dx,) = autograd.grad([y], [x])
    assert dx.asnumpy().tolist() == [27] and x.grad.asnumpy().tolist() == [0]


def test_second_order():
    x = variable([3.0])
    with autograd.record():
        y = x * x * x
        dx = autograd.grad(y, x, create_graph=True)[0]
    dx.backward()
    assert x.grad.asnumpy().tolist() == [18]


def test_retain_graph():
    x = variable([3.0])
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.asnumpy().tolist() == [6]
    with pytest.raises(mx.MXNetError):
        y.backward()


def test_backward_of_what_was_not_recorded():
    with pytest.raises(mx.MXNetError):
        nd.ones(2).backward()


def test_writing_in_place_while_recording():
    x = variable([1.0, 2.0])
    with autograd.record():
        y = x * 2
        for write in (
            lambda: x.__iadd__(1),
            lambda: y.__setitem__(slice(None), 0),
            lambda: x.__setitem__(0, 1),
        ):
            with pytest.raises(mx.MXNetError):
                write()
        free = nd.ones(2)
        free += 1
    assert free.asnumpy().tolist() == [2, 2]


def test_views_are_recorded():
    data = np.arange(6.0).reshape(2, 3)
    x = variable(data)
    with autograd.record():
        y = (x.reshape((3, 2))[1] * x[0, 1:]).sum() + x.T[0].sum() + x.flatten()[1].sum()
    y.backward()
    expected = np.zeros((2, 3))
    expected.reshape(3, 2)[1] += data[0, 1:]
    expected[0, 1:] += data.reshape(3, 2)[1]
    expected[:, 0] += 1
    expected[1] += 1
    assert x.grad.asnumpy().tolist() == expected.tolist()


class Cube(autograd.Function):
    def forward(self, x):
        self.save_for_backward(x)
        assert not autograd.is_recording()
        return x * x * x

    def backward(self, dy):
        (x,) = self.saved_tensors
        self.thread = threading.get_ident()
        return 3 * x * x * dy


def test_function_runs_on_the_calling_thread():
    x = variable([1.0, 2.0])
    cube = Cube()
    with autograd.record():
        y = (cube(x) * 2).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [6, 24]
    assert cube.thread == threading.get_ident()
    with pytest.raises(mx.MXNetError):
        cube(x)


def test_function_of_several_arrays():
    class Swap(autograd.Function):
        def forward(self, a, b):
            return b + 1, a * 2

        def backward(self, da, db):
            return db * 2, da

    a, b = variable([1.0]), variable([5.0])
    with autograd.record():
        first, second = Swap()(a, b)
        loss = first * 10 + second
    loss.backward()
    assert (a.grad.asnumpy().tolist(), b.grad.asnumpy().tolist()) == ([2], [10])


def test_errors_inside_a_function_keep_their_type():
    class Broken(autograd.Function):
        def forward(self, x):
            return x * 1

        def backward(self, dy):
            raise ZeroDivisionError("mine")

    x = variable([1.0])
    with autograd.record():
        y = Broken()(x)
    with pytest.raises(ZeroDivisionError, match="mine"):
        y.backward()


def test_get_symbol():
    x, y = variable([[1.0, 2.0]]), variable([[3.0, 4.0]])
    mask = nd.array([[1.0, 0.0]])
    with autograd.record():
        first, _ = (x * y + mask).split(2, axis=1)
        loss = nd.dot(first, nd.sum(x * mask, axis=1, keepdims=True))
    symbol = autograd.get_symbol(loss)
    assert symbol.list_arguments() == ["var0", "var1", "null0"]
    run = symbol.bind(mx.current_context(), {"var0": x, "var1": y, "null0": mask})
    assert run.forward()[0].asnumpy() == loss.asnumpy() == 4
    assert mx.sym.load_json(symbol.tojson()).list_outputs() == symbol.list_outputs()
    assert autograd.get_symbol(x).list_outputs() == ["var0"]
    with pytest.raises(mx.MXNetError, match="not recorded"):
        autograd.get_symbol(mask)
    with pytest.raises(TypeError):
        autograd.get_symbol(3)
    loss.backward()
    with pytest.raises(mx.MXNetError, match="retain_graph"):
        autograd.get_symbol(loss)


def test_arguments_of_wrong_kinds():
    x = variable([1.0])
    with autograd.record():
        y = x * 2
    with pytest.raises(TypeError):
        autograd.backward(3)
    with pytest.raises(ValueError):
        autograd.backward([y], [nd.ones(1), nd.ones(1)])
    with pytest.raises(ValueError):
        autograd.grad([y], [])
    with pytest.raises(ValueError):
        autograd.mark_variables([x], [])


def batch_norm(x, gamma, beta, mean, var, **kwargs):
    return nd.BatchNorm(x, gamma, beta, mean, var, **kwargs)


def states(channels=3):
    gamma, beta = nd.ones(channels) * 2, nd.zeros(channels)
    gamma.attach_grad()
    beta.attach_grad()
    return gamma, beta, nd.zeros(channels), nd.ones(channels)


@pytest.mark.parametrize("fix_gamma", [True, False])
def test_one_batch_norm_used_twice(fix_gamma):
    inputs = [nd.array(np.random.RandomState(i).randn(8, 3)) for i in range(2)]
    heads = [nd.array(np.random.RandomState(9 + i).randn(8, 3)) for i in range(2)]
    apart = []
    for x, head in zip(inputs, heads):  # each use alone
        x.attach_grad()
        gamma, beta, mean, var = states()
        with autograd.record():
            y = batch_norm(x, gamma, beta, mean, var, fix_gamma=fix_gamma)
        y.backward(head)
        apart.append([array.grad.asnumpy() for array in (x, gamma, beta)])
    gamma, beta, mean, var = states()
    with autograd.record():
        outputs = [batch_norm(x, gamma, beta, mean, var, fix_gamma=fix_gamma) for x in inputs]
    autograd.backward(outputs, heads)
    for x, (want, _, _) in zip(inputs, apart):
        np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-5, atol=1e-6)
    for array, i in ((gamma, 1), (beta, 2)):
        np.testing.assert_allclose(array.grad.asnumpy(), apart[0][i] + apart[1][i], rtol=1e-5, atol=1e-5)
    assert (gamma.asnumpy() == (1 if fix_gamma else 2)).all()
    want = np.zeros(3)
    for x in reversed(inputs):  # gradients are computed backwards
        want = want * 0.9 + x.asnumpy().mean(0) * 0.1
    np.testing.assert_allclose(mean.asnumpy(), want, rtol=1e-5)


@pytest.mark.parametrize("fix_gamma", [True, False])
def test_losses_of_one_network_go_back_one_by_one(fix_gamma):
    gamma, beta, mean, var = states()
    inputs = [nd.array(np.random.RandomState(i).randn(8, 3)) for i in range(2)]
    losses = []
    with autograd.record():
        for x in inputs:
            x.attach_grad()
            losses.append((batch_norm(x, gamma, beta, mean, var, fix_gamma=fix_gamma) ** 2).sum())
    for loss in losses:
        loss.backward()
    assert all(np.isfinite(x.grad.asnumpy()).all() for x in inputs)


def test_a_recorded_batch_norm_counts_once_in_the_moving_averages():
    gamma, beta, mean, var = states()
    x = nd.array(np.random.RandomState(0).randn(8, 3))
    x.attach_grad()
    with autograd.record():
        y = batch_norm(x, gamma, beta, mean, var)
    y.backward(retain_graph=True)
    once, gradient = mean.asnumpy(), x.grad.asnumpy()
    np.testing.assert_allclose(once, x.asnumpy().mean(0) * 0.1, rtol=1e-5)
    y.backward()
    assert (mean.asnumpy() == once).all() and (x.grad.asnumpy() == gradient).all()


def test_a_failing_backward_writes_no_gradient():
    x, w = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
    for array in (x, w):
        array.attach_grad()
        array.grad[:] = 7
    with autograd.record():
        y = (x * w).exp() * 2
        z = w * 5
    w[:] = 0
    with pytest.raises(mx.MXNetError, match="overwritten"):
        autograd.backward([z, y])
    assert (x.grad.asnumpy() == 7).all() and (w.grad.asnumpy() == 7).all()


def test_a_changed_gamma_is_still_noticed():
    gamma, beta, mean, var = states()
    x = nd.array(np.random.RandomState(0).randn(8, 3))
    x.attach_grad()
    with autograd.record():
        y = batch_norm(x, gamma, beta, mean, var, fix_gamma=False)
    gamma[:] = 5
    with pytest.raises(mx.MXNetError, match="'gamma'.*overwritten"):
        y.backward()


def test_a_state_that_is_needed_after_its_change():
    gamma, beta, mean, var = states()
    x, w = nd.array(np.random.RandomState(0).randn(8, 3)), nd.ones(3)
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        product = w * gamma
        y = batch_norm(x, gamma, beta, mean, var)  # its gradient, which comes first, sets gamma to 1
    with pytest.raises(mx.MXNetError, match="is overwritten by _backward_BatchNorm"):
        autograd.backward([product, y])


def test_gradients_may_take_part_in_what_they_are_the_gradients_of():
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    x.grad[:] = 3
    with autograd.record():
        y = (x * x.grad) * x
    y.backward()
    assert (x.grad.asnumpy() == [6, 12]).all()
    with autograd.record():
        y = x.sin() * x.cos()
    y.backward(x.grad)
    want = np.array([6, 12]) * np.cos(2 * np.array([1.0, 2.0]))
    np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-5)


# name: (function, lower and upper end of the arguments). Results are mixed with their arguments, or summed, where the
# function's own gradient of the sum is constant.
SMOOTH = {
    **{
        name: (lambda x, name=name: getattr(nd, name)(x), 0.2, 0.9)
        for name in (
            *(
                "sin",
                "cos",
                "tan",
                "arcsin",
                "arccos",
                "arctan",
                "sinh",
                "cosh",
                "tanh",
                "arcsinh",
                "arctanh",
            ),
            *("exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "rcbrt"),
            *("sigmoid", "relu", "abs", "reciprocal", "square", "softsign", "erf"),
        )
    },
    "arccosh": (nd.arccosh, 1.5, 3),
    "clip": (lambda x: nd.clip(x, 0.4, 0.7) * x, 0.2, 0.9),
    "power": (lambda x: x**x, 0.5, 2),
    "power of a number": (lambda x: 2**x + x**3, 0.5, 2),
    "arithmetic": (lambda x: (x * x - 1 / x) / (x + 2) + x * 3, 0.5, 2),
    "broadcast": (lambda x: (x.reshape((1, -1)) * x.reshape((-1, 1)) * x).sum(axis=0), 0.5, 2),
    "softmax": (lambda x: nd.softmax(x) * x, -1, 1),
    "log_softmax": (lambda x: nd.log_softmax(x) * x, -1, 1),
    "FullyConnected": (
        lambda x: nd.FullyConnected(x.reshape((1, -1)), x.reshape((1, -1)), num_hidden=1, no_bias=True) * x,
        0.5,
        2,
    ),
    "dot": (lambda x: nd.dot(x, x) * x, 0.5, 2),
}
NO_THIRD = ("softmax", "log_softmax")


def derivative(function, x, order):
    x = nd.array(x, dtype="float64")
    x.attach_grad()
    with autograd.record():
        value = function(x)
        for _ in range(order):
            value = autograd.grad(value, x, create_graph=True, retain_graph=True)[0]
    return value.asnumpy()


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_of_higher_order(name):
    function, low, high = SMOOTH[name]
    x = np.random.default_rng(7).uniform(low, high, 5)
    step = 1e-5
    for order in (2, 3) if name not in NO_THIRD else (2,):
        # The derivative of the sum in one direction, against differences of the derivative below.
        direction = np.random.default_rng(order).standard_normal(5)

        def along(x, order=order, direction=direction):
            return (derivative(function, x, order - 1) * direction).sum()

        numeric = [(along(x + step * unit) - along(x - step * unit)) / (2 * step) for unit in np.eye(len(x))]

        def projected(x, order=order, direction=direction):
            value = function(x)
            for _ in range(order - 1):
                value = autograd.grad(value, x, create_graph=True, retain_graph=True)[0]
            return value * nd.array(direction, dtype="float64")

        np.testing.assert_allclose(derivative(projected, x, 1), numeric, rtol=1e-5, atol=1e-6)


def test_backward_through_a_derivative_that_is_zero():
    x = variable([0.5, -0.5])
    with autograd.record():
        once = autograd.grad(nd.relu(x), x, create_graph=True)[0]
        twice = autograd.grad(once, x, create_graph=True)[0]
    assert twice.asnumpy().tolist() == [0, 0]
    x.grad[:] = 7
    twice.backward()
    assert x.grad.asnumpy().tolist() == [0, 0]


@pytest.mark.parametrize("request_kind", ["write", "add"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_parameter_that_is_used_again_and_again(request_kind, dtype):
    rng = np.random.default_rng(3)
    data = rng.integers(-3, 4, (5, 4, 3))
    weight = nd.array(rng.integers(-2, 3, (2, 3)), dtype=dtype)
    bias = nd.array(rng.integers(-2, 3, 2), dtype=dtype)
    for array in (weight, bias):
        array.attach_grad(request_kind)
    for _ in range(2):
        with autograd.record():
            parts = [nd.FullyConnected(nd.array(x, dtype=dtype), weight, bias, num_hidden=2) for x in data]
            total = nd.add_n(*parts)
        total.backward()
    times = 2 if request_kind == "add" else 1
    np.testing.assert_array_equal(weight.grad.asnumpy(), times * np.tile(data.sum((0, 1)), (2, 1)))
    assert bias.grad.asnumpy().tolist() == [times * 20] * 2


@pytest.mark.parametrize("request_kind", ["write", "add"])
def test_one_operator_makes_the_gradients_of_several_arrays(request_kind):
    arrays = [nd.array([[1.0, 2.0]]), nd.array([[3.0]]), nd.array([[4.0, 5.0]])]
    for array in arrays:
        array.attach_grad(request_kind)
    grads = [array.grad for array in arrays]
    for _ in range(2):
        with autograd.record():
            joined = nd.concat(*arrays, dim=1)
            total = joined * nd.array([[1.0, 2.0, 3.0, 4.0, 5.0]]) + nd.concat(*arrays[:2], arrays[0], dim=1)
        total.backward()
    times = 2 if request_kind == "add" else 1
    wanted = [[1 + 1 + 1, 2 + 1 + 1], [3 + 1], [4, 5]]
    assert [grad.asnumpy()[0].tolist() for grad in grads] == [[times * g for g in row] for row in wanted]


def test_a_parameter_whose_gradient_is_read_while_it_is_made():
    weight = variable([[1.0, 2.0]])
    with autograd.record():
        grad = weight.grad  # of the pass before: zeros, and an input of this one
        y = nd.dot(weight, weight, transpose_b=True) + nd.dot(grad, weight, transpose_b=True)
    y.backward()
    assert weight.grad.asnumpy().tolist() == [[2, 4]]
