# SPDX-License-Identifier: Apache-2.0
"""Gluon's recurrent cells and layers, beyond what tests/compat holds against MXNet's values."""

import loomix as mx
import numpy as np
import pytest
from loomix.gluon import contrib, nn, rnn

pytestmark = pytest.mark.library

STEPS, BATCH, FEATURES = 5, 3, 4


@pytest.fixture(autouse=True)
def seed():
    mx.random.seed(3)
    np.random.seed(3)


def drawn(*shape, dtype="float32"):
    return mx.nd.array(np.random.uniform(-1, 1, shape), dtype=dtype)


def ready(block):
    block.initialize(mx.init.Uniform(0.7))
    return block


def gradients(block, run, *arrays):
    """Outputs, and gradients of arrays and parameters, as NumPy arrays."""
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        outputs = run(*arrays)
        loss = sum((output * (i + 1)).square().sum() for i, output in enumerate(outputs))
    loss.backward()
    values = [output.asnumpy() for output in outputs] + [array.grad.asnumpy() for array in arrays]
    return values + [
        param.grad().asnumpy()
        for _, param in sorted(block.collect_params().items())
        if param.grad_req != "null"
    ]


def assert_close(got, want, tolerance=1e-5):
    assert len(got) == len(want)
    for one, other in zip(got, want):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


# ---- layers against their cells ----

LAYERS = {
    "projection": lambda: rnn.LSTM(6, 2, projection_size=4, bidirectional=True),
    "batch_first": lambda: rnn.GRU(6, 2, layout="NTC"),
    "vanilla": lambda: rnn.RNN(6, 2, bidirectional=True),
    "float64": lambda: rnn.LSTM(6, dtype="float64"),
}


@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybridized"])
@pytest.mark.parametrize("kind", LAYERS)
def test_unfused_layers_give_the_same(kind, hybrid):
    layer = ready(LAYERS[kind]())
    data = drawn(STEPS, BATCH, FEATURES, dtype=layer._dtype)
    length = data.shape[layer._layout.find("T")]
    layer(data)
    stack = layer.unfuse()
    assert set(stack.collect_params()) == set(layer.collect_params())
    if hybrid:
        layer.hybridize()
        stack.hybridize()

    def run(x):
        outputs, states = layer(x, layer.begin_state(x.shape[layer._layout.find("N")]))
        return [outputs, *states]

    def steps(x):
        outputs, states = stack.unroll(length, x, layout=layer._layout, merge_outputs=True)
        kinds = 2 if layer._mode == "lstm" else 1
        return [outputs, *(mx.nd.stack(*states[i::kinds], axis=0) for i in range(kinds))]

    assert_close(gradients(layer, run, data), gradients(stack, steps, data))


@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybridized"])
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_sequences_of_different_lengths(kind, layout, hybrid):
    layer = ready(
        getattr(rnn, kind)(6, 2, bidirectional=True, layout=layout, use_sequence_length=True, prefix="n_")
    )
    data = drawn(*((BATCH, STEPS) if layout == "NTC" else (STEPS, BATCH)), FEATURES)
    lengths = mx.nd.array([5, 1, 3])
    layer(data, None, lengths)
    stack = layer.unfuse()
    if hybrid:
        layer.hybridize()

    def run(x):
        outputs, states = layer(x, layer.begin_state(BATCH), lengths)
        return [outputs, *states]

    def steps(x):
        outputs, states = stack.unroll(STEPS, x, layout=layout, merge_outputs=True, valid_length=lengths)
        kinds = 2 if kind == "LSTM" else 1
        return [outputs, *(mx.nd.stack(*states[i::kinds], axis=0) for i in range(kinds))]

    assert_close(gradients(layer, run, data), gradients(stack, steps, data))
    without = layer(data, sequence_length=lengths).asnumpy()
    np.testing.assert_array_equal(without, run(data)[0].asnumpy())


def test_clipped_cell_states():
    layer = ready(rnn.LSTM(3, state_clip_min=-0.1, state_clip_max=0.2))
    data = drawn(STEPS, BATCH, FEATURES)
    outputs, (_, cell) = layer(data, layer.begin_state(BATCH))
    i2h, h2h, i2h_b, h2h_b = (
        layer.params.get(f"l0_{name}").data().asnumpy()
        for name in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
    )

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    h = c = np.zeros((BATCH, 3))
    for x, out in zip(data.asnumpy(), outputs.asnumpy()):
        i, f, new, o = np.split(x @ i2h.T + i2h_b + h @ h2h.T + h2h_b, 4, axis=1)
        c = np.clip(sigmoid(f) * c + sigmoid(i) * np.tanh(new), -0.1, 0.2)
        h = sigmoid(o) * np.tanh(c)
        np.testing.assert_allclose(out, h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(cell.asnumpy()[0], c, rtol=1e-4, atol=1e-5)
    with pytest.raises(NotImplementedError, match="clips cell states"):
        layer.unfuse()
    with pytest.raises(ValueError, match="state_clip_min is -1 and state_clip_max None"):
        rnn.LSTM(3, state_clip_min=-1)


@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybridized"])
def test_dropout_between_layers_is_for_training(hybrid):
    layer = ready(rnn.GRU(8, 2, dropout=0.5))
    data = drawn(STEPS, BATCH, FEATURES)
    layer(data)
    if hybrid:
        layer.hybridize()
    np.testing.assert_array_equal(layer(data).asnumpy(), layer(data).asnumpy())
    with mx.autograd.train_mode():
        assert np.abs((layer(data) - layer(data)).asnumpy()).max() > 1e-3
    assert "DropoutCell(rate=0.5" in repr(layer.unfuse())


@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybridized"])
def test_with_and_without_states_in_any_order(hybrid):
    layer = ready(rnn.LSTM(4, 2))
    data = drawn(STEPS, BATCH, FEATURES)
    if hybrid:
        layer.hybridize()
    alone = layer(data)
    outputs, states = layer(data, layer.begin_state(BATCH))
    assert [state.shape for state in states] == [(2, BATCH, 4)] * 2
    np.testing.assert_array_equal(alone.asnumpy(), outputs.asnumpy())
    other, _ = layer(data, [state + 1 for state in states])
    assert np.abs((other - alone).asnumpy()).max() > 1e-2
    one = ready(rnn.GRU(4))
    _, last = one(data, mx.nd.ones((1, BATCH, 4)))  # one state needs no list
    assert last[0].shape == (1, BATCH, 4)


def test_types_of_layers_and_cells():
    for dtype in ("float16", "float64"):
        layer = ready(rnn.LSTM(4, dtype=dtype))
        assert layer(drawn(STEPS, BATCH, FEATURES, dtype=dtype)).dtype == np.dtype(dtype)
        assert layer.begin_state(BATCH)[0].dtype == np.dtype(dtype)
        cell = ready(rnn.LSTMCell(4))
        cell.cast(dtype)
        outputs, states = cell.unroll(
            STEPS, drawn(STEPS, BATCH, FEATURES, dtype=dtype), layout="TNC", merge_outputs=True
        )
        assert outputs.dtype == states[1].dtype == np.dtype(dtype)
    layer = ready(rnn.GRU(4))
    layer.cast("float64")
    assert layer(drawn(STEPS, BATCH, FEATURES, dtype="float64")).dtype == np.float64


@pytest.mark.parametrize("both_ways", [False, True])
def test_sizes_are_found_in_a_hybridized_network(both_ways):
    net = nn.HybridSequential()
    net.add(
        nn.Embedding(10, 6),
        rnn.LSTM(4, 2, bidirectional=both_ways),
        rnn.GRU(5, bidirectional=both_ways, layout="NTC"),
        nn.Dense(2, flatten=False),
    )
    net.initialize()
    net.hybridize()
    assert net(mx.nd.ones((STEPS, BATCH))).shape == (STEPS, BATCH, 2)
    assert net[1].l0_i2h_weight.shape == (16, 6)
    assert net[2].l0_i2h_weight.shape == (15, 8 if both_ways else 4)


def test_a_layer_that_is_not_used_hides_no_error():
    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.unused = rnn.LSTM(4, bidirectional=True)
            self.extra = self.params.get("extra", shape=(0, 2), allow_deferred_init=True)

        def hybrid_forward(self, F, x, extra):
            return F.broadcast_add(F.sum(x), F.sum(extra))

    net = Net()
    net.initialize()
    net.hybridize()
    with (
        pytest.warns(UserWarning, match="do not depend on"),
        pytest.raises(ValueError, match="_extra. of block"),
    ):
        net(mx.nd.ones((5, 2, 3)))


def test_files_of_a_single_layer_may_have_its_own_names(tmp_path):
    layer = ready(rnn.GRU(4, 2, input_size=3))
    layer.collect_params().save(str(tmp_path / "own.params"), strip_prefix=layer.prefix)
    assert "l1_h2h_bias" in mx.nd.load(str(tmp_path / "own.params"))
    other = rnn.GRU(4, 2)
    other.load_parameters(str(tmp_path / "own.params"), ctx=mx.current_context())
    data = drawn(STEPS, BATCH, 3)
    np.testing.assert_array_equal(layer(data).asnumpy(), other(data).asnumpy())
    wide = rnn.GRU(4, 2, input_size=5)
    with pytest.raises(
        ValueError, match=r"l0_i2h_weight.*shape \(12, 5\).*values in file .* have shape \(12, 3\)"
    ):
        wide.load_parameters(str(tmp_path / "own.params"))


def test_exported_layers_load_as_a_symbol_block(tmp_path):
    net = nn.HybridSequential()
    net.add(rnn.LSTM(4, bidirectional=True), nn.Dense(2, flatten=False))
    ready(net).hybridize()
    data = drawn(STEPS, BATCH, FEATURES)
    want = net(data).asnumpy()
    net.export(str(tmp_path / "net"))
    symbol, parameters = str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0000.params")
    block = mx.gluon.SymbolBlock.imports(symbol, ["data"], parameters, ctx=mx.current_context())
    np.testing.assert_allclose(block(data).asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_names_and_texts():
    layer = rnn.LSTM(4, 2, bidirectional=True, prefix="enc_", input_size=3, dropout=0.1)
    assert list(layer.collect_params())[:5] == [
        "enc_l0_i2h_weight",
        "enc_l0_h2h_weight",
        "enc_l0_i2h_bias",
        "enc_l0_h2h_bias",
        "enc_r0_i2h_weight",
    ]
    assert repr(layer) == "LSTM(3 -> 4, TNC, num_layers=2, dropout=0.1, bidirectional)"
    assert layer.state_info(7)[0] == {"shape": (4, 7, 4), "__layout__": "LNC", "dtype": "float32"}
    assert list(layer._collect_params_with_prefix("0"))[4] == "0._unfused.0.r_cell.i2h_weight"
    assert [cell.prefix for cell in layer.unfuse()] == ["enc_", "enc_dropout0_", "enc_"]
    deep = rnn.RNN(2, 12, input_size=2)
    assert "_unfused.11.h2h_bias" in deep._collect_params_with_prefix()
    cell = rnn.ZoneoutCell(rnn.LSTMCell(4, prefix="c_"), 0.25)
    assert (repr(cell), cell.prefix) == (
        "ZoneoutCell(p_out=0.25, p_state=0.0, LSTMCell(None -> 16))",
        "c_zoneout",
    )
    assert list(cell._collect_params_with_prefix()) == [
        f"base_cell.{name}" for name in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
    ]
    conv = contrib.rnn.Conv2DGRUCell((2, 8, 6), 3, 3, 3)
    assert (repr(conv), conv.state_info(1)[0]["shape"]) == ("Conv2DGRUCell(2 -> 9, tanh, NCHW)", (1, 3, 6, 4))


def test_initializers_reach_the_parameters():
    layer = rnn.LSTM(3, input_size=2, i2h_bias_initializer=mx.init.LSTMBias(2.0), h2r_weight_initializer="ones",
                     projection_size=2, h2h_weight_initializer="zeros")  # fmt: skip
    ready(layer)
    assert layer.l0_i2h_bias.data().asnumpy().tolist() == [0] * 3 + [2] * 3 + [0] * 6
    assert layer.l0_h2r_weight.data().asnumpy().min() == 1
    assert layer.l0_h2h_weight.data().asnumpy().max() == 0
    assert layer.l0_i2h_weight.data().asnumpy().std() > 0.1


# ---- cells ----


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("layout", ["NTC", "TNC"])
def test_forms_of_outputs(layout, as_list):
    shape = (BATCH, STEPS, FEATURES) if layout == "NTC" else (STEPS, BATCH, FEATURES)
    data = drawn(*shape)
    axis = layout.find("T")
    steps = [mx.nd.squeeze(part, axis=axis) for part in mx.nd.split(data, STEPS, axis=axis)]
    cell = ready(rnn.SequentialRNNCell())
    cell.add(rnn.LSTMCell(4))
    cell.add(rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(3)))
    ready(cell)
    inputs = steps if as_list else data
    merged, _ = cell.unroll(STEPS, inputs, layout=layout, merge_outputs=True)
    for form in (None, False):
        outputs, states = cell.unroll(STEPS, inputs, layout=layout, merge_outputs=form)
        assert isinstance(outputs, list)
        np.testing.assert_array_equal(mx.nd.stack(*outputs, axis=axis).asnumpy(), merged.asnumpy())
    assert [state.shape for state in states] == [(BATCH, 4), (BATCH, 4), (BATCH, 2), (BATCH, 3)]
    lengths = mx.nd.array([5, 2, 4])
    masked, _ = cell.unroll(STEPS, inputs, layout=layout, valid_length=lengths)
    parts, _ = cell.unroll(STEPS, inputs, layout=layout, valid_length=lengths, merge_outputs=False)
    np.testing.assert_array_equal(mx.nd.stack(*parts, axis=axis).asnumpy(), masked.asnumpy())
    assert np.abs(np.moveaxis(masked.asnumpy(), axis, 0)[2:, 1]).max() == 0


def test_begin_state_calls_a_function():
    cell = rnn.ResidualCell(rnn.LSTMCell(4, prefix="c_"))
    assert [state.shape for state in cell.begin_state(batch_size=2)] == [(2, 4)] * 2
    drawn_states = cell.begin_state(batch_size=2, func=mx.nd.random.uniform, low=3, high=4)
    assert drawn_states[0].asnumpy().min() >= 3
    states = cell.begin_state(func=mx.sym.var, batch_size=2)
    assert [state.attr("__layout__") for state in states] == ["NC", "NC"]
    assert states[0].name.startswith("c_begin_state_")
    layer = rnn.GRU(4)
    assert layer.begin_state(2, func=mx.nd.ones)[0].asnumpy().min() == 1
    assert layer.begin_state(2, func=mx.sym.var)[0].name == f"{layer.prefix}h0_0"
    outputs, _ = ready(rnn.LSTMCell(4)).unroll(2, mx.nd.ones((3, 2, 5)), begin_state=[mx.nd.ones((3, 4))] * 2)
    assert outputs[0].shape == (3, 4)


def test_activations_may_be_blocks_and_functions():
    data = drawn(BATCH, FEATURES)
    cell = ready(rnn.RNNCell(4, activation=nn.LeakyReLU(0.5)))
    out, states = cell(data, cell.begin_state(BATCH))
    cell.reset()
    plain = rnn.RNNCell(4, activation=lambda x: x, params=cell.params)
    raw = plain(data, cell.begin_state(BATCH))[0].asnumpy()
    np.testing.assert_allclose(out.asnumpy(), np.where(raw > 0, raw, raw * 0.5), rtol=1e-5, atol=1e-6)
    cell.hybridize()
    np.testing.assert_allclose(cell(data, cell.begin_state(BATCH))[0].asnumpy(), out.asnumpy(), rtol=1e-5)


def test_parameters_are_shared():
    first = ready(rnn.LSTMCell(4, input_size=FEATURES))
    second = rnn.LSTMCell(4, input_size=FEATURES, params=first.params)
    data = drawn(BATCH, FEATURES)
    states = first.begin_state(BATCH)
    np.testing.assert_array_equal(first(data, states)[0].asnumpy(), second(data, states)[0].asnumpy())
    layer = ready(rnn.LSTM(4, input_size=FEATURES))
    other = rnn.LSTM(4, input_size=FEATURES, params=layer.params)
    assert other.l0_i2h_weight is layer.l0_i2h_weight


@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybridized"])
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a stack"])
def test_zoneout_keeps_what_was_before(hybrid, inside):
    def run(outputs, states):
        cell = rnn.ZoneoutCell(rnn.RNNCell(4), outputs, states)
        if inside:
            stack = rnn.HybridSequentialRNNCell()
            stack.add(cell)
            cell = stack
        ready(cell)
        if hybrid:
            cell.hybridize()
        with mx.autograd.train_mode():
            return cell.unroll(STEPS, drawn(BATCH, STEPS, FEATURES), [mx.nd.ones((BATCH, 4)) * 7])

    outputs, _ = run(1.0, 0.0)
    assert all(np.abs(output.asnumpy()).max() == 0 for output in outputs)  # zeros come before the first
    _, states = run(0.0, 1.0)
    assert (states[0].asnumpy() == 7).all()
    outputs, _ = run(0.5, 0.0)
    kept = [(now.asnumpy() == before.asnumpy()).mean() for now, before in zip(outputs[1:], outputs)]
    assert 0.2 < np.mean(kept) < 0.8


@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybridized"])
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a stack"])
def test_variational_dropout_has_one_mask(hybrid, inside):
    base = rnn.RNNCell(
        40, activation=lambda x: x, i2h_weight_initializer="ones", h2h_weight_initializer="zeros"
    )
    cell = contrib.rnn.VariationalDropoutCell(base, drop_outputs=0.5)
    if inside:
        stack = rnn.HybridSequentialRNNCell()
        stack.add(cell)
        cell = stack
    ready(cell)
    if hybrid:
        cell.hybridize()
    data = mx.nd.ones((1, STEPS, 1))
    with mx.autograd.train_mode():
        first = cell.unroll(STEPS, data, merge_outputs=True)[0].asnumpy()[0]
        second = cell.unroll(STEPS, data, merge_outputs=True)[0].asnumpy()[0]
    assert set(np.unique(first)) == {0, 2}
    assert (first == first[0]).all() and (second == second[0]).all()
    assert (first[0] != second[0]).any()
    assert cell.unroll(STEPS, data, merge_outputs=True)[0].asnumpy().min() == 1  # not in training


def test_variational_dropout_of_inputs_and_states():
    base = rnn.LSTMCell(4, input_size=FEATURES)
    cell = ready(contrib.rnn.VariationalDropoutCell(base, drop_inputs=1.0, drop_states=1.0))
    with mx.autograd.train_mode():
        outputs, _ = cell.unroll(3, drawn(BATCH, 3, FEATURES))
    # Neither inputs nor outputs of earlier steps arrive; the cell state, which is not dropped, is 0 without biases.
    assert all(np.abs(output.asnumpy()).max() == 0 for output in outputs)
    with mx.autograd.train_mode():
        _, states = cell.unroll(
            1, drawn(BATCH, 1, FEATURES), [mx.nd.zeros((BATCH, 4)), mx.nd.ones((BATCH, 4))]
        )
    np.testing.assert_allclose(states[1].asnumpy(), 0.5)


def test_dropout_cell():
    cell = rnn.DropoutCell(0.5, axes=(1,))
    with mx.autograd.train_mode():
        outputs, states = cell.unroll(STEPS, mx.nd.ones((8, STEPS, 2)))
    values = outputs.asnumpy()
    assert states == [] and set(np.unique(values)) == {0, 2}
    assert (values == values[:, :1]).all()
    masked, _ = cell.unroll(3, mx.nd.ones((2, 3, 1)), valid_length=mx.nd.array([1, 3]))
    assert masked.asnumpy()[:, :, 0].tolist() == [[1, 0, 0], [1, 1, 1]]
    for rate, error in ((1.5, ValueError), ("half", TypeError)):
        with pytest.raises(error, match="rate"):
            rnn.DropoutCell(rate)


@pytest.mark.parametrize("lengths", [None, [5, 1, 3]])
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybridized"])
def test_unrolling_by_a_loop(layout, lengths, hybrid):
    cell = ready(rnn.LSTMCell(4, input_size=FEATURES))
    data = drawn(*((BATCH, STEPS) if layout == "NTC" else (STEPS, BATCH)), FEATURES)
    valid = None if lengths is None else mx.nd.array(lengths)
    outputs, states = cell.unroll(STEPS, data, layout=layout, merge_outputs=True, valid_length=valid)

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.cell = cell

        def hybrid_forward(self, F, x, h, c, *lengths):
            length = lengths[0] if lengths else None
            out, last = contrib.rnn.dynamic_unroll(self.cell, x, [h, c], layout=layout, valid_length=length)
            return [out, *last]

    net = Net()
    if hybrid:
        net.hybridize()
    extra = [] if valid is None else [valid]
    got = net(data, *cell.begin_state(BATCH), *extra)
    assert_close([one.asnumpy() for one in got], [one.asnumpy() for one in (outputs, *states)])


# ---- a hybridized block that is called on what it returned ----


def stacked(*cells):
    stack = rnn.HybridSequentialRNNCell()
    for cell in cells:
        stack.add(cell)
    return stack


CELLS = {
    "vanilla": lambda: rnn.RNNCell(FEATURES, input_size=FEATURES),
    "lstm": lambda: rnn.LSTMCell(FEATURES, input_size=FEATURES),
    "gru": lambda: rnn.GRUCell(FEATURES, input_size=FEATURES),
    "projection": lambda: contrib.rnn.LSTMPCell(FEATURES + 1, FEATURES, input_size=FEATURES),
    "residual": lambda: rnn.ResidualCell(rnn.GRUCell(FEATURES, input_size=FEATURES)),
    "stack": lambda: stacked(
        rnn.LSTMCell(FEATURES, input_size=FEATURES), rnn.RNNCell(FEATURES, input_size=FEATURES)
    ),
}
FUSED = {
    "vanilla": lambda: rnn.RNN(FEATURES, input_size=FEATURES),
    "lstm": lambda: rnn.LSTM(FEATURES, 2, input_size=FEATURES),
    "gru": lambda: rnn.GRU(FEATURES, input_size=FEATURES),
}


def both_ways(make):
    """The same block twice: eager, and hybridized."""
    mx.random.seed(3)
    eager, hybrid = ready(make()), ready(make())
    copies = zip(eager.collect_params().values(), hybrid.collect_params().values())
    for param, other in copies:
        other.set_data(param.data())
    hybrid.hybridize()
    return eager, hybrid


@pytest.mark.parametrize("lengths", [None, [2, 5, 3]])
@pytest.mark.parametrize("train_mode", [False, True])
@pytest.mark.parametrize("kind", CELLS)
def test_unrolling_without_record(kind, train_mode, lengths):
    x = drawn(BATCH, STEPS, FEATURES)
    lengths = None if lengths is None else mx.nd.array(lengths)
    results = []
    for cell in both_ways(CELLS[kind]):
        with mx.autograd.train_mode() if train_mode else mx.autograd.predict_mode():
            outputs, states = cell.unroll(STEPS, x, merge_outputs=False, valid_length=lengths)
        results.append([array.asnumpy() for array in [*outputs, *states]])
    assert_close(*results)
    assert not np.allclose(results[1][0], results[1][1]), "each step has outputs of its own"


@pytest.mark.parametrize("kind", [*CELLS, *(f"fused {kind}" for kind in FUSED)])
def test_truncated_backpropagation_through_time(kind):
    fused = kind.startswith("fused ")
    make = FUSED[kind.removeprefix("fused ")] if fused else CELLS[kind]
    batches = [drawn(STEPS, BATCH, FEATURES) if fused else drawn(BATCH, FEATURES) for _ in range(5)]
    results = []
    for block in both_ways(make):
        trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.05})
        states, result = block.begin_state(batch_size=BATCH), []
        for x in batches:
            states = [state.detach() for state in states]
            given = [state.asnumpy() for state in states]
            with mx.autograd.record():
                output, after = block(x, states)
                loss = output.square().sum()
            loss.backward()
            assert_close([state.asnumpy() for state in states], given, 0)
            result += [param.grad().asnumpy() for param in block.collect_params().values()]
            result += [array.asnumpy() for array in [output, *after]]
            trainer.step(BATCH)
            states = after
        results.append(result)
    assert_close(*results)


def test_a_hybridized_language_model_is_an_eager_one():
    class Model(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.embedding, self.decoder = nn.Embedding(7, FEATURES), nn.Dense(7, flatten=False)
            self.lstm = rnn.LSTM(FEATURES, input_size=FEATURES)

        def hybrid_forward(self, F, x, states):
            output, states = self.lstm(self.embedding(x), states)
            return self.decoder(output), states

    text = np.random.randint(0, 7, (4 * STEPS + 1, BATCH))
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    costs = []
    models = [ready(Model()) for _ in range(2)]
    for model in models:
        model(mx.nd.array(text[:STEPS]), model.lstm.begin_state(batch_size=BATCH))
    for param, other in zip(*(model.collect_params().values() for model in models)):
        other.set_data(param.data())
    models[1].hybridize()
    for model in models:
        trainer = mx.gluon.Trainer(model.collect_params(), "adam", {"learning_rate": 0.05})
        states, seen = model.lstm.begin_state(batch_size=BATCH), []
        for first in range(0, 4 * STEPS, STEPS):
            states = [state.detach() for state in states]
            with mx.autograd.record():
                scores, states = model(mx.nd.array(text[first : first + STEPS]), states)
                cost = loss(scores, mx.nd.array(text[first + 1 : first + STEPS + 1])).mean()
            cost.backward()
            trainer.step(1)
            seen.append(cost.asnumpy())
        states = model.lstm.begin_state(batch_size=1)
        for character in text[:, :1]:  # prediction feeds states back, too
            scores, states = model(mx.nd.array(character.reshape(1, 1)), states)
            seen.append(scores.asnumpy())
        costs.append(seen)
    assert_close(*costs, tolerance=1e-4)


def test_dropout_of_a_loop_is_the_same_at_all_steps():
    cell = ready(rnn.RNNCell(30, activation=lambda x: x + 1, input_size=1, i2h_weight_initializer="zeros",
                             h2h_weight_initializer="zeros"))  # fmt: skip
    with mx.autograd.train_mode():
        outputs, _ = contrib.rnn.dynamic_unroll(
            cell, mx.nd.ones((STEPS, 1, 1)), cell.begin_state(1), drop_outputs=0.5
        )
    values = outputs.asnumpy()[:, 0]
    assert set(np.unique(values)) == {0, 2} and (values == values[0]).all()


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_convolutional_cells_with_channels_last(layout):
    shapes = {"NCHW": (2, 6, 5), "NHWC": (6, 5, 2)}
    cell = ready(contrib.rnn.Conv2DLSTMCell(shapes[layout], 3, 3, 3, conv_layout=layout))
    data = drawn(BATCH, STEPS, *shapes[layout])
    outputs, _ = cell.unroll(STEPS, data, merge_outputs=True)
    assert outputs.shape[2:] == {"NCHW": (3, 4, 3), "NHWC": (4, 3, 3)}[layout]
    if layout == "NHWC":
        other = contrib.rnn.Conv2DLSTMCell(shapes["NCHW"], 3, 3, 3)
        other.initialize()
        for name in ("i2h_weight", "h2h_weight"):
            getattr(other, name).set_data(getattr(cell, name).data().transpose((0, 3, 1, 2)))
        same, _ = other.unroll(STEPS, data.transpose((0, 1, 4, 2, 3)), merge_outputs=True)
        np.testing.assert_allclose(
            same.transpose((0, 1, 3, 4, 2)).asnumpy(), outputs.asnumpy(), rtol=1e-4, atol=1e-5
        )


def test_a_network_learns_to_remember():
    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.lstm = rnn.LSTM(16)
            self.out = nn.Dense(2)

        def hybrid_forward(self, F, x):
            return self.out(F.SequenceLast(self.lstm(x)))

    net = Net()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(100):
        x = np.random.uniform(-1, 1, (6, 32, 1))
        label = mx.nd.array(x[0, :, 0] > 0)  # whether the first number was positive
        with mx.autograd.record():
            value = loss(net(mx.nd.array(x)), label)
        value.backward()
        trainer.step(32)
    assert value.mean().asscalar() < 0.3


# ---- errors ----

WRONG = {
    "features of a cell": (
        lambda: ready(rnn.LSTMCell(4, input_size=3, prefix="c_"))(mx.nd.ones((2, 5)), [mx.nd.ones((2, 4))] * 2),
        ["(16, 3)", "(16, 5)", "'c'", "'c_i2h_weight'"],
    ),
    "batch of states": (
        lambda: ready(rnn.GRUCell(4, prefix="c_"))(mx.nd.ones((2, 5)), [mx.nd.ones((3, 4))]),
        ["GRUCell 'c'", "(3, 4)", "(2, 4)"],
    ),
    "number of states": (
        lambda: ready(rnn.LSTMCell(4, prefix="c_"))(mx.nd.ones((2, 5)), [mx.nd.ones((2, 4))]),
        ["LSTMCell 'c'", "[(2, 4)]", "[(2, 4), (2, 4)]"],
    ),
    "features of a layer": (
        lambda: ready(rnn.LSTM(4, input_size=3, prefix="n_"))(mx.nd.ones((5, 2, 7))),
        ["LSTM 'n'", "(5, 2, 7)", "'n_l0_i2h_weight'", "(16, 3)"],
    ),
    "axes of a layer": (
        lambda: ready(rnn.GRU(4, prefix="n_"))(mx.nd.ones((5, 2))),
        ["GRU 'n'", "(5, 2)", "3 axes", "TNC"],
    ),
    "states of a layer": (
        lambda: ready(rnn.RNN(4, prefix="n_"))(mx.nd.ones((5, 2, 3)), mx.nd.ones((1, 9, 4))),
        ["RNN 'n'", "(1, 9, 4)", "(1, 2, 4)"],
    ),
    "steps": (
        lambda: ready(rnn.RNNCell(4)).unroll(3, mx.nd.ones((2, 4, 3))),
        ["(2, 4, 3)", "3 steps", "axis 1"],
    ),
    "inputs": (
        lambda: ready(rnn.RNNCell(4)).unroll(3, [mx.nd.ones((2, 3))] * 2),
        ["2 inputs", "3 steps"],
    ),
    "states of a stack": (
        lambda: rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(3)).unroll(
            1, mx.nd.ones((2, 1, 3)), [mx.nd.ones((2, 2))]
        ),
        ["1 states", "2: [(0, 2), (0, 3)]"],
    ),
    "layout": (lambda: rnn.LSTM(4, layout="NCT"), ["'NCT'", "'TNC' or 'NTC'"]),
    "layout of a sequence": (
        lambda: rnn.RNNCell(4).unroll(3, mx.nd.ones((2, 3, 3)), layout="CNT"),
        ["'CNT'", "'NTC' or 'TNC'"],
    ),
    "lengths that are not asked for": (
        lambda: ready(rnn.LSTM(4))(mx.nd.ones((5, 2, 3)), sequence_length=mx.nd.ones(2)),
        ["sequence_length is given", "use_sequence_length=False"],
    ),
    "activation": (lambda: rnn.RNN(4, activation="sigmoid"), ["'sigmoid'", "'relu' or 'tanh'"]),
    "zoneout of both ways": (
        lambda: rnn.ZoneoutCell(rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2))),
        ["BidirectionalCell", "modifier on its cells"],
    ),
    "share": (lambda: contrib.rnn.VariationalDropoutCell(rnn.RNNCell(2), 2.0), ["drop_inputs is 2.0", "0 to 1"]),
    "window": (lambda: contrib.rnn.Conv1DRNNCell((2, 8), 3, 3, 2), ["h2h_kernel is (2,)", "odd"]),
    "input shape": (lambda: contrib.rnn.Conv2DRNNCell((2, 8), 3, 3, 3), ["(2, 8)", "3 sizes"]),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_errors_say_what_is_wrong(what):
    run, parts = WRONG[what]
    with pytest.raises(ValueError) as caught:
        run()
    for part in parts:
        assert part in str(caught.value)


def test_cells_are_used_as_they_can_be():
    base = rnn.LSTMCell(4)
    rnn.ZoneoutCell(base, 0.1)
    with pytest.raises(ValueError, match="call that one"):
        base.begin_state(2)
    with pytest.raises(ValueError, match="has a modifier already"):
        rnn.ResidualCell(base)
    with pytest.raises(TypeError, match="expected a recurrent cell"):
        rnn.SequentialRNNCell().add(nn.Dense(2))
    both = rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2))
    stack = rnn.HybridSequentialRNNCell()
    stack.add(both)
    for cell in (both, stack):
        with pytest.raises(NotImplementedError, match="use unroll"):
            cell(mx.nd.ones((2, 3)), cell.begin_state(batch_size=2))
    with pytest.raises(NotImplementedError, match="HybridSequentialRNNCell has"):
        rnn.SequentialRNNCell().hybrid_forward()
    with pytest.raises(NotImplementedError, match="which states"):
        rnn.RecurrentCell().begin_state()


# ---- layers of contrib that are not recurrent ----


@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybridized"])
def test_sync_batch_norm_on_one_device(hybrid):
    own, plain = contrib.nn.SyncBatchNorm(in_channels=3), nn.BatchNorm(in_channels=3)
    data = drawn(4, 3, 5, 5)
    results = []
    for block in (own, plain):
        block.initialize()
        if hybrid:
            block.hybridize()
        results.append(gradients(block, lambda x, block=block: [block(x)], data)[:2])
        results[-1].append(block.running_mean.data().asnumpy())
    assert_close(*results)
    with pytest.raises(ValueError, match="ndev"):
        wide = contrib.nn.SyncBatchNorm(in_channels=3, num_devices=2)
        wide.initialize()
        wide(data).asnumpy()


def test_sparse_embedding():
    table = contrib.nn.SparseEmbedding(6, 3)
    table.initialize(mx.init.Uniform(1))
    rows = mx.nd.array([[1, 5], [1, 0]])
    with mx.autograd.record():
        out = table(rows)
    out.backward()
    np.testing.assert_array_equal(out.asnumpy(), table.weight.data().asnumpy()[[[1, 5], [1, 0]]])
    assert table.weight.grad().asnumpy()[:, 0].tolist() == [1, 2, 0, 0, 0, 1]
    assert repr(table) == "SparseEmbedding(6 -> 3, float32)"


def test_deformable_convolutions_begin_as_plain_ones():
    data = drawn(2, 4, 7, 6)
    settings = {"kernel_size": 3, "padding": 1, "in_channels": 4, "groups": 2}
    plain = ready(nn.Conv2D(6, **settings))
    deformable = contrib.cnn.DeformableConvolution(6, **settings)
    modulated = contrib.cnn.ModulatedDeformableConvolution(6, num_deformable_group=2, **settings)
    for layer in (deformable, modulated):
        layer.initialize()
        layer.deformable_conv_weight.set_data(plain.weight.data())
        np.testing.assert_allclose(layer(data).asnumpy(), plain(data).asnumpy(), rtol=1e-4, atol=1e-5)
    modulated.offset_weight.set_data(drawn(*modulated.offset_weight.shape) * 0.1)
    modulated.deformable_conv_weight.set_data(drawn(*modulated.deformable_conv_weight.shape))
    eager = gradients(modulated, lambda x: [modulated(x)], data)
    modulated.hybridize()
    assert_close(gradients(modulated, lambda x: [modulated(x)], data), eager)
    weight, step = modulated.offset_weight, 1e-2
    index = (50, 1, 1, 1)  # of the mask, whose gradient is smooth
    slope = weight.grad().asnumpy()[index]
    values = weight.data().asnumpy()
    sums = []
    for sign in (1, -1):
        moved = values.copy()
        moved[index] += sign * step
        weight.set_data(mx.nd.array(moved))
        sums.append(modulated(data).asnumpy().astype("float64"))
    assert slope == pytest.approx((sums[0] ** 2 - sums[1] ** 2).sum() / (2 * step), rel=2e-2)
    late = contrib.cnn.ModulatedDeformableConvolution(6, 3, num_deformable_group=2, use_bias=False)
    late.initialize()
    late.hybridize()
    assert late(data).shape == (2, 6, 5, 4)
    assert late.offset_weight.shape == (54, 4, 3, 3)
    assert repr(deformable) == (
        "DeformableConvolution(4 -> 6, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2)"
    )
    with pytest.raises(ValueError, match="expected 'NCHW'"):
        contrib.cnn.DeformableConvolution(4, 3, layout="NHWC")
