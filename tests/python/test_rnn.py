# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers: the operator where a case table cannot go, cells, checkpoints, a network that learns a language."""

import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))
from cases.rnn import rnn as reference

pytestmark = pytest.mark.library

MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def operands(mode, steps=5, batch=4, inputs=3, hidden=6, layers=2, ways=1, outputs=None, seed=0):
    """Data, parameters and states, as float64."""
    random = np.random.RandomState(seed)
    out = outputs or hidden
    size = sum(
        ways
        * (
            GATES[mode] * hidden * ((inputs if layer == 0 else ways * out) + out + 2)
            + (outputs or 0) * hidden
        )
        for layer in range(layers)
    )
    shapes = [(steps, batch, inputs), (size,), (layers * ways, batch, out)]
    if mode == "lstm":
        shapes.append((layers * ways, batch, hidden))
    return [random.uniform(-0.7, 0.7, shape) for shape in shapes]


def run(values, lengths=None, train=False, **attrs):
    names = ("data", "parameters", "state", "state_cell")
    arrays = {name: mx.nd.array(v, dtype="float64") for name, v in zip(names, values)}
    if lengths is not None:
        arrays["sequence_length"] = mx.nd.array(lengths, dtype="int32")
    with mx.autograd.pause(train_mode=train):
        outputs = mx.nd.RNN(**arrays, **attrs)
    return outputs if isinstance(outputs, list) else [outputs]


def gradients(values, heads, lengths=None, train=True, **attrs):
    names = ("data", "parameters", "state", "state_cell")
    arrays = {name: mx.nd.array(v, dtype="float64") for name, v in zip(names, values)}
    for array in arrays.values():
        array.attach_grad()
    more = {} if lengths is None else {"sequence_length": mx.nd.array(lengths)}
    with mx.autograd.record(train_mode=train):
        outputs = mx.nd.RNN(**arrays, **more, **attrs)
        outputs = outputs if isinstance(outputs, list) else [outputs]
    mx.autograd.backward(outputs, [mx.nd.array(h, dtype="float64") for h in heads])
    return [array.grad.asnumpy() for array in arrays.values()]


def assert_gradients(values, loss, grads):
    """Against differences along random directions."""
    random = np.random.RandomState(7)
    for i, grad in enumerate(grads):
        direction = random.uniform(-1, 1, values[i].shape)
        sides = [
            loss(values[:i] + [values[i] + sign * 1e-5 * direction] + values[i + 1 :]) for sign in (1, -1)
        ]
        np.testing.assert_allclose(
            (grad * direction).sum(), (sides[0] - sides[1]) / 2e-5, rtol=1e-6, atol=1e-7
        )


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_sequence_lengths(mode, bidirectional):
    attrs = {
        "mode": mode, "state_size": 6, "num_layers": 2, "bidirectional": bidirectional, "state_outputs": True,
        "use_sequence_length": True,
    }  # fmt: skip
    values = operands(mode, ways=2 if bidirectional else 1)
    lengths = [3, 5, 0, 1]
    cell = values[3] if mode == "lstm" else None
    want = reference(*values[:3], cell, lengths, **attrs)
    got = run(values, lengths, **attrs)
    for g, w in zip(got, want):
        np.testing.assert_allclose(g.asnumpy(), w, rtol=1e-10, atol=1e-10)
    assert not got[0].asnumpy()[3:, 0].any()
    random = np.random.RandomState(3)
    heads = [random.uniform(-1, 1, w.shape) for w in want if w is not None]

    def loss(changed):
        return sum((o.asnumpy() * h).sum() for o, h in zip(run(changed, lengths, **attrs), heads))

    assert_gradients(values, loss, gradients(values, heads, lengths, **attrs))


@pytest.mark.parametrize("mode", MODES)
def test_dropout_between_layers(mode):
    """The same seed drops the same, so that differences show the gradient."""
    attrs = {"mode": mode, "state_size": 6, "num_layers": 3, "p": 0.4, "bidirectional": True}
    values = operands(mode, layers=3, ways=2)

    def output(changed):
        mx.random.seed(11)
        return run(changed, train=True, **attrs)[0].asnumpy()

    whole = run(values, **attrs)[0].asnumpy()
    np.testing.assert_array_equal(whole, run(values, **{**attrs, "p": 0})[0].asnumpy())
    np.testing.assert_array_equal(output(values), output(values))
    assert (output(values) != whole).any()
    head = np.random.RandomState(5).uniform(-1, 1, whole.shape)
    mx.random.seed(11)
    grads = gradients(values, [head], **attrs)
    assert_gradients(values, lambda changed: (output(changed) * head).sum(), grads)
    outside = gradients(values, [head], train=False, **attrs)
    assert_gradients(values, lambda changed: (run(changed, **attrs)[0].asnumpy() * head).sum(), outside)


def test_everything_dropped():
    """A second layer that sees nothing does not depend on the data."""
    values = operands("lstm")
    attrs = {"mode": "lstm", "state_size": 6, "num_layers": 2, "p": 1.0}
    grads = gradients(values, [np.ones((5, 4, 6))], **attrs)
    assert not grads[0].any()
    assert not np.isnan(grads[1]).any() and grads[1].any()


def test_bound_training_equals_recording():
    """A bound graph keeps for its gradient what a recorded call keeps."""
    values = operands("gru", ways=2)
    attrs = {"mode": "gru", "state_size": 6, "num_layers": 2, "bidirectional": True, "state_outputs": True}
    names = ("data", "parameters", "state")
    symbol = mx.sym.RNN(*[mx.sym.Variable(name) for name in names], **attrs)
    arrays = {name: mx.nd.array(v, dtype="float64") for name, v in zip(names, values)}
    grads = {name: mx.nd.zeros(a.shape, dtype="float64") for name, a in arrays.items()}
    bound = symbol.bind(mx.cpu(), arrays, grads)
    outputs = bound.forward(is_train=True)
    heads = [np.random.RandomState(i).uniform(-1, 1, o.shape) for i, o in enumerate(outputs)]
    bound.backward([mx.nd.array(h, dtype="float64") for h in heads])
    for name, want in zip(names, gradients(values, heads, **attrs)):
        np.testing.assert_array_equal(grads[name].asnumpy(), want, err_msg=name)


def test_bad_calls():
    values = operands("gru")
    attrs = {"mode": "gru", "state_size": 6, "num_layers": 2}
    with pytest.raises(ValueError, match=r"\[RNN\] sequence_length\[2\] is 9; expected 0 to 5"):
        run(values, [1, 2, 9, 3], use_sequence_length=True, **attrs)[0].asnumpy()
    with pytest.raises(ValueError, match="lstm"):
        run(values, projection_size=2, **attrs)
    with pytest.raises(ValueError, match="parameters"):
        run([values[0], values[1][:-1], values[2]], **attrs)
    with pytest.raises(TypeError, match="state_cell"):
        run([*values, values[2]], **attrs)
    with pytest.raises(TypeError, match="int32"):
        mx.nd.RNN(*[mx.nd.array(v, dtype="int32") for v in values], **attrs)


def test_automatic_inputs():
    symbol = mx.sym.RNN(mx.sym.Variable("x"), state_size=4, num_layers=1, mode="lstm", name="net")
    assert symbol.list_arguments() == ["x", "net_parameters", "net_state", "net_state_cell"]
    shapes, outputs, _ = symbol.infer_shape(x=(3, 2, 5))
    assert shapes == [(3, 2, 5), (4 * 4 * (5 + 4 + 2),), (1, 2, 4), (1, 2, 4)] and outputs == [(3, 2, 4)]
    with_lengths = mx.sym.RNN(
        mx.sym.Variable("x"), state_size=4, num_layers=1, mode="gru", use_sequence_length=True, name="net"
    )
    assert with_lengths.list_arguments() == ["x", "net_parameters", "net_state", "net_sequence_length"]
    assert with_lengths.infer_shape(x=(3, 2, 5))[0][3] == (2,)


# Cells -------------------------------------------------------------------------------------------------------------


def forward(symbol, params, **data):
    """The symbol's outputs as NumPy arrays."""
    arrays = {**params, **{name: mx.nd.array(value) for name, value in data.items()}}
    bound = symbol.bind(mx.cpu(), {name: arrays[name] for name in symbol.list_arguments()})
    return [output.asnumpy() for output in bound.forward()]


def random_params(symbol, seed=0, **shapes):
    random = np.random.RandomState(seed)
    known, _, _ = symbol.infer_shape(**shapes)
    return {
        name: mx.nd.array(random.uniform(-0.5, 0.5, shape))
        for name, shape in zip(symbol.list_arguments(), known)
        if name not in shapes
    }


def test_names_are_those_of_mxnet():
    """Files hold the names of parameters, and monitors those of nodes."""
    for cell, prefix, nodes in (
        (mx.rnn.RNNCell(4), "rnn_", ["i2h", "h2h", "out"]),
        (mx.rnn.LSTMCell(4), "lstm_", ["i2h", "h2h", "slice", "i", "f", "c", "o", "state", "out"]),
        (
            mx.rnn.GRUCell(4),
            "gru_",
            ["_i2h", "_h2h", "_i2h_slice", "_h2h_slice", "_r_act", "_z_act", "_h_act", "out"],
        ),
    ):
        outputs, _ = cell.unroll(2, [mx.sym.Variable(f"x{i}") for i in range(2)])
        net = mx.sym.Group(outputs)
        assert net.list_outputs() == [f"{prefix}t{i}_out_output" for i in range(2)]
        assert [a for a in net.list_arguments() if not a.startswith("x")] == [
            f"{prefix}{part}" for part in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
        ]
        internals = {name.split("_output")[0] for name in net.get_internals().list_outputs()}
        assert {f"{prefix}t{i}_{node}" for i in range(2) for node in nodes} <= internals
    assert mx.rnn.FusedRNNCell(4, mode="gru").params.get("parameters").name == "gru_parameters"


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", ["NTC", "TNC"])
def test_fused_equals_unfused(mode, bidirectional, layout):
    fused = mx.rnn.FusedRNNCell(
        6, num_layers=2, mode=mode, bidirectional=bidirectional, prefix="net_", get_next_state=True
    )
    stack = fused.unfuse()
    shape = (2, 5, 3) if layout == "NTC" else (5, 2, 3)
    data = np.random.RandomState(1).uniform(-1, 1, shape)
    whole = mx.sym.Group(_flat(fused.unroll(5, mx.sym.Variable("data"), layout=layout, merge_outputs=True)))
    steps = mx.sym.Group(_flat(stack.unroll(5, mx.sym.Variable("data"), layout=layout, merge_outputs=True)))
    packed = random_params(whole, data=shape)
    unpacked = stack.pack_weights(fused.unpack_weights(packed))
    assert set(unpacked) == set(steps.list_arguments()) - {"data"}
    got, want = forward(whole, packed, data=data), forward(steps, unpacked, data=data)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-6)
    if mode != "lstm":  # states come layer by layer
        np.testing.assert_allclose(got[1], np.stack(want[1:]), rtol=1e-5, atol=1e-6)
    again = fused.pack_weights(stack.unpack_weights(unpacked))
    np.testing.assert_array_equal(again["net_parameters"].asnumpy(), packed["net_parameters"].asnumpy())


def _flat(unrolled):
    outputs, states = unrolled
    return [outputs, *states]


def test_weights_that_do_not_fit():
    cell = mx.rnn.FusedRNNCell(4, num_layers=2)
    with pytest.raises(ValueError, match="lstm_parameters has 77 values"):
        cell.unpack_weights({"lstm_parameters": mx.nd.zeros((77,))})


def test_fused_initializer_fills_the_vector():
    cell = mx.rnn.FusedRNNCell(3, num_layers=2, mode="lstm", bidirectional=True, forget_bias=2.0)
    outputs, _ = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    module = mx.mod.Module(outputs, label_names=None)
    module.bind([("data", (4, 2, 5))], for_training=False)
    module.init_params(mx.init.One())
    arrays = cell.unpack_weights(module.get_params()[0])
    for name, array in arrays.items():
        want = 2 if name.endswith("_f_bias") else 0 if name.endswith("bias") else 1
        assert (array.asnumpy() == want).all(), name


def test_states_that_are_given():
    cell = mx.rnn.LSTMCell(3)
    states = cell.begin_state(func=mx.sym.Variable)
    assert [s.name for s in states] == ["lstm_begin_state_0", "lstm_begin_state_1"]
    output, _ = cell(mx.sym.Variable("x"), states)
    shapes = {"x": (2, 4), "lstm_begin_state_0": (2, 3), "lstm_begin_state_1": (2, 3)}
    params = random_params(output, **shapes)
    given = {name: np.ones(shape) for name, shape in shapes.items()}
    one = forward(output, params, **given)
    two = forward(output, params, **{**given, "lstm_begin_state_0": np.zeros((2, 3))})
    assert (one[0] != two[0]).all()


def test_shared_parameters():
    params = mx.rnn.RNNParams("shared_")
    one, two = mx.rnn.GRUCell(4, params=params), mx.rnn.GRUCell(4, params=params)
    stack = mx.rnn.SequentialRNNCell()
    stack.add(one)
    stack.add(two)
    outputs, _ = stack.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    assert len(outputs.list_arguments()) == 5
    assert mx.rnn.SequentialRNNCell(params=params).params is params
    with pytest.raises(ValueError, match="expected one of them"):
        mx.rnn.SequentialRNNCell(params=params).add(one)


def test_modifiers():
    residual = mx.rnn.ResidualCell(mx.rnn.GRUCell(3, prefix="r_"))
    plain = mx.rnn.GRUCell(3, prefix="r_")
    data = np.random.RandomState(1).uniform(-1, 1, (2, 4, 3))
    with_input, _ = residual.unroll(4, mx.sym.Variable("data"), merge_outputs=True)
    without, _ = plain.unroll(4, mx.sym.Variable("data"), merge_outputs=True)
    params = random_params(without, data=data.shape)
    np.testing.assert_allclose(
        forward(with_input, params, data=data)[0],
        forward(without, params, data=data)[0] + data,
        rtol=1e-5,
        atol=1e-6,
    )
    steps, _ = residual.unroll(4, mx.sym.Variable("data"))
    np.testing.assert_allclose(
        np.stack(forward(mx.sym.Group(steps), params, data=data), 1),
        forward(with_input, params, data=data)[0],
    )
    with pytest.raises(ValueError, match="call that one"):
        residual.base_cell.unroll(2, mx.sym.Variable("data"))
    with pytest.raises(ValueError, match="whole sequences"):
        mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(3))


def test_zoneout():
    """All of a cell's states and outputs stay what they were with a share of 1, none outside training."""
    cell = mx.rnn.ZoneoutCell(mx.rnn.RNNCell(3), zoneout_outputs=1.0, zoneout_states=0.5)
    plain, _ = mx.rnn.RNNCell(3).unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    outputs, _ = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    data = np.random.RandomState(1).uniform(-1, 1, (2, 3, 4))
    params = random_params(plain, data=data.shape)
    np.testing.assert_array_equal(
        forward(outputs, params, data=data)[0], forward(plain, params, data=data)[0]
    )
    arrays = {**params, "data": mx.nd.array(data)}
    bound = outputs.bind(mx.cpu(), {name: arrays[name] for name in outputs.list_arguments()})
    assert not bound.forward(is_train=True)[0].asnumpy().any()


def test_bidirectional_reads_backward():
    cell = mx.rnn.BidirectionalCell(mx.rnn.RNNCell(2, prefix="l_"), mx.rnn.RNNCell(2, prefix="r_"))
    outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    assert len(states) == 2
    data = np.random.RandomState(1).uniform(-1, 1, (1, 3, 2))
    params = random_params(outputs, data=data.shape)
    params.update({name.replace("l_", "r_"): v for name, v in params.items() if name.startswith("l_")})
    result = forward(outputs, params, data=data)[0]
    turned = forward(outputs, params, data=data[:, ::-1])[0]
    np.testing.assert_allclose(result[..., 2:], turned[:, ::-1, :2], rtol=1e-6)
    with pytest.raises(NotImplementedError, match="unroll"):
        cell(mx.sym.Variable("x"), cell.begin_state())


@pytest.mark.parametrize("kind, gates", [("RNN", 1), ("LSTM", 4), ("GRU", 3)])
def test_convolutional_cells(kind, gates):
    cell = getattr(mx.rnn, f"Conv{kind}Cell")(input_shape=(2, 3, 7, 6), num_hidden=5, i2h_stride=(2, 2))
    assert cell.state_shape == [(0, 5, 4, 3)] * (2 if kind == "LSTM" else 1)
    outputs, states = cell.unroll(2, [mx.sym.Variable("a"), mx.sym.Variable("b")])
    net = mx.sym.Group(outputs)
    shapes, results, _ = net.infer_shape(a=(2, 3, 7, 6), b=(2, 3, 7, 6))
    known = dict(zip(net.list_arguments(), shapes))
    assert known[f"Conv{kind}_i2h_weight"] == (5 * gates, 3, 3, 3)
    assert known[f"Conv{kind}_h2h_weight"] == (5 * gates, 5, 3, 3)
    assert results == [(2, 5, 4, 3)] * 2
    params = random_params(net, a=(2, 3, 7, 6), b=(2, 3, 7, 6))
    assert np.isfinite(forward(net, params, a=np.ones((2, 3, 7, 6)), b=np.ones((2, 3, 7, 6)))[1]).all()
    again = cell.pack_weights(cell.unpack_weights(params))
    for name, array in params.items():
        np.testing.assert_array_equal(again[name].asnumpy(), array.asnumpy())
    with pytest.raises(ValueError, match="odd"):
        getattr(mx.rnn, f"Conv{kind}Cell")(input_shape=(2, 3, 7, 6), num_hidden=5, h2h_kernel=(2, 2))


def test_checkpoints_of_fused_and_unfused_cells(tmp_path):
    fused = mx.rnn.FusedRNNCell(4, num_layers=2, mode="lstm", prefix="net_")
    stack = fused.unfuse()
    outputs, _ = fused.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    params = random_params(outputs, data=(2, 3, 5))
    prefix = str(tmp_path / "net")
    mx.rnn.do_rnn_checkpoint(fused, prefix, period=2)(0, outputs, params, {})
    assert not list(tmp_path.iterdir())
    mx.rnn.do_rnn_checkpoint(fused, prefix, period=2)(1, outputs, params, {})
    assert "net_l1_h2h_o_bias" in mx.model.load_checkpoint(prefix, 2)[1]
    _, same, _ = mx.rnn.load_rnn_checkpoint(fused, prefix, 2)
    np.testing.assert_array_equal(same["net_parameters"].asnumpy(), params["net_parameters"].asnumpy())
    _, steps, _ = mx.rnn.load_rnn_checkpoint([stack], prefix, 2)
    net, _ = stack.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    data = np.random.RandomState(1).uniform(-1, 1, (2, 3, 5))
    np.testing.assert_allclose(
        forward(net, steps, data=data)[0], forward(outputs, params, data=data)[0], rtol=1e-5, atol=1e-6
    )


# Sentences ---------------------------------------------------------------------------------------------------------


def test_encode_sentences():
    coded, vocab = mx.rnn.encode_sentences([["a", "b"], ["b", "c", "a"]], invalid_label=1)
    assert coded == [[0, 2], [2, 3, 0]]
    assert vocab == {"\n": 1, "a": 0, "b": 2, "c": 3}
    assert mx.rnn.encode_sentences([["c", "a"]], vocab)[0] == [[3, 0]]
    with pytest.raises(KeyError, match="does not have 'd'"):
        mx.rnn.encode_sentences([["d"]], vocab)
    coded, more = mx.rnn.encode_sentences([["d", "a", "e"]], vocab, unknown_token="?")
    assert coded == [[more["?"], 0, more["?"]]] and more["?"] not in vocab.values()


@pytest.mark.parametrize("layout", ["NT", "TN"])
def test_bucket_iterator(layout, caplog):
    sentences = [[i + 1] * length for length in (2, 3, 5) for i in range(7)] + [[1] * 9]
    batches = mx.rnn.BucketSentenceIter(sentences, 3, buckets=[3, 5], invalid_label=0, layout=layout)
    assert "1 sentences" in caplog.text
    assert batches.default_bucket_key == 5
    assert batches.provide_data[0].shape == ((3, 5) if layout == "NT" else (5, 3))
    for _ in range(2):
        seen = list(batches)
        assert sorted(batch.bucket_key for batch in seen) == [3, 3, 3, 3, 5, 5]
        for batch in seen:
            data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
            assert batch.provide_label[0].shape == label.shape
            if layout == "TN":
                data, label = data.T, label.T
            assert data.shape == (3, batch.bucket_key)
            np.testing.assert_array_equal(label[:, :-1], data[:, 1:])
            assert not label[:, -1].any()
        batches.reset()
    assert mx.rnn.BucketSentenceIter(sentences, 7).buckets == [2, 3, 5]
    with pytest.raises(ValueError, match="no length has the 99"):
        mx.rnn.BucketSentenceIter(sentences, 99)


def language(count, seed=0):
    """Sentences of a small grammar: after each word comes one of two; a number says how many words follow."""
    random = np.random.RandomState(seed)
    sentences = []
    for _ in range(count):
        words = [int(random.randint(1, 9))]
        for _ in range(random.choice((4, 7))):
            words.append((words[-1] * 3 + 1 + random.randint(2)) % 9 + 1)
        sentences.append(words)
    return sentences


@pytest.mark.parametrize("fused", [True, False])
def test_a_bucketing_module_learns_a_language(fused):
    mx.random.seed(1)
    np.random.seed(1)
    words, hidden = 10, 24
    cell = mx.rnn.FusedRNNCell(hidden, num_layers=1, mode="lstm", prefix="lstm_")
    cell = cell if fused else cell.unfuse()
    batches = mx.rnn.BucketSentenceIter(language(160), 16, buckets=[5, 8], invalid_label=0, layout="TN")

    def network(length):
        data = mx.sym.Variable("data")
        embedded = mx.sym.Embedding(data, input_dim=words, output_dim=12, name="embed")
        outputs, _ = cell.unroll(length, embedded, layout="TNC", merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.reshape(outputs, (-1, hidden)), num_hidden=words, name="scores")
        label = mx.sym.reshape(mx.sym.Variable("softmax_label"), (-1,))
        net = mx.sym.SoftmaxOutput(
            scores, label, use_ignore=True, ignore_label=0, normalization="valid", name="softmax"
        )
        return net, ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(network, default_bucket_key=batches.default_bucket_key)
    metric = mx.metric.Perplexity(ignore_label=0)
    module.fit(
        batches,
        eval_metric=metric,
        num_epoch=16,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02},
        initializer=mx.init.Xavier(factor_type="in", magnitude=2.34),
    )
    batches.reset()
    perplexity = dict(module.score(batches, metric))["perplexity"]
    assert perplexity < 2.4  # a word of two, but the first; 9 before it has learnt anything


def test_old_unroll_warns(caplog):
    outputs, _ = mx.rnn.rnn_unroll(mx.rnn.RNNCell(2), 2, input_prefix="x_")
    assert "x_t1_data" in mx.sym.Group(outputs).list_arguments()
    assert "cell.unroll" in caplog.text
