# SPDX-License-Identifier: Apache-2.0
"""Bound symbols with sparse arrays: storage types, values and gradients, Module with row_sparse weights on a store."""

import loomix as mx
import numpy as np
import pytest

nd, sym = mx.nd, mx.sym


def csr_values(seed, shape=(6, 8)):
    random = np.random.RandomState(seed)
    values = random.uniform(-1, 1, shape) * (random.uniform(size=shape) < 0.4)
    values[2] = 0
    values[:, 5 % shape[1]] = 0
    return values.astype("float32")


def machine(factors=3, features=8, stype="row_sparse"):
    """A factorisation machine without its loss."""
    x = sym.Variable("x", stype="csr")
    w = sym.Variable("w", shape=(features, 1), stype=stype, init=mx.init.Normal(0.05))
    v = sym.Variable("v", shape=(features, factors), stype=stype, init=mx.init.Normal(0.05))
    squares = sym.dot(sym.square(x), sym._internal._square_sum(v, axis=1, keepdims=True))
    pairs = sym.sum(sym.square(sym.dot(x, v)), axis=1, keepdims=True)
    return sym.dot(x, w) + 0.5 * (pairs - squares)


@pytest.mark.parametrize(
    "build, shapes, expected",
    [
        (lambda x, w: sym.dot(x, w), {"x": (3, 4), "w": (4, 2)}, ("row_sparse", "default")),
        (lambda x, w: sym.dot(x, w, transpose_a=True), {"x": (3, 4), "w": (3, 2)}, ("default", "row_sparse")),
        (lambda x, w: sym.cos(x) + sym.dot(x, w), {"x": (3, 3), "w": (3, 3)}, ("row_sparse", "default")),
    ],
)
def test_storage_types_follow(build, shapes, expected):
    x, w = sym.Variable("x", stype="csr"), sym.Variable("w")
    for net, stypes in ((build(x, w), None), (build(sym.Variable("x"), w), {"x": "csr"})):
        executor = net.simple_bind(mx.current_context(), stype_dict=stypes, **shapes)
        assert executor.arg_dict["x"].stype == "csr" and executor.arg_dict["w"].stype == "default"
        assert executor.grad_dict["x"].stype == "default"
        assert (executor.grad_dict["w"].stype, executor.outputs[0].stype) == expected
        x_values = csr_values(0, shapes["x"])
        w_values = csr_values(1, shapes["w"])
        executor.forward(is_train=True, x=nd.array(x_values), w=nd.array(w_values))
        executor.backward(nd.ones(executor.outputs[0].shape))
        dense = build(sym.Variable("x"), w).simple_bind(mx.current_context(), **shapes)
        dense.forward(is_train=True, x=nd.array(x_values), w=nd.array(w_values))
        dense.backward(nd.ones(dense.outputs[0].shape))
        for got, want in (
            (executor.outputs[0], dense.outputs[0]),
            (executor.grad_dict["w"], dense.grad_dict["w"]),
            (executor.grad_dict["x"], dense.grad_dict["x"]),
        ):
            np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sparse_grad", [True, False])
def test_embedding(sparse_grad):
    net = sym.Embedding(sym.Variable("ids"), input_dim=9, output_dim=2, sparse_grad=sparse_grad, name="e")
    executor = net.simple_bind(
        mx.current_context(), ids=(2, 3), grad_req={"ids": "null", "e_weight": "write"}
    )
    gradient = executor.grad_dict["e_weight"]
    assert gradient.stype == ("row_sparse" if sparse_grad else "default")
    for ids in ([[1, 2, 1], [8, 8, 8]], [[0, 0, 0], [3, 0, 0]]):
        executor.forward(is_train=True, ids=nd.array(ids))
        executor.backward(nd.ones((2, 3, 2)))
        counts = np.bincount(np.ravel(ids), minlength=9)
        assert (gradient.asnumpy() == counts[:, None].repeat(2, 1)).all()
        if sparse_grad:
            assert gradient.indices.asnumpy().tolist() == np.flatnonzero(counts).tolist()


def test_a_factorisation_machine_is_right():
    """The gradients are those of the same machine on dense arrays; only rows of the batch have any."""
    net = machine()
    executor = net.simple_bind(mx.current_context(), x=(6, 8))
    dense = machine(stype="default").simple_bind(mx.current_context(), x=(6, 8), stype_dict={"x": "default"})
    assert {name: array.stype for name, array in executor.grad_dict.items()} == {
        "x": "default",
        "w": "row_sparse",
        "v": "row_sparse",
    }
    random = np.random.RandomState(0)
    for seed in range(2):  # the number of stored values changes
        values = {
            "x": csr_values(seed),
            "w": random.uniform(size=(8, 1)).astype("float32"),
            "v": random.uniform(size=(8, 3)).astype("float32"),
        }
        head = nd.array(random.uniform(size=(6, 1)))
        for each in (executor, dense):
            each.forward(is_train=True, **{name: nd.array(value) for name, value in values.items()})
            each.backward(head)
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), dense.outputs[0].asnumpy(), rtol=1e-5)
        for name in values:
            got, want = executor.grad_dict[name].asnumpy(), dense.grad_dict[name].asnumpy()
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=name)
    assert 5 not in executor.grad_dict["w"].indices.asnumpy()


def test_only_the_rows_of_a_batch_are_needed():
    """With weights that have the batch's rows alone, outputs and gradients are the same."""
    executor = machine().simple_bind(
        mx.current_context(), x=(6, 8), grad_req={"x": "null", "w": "write", "v": "write"}
    )
    random = np.random.RandomState(1)
    w, v = random.uniform(size=(8, 1)).astype("float32"), random.uniform(size=(8, 3)).astype("float32")
    results = []
    for rows in (range(8), [0, 1, 2, 3, 4, 6, 7]):
        kept = nd.array(list(rows))
        weights = {
            name: nd.sparse.retain(nd.array(values).tostype("row_sparse"), kept)
            for name, values in (("w", w), ("v", v))
        }
        executor.forward(is_train=True, x=nd.array(csr_values(3)), **weights)
        executor.backward(nd.ones((6, 1)))
        results.append([executor.outputs[0].asnumpy(), *(executor.grad_dict[n].asnumpy() for n in "wv")])
    for whole, part in zip(*results):
        np.testing.assert_allclose(part, whole, rtol=1e-6, atol=1e-6)


def test_gradients_that_are_added_up_are_dense():
    executor = machine().simple_bind(mx.current_context(), x=(6, 8), grad_req="add")
    assert executor.grad_dict["w"].stype == "default"
    arguments = dict(executor.arg_dict)
    gradients = {name: nd.sparse.zeros("row_sparse", array.shape) for name, array in arguments.items()}
    with pytest.raises(NotImplementedError, match="'add' needs a dense one"):
        machine().bind(mx.current_context(), arguments, args_grad=gradients, grad_req="add")


def classifier(features):
    score = sym.broadcast_add(machine(4, features), sym.Variable("bias", shape=(1,), init=mx.init.Zero()))
    return sym.LogisticRegressionOutput(score, sym.Variable("label"), name="score")


@pytest.mark.parametrize("store", [None, "local"])
@pytest.mark.parametrize("contexts", [1, 2])
def test_module_trains(store, contexts):
    """With a store the rows of each batch are pulled; without one the weights are whole. Both learn the same."""
    random = np.random.RandomState(2)
    features, batch = 300, 20
    values = (random.uniform(size=(400, features)) < 0.03).astype("float32")
    hidden = random.normal(size=features)
    labels = (values @ hidden > 0).astype("float32")
    data = nd.array(values).tostype("csr")
    iterator = mx.io.NDArrayIter({"x": data}, {"label": labels}, batch, last_batch_handle="discard")
    module = mx.mod.Module(
        classifier(features), ["x"], ["label"], context=[mx.cpu(i) for i in range(contexts)]
    )
    module.bind(iterator.provide_data, iterator.provide_label)
    mx.random.seed(0)
    module.init_params(mx.init.Normal(0.05))
    optimizer = {"learning_rate": 0.05, "rescale_grad": 1 / batch, "lazy_update": True}
    module.init_optimizer(store and mx.kv.create(store), "adam", optimizer)
    assert [arrays[0].stype for arrays in module._exec_group.grad_arrays].count("row_sparse") == 2

    def rows_of(batch):
        return dict.fromkeys(("w", "v"), batch.data[0].indices)

    accuracy = 0
    for _ in range(12):
        iterator.reset()
        right = 0
        for step in iterator:
            module.prepare(step, sparse_row_id_fn=rows_of if store else None)
            module.forward_backward(step)
            module.update()
            scores = module.get_outputs()[0].asnumpy()[:, 0]
            right += ((scores > 0.5) == (step.label[0].asnumpy() > 0.5)).sum()
        accuracy = right / len(labels)
    assert accuracy > 0.9
    arguments, _ = module.get_params()
    assert arguments["v"].stype == "row_sparse" and arguments["v"].indices.shape == (features,)
    if store:
        held = module._exec_group.execs[0].arg_dict["w"]
        assert held.indices.shape[0] < features
        with pytest.raises(ValueError, match="row_sparse parameters"):
            module.prepare(step, sparse_row_id_fn=lambda batch: {"bias": batch.data[0].indices})


def test_fit_score_and_predict_pull_rows():
    random = np.random.RandomState(4)
    features, batch = 200, 20
    values = (random.uniform(size=(200, features)) < 0.05).astype("float32")
    labels = (values @ random.normal(size=features) > 0).astype("float32")
    data = nd.array(values).tostype("csr")
    iterator = mx.io.NDArrayIter({"x": data}, {"label": labels}, batch, last_batch_handle="discard")
    module = mx.mod.Module(classifier(features), ["x"], ["label"])
    asked = []

    def rows_of(batch):
        asked.append(batch)
        return dict.fromkeys(("w", "v"), batch.data[0].indices)

    def accuracy(label, score):
        return float(((score[:, 0] > 0.5) == (label.reshape(-1) > 0.5)).mean())

    mx.random.seed(0)
    module.fit(
        iterator,
        eval_metric=mx.metric.CustomMetric(accuracy),
        kvstore=mx.kv.create("local"),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.05, "rescale_grad": 1 / batch},
        initializer=mx.init.Normal(0.05),
        num_epoch=15,
        sparse_row_id_fn=rows_of,
    )
    assert len(asked) >= 15 * 9
    scores = module.score(iterator, mx.metric.CustomMetric(accuracy, name="a"), sparse_row_id_fn=rows_of)
    assert dict(scores)["a"] > 0.9
    predicted = module.predict(iterator, sparse_row_id_fn=rows_of).asnumpy()
    assert accuracy(labels, predicted) == pytest.approx(dict(scores)["a"])


def test_a_module_without_a_store_says_that_no_rows_are_pulled(caplog):
    module = mx.mod.Module(classifier(10), ["x"], ["label"])
    module.bind([("x", (2, 10))], [("label", (2,))])
    module.init_params()
    batch = mx.io.DataBatch([nd.array(np.eye(10)[:2]).tostype("csr")], [nd.zeros((2,))])
    for _ in range(2):
        module.prepare(batch, sparse_row_id_fn=lambda batch: {"w": batch.data[0].indices})
    assert [
        record.getMessage() for record in caplog.records if "sparse_row_id_fn" in record.getMessage()
    ] == ["sparse_row_id_fn is not used: no store has the parameters."]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("contexts", [1, 2])
@pytest.mark.parametrize("on_store", [None, False, True])
def test_gluon_embeddings_have_row_sparse_gradients(hybrid, contexts, on_store):
    """The same weights as with dense gradients; a lazy optimizer leaves unused rows alone."""
    devices = [mx.cpu(i) for i in range(contexts)]
    weights = []
    for sparse_grad in (True, False):
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Embedding(50, 4, sparse_grad=sparse_grad), mx.gluon.nn.Dense(2, in_units=12))
        mx.random.seed(3)
        net.initialize(mx.init.Uniform(0.5), ctx=devices)
        if hybrid:
            net.hybridize()
        trainer = mx.gluon.Trainer(
            net.collect_params(), "sgd", {"learning_rate": 0.5, "wd": 0.0}, update_on_kvstore=on_store
        )
        for step in range(3):
            with mx.autograd.record():
                losses = []
                for i, device in enumerate(devices):
                    ids = nd.array([[step, 7, 7], [9, 30 + i, step]], ctx=device)
                    losses.append(nd.square(net(ids)).sum())
            mx.autograd.backward(losses)
            weight = net[0].weight
            assert weight.grad(devices[0]).stype == ("row_sparse" if sparse_grad else "default")
            if sparse_grad:
                assert weight.grad(devices[0]).indices.asnumpy().tolist() == sorted({step, 7, 9, 30})
            trainer.step(2)
        weights.append([weight.data(device).asnumpy() for device in devices])
    for got, want in zip(*weights):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_gluon_gradients_may_be_added_up_and_cleared():
    net = mx.gluon.nn.Embedding(10, 2, sparse_grad=True)
    net.initialize()
    net.weight.grad_req = "add"
    for ids in ([1, 2], [2, 3]):
        with mx.autograd.record():
            loss = net(nd.array(ids)).sum()
        loss.backward()
    gradient = net.weight.grad()
    assert gradient.stype == "row_sparse"
    assert gradient.asnumpy()[:, 0].tolist() == [0, 1, 2, 1, 0, 0, 0, 0, 0, 0]
    net.weight.zero_grad()
    assert net.weight.grad().indices.shape == (0,)


def test_hybridized_blocks_give_sparse_outputs():
    class Rows(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.cast_storage(F.square(x), stype="row_sparse")

    block = Rows()
    block.hybridize()
    x = nd.array([[0, 0], [1, 2]])
    for _ in range(2):
        y = block(x)
        assert y.stype == "row_sparse" and y.asnumpy().tolist() == [[0, 0], [1, 4]]
